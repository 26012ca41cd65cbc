//! Parquet files read: the footer once, then what a scan asks for.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use container_core::arrow::{BatchReader, BatchScan, Pieces, to_arrow};
use container_core::{Error, Loss, OpenOptions, Result, Source};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::source::{Chunks, from_arrow, library};
use super::{FORMAT_NAME, footer, units};
use crate::batches::{Chosen, Workers, groups, guarded, pieces};

/// A Parquet file, its footer read and checked.
#[derive(Debug, Clone)]
pub struct Reader {
    source: Source,
    metadata: ArrowReaderMetadata,
    /// With the units that were written.
    schema: SchemaRef,
    /// The first row of each row group, and the end.
    starts: Vec<u64>,
}

impl Reader {
    /// Reads the footer.
    ///
    /// # Errors
    /// What is wrong with it; [`Unsupported`](crate::ErrorKind::Unsupported) for an encrypted one,
    /// [`Limit`](crate::ErrorKind::Limit) for one that is larger, wider or deeper than allowed.
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::open(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn open(source: Source, options: OpenOptions) -> Result<Self> {
        footer::check(&source, &options.limits)?;
        let load = || ArrowReaderMetadata::load(&Chunks(source.clone()), ArrowReaderOptions::new());
        let metadata = library("the footer", load)?;
        let columns = metadata.metadata().file_metadata().schema_descr().num_columns();
        options.limits.check_columns("the count of columns", columns as u64)?;
        let mut starts = vec![0_u64];
        let mut rows = 0_u64;
        for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
            let count = u64::try_from(group.num_rows());
            let count = count.map_err(|_| {
                in_group(number)(Error::invalid(format!("the row group has {} rows", group.num_rows())))
            })?;
            rows = rows.checked_add(count).filter(|rows| i64::try_from(*rows).is_ok()).ok_or_else(|| {
                in_group(number)(Error::invalid("the row groups have more rows together than can be counted"))
            })?;
            if group.num_columns() != columns {
                let detail = format!("the row group has {} columns, the schema {columns}", group.num_columns());
                return Err(in_group(number)(Error::invalid(detail)));
            }
            starts.push(rows);
        }
        let schema = units::restored(metadata.schema(), metadata.metadata().file_metadata())?;
        Ok(Self { source, metadata, schema, starts })
    }

    /// The bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The footer, as the library has it.
    #[must_use]
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// The schema of the file. Names of columns may be there twice.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows the row groups have.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// How many row groups there are.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.metadata().num_row_groups()
    }

    /// The rows of a row group.
    pub(super) fn group_rows(&self, group: usize) -> Range<u64> {
        match self.starts.get(group..group.saturating_add(2)) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    pub(super) fn group(&self, group: usize) -> Result<&RowGroupMetaData> {
        let missing = || Error::usage(format!("there is no row group {group}"));
        self.metadata().row_groups().get(group).ok_or_else(missing)
    }

    /// The places of a column's leaves among all leaves.
    pub(super) fn leaves(&self, column: usize) -> impl Iterator<Item = usize> + '_ {
        let schema = self.metadata().file_metadata().schema_descr();
        // The leaves of a column follow one another: what is before and behind need not be looked at.
        let root = move |leaf: &usize| schema.get_column_root_idx(*leaf);
        let (mut low, mut high) = (0, schema.num_columns());
        while low < high {
            let middle = low + (high - low) / 2;
            if root(&middle) < column { low = middle + 1 } else { high = middle }
        }
        (low..schema.num_columns()).take_while(move |leaf| root(leaf) == column)
    }

    /// The library's reader of some columns of a row group, from a row of it on; each of its batches has so many rows.
    pub(super) fn columns(
        &self,
        group: usize,
        columns: &[usize],
        rows: Range<u64>,
        batch: usize,
    ) -> Result<ParquetRecordBatchReader> {
        for &column in columns {
            self.check_chunks(group, column)?;
        }
        let schema = self.metadata().file_metadata().schema_descr();
        let usize_of =
            |rows: u64| usize::try_from(rows).map_err(|_| Error::unsupported(format!("{rows} rows in one row group")));
        let (skip, take) = (usize_of(rows.start)?, usize_of(rows.end - rows.start)?);
        library("the row group", || {
            let mask = ProjectionMask::roots(schema, columns.iter().copied());
            ParquetRecordBatchReaderBuilder::new_with_metadata(Chunks(self.source.clone()), self.metadata.clone())
                .with_row_groups(vec![group])
                .with_projection(mask)
                .with_batch_size(batch)
                .with_offset(skip)
                .with_limit(take)
                .build()
        })
    }

    /// Fails unless the bytes of a column lie in the file.
    fn check_chunks(&self, group: usize, column: usize) -> Result<()> {
        let metadata = self.group(group)?;
        for leaf in self.leaves(column) {
            let Some(chunk) = metadata.columns().get(leaf) else { continue };
            if let Some(file) = chunk.file_path() {
                return Err(Error::unsupported(format!("the column lies in another file, {file:?}")));
            }
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let sizes = [start, chunk.compressed_size(), chunk.uncompressed_size(), chunk.num_values()];
            if let Some(negative) = sizes.iter().find(|size| **size < 0) {
                return Err(Error::invalid(format!("the column has a negative place or length, {negative}")));
            }
            let (start, len) = (start.unsigned_abs(), chunk.compressed_size().unsigned_abs());
            let available = self.source.len().saturating_sub(start);
            if len > available {
                return Err(Error::truncated("the column", len, available).at(start));
            }
        }
        Ok(())
    }

    /// Bytes of a row of some columns in Arrow, about, and of each of them in the file.
    fn row_bytes(&self, group: usize, columns: &[usize]) -> Result<(usize, Vec<u64>)> {
        let metadata = self.group(group)?;
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0).max(1);
        let mut weights = Vec::with_capacity(columns.len());
        let mut bytes = 0_u64;
        for &column in columns {
            let mut weight = 0_u64;
            for chunk in self.leaves(column).filter_map(|leaf| metadata.columns().get(leaf)) {
                let packed = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                // Values of a dictionary are there many times in Arrow; where the file says so, how large they are.
                let values = chunk.unencoded_byte_array_data_bytes().and_then(|bytes| u64::try_from(bytes).ok());
                let fixed =
                    u64::try_from(chunk.num_values()).unwrap_or(0).saturating_mul(fixed_width(chunk.column_descr()));
                weight = weight.saturating_add(packed.max(values.unwrap_or(0)).max(fixed));
            }
            bytes = bytes.saturating_add(weight);
            weights.push(weight);
        }
        Ok((usize::try_from(bytes / rows).unwrap_or(usize::MAX), weights))
    }
}

/// Bytes of a value in Arrow.
fn fixed_width(column: &parquet::schema::types::ColumnDescriptor) -> u64 {
    use parquet::basic::Type;
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE | Type::INT96 => 8,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Names the row group.
pub(super) fn in_group(group: usize) -> impl Fn(Error) -> Error {
    move |error| error.in_block(group as u64).in_format(FORMAT_NAME)
}

/// A walk over record batches of a Parquet file.
pub struct Batches {
    plan: Plan,
    group: usize,
    open: Option<Group>,
    cut: Option<Pieces>,
    failed: bool,
}

/// What to read, and how.
struct Plan {
    reader: Reader,
    chosen: Chosen,
    /// The names of all columns, unique.
    names: Arc<[String]>,
    workers: Workers,
    batch_rows: usize,
    batch_bytes: usize,
}

/// A row group that is being read.
struct Group {
    parts: Vec<Part>,
    number: usize,
    /// Rows that are still to come.
    left: u64,
    /// The next one's number.
    row: u64,
}

/// Some columns of a row group, which are read together.
struct Part {
    /// Their places in the file, sorted.
    columns: Vec<usize>,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    pub(super) fn new(reader: Reader, chosen: Chosen, names: Arc<[String]>, scan: &BatchScan) -> Self {
        let workers = Workers::new(scan.scan.threads);
        let (batch_rows, batch_bytes) = (scan.batch_rows, scan.batch_bytes);
        // Row groups before the rows wanted are not touched.
        let group = reader.starts.partition_point(|start| *start <= chosen.rows.start).saturating_sub(1);
        let plan = Plan { reader, chosen, names, workers, batch_rows, batch_bytes };
        Self { plan, group, open: None, cut: None, failed: false }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(piece) = self.cut.as_mut().and_then(Iterator::next) {
                return Ok(Some(piece));
            }
            let plan = &self.plan;
            let Some(mut open) = self.open.take() else {
                let rows = plan.reader.group_rows(self.group);
                if self.group >= plan.reader.group_count() || rows.start >= plan.chosen.rows.end {
                    return Ok(None);
                }
                self.open = plan.open(self.group, rows).map_err(in_group(self.group))?;
                self.group += 1;
                continue;
            };
            let batch = plan.read(&mut open).map_err(in_group(open.number))?;
            self.open = Some(open).filter(|open| open.left > 0);
            self.cut = Some(pieces(batch, plan.batch_rows, plan.batch_bytes));
        }
    }
}

impl Plan {
    /// Begins a row group; `None` for one that has no rows.
    fn open(&self, number: usize, rows: Range<u64>) -> Result<Option<Group>> {
        let start = self.chosen.rows.start.max(rows.start);
        let end = self.chosen.rows.end.min(rows.end);
        if start >= end {
            return Ok(None);
        }
        let mut columns = self.chosen.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        let (row_bytes, weights) = self.reader.row_bytes(number, &columns)?;
        let fit = self.batch_bytes.checked_div(row_bytes).unwrap_or(usize::MAX).min(self.batch_rows).max(1);
        // More parts than threads, so that a slow one holds up nobody; but not one for each of ten thousand columns.
        let most = if self.workers.count() == 1 { 1 } else { 4 * self.workers.count() };
        let mut parts = Vec::new();
        for group in groups(&weights, most) {
            let columns: Vec<usize> = group.iter().filter_map(|index| columns.get(*index).copied()).collect();
            let rows = start - rows.start..end - rows.start;
            let reader = self.reader.columns(number, &columns, rows, fit)?;
            parts.push(Part { columns, reader });
        }
        Ok(Some(Group { parts, number, left: end - start, row: start }))
    }

    /// The next batch of a row group.
    fn read(&self, open: &mut Group) -> Result<RecordBatch> {
        if open.parts.is_empty() {
            let rows = usize::try_from(open.left).unwrap_or(usize::MAX).min(self.batch_rows);
            open.left -= rows as u64;
            return self.assemble(&[], rows);
        }
        let (number, row) = (open.number, open.row);
        let one = |part: &mut Part| {
            let next = guarded("the columns", || part.reader.next().transpose().map_err(from_arrow));
            next.map_err(|error| self.blame(number, &part.columns, row, error))
        };
        let read = self.workers.map(open.parts.iter_mut().collect(), one);
        let mut columns: Vec<Option<ArrayRef>> = vec![None; self.reader.schema().fields().len()];
        let mut rows = None;
        for (part, batch) in open.parts.iter().zip(read) {
            let batch = batch?;
            let found = batch.as_ref().map_or(0, RecordBatch::num_rows);
            if found == 0 || *rows.get_or_insert(found) != found || found as u64 > open.left {
                let detail = format!("the row group says it has {} more rows and has {found}", open.left);
                return Err(Error::invalid(detail).in_row(row));
            }
            for (column, array) in part.columns.iter().zip(batch.iter().flat_map(RecordBatch::columns)) {
                if let (Some(place), Some(field)) =
                    (columns.get_mut(*column), self.reader.schema().fields().get(*column))
                {
                    let converted = units::convert(array, field.data_type(), row);
                    *place = Some(converted.map_err(|error| error.in_column(self.name(*column)))?);
                }
            }
        }
        let rows = rows.unwrap_or(0);
        open.left -= rows as u64;
        open.row += rows as u64;
        self.assemble(&columns, rows)
    }

    fn assemble(&self, columns: &[Option<ArrayRef>], rows: usize) -> Result<RecordBatch> {
        let missing = || Error::invalid("a column has no values");
        let arrays =
            self.chosen.columns.iter().map(|&column| columns.get(column).cloned().flatten().ok_or_else(missing));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.chosen.schema), arrays, &options).map_err(from_arrow)
    }

    fn name(&self, column: usize) -> String {
        self.names.get(column).cloned().unwrap_or_default()
    }

    /// Names the column that cannot be read. Of several, the library does not tell which it was: each is read alone until one fails.
    fn blame(&self, group: usize, columns: &[usize], row: u64, error: Error) -> Error {
        /// More columns than these are not tried.
        const TRIED: usize = 64;
        if let [column] = columns {
            return error.in_column(self.name(*column));
        }
        let rows = self.reader.group_rows(group);
        let rows = row - rows.start..rows.end - rows.start;
        for &column in columns.iter().take(TRIED) {
            let reader = self.reader.columns(group, &[column], rows.clone(), 1024);
            let read = reader.and_then(|mut reader| {
                guarded("the column", || reader.try_for_each(|batch| batch.map(drop).map_err(from_arrow)))
            });
            if read.is_err() {
                return error.in_column(self.name(column));
            }
        }
        error
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.map_err(to_arrow).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.chosen.schema)
    }
}

impl BatchReader for Batches {
    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}
