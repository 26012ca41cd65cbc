//! Reads Parquet files: the footer once, then the row groups and column chunks that a scan selects.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use container_arrow::{BatchScan, BatchSlices, BatchSteps, StepReader};
use container_core::{Error, Limits, OpenOptions, Result, Source};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::bounds::PageIndex;
use super::pages::{self, MemoryGauge, PageSelection};
use super::source::{SourceReader, from_arrow, library};
use super::{FORMAT_NAME, footer, raw, units};
use crate::batches::size::array_bytes;
use crate::batches::{Projection, batch_slices, guarded, has_dictionary, name};
use crate::workers::{Workers, groups};

/// A Parquet file with its footer read and checked.
#[derive(Debug, Clone)]
pub struct Reader {
    source: Source,
    metadata: ArrowReaderMetadata,
    /// With the units that were written, see `units`.
    schema: SchemaRef,
    /// The first row of each row group, then the number of rows.
    starts: Vec<u64>,
    limits: Limits,
    /// Read when it is first needed.
    pub(super) page_index: Arc<PageIndex>,
}

/// Maximum bytes of a batch while it is read. A single row may take what the limits allow.
const MAX_BATCH_MEMORY: u64 = 256 << 20;

/// Rows per batch when only verifying.
const VERIFY_ROWS: u64 = 8192;

impl Reader {
    /// Reads the footer.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) or [`Truncated`](crate::ErrorKind::Truncated) for a damaged footer;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an encrypted one; [`Limit`](crate::ErrorKind::Limit) for one that is too large, wide or
    /// deep.
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::open(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn open(source: Source, options: OpenOptions) -> Result<Self> {
        footer::check(&source, &options.limits)?;
        let load = || ArrowReaderMetadata::load(&SourceReader(source.clone()), ArrowReaderOptions::new());
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
            rows = rows
                .checked_add(count)
                .filter(|rows| i64::try_from(*rows).is_ok())
                .ok_or_else(|| in_group(number)(Error::invalid("the total number of rows overflows")))?;
            if group.num_columns() != columns {
                let detail = format!("the row group has {} columns, the schema {columns}", group.num_columns());
                return Err(in_group(number)(Error::invalid(detail)));
            }
            starts.push(rows);
        }
        let file = metadata.metadata().file_metadata();
        let schema = units::restored(&raw::schema(metadata.schema(), file), file)?;
        Ok(Self { source, metadata, schema, starts, limits: options.limits, page_index: Arc::default() })
    }

    /// The source.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The decoded footer.
    #[must_use]
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// The schema of the file. Column names may be duplicated.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows in all row groups.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The number of row groups.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.metadata().num_row_groups()
    }

    /// The schema as the library has it.
    pub(super) fn file_schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The row range of a row group.
    pub(super) fn group_rows(&self, group: usize) -> Range<u64> {
        match self.starts.get(group..group.saturating_add(2)) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    pub(super) fn group(&self, group: usize) -> Result<&RowGroupMetaData> {
        let missing = || Error::usage(format!("no row group {group}"));
        self.metadata().row_groups().get(group).ok_or_else(missing)
    }

    /// The leaf indexes of a column.
    pub(super) fn leaves(&self, column: usize) -> impl Iterator<Item = usize> + '_ {
        let schema = self.metadata().file_metadata().schema_descr();
        // Leaves of a column are contiguous and sorted: binary search for the first.
        let root = move |leaf: &usize| schema.get_column_root_idx(*leaf);
        let (mut low, mut high) = (0, schema.num_columns());
        while low < high {
            let middle = low + (high - low) / 2;
            if root(&middle) < column { low = middle + 1 } else { high = middle }
        }
        (low..schema.num_columns()).take_while(move |leaf| root(leaf) == column)
    }

    /// The library's reader for columns and rows of a row group.
    pub(super) fn columns(
        &self,
        group: usize,
        columns: &[usize],
        rows: Range<u64>,
        views: bool,
        gauge: &Arc<MemoryGauge>,
    ) -> Result<ParquetRecordBatchReader> {
        for &column in columns {
            self.check_chunks(group, column)?;
        }
        let usize_of =
            |rows: u64| usize::try_from(rows).map_err(|_| Error::unsupported(format!("{rows} rows in one row group")));
        let (skip, take) = (usize_of(rows.start)?, usize_of(rows.end - rows.start)?);
        let leaves = columns.iter().flat_map(|&column| self.leaves(column)).collect();
        let selection = PageSelection { group, columns, skip, take, views };
        let fields = self.metadata.schema().fields();
        pages::reader(&SourceReader(self.source.clone()), self.metadata(), fields, leaves, &selection, gauge)
    }

    /// Reads columns of a row group to the end, discarding values, and returns the number of rows. Memory is bounded by a batch.
    pub(super) fn count_rows(&self, group: usize, columns: &[usize], rows: Range<u64>) -> Result<u64> {
        let mut size = BatchSize::new(self, columns, VERIFY_ROWS)?;
        size.views = true;
        let mut found = 0;
        loop {
            let gauge = size.gauge();
            let mut reader = self.columns(group, columns, rows.start + found..rows.end, size.views, &gauge)?;
            let result = guarded("the column", || {
                reader.try_for_each(|batch| {
                    found += batch.map_err(from_arrow)?.num_rows() as u64;
                    gauge.begin();
                    Ok(())
                })
            });
            match result {
                Ok(()) => return Ok(found),
                Err(error) => size.shrink(&gauge, error)?,
            }
        }
    }

    /// Reads the dictionaries of all Arrow dictionary columns, in each row group.
    pub(super) fn check_dictionaries(&self) -> Result<()> {
        let fields = self.schema().fields().iter().enumerate();
        let columns: Vec<usize> = fields.filter(|(_, field)| has_dictionary(field)).map(|(column, _)| column).collect();
        for group in 0..self.group_count() {
            let rows = self.group_rows(group);
            let rows = rows.end - rows.start;
            for &column in &columns {
                // Reading the first row reads the dictionary.
                let read = self.count_rows(group, &[column], 0..rows.min(1));
                let name = || self.schema().fields().get(column).map(|field| field.name().clone()).unwrap_or_default();
                read.map_err(|error| in_group(group)(error.in_column(name())))?;
            }
        }
        Ok(())
    }

    /// Checks that the column chunks of a column lie in the file.
    fn check_chunks(&self, group: usize, column: usize) -> Result<()> {
        let metadata = self.group(group)?;
        for leaf in self.leaves(column) {
            let Some(chunk) = metadata.columns().get(leaf) else { continue };
            if let Some(file) = chunk.file_path() {
                return Err(Error::unsupported(format!("column chunk in another file: {file:?}")));
            }
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let sizes = [start, chunk.compressed_size(), chunk.uncompressed_size(), chunk.num_values()];
            if let Some(negative) = sizes.iter().find(|size| **size < 0) {
                return Err(Error::invalid(format!("negative offset or length of a column chunk: {negative}")));
            }
            let (start, len) = (start.unsigned_abs(), chunk.compressed_size().unsigned_abs());
            let available = self.source.len().saturating_sub(start);
            if len > available {
                return Err(Error::truncated("the column", len, available).at(start));
            }
        }
        Ok(())
    }

    /// Approximate Arrow bytes of a row of columns, and the weight of each column.
    fn row_bytes(&self, group: usize, columns: &[usize]) -> Result<(usize, Vec<u64>)> {
        let metadata = self.group(group)?;
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0).max(1);
        let mut weights = Vec::with_capacity(columns.len());
        let mut bytes = 0_u64;
        for &column in columns {
            let mut weight = 0_u64;
            for chunk in self.leaves(column).filter_map(|leaf| metadata.columns().get(leaf)) {
                let packed = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                // Dictionary values are repeated in Arrow; use their declared total size, if present.
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

/// Fixed Arrow bytes of a value.
fn fixed_width(column: &parquet::schema::types::ColumnDescriptor) -> u64 {
    use parquet::basic::Type;
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Adds the row group to an error.
pub(super) fn in_group(group: usize) -> impl Fn(Error) -> Error {
    move |error| error.in_block(group as u64).in_format(FORMAT_NAME)
}

/// Reads a Parquet file as record batches.
pub type Batches = StepReader<Steps>;

/// The state of [`Batches`].
pub struct Steps {
    plan: ReadPlan,
    group: usize,
    open: Option<Group>,
    /// Rows that are not converted yet, next ones last, and whether their strings are views.
    raw: Vec<(RawRows, bool)>,
    slices: Option<BatchSlices>,
}

/// What to read and how; shared by all threads.
struct ReadPlan {
    reader: Reader,
    projection: Projection,
    /// All columns, with unique names.
    fields: Arc<[FieldRef]>,
    workers: Workers,
    batch_rows: usize,
    batch_bytes: usize,
}

/// Rows per batch, adapted to memory.
struct BatchSize {
    rows: u64,
    views: bool,
    /// Maximum bytes of a single row.
    limit: u64,
}

impl BatchSize {
    fn new(reader: &Reader, columns: &[usize], rows: u64) -> Result<Self> {
        let fields = columns.iter().filter_map(|&column| reader.schema().fields().get(column));
        let least = fields.map(|field| pages::min_width(field.data_type())).fold(1, u64::saturating_add);
        let limit = reader.limits.block_bytes;
        reader.limits.check_block("the bytes of a row", least)?;
        Ok(Self { rows: rows.min(MAX_BATCH_MEMORY / least).max(1), views: false, limit })
    }

    fn gauge(&self) -> Arc<MemoryGauge> {
        let most = if self.views && self.rows == 1 { self.limit } else { MAX_BATCH_MEMORY.min(self.limit) };
        Arc::new(MemoryGauge::new(most, self.rows))
    }

    /// Adapts to an exceeded memory limit; returns any other error.
    fn shrink(&mut self, gauge: &MemoryGauge, error: Error) -> Result<()> {
        match (gauge.exceeded(), self.views) {
            (None, _) => return Err(error),
            (Some(_), false) => self.views = true,
            (Some(bytes), true) if self.rows == 1 => {
                return Err(Error::limit("the bytes of a row", bytes, self.limit));
            }
            (Some(_), true) => self.rows = (self.rows / 8).max(1),
        }
        Ok(())
    }
}

/// A row group being read.
struct Group {
    column_sets: Vec<ColumnSet>,
    size: BatchSize,
    gauge: Arc<MemoryGauge>,
    number: usize,
    /// Rows still to be read.
    left: u64,
    /// The next row number.
    row: u64,
}

/// Columns of a row group that one task reads together.
struct ColumnSet {
    /// Column indexes, sorted.
    columns: Vec<usize>,
    /// Kept only while more than one batch is left: in wide tables, readers of all columns take much memory.
    reader: Option<ParquetRecordBatchReader>,
}

/// Rows before conversion.
struct RawRows {
    /// Arrays by column index.
    columns: Vec<(usize, ArrayRef)>,
    rows: usize,
    /// The first row number.
    row: u64,
    number: usize,
}

impl RawRows {
    fn bytes(&self) -> usize {
        self.columns.iter().map(|(_, array)| array_bytes(&array.to_data())).fold(0, usize::saturating_add)
    }

    /// Splits the rows into two halves.
    fn halves(self) -> [Self; 2] {
        let half = self.rows / 2;
        let part = |from: usize, rows: usize| Self {
            columns: self.columns.iter().map(|(column, array)| (*column, array.slice(from, rows))).collect(),
            rows,
            row: self.row + from as u64,
            number: self.number,
        };
        [part(0, half), part(half, self.rows - half)]
    }
}

impl Steps {
    pub(super) fn new(reader: Reader, projection: Projection, fields: Arc<[FieldRef]>, scan: &BatchScan) -> Self {
        let workers = Workers::new(scan.scan.threads);
        let (batch_rows, batch_bytes) = (scan.batch_rows, scan.batch_bytes);
        // Skip row groups before the row range.
        let group = reader.starts.partition_point(|start| *start <= projection.rows.start).saturating_sub(1);
        let plan = ReadPlan { reader, projection, fields, workers, batch_rows, batch_bytes };
        Self { plan, group, open: None, raw: Vec::new(), slices: None }
    }
}

impl ReadPlan {
    /// Begins a row group; `None` if it has no selected rows.
    fn open(&self, number: usize, rows: Range<u64>) -> Result<Option<Group>> {
        let start = self.projection.rows.start.max(rows.start);
        let end = self.projection.rows.end.min(rows.end);
        if start >= end {
            return Ok(None);
        }
        let columns = self.columns();
        let (row_bytes, _) = self.reader.row_bytes(number, &columns)?;
        let fit = self.batch_bytes.checked_div(row_bytes).unwrap_or(usize::MAX).min(self.batch_rows).max(1);
        let size = BatchSize::new(&self.reader, &columns, fit as u64)?;
        let gauge = size.gauge();
        let mut group = Group { column_sets: Vec::new(), size, gauge, number, left: end - start, row: start };
        self.begin(&mut group)?;
        Ok(Some(group))
    }

    /// The selected columns, in the order of the file.
    fn columns(&self) -> Vec<usize> {
        let mut columns = self.projection.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Distributes the columns over tasks, for the rows still to be read.
    fn begin(&self, group: &mut Group) -> Result<()> {
        /// Minimum columns per task in wide tables.
        const FEW_COLUMNS: usize = 1 << 10;
        let columns = self.columns();
        let (_, weights) = self.reader.row_bytes(group.number, &columns)?;
        group.gauge = group.size.gauge();
        group.column_sets.clear();
        // More tasks than threads, to balance slow columns; but not one per column of a wide table.
        let max_sets = if self.workers.count() == 1 { 1 } else { 4 * self.workers.count() };
        let max_sets = max_sets.max(columns.len() / FEW_COLUMNS);
        for indexes in groups(&weights, max_sets) {
            let columns = indexes.iter().filter_map(|index| columns.get(*index).copied()).collect();
            group.column_sets.push(ColumnSet { columns, reader: None });
        }
        Ok(())
    }

    /// Reads the next rows of a row group.
    fn read(&self, open: &mut Group) -> Result<RawRows> {
        if open.column_sets.is_empty() {
            let rows = usize::try_from(open.left).unwrap_or(usize::MAX).min(self.batch_rows);
            let raw = RawRows { columns: Vec::new(), rows, row: open.row, number: open.number };
            open.left -= rows as u64;
            open.row += rows as u64;
            return Ok(raw);
        }
        loop {
            open.gauge.begin();
            let error = match self.read_column_sets(open) {
                Err(error) if open.gauge.exceeded().is_some() => error,
                read => return read,
            };
            open.size.shrink(&open.gauge, error)?;
            self.begin(open)?;
        }
    }

    fn read_column_sets(&self, open: &mut Group) -> Result<RawRows> {
        let (number, row, gauge) = (open.number, open.row, &open.gauge);
        let start = row - self.reader.group_rows(number).start;
        let rows = start..start + open.left;
        let (is_last, views) = (open.left <= open.size.rows, open.size.views);
        let read_set = |part: &mut ColumnSet| {
            let mut reader = match part.reader.take() {
                Some(reader) => reader,
                None => self.reader.columns(number, &part.columns, rows.clone(), views, gauge)?,
            };
            let next = guarded("the columns", || reader.next().transpose().map_err(from_arrow));
            part.reader = Some(reader).filter(|_| !is_last);
            next.map_err(|error| match gauge.exceeded() {
                Some(_) => error,
                None => self.with_damaged_column(number, &part.columns, row, error),
            })
        };
        let read = self.workers.map(open.column_sets.iter_mut().collect(), read_set);
        let (mut columns, mut rows) = (Vec::new(), None);
        for (part, batch) in open.column_sets.iter().zip(read) {
            let batch = batch?;
            let found = batch.as_ref().map_or(0, RecordBatch::num_rows);
            if found == 0 || *rows.get_or_insert(found) != found || found as u64 > open.left {
                let detail = format!("the row group declares {} more rows, found {found}", open.left);
                return Err(Error::invalid(detail).in_row(row));
            }
            columns.extend(part.columns.iter().copied().zip(batch.iter().flat_map(RecordBatch::columns).cloned()));
        }
        let rows = rows.unwrap_or(0);
        open.left -= rows as u64;
        open.row += rows as u64;
        Ok(RawRows { columns, rows, row, number })
    }

    /// Converts rows to the types of the schema.
    fn convert(&self, raw: RawRows, views: bool) -> Result<RecordBatch> {
        let RawRows { columns: found, rows, row, number } = raw;
        let fields = self.reader.schema().fields();
        let mut columns: Vec<Option<ArrayRef>> = vec![None; fields.len()];
        for (column, array) in found {
            let (Some(slot), Some(field)) = (columns.get_mut(column), fields.get(column)) else { continue };
            if views && rows == 1 {
                let bytes = array_bytes(&array.to_data()) as u64;
                let checked = self.reader.limits.check_block("the bytes of a value", bytes);
                checked.map_err(|error| in_group(number)(error.in_column(self.name(column)).in_row(row)))?;
            }
            let converted = units::convert(&array, field.data_type(), row);
            *slot = Some(converted.map_err(|error| in_group(number)(error.in_column(self.name(column))))?);
        }
        self.assemble(&columns, rows).map_err(in_group(number))
    }

    fn assemble(&self, columns: &[Option<ArrayRef>], rows: usize) -> Result<RecordBatch> {
        let missing = || Error::invalid("column without values");
        let arrays =
            self.projection.columns.iter().map(|&column| columns.get(column).cloned().flatten().ok_or_else(missing));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        self.projection.batch(arrays, rows)
    }

    fn name(&self, column: usize) -> String {
        name(&self.fields, column)
    }

    /// Adds the damaged column's name to an error. The library does not report it, so columns are read one by one until one fails.
    fn with_damaged_column(&self, group: usize, columns: &[usize], row: u64, error: Error) -> Error {
        /// Maximum columns tried.
        const MAX_TRIED: usize = 64;
        if let [column] = columns {
            return error.in_column(self.name(*column));
        }
        let rows = self.reader.group_rows(group);
        let rows = row - rows.start..rows.end - rows.start;
        let damaged = |column: &&usize| self.reader.count_rows(group, &[**column], rows.clone()).is_err();
        match columns.iter().take(MAX_TRIED).find(damaged) {
            Some(&column) => error.in_column(self.name(column)),
            None => error,
        }
    }
}

impl BatchSteps for Steps {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(slice) = self.slices.as_mut().and_then(Iterator::next) {
                return Ok(Some(slice));
            }
            let plan = &self.plan;
            if let Some((raw, views)) = self.raw.pop() {
                // Converting views copies shared strings, so row sizes may differ by any factor.
                if views && raw.rows > 1 && raw.bytes() > plan.batch_bytes {
                    let [first, second] = raw.halves();
                    self.raw.extend([(second, views), (first, views)]);
                    continue;
                }
                let batch = plan.convert(raw, views)?;
                self.slices = Some(batch_slices(batch, plan.batch_rows, plan.batch_bytes));
                continue;
            }
            let Some(mut open) = self.open.take() else {
                let rows = plan.reader.group_rows(self.group);
                if self.group >= plan.reader.group_count() || rows.start >= plan.projection.rows.end {
                    return Ok(None);
                }
                self.open = plan.open(self.group, rows).map_err(in_group(self.group))?;
                self.group += 1;
                continue;
            };
            let raw = plan.read(&mut open).map_err(in_group(open.number))?;
            self.raw.push((raw, open.size.views));
            self.open = Some(open).filter(|open| open.left > 0);
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.projection.schema)
    }
}
