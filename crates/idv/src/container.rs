//! The `container-core` traits: `Format`, `Container`, `Table`, `Rows`.

use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, Loss, OpenOptions, Probe, Recognition, Result, Rows, Scan,
    Table, VerifyOptions,
};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::read::{self, Column, Reader};
use crate::schema_json::{MetadataJson, type_details};
use crate::wire::SIGNATURE;

/// The IDV format, for a format registry.
pub const FORMAT: &dyn Format = &Idv;

/// Largest lookup table, in bytes, that is summed for the sizes in `info`.
const MAX_SUMMED_LOOKUP: u64 = 16 << 20;

struct Idv;

impl Format for Idv {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["idv"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        probe.by_content_or_name(probe.head.starts_with(&SIGNATURE.to_le_bytes()), self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected an IDV file, found a directory").in_format(FORMAT_NAME));
        };
        Ok(Box::new(IdvContainer::new(Reader::from_source(source.clone(), *options)?)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    #[cfg(feature = "arrow")]
    fn batch_writer(
        &self,
        path: &std::path::Path,
        schema: arrow_schema::SchemaRef,
        options: container_core::OutputOptions,
    ) -> Result<Box<dyn container_arrow::BatchWriter>> {
        let arrow_options = crate::arrow::ArrowOptions::default();
        Ok(Box::new(crate::arrow::ArrowWriter::create(path, options, &schema, arrow_options)?))
    }
}

/// A [`Reader`] as a [`Container`] with one table, `rows`.
pub struct IdvContainer {
    reader: Reader,
    columns: Vec<ColumnInfo>,
}

impl IdvContainer {
    /// Wraps a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let columns = reader.columns().iter().map(describe).collect();
        Self { reader, columns }
    }

    /// The wrapped reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Column information from the table of contents.
fn describe(column: &Column) -> ColumnInfo {
    let kind = column.kind().map_or_else(|_| "unreadable".to_owned(), ToString::to_string);
    let mut info = ColumnInfo::new(column.unique_name(), kind);
    info.unreadable = column.kind().err().map(ToString::to_string);
    if column.name() != column.unique_name() {
        info.details.push(("name_in_file".to_owned(), column.name().into()));
    }
    info
}

fn summary(column: &Column) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert("codec".to_owned(), column.codec_name().into());
    let compression =
        column.compression().map_or(Value::from(column.entry.compression), |kind| kind.to_string().into());
    details.insert("compression".to_owned(), compression);
    details.insert("rows_per_block".to_owned(), column.rows_per_block().into());
    details.insert("blocks".to_owned(), column.block_count().into());
    if let Ok(kind) = column.kind() {
        // The codec name is already there, also for unreadable columns.
        let more = type_details(kind).into_iter().filter(|(member, _)| *member != "codec");
        details.extend(more.map(|(member, value)| (member.to_owned(), value)));
    }
    details
}

impl Container for IdvContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    fn version(&self) -> String {
        self.reader.header().version.to_string()
    }

    fn details(&self) -> Map<String, Value> {
        let header = self.reader.header();
        let mut details = Map::new();
        details.insert("compatible_version".to_owned(), header.compatible.to_string().into());
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.reader.verify(options, report)
    }
}

impl Table for IdvContainer {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        self.reader.columns().get(index).map(summary).unwrap_or_default()
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let mut details = Map::new();
        if let Some((packed, raw)) = self.reader.sizes(index, MAX_SUMMED_LOOKUP)? {
            details.insert("bytes".to_owned(), packed.into());
            details.insert("decompressed_bytes".to_owned(), raw.into());
        }
        let mut metadata_json = MetadataJson::default();
        for metadata in self.reader.metadata(index)? {
            match metadata.value_type() {
                Err(unreadable) => {
                    let mut object = Map::new();
                    object.insert("$unreadable".to_owned(), unreadable.to_string().into());
                    metadata_json.values.insert(metadata.kind().to_owned(), Value::Object(object));
                }
                Ok(value_type) => match self.reader.metadata_preview(index, &metadata)? {
                    Some(preview) => metadata_json.push_preview(metadata.kind(), value_type, &preview)?,
                    None => {
                        let values = self.reader.metadata_value(index, &metadata)?;
                        metadata_json.push(metadata.kind(), value_type, &values)?;
                    }
                },
            }
        }
        metadata_json.put(&mut details);
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.row_count())
    }

    fn block_rows(&self) -> Option<u64> {
        self.reader.columns().iter().map(|column| column.rows_per_block()).max()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        Ok(Box::new(self.reader.rows(scan)?))
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of an IDV file have no keys; use a row number").in_format(FORMAT_NAME))
    }

    #[cfg(feature = "arrow")]
    fn arrow(&self) -> Option<&dyn container_arrow::ArrowTable> {
        Some(self)
    }
}

impl Rows for read::Rows {
    fn advance(&mut self) -> Result<bool> {
        Self::advance(self)
    }

    fn index(&self) -> u64 {
        Self::index(self)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.current() {
            Some(row) => row.json(out),
            None => Err(Error::usage("no current row").in_format(FORMAT_NAME)),
        }
    }

    fn losses(&self) -> Vec<Loss> {
        Self::losses(self)
    }
}
