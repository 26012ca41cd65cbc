//! Parquet files read: the footer once, then what a scan asks for.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use container_arrow::{BatchReader, BatchScan, BatchSlices, to_arrow};
use container_core::{Error, Limits, Loss, OpenOptions, Result, Source};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::pages::{self, Gauge, Wanted};
use super::source::{Chunks, from_arrow, library};
use super::{FORMAT_NAME, footer, units};
use crate::batches::size::array_bytes;
use crate::batches::{Chosen, guarded, has_dictionary, name, pieces};
use crate::workers::{Workers, groups};

/// A Parquet file, its footer read and checked.
#[derive(Debug, Clone)]
pub struct Reader {
    source: Source,
    metadata: ArrowReaderMetadata,
    /// With the units that were written.
    schema: SchemaRef,
    /// The first row of each row group, and the end.
    starts: Vec<u64>,
    limits: Limits,
}

/// Bytes of a batch while it is read, at most; a row alone may have what the limits allow.
const MOST_BYTES: u64 = 256 << 20;

/// Rows that are read at once where nothing is to be made of them.
const CHECKED_ROWS: u64 = 8192;

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
        Ok(Self { source, metadata, schema, starts, limits: options.limits })
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

    /// The library's reader of some columns of a row group, of some of its rows.
    pub(super) fn columns(
        &self,
        group: usize,
        columns: &[usize],
        rows: Range<u64>,
        views: bool,
        gauge: &Arc<Gauge>,
    ) -> Result<ParquetRecordBatchReader> {
        for &column in columns {
            self.check_chunks(group, column)?;
        }
        let usize_of =
            |rows: u64| usize::try_from(rows).map_err(|_| Error::unsupported(format!("{rows} rows in one row group")));
        let (skip, take) = (usize_of(rows.start)?, usize_of(rows.end - rows.start)?);
        let leaves = columns.iter().flat_map(|&column| self.leaves(column)).collect();
        let wanted = Wanted { group, columns, skip, take, views };
        let fields = self.metadata.schema().fields();
        pages::reader(&Chunks(self.source.clone()), self.metadata(), fields, leaves, &wanted, gauge)
    }

    /// Reads some columns of some rows of a row group to the end, and says how many rows they have. Memory is that of a batch, whatever the file
    /// says of its rows.
    pub(super) fn walk(&self, group: usize, columns: &[usize], rows: Range<u64>) -> Result<u64> {
        let mut size = BatchSize::new(self, columns, CHECKED_ROWS)?;
        size.views = true;
        let mut found = 0;
        loop {
            let gauge = size.gauge();
            let mut reader = self.columns(group, columns, rows.start + found..rows.end, size.views, &gauge)?;
            let walked = guarded("the column", || {
                reader.try_for_each(|batch| {
                    found += batch.map_err(from_arrow)?.num_rows() as u64;
                    gauge.begin();
                    Ok(())
                })
            });
            match walked {
                Ok(()) => return Ok(found),
                Err(error) => size.shrink(&gauge, error)?,
            }
        }
    }

    /// Reads the dictionaries of columns that are dictionaries in Arrow, of each row group.
    pub(super) fn check_dictionaries(&self) -> Result<()> {
        let fields = self.schema().fields().iter().enumerate();
        let columns: Vec<usize> = fields.filter(|(_, field)| has_dictionary(field)).map(|(column, _)| column).collect();
        for group in 0..self.group_count() {
            let rows = self.group_rows(group);
            let rows = rows.end - rows.start;
            for &column in &columns {
                // The dictionary comes before the first row.
                let read = self.walk(group, &[column], 0..rows.min(1));
                let name = || self.schema().fields().get(column).map(|field| field.name().clone()).unwrap_or_default();
                read.map_err(|error| in_group(group)(error.in_column(name())))?;
            }
        }
        Ok(())
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
    /// Rows that are not converted yet, the first ones last, and whether texts are views in them.
    raw: Vec<(RawRows, bool)>,
    cut: Option<BatchSlices>,
    failed: bool,
}

/// What to read, and how.
struct Plan {
    reader: Reader,
    chosen: Chosen,
    /// The names of all columns, unique.
    fields: Arc<[FieldRef]>,
    workers: Workers,
    batch_rows: usize,
    batch_bytes: usize,
}

/// How many rows are read at once, and how.
struct BatchSize {
    rows: u64,
    views: bool,
    /// Bytes of a row alone.
    limit: u64,
}

impl BatchSize {
    fn new(reader: &Reader, columns: &[usize], rows: u64) -> Result<Self> {
        let fields = columns.iter().filter_map(|&column| reader.schema().fields().get(column));
        let least = fields.map(|field| pages::least_width(field.data_type())).fold(1, u64::saturating_add);
        let limit = reader.limits.block_bytes;
        reader.limits.check_block("the bytes of a row", least)?;
        Ok(Self { rows: rows.min(MOST_BYTES / least).max(1), views: false, limit })
    }

    fn gauge(&self) -> Arc<Gauge> {
        let most = if self.views && self.rows == 1 { self.limit } else { MOST_BYTES.min(self.limit) };
        Arc::new(Gauge::new(most, self.rows))
    }

    /// Of an error that is one of memory, another way to read; else it is given back.
    fn shrink(&mut self, gauge: &Gauge, error: Error) -> Result<()> {
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

/// A row group that is being read.
struct Group {
    parts: Vec<Part>,
    size: BatchSize,
    gauge: Arc<Gauge>,
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
    /// There while it has more than one batch to read: of a wide table, those of all columns together take much memory.
    reader: Option<ParquetRecordBatchReader>,
}

/// Rows as they were read.
struct RawRows {
    /// Columns by their places in the file.
    columns: Vec<(usize, ArrayRef)>,
    rows: usize,
    /// The first one's number.
    row: u64,
    number: usize,
}

impl RawRows {
    fn bytes(&self) -> usize {
        self.columns.iter().map(|(_, array)| array_bytes(&array.to_data())).fold(0, usize::saturating_add)
    }

    /// The rows of the first half, and the others.
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

impl Batches {
    pub(super) fn new(reader: Reader, chosen: Chosen, fields: Arc<[FieldRef]>, scan: &BatchScan) -> Self {
        let workers = Workers::new(scan.scan.threads);
        let (batch_rows, batch_bytes) = (scan.batch_rows, scan.batch_bytes);
        // Row groups before the rows wanted are not touched.
        let group = reader.starts.partition_point(|start| *start <= chosen.rows.start).saturating_sub(1);
        let plan = Plan { reader, chosen, fields, workers, batch_rows, batch_bytes };
        Self { plan, group, open: None, raw: Vec::new(), cut: None, failed: false }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(piece) = self.cut.as_mut().and_then(Iterator::next) {
                return Ok(Some(piece));
            }
            let plan = &self.plan;
            if let Some((raw, views)) = self.raw.pop() {
                // Views of one text are many texts in the end: the sizes of rows may differ by any factor.
                if views && raw.rows > 1 && raw.bytes() > plan.batch_bytes {
                    let [first, second] = raw.halves();
                    self.raw.extend([(second, views), (first, views)]);
                    continue;
                }
                let batch = plan.convert(raw, views)?;
                self.cut = Some(pieces(batch, plan.batch_rows, plan.batch_bytes));
                continue;
            }
            let Some(mut open) = self.open.take() else {
                let rows = plan.reader.group_rows(self.group);
                if self.group >= plan.reader.group_count() || rows.start >= plan.chosen.rows.end {
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
}

impl Plan {
    /// Begins a row group; `None` for one that has no rows.
    fn open(&self, number: usize, rows: Range<u64>) -> Result<Option<Group>> {
        let start = self.chosen.rows.start.max(rows.start);
        let end = self.chosen.rows.end.min(rows.end);
        if start >= end {
            return Ok(None);
        }
        let columns = self.columns();
        let (row_bytes, _) = self.reader.row_bytes(number, &columns)?;
        let fit = self.batch_bytes.checked_div(row_bytes).unwrap_or(usize::MAX).min(self.batch_rows).max(1);
        let size = BatchSize::new(&self.reader, &columns, fit as u64)?;
        let gauge = size.gauge();
        let mut group = Group { parts: Vec::new(), size, gauge, number, left: end - start, row: start };
        self.begin(&mut group)?;
        Ok(Some(group))
    }

    /// The columns that are read, in the order of the file.
    fn columns(&self) -> Vec<usize> {
        let mut columns = self.chosen.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Parts of the columns, of the rows that are still to come.
    fn begin(&self, group: &mut Group) -> Result<()> {
        /// Columns whose readers take little memory together.
        const FEW_COLUMNS: usize = 1 << 10;
        let columns = self.columns();
        let (_, weights) = self.reader.row_bytes(group.number, &columns)?;
        group.gauge = group.size.gauge();
        group.parts.clear();
        // More parts than threads, so that a slow one holds up nobody; but not one for each of ten thousand columns.
        let most = if self.workers.count() == 1 { 1 } else { 4 * self.workers.count() };
        let most = most.max(columns.len() / FEW_COLUMNS);
        for indexes in groups(&weights, most) {
            let columns = indexes.iter().filter_map(|index| columns.get(*index).copied()).collect();
            group.parts.push(Part { columns, reader: None });
        }
        Ok(())
    }

    /// The next rows of a row group.
    fn read(&self, open: &mut Group) -> Result<RawRows> {
        if open.parts.is_empty() {
            let rows = usize::try_from(open.left).unwrap_or(usize::MAX).min(self.batch_rows);
            let raw = RawRows { columns: Vec::new(), rows, row: open.row, number: open.number };
            open.left -= rows as u64;
            open.row += rows as u64;
            return Ok(raw);
        }
        loop {
            open.gauge.begin();
            let error = match self.read_parts(open) {
                Err(error) if open.gauge.exceeded().is_some() => error,
                read => return read,
            };
            open.size.shrink(&open.gauge, error)?;
            self.begin(open)?;
        }
    }

    fn read_parts(&self, open: &mut Group) -> Result<RawRows> {
        let (number, row, gauge) = (open.number, open.row, &open.gauge);
        let start = row - self.reader.group_rows(number).start;
        let rows = start..start + open.left;
        let (is_last, views) = (open.left <= open.size.rows, open.size.views);
        let one = |part: &mut Part| {
            let mut reader = match part.reader.take() {
                Some(reader) => reader,
                None => self.reader.columns(number, &part.columns, rows.clone(), views, gauge)?,
            };
            let next = guarded("the columns", || reader.next().transpose().map_err(from_arrow));
            part.reader = Some(reader).filter(|_| !is_last);
            next.map_err(|error| match gauge.exceeded() {
                Some(_) => error,
                None => self.blame(number, &part.columns, row, error),
            })
        };
        let read = self.workers.map(open.parts.iter_mut().collect(), one);
        let (mut columns, mut rows) = (Vec::new(), None);
        for (part, batch) in open.parts.iter().zip(read) {
            let batch = batch?;
            let found = batch.as_ref().map_or(0, RecordBatch::num_rows);
            if found == 0 || *rows.get_or_insert(found) != found || found as u64 > open.left {
                let detail = format!("the row group says it has {} more rows and has {found}", open.left);
                return Err(Error::invalid(detail).in_row(row));
            }
            columns.extend(part.columns.iter().copied().zip(batch.iter().flat_map(RecordBatch::columns).cloned()));
        }
        let rows = rows.unwrap_or(0);
        open.left -= rows as u64;
        open.row += rows as u64;
        Ok(RawRows { columns, rows, row, number })
    }

    /// Rows in the types that the schema says.
    fn convert(&self, raw: RawRows, views: bool) -> Result<RecordBatch> {
        let RawRows { columns: found, rows, row, number } = raw;
        let fields = self.reader.schema().fields();
        let mut columns: Vec<Option<ArrayRef>> = vec![None; fields.len()];
        for (column, array) in found {
            let (Some(place), Some(field)) = (columns.get_mut(column), fields.get(column)) else { continue };
            if views && rows == 1 {
                let bytes = array_bytes(&array.to_data()) as u64;
                let checked = self.reader.limits.check_block("the bytes of a value", bytes);
                checked.map_err(|error| in_group(number)(error.in_column(self.name(column)).in_row(row)))?;
            }
            let converted = units::convert(&array, field.data_type(), row);
            *place = Some(converted.map_err(|error| in_group(number)(error.in_column(self.name(column))))?);
        }
        self.assemble(&columns, rows).map_err(in_group(number))
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
        name(&self.fields, column)
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
        let damaged = |column: &&usize| self.reader.walk(group, &[**column], rows.clone()).is_err();
        match columns.iter().take(TRIED).find(damaged) {
            Some(&column) => error.in_column(self.name(column)),
            None => error,
        }
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
