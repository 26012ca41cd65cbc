//! The `container-core` traits for Parquet.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{FieldRef, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, BatchWriter, ColumnBounds, StepReader};
use container_core::{
    ColumnInfo, Container, Error, Finding, Format, Input, OpenOptions, OutputOptions, Probe, Progress, Recognition,
    Result, Rows, Scan, Table, Unit, VerifyOptions,
};
use serde_json::{Map, Value};

use super::footer::{ENCRYPTED, MAGIC};
use super::read::{Reader, Steps, in_group};
use super::{FORMAT_NAME, Writer, WriterOptions, describe};
use crate::batches;
use crate::workers::Workers;

/// The Parquet format.
pub const FORMAT: &dyn Format = &Parquet;

struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        // A truncated file has the magic bytes only at its beginning; opening it then reports the truncation.
        let is_content = probe.head.starts_with(MAGIC) || probe.head.starts_with(ENCRYPTED);
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let Some(source) = input.source() else {
            return Err(
                Error::usage("expected a Parquet file, found a directory: open its files").in_format(FORMAT_NAME)
            );
        };
        Ok(Box::new(ParquetContainer::new(Reader::from_source(source.clone(), *options)?)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn batch_writer(&self, path: &Path, schema: SchemaRef, options: OutputOptions) -> Result<Box<dyn BatchWriter>> {
        Ok(Box::new(Writer::create(path, schema, WriterOptions::default(), options)?))
    }
}

/// A [`Reader`] as a [`Container`] with one table, `rows`.
pub struct ParquetContainer {
    reader: Reader,
    columns: Vec<ColumnInfo>,
    fields: Arc<[FieldRef]>,
}

impl ParquetContainer {
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

    /// Reads a column of a row group completely.
    fn check(&self, group: usize, column: usize) -> Result<()> {
        let rows = self.reader.group_rows(group);
        let count = rows.end - rows.start;
        let rows_found = self.reader.count_rows(group, &[column], 0..count)?;
        if rows_found == count {
            return Ok(());
        }
        Err(Error::invalid(format!("the row group declares {count} rows, the column has {rows_found}")))
    }
}

impl Container for ParquetContainer {
    fn format(&self) -> &'static str {
        FORMAT_NAME
    }

    fn version(&self) -> String {
        self.reader.metadata().file_metadata().version().to_string()
    }

    fn details(&self) -> Map<String, Value> {
        describe::file(&self.reader)
    }

    fn tables(&self) -> Vec<&dyn Table> {
        vec![self]
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let workers = Workers::new(options.threads);
        let declared = self.reader.metadata().file_metadata().num_rows();
        if u64::try_from(declared) != Ok(self.reader.row_count()) {
            let detail =
                format!("the footer declares {declared} rows, its row groups have {}", self.reader.row_count());
            report(Finding::error(Error::invalid(detail).in_format(FORMAT_NAME)));
        }
        if let Some(progress) = &options.progress {
            progress.begin(Unit::Rows, Some(self.reader.row_count()));
        }
        for group in 0..self.reader.group_count() {
            let columns: Vec<usize> = (0..self.columns.len()).collect();
            let checked = workers.map(columns, |column| self.check(group, column));
            for (error, column) in checked.into_iter().zip(&self.columns) {
                if let Err(error) = error {
                    report(Finding::error(in_group(group)(error.in_column(column.name.clone()))));
                }
            }
            if let Some(progress) = &options.progress {
                let rows = self.reader.group_rows(group);
                Progress::advance(progress.as_ref(), rows.end - rows.start)?;
            }
        }
        Ok(())
    }
}

/// Rows that are decoded about as fast as a reader starts in the middle of a row group.
const PAGE_ROWS: u64 = 8192;

impl Table for ParquetContainer {
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
        if index >= self.columns.len() {
            return Err(Error::usage(format!("no column {index}")).in_format(FORMAT_NAME));
        }
        describe::column(&self.reader, index)
    }

    fn len(&self) -> Option<u64> {
        Some(self.reader.row_count())
    }

    fn block_rows(&self) -> Option<u64> {
        Some(PAGE_ROWS)
    }

    fn block_starts(&self) -> Vec<u64> {
        (0..self.reader.group_count()).map(|group| self.reader.group_rows(group).start).collect()
    }

    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>> {
        batches::rows(self, scan).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn find(&self, _key: &str) -> Result<Option<u64>> {
        Err(Error::usage("rows of a Parquet file have no keys: use row numbers").in_format(FORMAT_NAME))
    }

    fn arrow(&self) -> Option<&dyn ArrowTable> {
        Some(self)
    }
}

impl ArrowTable for ParquetContainer {
    fn schema(&self, scan: &BatchScan) -> Result<SchemaRef> {
        Ok(self.project(scan)?.schema)
    }

    fn batches<'a>(&'a self, scan: &BatchScan) -> Result<Box<dyn BatchReader + 'a>> {
        let projection = self.project(scan)?;
        let steps = Steps::new(self.reader.clone(), projection, Arc::clone(&self.fields), scan);
        Ok(Box::new(StepReader::new(steps)))
    }

    fn bounds(&self, column: usize) -> Result<Option<ColumnBounds>> {
        self.reader.bounds(column)
    }
}
