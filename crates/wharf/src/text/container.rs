//! What `container-core` asks of a container.

use std::path::Path;

use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, Limits, OpenOptions, OutputOptions, Probe, Recognition,
    RecoverReport, Result, Rows, Scan, Source, Table, VerifyOptions,
};
use serde_json::{Map, Value};

use super::cut::{Feeder, nameless};
use super::inner::Text;
use super::records::{Form, Options};
use super::rows::TextRows;
use super::table::TextTable;
use super::verify::verify;
use crate::workers::Workers;

/// JSON lines, for tools that open anything.
pub const JSON_LINES: &dyn Format = &TextForm::JsonLines;

/// CSV, for tools that open anything.
pub const CSV: &dyn Format = &TextForm::Csv;

/// TSV, for tools that open anything.
pub const TSV: &dyn Format = &TextForm::Tsv;

/// In a text up to so many bytes rows are counted when somebody asks for it.
const COUNTED: u64 = 64 << 20;

/// Bytes that are looked at for the ends of records; more when a record is longer.
const WINDOW: u64 = 1 << 20;

/// A form of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextForm {
    /// JSON lines, or one array of objects.
    JsonLines,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
}

impl TextForm {
    const fn form(self) -> Form {
        match self {
            Self::JsonLines => Form::JsonLines,
            Self::Csv | Self::Tsv => Form::Csv,
        }
    }
}

/// How a text is read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TextOptions {
    form: TextForm,
    delimiter: u8,
    header: bool,
    limits: Limits,
    window: u64,
}

impl TextOptions {
    /// A text of this form, as it mostly is: CSV with commas and a line of names.
    #[must_use]
    pub fn new(form: TextForm) -> Self {
        let delimiter = if form == TextForm::Tsv { b'\t' } else { b',' };
        Self { form, delimiter, header: true, limits: Limits::default(), window: WINDOW }
    }

    /// What stands between two cells of CSV.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a quote, a line end, and what is no ASCII.
    pub fn with_delimiter(mut self, delimiter: u8) -> Result<Self> {
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\n' | b'\r') {
            let detail = format!("the delimiter {:?} is a quote, a line end or no ASCII", char::from(delimiter));
            return Err(Error::usage(detail));
        }
        self.delimiter = delimiter;
        Ok(self)
    }

    /// Whether the first line of CSV has the names; without, columns are called `c0`, `c1` and so on.
    #[must_use]
    pub const fn with_header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Bytes that are read at once, 1 MiB where nothing is set; more where a row is longer. The rows do not depend on it.
    #[must_use]
    pub fn with_chunk_bytes(mut self, bytes: u64) -> Self {
        self.window = bytes.max(1);
        self
    }

    /// What may be spent: of [`columns`](Limits::columns), [`depth`](Limits::depth) and [`block_bytes`](Limits::block_bytes) of a row.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Format for TextForm {
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

    /// Never by the content: every other format is surer of what it sees.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.directory {
            return Recognition::No;
        }
        let text = probe.head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(probe.head);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let other = || [CSV, TSV].iter().any(|form| probe.has_extension(form.extensions()));
        match probe.has_extension(self.extensions()) || *self == Self::JsonLines && first == Some(&b'{') && !other() {
            true => Recognition::Name,
            false => Recognition::No,
        }
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let folder = || Error::unsupported("it is a folder where a file is wanted").in_format(self.name());
        let source = input.source().ok_or_else(folder)?;
        let options = TextOptions::new(*self).with_limits(options.limits);
        Ok(Box::new(TextContainer::open(source.clone(), &options)?))
    }

    /// An object or a quoted cell may have lines in it that look like records.
    fn recover(&self, _: &Input, _: &OpenOptions, _: &Path, _: OutputOptions) -> Result<Option<RecoverReport>> {
        let detail = "text cannot be recovered so far: where a record begins behind a damaged one is not known";
        Err(Error::unsupported(detail).in_format(self.name()))
    }
}

/// A text as a [`Container`] with one table, `rows`.
#[derive(Debug)]
pub struct TextContainer {
    pub(super) table: TextTable,
}

impl TextContainer {
    /// Looks where the rows begin, and of CSV at the names.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for text in UTF-16, a name that is not UTF-8, a quote that is not closed;
    /// [`Limit`](crate::ErrorKind::Limit) for too many names; [`Io`](crate::ErrorKind::Io).
    pub fn open(source: Source, options: &TextOptions) -> Result<Self> {
        let &TextOptions { form, delimiter, header, limits, window } = options;
        let options = Options { form: form.form(), delimiter, header, may_be_empty: true, threads: 1, window };
        Ok(Self { table: TextTable::new(Text::new(source, options, form.name(), limits)?) })
    }
}

impl Container for TextContainer {
    fn format(&self) -> &'static str {
        self.table.text.format
    }

    /// Which characters it is written in.
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
            // Spreadsheets write it where a comma separates decimals.
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

impl Table for TextTable {
    fn name(&self) -> &'static str {
        "rows"
    }

    /// Of CSV those of the header; of JSON lines the members of objects, in the order of their first appearance: of all objects of a text up to
    /// 16 MiB, else of those in its first MiB, until [`infer_columns`](Table::infer_columns) has looked at them all. In these rows also the kinds are found.
    fn columns(&self) -> &[ColumnInfo] {
        &self.known().infos
    }

    fn columns_error(&self) -> Option<Error> {
        self.known().error.as_ref().map(|error| nameless(error).in_format(self.text.format))
    }

    fn infer_columns(&self) -> Result<()> {
        if self.all.get().is_none() {
            let (survey, result) = self.look(&Workers::new(0), true);
            result?;
            let _ = self.all.set(survey.columns(&self.text, None)); // somebody else may have been faster, with the same
        }
        Ok(())
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.known().summary(index)
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        self.column(index).map(|_| Map::new())
    }

    /// Rows are counted where the text is no larger than 64 MiB; of a larger one it is known how many they are when all were walked over.
    fn len(&self) -> Option<u64> {
        if self.text.index.get().is_none() && self.text.len() <= COUNTED {
            let workers = Workers::new(0);
            Feeder::new(&self.text).finish(&workers).ok()?;
        }
        self.text.index.get().map(|index| index.rows)
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        self.check_rows(&scan.rows)?;
        Ok(Box::new(TextRows::new(self, scan)?))
    }

    fn find(&self, _: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of text have no keys")
            .advising("{row} takes a row by its number")
            .in_format(self.text.format))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}
