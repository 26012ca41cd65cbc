//! The `container-core` traits for text: formats, options and the container.

use std::path::Path;

use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, Limits, OpenOptions, OutputOptions, Probe, Recognition,
    RecoverReport, Result, Rows, Scan, Source, Table, VerifyOptions, Watch,
};
use serde_json::{Map, Value};

use super::chunk_reader::{ChunkReader, without_file_name};
use super::layout::Text;
use super::records::{self, Options};
use super::rows::TextRows;
use super::table::RecordsTable;
use super::verify::verify;
use crate::workers::Workers;

/// The format JSON lines.
pub const JSON_LINES: &dyn Format = &TextFormat::JsonLines;

/// The format CSV.
pub const CSV: &dyn Format = &TextFormat::Csv;

/// The format TSV.
pub const TSV: &dyn Format = &TextFormat::Tsv;

/// Up to this many bytes, [`Table::len`] counts rows.
const MAX_COUNTED: u64 = 64 << 20;

/// Bytes read per chunk; more if a record is longer.
const WINDOW: u64 = 1 << 20;

/// The text formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextFormat {
    /// JSON lines, or one array of objects.
    JsonLines,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
}

impl TextFormat {
    /// The format of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::JsonLines, Self::Csv, Self::Tsv].into_iter().find(|format| format.name() == name)
    }

    /// Whether rows are cells without types: CSV and TSV.
    pub(crate) const fn is_cells(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }
}

/// Options for reading text.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TextOptions {
    format: TextFormat,
    delimiter: u8,
    header: bool,
    limits: Limits,
    window: u64,
}

impl TextOptions {
    /// Defaults for a format: CSV with commas and a header line.
    #[must_use]
    pub fn new(format: TextFormat) -> Self {
        let delimiter = if format == TextFormat::Tsv { b'\t' } else { b',' };
        Self { format, delimiter, header: true, limits: Limits::default(), window: WINDOW }
    }

    /// Sets the delimiter between CSV cells.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a quote, a line break, or a byte that is not ASCII.
    pub fn with_delimiter(mut self, delimiter: u8) -> Result<Self> {
        self.delimiter = records::delimiter(delimiter)?;
        Ok(self)
    }

    /// Whether the first line of CSV has the column names. Without a header, columns are named `c0`, `c1` and so on.
    #[must_use]
    pub const fn with_header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Bytes read per chunk, 1 MiB by default; more if a row is longer. Rows do not depend on it.
    #[must_use]
    pub fn with_chunk_bytes(mut self, bytes: u64) -> Self {
        self.window = bytes.max(1);
        self
    }

    /// Sets the limits; [`columns`](Limits::columns), [`depth`](Limits::depth) and, per row, [`block_bytes`](Limits::block_bytes) apply.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Format for TextFormat {
    fn name(&self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Self::JsonLines => &["jsonl", "ndjson", "json"],
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv"],
        }
    }

    /// By name only: any other format that recognizes the content takes precedence.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.directory {
            return Recognition::No;
        }
        let text = probe.head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(probe.head);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let other = || [CSV, TSV].iter().any(|format| probe.has_extension(format.extensions()));
        match probe.has_extension(self.extensions()) || *self == Self::JsonLines && first == Some(&b'{') && !other() {
            true => Recognition::Name,
            false => Recognition::No,
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let folder = || Error::unsupported("expected a file, found a folder").in_format(self.name());
        let source = input.source().ok_or_else(folder)?;
        let options = TextOptions::new(*self).with_limits(options.limits);
        Ok(Box::new(TextContainer::open(source.clone(), &options)?))
    }

    /// Unsupported: lines inside objects or quoted cells may look like records.
    fn recover(&self, _: &Input, _: &OpenOptions, _: &Path, _: OutputOptions) -> Result<Option<RecoverReport>> {
        let detail = "recovery of text is not supported: where the next record begins after a damaged one is ambiguous";
        Err(Error::unsupported(detail).in_format(self.name()))
    }
}

/// Text as a [`Container`] with one table, `rows`.
#[derive(Debug)]
pub struct TextContainer {
    pub(super) table: RecordsTable,
}

impl TextContainer {
    /// Opens text: finds where the rows begin and reads the header of CSV.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for UTF-16, a column name that is not UTF-8, or an unclosed quote;
    /// [`Limit`](crate::ErrorKind::Limit) for too many columns; [`Io`](crate::ErrorKind::Io).
    pub fn open(source: Source, options: &TextOptions) -> Result<Self> {
        let &TextOptions { format, delimiter, header, limits, window } = options;
        let options = Options { format, delimiter, header, threads: 1, window };
        Ok(Self { table: RecordsTable::new(Text::new(source, options, format.name(), limits)?) })
    }
}

impl Container for TextContainer {
    fn format(&self) -> &'static str {
        self.table.text.format
    }

    /// The character encoding.
    fn version(&self) -> String {
        "UTF-8".to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let text = &self.table.text;
        let head = text.read(0..text.len().min(1 << 16)).unwrap_or_default();
        let mut details = Map::new();
        let mut add = |key: &str, value: Value| drop(details.insert(key.to_owned(), value));
        add("bytes", text.len().into());
        if text.is_csv() {
            add("delimiter", char::from(text.options.delimiter).to_string().into());
            add("header", text.options.header.into());
            // Spreadsheets write semicolons in locales with a decimal comma.
            let semicolons: usize = text.names.iter().map(|name| name.matches(';').count()).sum();
            if text.options.delimiter == b',' && semicolons >= text.names.len() && semicolons > 0 {
                add("likely_delimiter", ";".into());
            }
        } else {
            add("layout", if text.array { "array" } else { "lines" }.into());
        }
        let at = head.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        if let Some(at) = at {
            add(
                "line_ends",
                match (head.get(at), head.get(at + 1)) {
                    (Some(b'\r'), Some(b'\n')) => "CRLF",
                    (Some(b'\r'), _) => "CR",
                    _ => "LF",
                }
                .into(),
            );
        }
        add("byte_order_mark", head.starts_with(b"\xEF\xBB\xBF").into());
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![&self.table]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        verify(&self.table.text, options, report)
    }
}

impl Table for RecordsTable {
    fn name(&self) -> &'static str {
        "rows"
    }

    /// For CSV, the header. For JSON lines, the members of objects in the order in which they first appear. Members and kinds are inferred
    /// from all rows up to 16 MiB of text; beyond, from the first chunk until [`infer_columns`](Table::infer_columns) has scanned all rows.
    fn columns(&self) -> &[ColumnInfo] {
        &self.known().infos
    }

    fn columns_error(&self) -> Option<Error> {
        self.known().error.as_ref().map(|error| without_file_name(error).in_format(self.text.format))
    }

    fn has_schema(&self) -> bool {
        false
    }

    fn infer_columns(&self) -> Result<()> {
        self.infer_columns_with(&Watch::default())
    }

    fn infer_columns_with(&self, watch: &Watch) -> Result<()> {
        if self.all_columns.get().is_none() {
            let (inference, result) = self.scan_columns(&Workers::new(0), true, watch);
            result?;
            let _ = self.all_columns.set(inference.columns(&self.text, None)); // ignore: a concurrent caller set the same value
        }
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.known().summary(index)
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.column(index).map(|_| Map::new())
    }

    /// Counts the rows of up to 64 MiB of text. For larger text, the number is known after a complete pass.
    fn len(&self) -> Option<u64> {
        if self.text.index.get().is_none() && self.text.len() <= MAX_COUNTED {
            let workers = Workers::new(0);
            ChunkReader::new(&self.text).finish(&workers).ok()?;
        }
        self.text.index.get().map(|index| index.rows)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.check_rows(&scan.rows)?;
        Ok(Box::new(TextRows::new(self, scan)?))
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("text rows have no keys")
            .advising("{row} takes a row by its number")
            .in_format(self.text.format))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}
