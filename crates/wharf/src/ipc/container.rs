//! The `container-core` traits for Arrow IPC.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{FieldRef, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchWriter, StepReader};
use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, OpenOptions, OutputOptions, Probe, Recognition, Result, Rows,
    Scan, Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};

use super::read::{Reader, Steps};
use super::wire::{FEATHER_1, MAGIC, MARK};
use super::{FORMAT_NAME, Layout, Writer, WriterOptions};
use crate::batches;

/// The Arrow IPC format, files and streams.
pub const FORMAT: &dyn Format = &Ipc;

struct Ipc;

impl Format for Ipc {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["arrow", "feather", "arrows", "ipc"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let is_content = head.starts_with(MAGIC) || head.starts_with(FEATHER_1) || begins_stream(head);
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(Error::usage("expected an Arrow file, found a directory").in_format(FORMAT_NAME));
        };
        Ok(Box::new(IpcContainer::new(Reader::from_source(source.clone(), *options)?)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    /// Writes a stream for the extension `arrows`, else a file.
    fn batch_writer(&self, path: &Path, schema: SchemaRef, options: OutputOptions) -> Result<Box<dyn BatchWriter>> {
        let is_stream = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("arrows"));
        let layout = if is_stream { Layout::Stream } else { Layout::File };
        Ok(Box::new(Writer::create(path, schema, WriterOptions::default().with_layout(layout), options)?))
    }
}

/// Whether bytes begin with a continuation marker, a plausible schema length, and the offset of a flatbuffers table within it.
fn begins_stream(head: &[u8]) -> bool {
    let number = |at: usize| {
        let four = head.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.map(u32::from_le_bytes)
    };
    match (head.starts_with(&MARK), number(4), number(8)) {
        (true, Some(length), Some(root)) => {
            length % 8 == 0 && (16..1 << 30).contains(&length) && (4..length).contains(&root)
        }
        _ => false,
    }
}

/// A [`Reader`] as a [`Container`] with one table, `rows`.
pub struct IpcContainer {
    reader: Reader,
    columns: Vec<ColumnInfo>,
    fields: Arc<[FieldRef]>,
}

impl IpcContainer {
    /// The container of a reader.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let (columns, fields) = batches::describe(reader.schema());
        Self { reader, columns, fields: fields.into() }
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    fn project(&self, scan: &BatchScan) -> Result<batches::Projection> {
        let metadata = self.reader.schema().metadata();
        batches::project(&self.fields, metadata, self.reader.row_count(), scan)
            .map_err(|error| error.in_format(FORMAT_NAME))
    }
}

impl Container for IpcContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    fn version(&self) -> String {
        self.reader.index.version.variant_name().unwrap_or("unknown").to_owned()
    }

    fn details(&self) -> Map<String, Value> {
        let index = &self.reader.index;
        let mut details = Map::new();
        details.insert("bytes".to_owned(), self.reader.source().len().into());
        details.insert("form".to_owned(), if index.is_file { "file" } else { "stream" }.into());
        details.insert("batches".to_owned(), index.batches.len().into());
        details.insert("dictionaries".to_owned(), index.dictionaries.len().into());
        details.insert("compression".to_owned(), index.compression.unwrap_or("none").into());
        let mut pairs: Vec<_> = index.metadata.iter().chain(index.schema.metadata()).collect();
        pairs.sort();
        let pairs: Map<String, Value> =
            pairs.into_iter().map(|(key, value)| (key.clone(), batches::json_or_text(value))).collect();
        if !pairs.is_empty() {
            details.insert("metadata".to_owned(), pairs.into());
        }
        details
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let index = &self.reader.index;
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Rows, Some(index.rows()));
        }
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let mut decoder = self.reader.decoder(&all);
        let mut report_error = |error: Error| report(Finding::error(error.in_format(FORMAT_NAME)));
        for (batch, location) in index.batches.iter().enumerate() {
            // Each damaged dictionary is reported once; batches that need it are reported below.
            while let Err(error) = decoder.prepare(&self.reader, batch) {
                report_error(error);
            }
            if let Err(error) = decoder.decode(&self.reader, batch) {
                let columns = self.reader.damaged(batch, &all, usize::MAX);
                match columns.is_empty() {
                    true => report_error(error),
                    false => columns.into_iter().for_each(|(column, error)| {
                        report_error(error.in_block(batch as u64).in_column(batches::name(&self.fields, column)));
                    }),
                }
            }
            if let Some(progress) = &options.progress {
                progress.advance(location.rows)?;
            }
        }
        while let Err(error) = decoder.prepare(&self.reader, usize::MAX) {
            report_error(error);
        }
        let left = self.reader.source().len().saturating_sub(index.end);
        if !index.is_file && left > 0 {
            let error = Error::invalid(format!("{left} unexpected trailing bytes after the stream")).at(index.end);
            report(Finding::warning(error.in_format(FORMAT_NAME)));
        }
        Ok(())
    }
}

impl Table for IpcContainer {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn column_summary(&self, index: usize) -> Map<String, Value> {
        batches::summary(self.fields.get(index))
    }

    fn column_details(&self, index: usize) -> Result<Map<String, Value>> {
        let missing = || Error::usage(format!("no column {index}")).in_format(FORMAT_NAME);
        let field = self.fields.get(index).ok_or_else(missing)?;
        let mut details = Map::new();
        let own = batches::metadata(field);
        if !own.is_empty() {
            details.insert("metadata".to_owned(), own.into());
        }
        Ok(details)
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.row_count())
    }

    fn block_rows(&self) -> Option<u64> {
        Some(self.reader.row_count().div_ceil((self.reader.batch_count() as u64).max(1)))
    }

    fn block_starts(&self) -> Vec<u64> {
        self.reader.batch_starts()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        batches::rows(self, scan).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of an Arrow file have no keys: use row numbers").in_format(FORMAT_NAME))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for IpcContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.project(scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let projection = self.project(scan)?;
        let steps = Steps::new(self.reader.clone(), projection, Arc::clone(&self.fields), scan);
        Ok(Box::new(StepReader::new(steps)))
    }
}
