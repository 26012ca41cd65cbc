use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};
use serde_core::Serialize;

use super::options::WriterOptions;
use super::pipeline::{Encoder, Pipeline};
use super::row::RowBuffer;
use crate::FORMAT_NAME;
use crate::check::InvalidValues;
use crate::codec::{self, Values};
use crate::read::{Batch, ColumnSlice};
use crate::schema::Schema;
use crate::wire::{HEADER_LEN, Type};

/// Maximum rows buffered by `append_row`.
const MAX_BUFFERED_ROWS: usize = 1024;

/// Approximate maximum bytes buffered by `append_row`.
const MAX_BUFFERED_BYTES: usize = 4 << 20;

/// Maximum bytes appended at a time before the rows per block are chosen.
const MAX_CHUNK_BYTES: u64 = 32 << 20;

/// Writes a file of version 1.1.1.6, which ML.NET reads.
///
/// Values are appended as rows ([`append_row`](Self::append_row)), as slices of all columns ([`append_columns`](Self::append_columns)) or
/// one column at a time ([`append_column`](Self::append_column)). All cores encode and compress blocks (feature `parallel`); the output
/// depends neither on the number of threads nor on how rows are divided among calls. Memory is a few blocks per thread. The header is
/// written last: without [`finish`](Self::finish) the file is invalid.
///
/// After an error of the sink every call fails. After an error about values, none of them have been appended and the writer is usable.
pub struct Writer<W: Write + Seek> {
    pub(super) schema: Schema,
    pub(super) options: WriterOptions,
    pub(super) pipeline: Pipeline<W>,
    pub(super) columns: Vec<PendingColumn>,
    /// Rows per block; `None` until chosen.
    pub(super) rows_per_block: Option<u64>,
    /// Estimate at which UTF-16 units are counted exactly again.
    pub(super) next_check_bytes: u64,
    /// Upper bound of ML.NET's size estimate for all columns, until the rows per block are chosen.
    pub(super) estimate: u64,
    /// Whether one column's values exceed the block limit.
    pub(super) oversized: bool,
    /// Rows of a table without columns.
    pub(super) columnless_rows: u64,
    /// Rows of `append_row` not yet moved to the columns.
    rows: RowBuffer,
    /// Buffer for copying blocks.
    pub(super) buffer: Vec<u8>,
    /// The sink failed.
    pub(super) failed: bool,
}

/// The values of a column not yet in a block.
pub(super) struct PendingColumn {
    pub(super) kind: Type,
    /// Rows in completed blocks.
    pub(super) rows: u64,
    /// Values of the incomplete block.
    pub(super) values: Values,
    /// Upper bound of ML.NET's size estimate for it, until the rows per block are chosen.
    pub(super) estimate: u64,
    /// Invalid values copied from other files.
    pub(super) invalid: InvalidValues,
}

impl Writer<Output> {
    /// Creates a file that replaces `path` atomically with [`finish`](Self::finish).
    ///
    /// A killed process leaves the old file unchanged and possibly a temporary file `.wharf-*.tmp` next to it, which the next writer in that
    /// directory removes.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use container_core::OutputOptions;
    /// use idv::{ColumnSchema, ItemType, Schema, Type, Writer, WriterOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("people.idv");
    ///
    /// #[derive(serde::Serialize)]
    /// struct Person<'a> {
    ///     name: &'a str,
    ///     age: f32,
    /// }
    ///
    /// let schema = Schema::new([
    ///     ColumnSchema::new("name", Type::Item(ItemType::Text)),
    ///     ColumnSchema::new("age", Type::Item(ItemType::Single)),
    /// ]);
    /// let mut writer = Writer::create(&path, OutputOptions::default(), schema, WriterOptions::default())?;
    /// for (name, age) in [("Ada", 36.0), ("Grace", 85.0)] {
    ///     writer.append_row(&Person { name, age })?;
    /// }
    /// writer.finish()?;
    /// assert_eq!(idv::Reader::open(&path)?.row_count(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Output::create`] and [`new`](Self::new).
    pub fn create(
        path: impl AsRef<Path>,
        output: OutputOptions,
        schema: Schema,
        options: WriterOptions,
    ) -> Result<Self> {
        // Reject an invalid schema before creating a file.
        schema.check()?;
        Self::new(Output::create(path.as_ref(), output)?, schema, options)
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Starts a file at the current position of `sink`, which needs no buffering.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an invalid schema (see [`Schema::check`]) or options out of range,
    /// [`Limit`](container_core::ErrorKind::Limit) for more columns than the limits allow,
    /// [`Io`](container_core::ErrorKind::Io) of the sink.
    pub fn new(sink: W, schema: Schema, options: WriterOptions) -> Result<Self> {
        schema.check()?;
        options.check()?;
        let count = schema.columns.len() as u64;
        options.limits.check_columns("columns", count).map_err(|error| error.in_format(FORMAT_NAME))?;
        let compressions = schema
            .columns
            .iter()
            .map(|column| (column.kind.clone(), column.compression.unwrap_or(options.compression)))
            .collect();
        let columns: Vec<_> = schema.columns.iter().map(|column| PendingColumn::new(column.kind.clone())).collect();
        let estimate = columns.iter().map(|column| column.estimate).fold(0, u64::saturating_add);
        let rows = RowBuffer::new(&schema);
        let mut pipeline = Pipeline::new(sink, Encoder::new(compressions, options.level), options.threads);
        // Placeholder for the header; an unfinished file is not mistaken for a valid one.
        pipeline
            .write(&vec![0; usize::try_from(HEADER_LEN).unwrap_or(256)])
            .map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(Self {
            schema,
            options,
            pipeline,
            columns,
            rows_per_block: None,
            next_check_bytes: 0,
            estimate,
            oversized: false,
            columnless_rows: 0,
            rows,
            buffer: Vec::new(),
            failed: false,
        })
    }

    /// The schema of the file.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows appended; the minimum over the columns.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.columns.iter().map(PendingColumn::row_count).min().unwrap_or(self.columnless_rows) + self.rows.len() as u64
    }

    /// Appends a row: a struct or map with members named like the columns (by [unique name](crate::Column::unique_name)) in any order, or a
    /// tuple or sequence with one item per column.
    ///
    /// Numbers convert if that is exact, an `f64` is rounded to `Single`. A key is its label or its value from 0; a time its ticks or ISO
    /// 8601 text, a time with offset also the pair of ticks and minutes; a vector a sequence, or sparse as [`Row`](crate::Row) serializes
    /// it. Absent members and `None` are missing values. Rows are buffered.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with row and column, for a value that does not convert; the row is not appended
    /// then. As [`append_columns`](Self::append_columns) for the buffered rows.
    pub fn append_row<T: Serialize + ?Sized>(&mut self, row: &T) -> Result<()> {
        self.check_not_failed()?;
        if self.rows.len() == 0 {
            self.rows.begin(self.row_count());
        }
        self.rows.push(row)?;
        if self.rows.len() >= MAX_BUFFERED_ROWS
            || self.rows.values().iter().map(weight).sum::<usize>() >= MAX_BUFFERED_BYTES
        {
            self.flush_rows()?;
        }
        Ok(())
    }

    /// Moves buffered rows to the columns.
    pub(super) fn flush_rows(&mut self) -> Result<()> {
        let count = self.rows.len();
        if count == 0 {
            return Ok(());
        }
        self.check_not_failed()?;
        let mut rows = std::mem::take(&mut self.rows);
        let outcome = if self.columns.is_empty() {
            self.append_columnless_rows(count as u64);
            Ok(())
        } else {
            let slices: Vec<_> = rows.values().iter().map(ColumnSlice::from).collect();
            self.append_checked(&slices, count)
        };
        rows.clear();
        self.rows = rows;
        outcome
    }

    /// Appends rows as one slice per column, in schema order.
    ///
    /// Keys are stored numbers: 0 for missing, otherwise the key value plus 1.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a wrong number, type or length of slices, and, with row and column, for a key above
    /// its key count, a vector whose length differs from its type, or a time outside .NET's range. Nothing is appended then.
    /// [`Limit`](container_core::ErrorKind::Limit) for a block larger than the limits allow (use fewer rows per block);
    /// [`Io`](container_core::ErrorKind::Io) of the sink. After either, every call fails.
    pub fn append_columns(&mut self, columns: &[ColumnSlice<'_>]) -> Result<()> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let rows = self.check_slices(columns).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.check_values(columns, rows).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.append_checked(columns, rows)
    }

    /// Appends values of the right types without checking for invalid ones.
    pub(crate) fn append_unchecked(&mut self, columns: &[ColumnSlice<'_>]) -> Result<()> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let rows = self.check_slices(columns).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.append_checked(columns, rows)
    }

    /// Appends the rows of a batch, whose columns must match the schema, in its order.
    ///
    /// # Errors
    /// As [`append_columns`](Self::append_columns).
    pub fn append_batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        let columns: Vec<_> = (0..batch.column_count()).filter_map(|index| batch.column(index)).collect();
        if columns.is_empty() && self.columns.is_empty() {
            self.append_columnless_rows(batch.row_count() as u64);
            return Ok(());
        }
        self.append_columns(&columns)
    }

    /// Appends rows of the column at `index`. At the end all columns must have equally many.
    ///
    /// Whole columns may be appended one after the other; blocks are written in the order in which they fill. The rows per block are chosen
    /// when the first block fills; set [`WriterOptions::rows_per_block`] if later columns have much larger values.
    ///
    /// # Errors
    /// As [`append_columns`](Self::append_columns).
    pub fn append_column(&mut self, index: usize, slice: &ColumnSlice<'_>) -> Result<()> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let named = |error: Error| error.in_format(FORMAT_NAME);
        self.check_slice(index, slice).map_err(named)?;
        self.check_column(index, slice, self.columns.get(index).map_or(0, PendingColumn::row_count)).map_err(named)?;
        let outcome = self.append_checked_column(index, slice);
        self.poison_on_error(outcome)
    }

    /// Appends rows of a table without columns.
    pub(crate) fn append_columnless_rows(&mut self, rows: u64) {
        self.columnless_rows = self.columnless_rows.saturating_add(rows);
    }

    /// Fails after an earlier failure.
    pub(super) fn check_not_failed(&self) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the file is incomplete: an earlier write failed").in_format(FORMAT_NAME));
        }
        Ok(())
    }

    /// Marks the writer as failed on an error.
    pub(super) fn poison_on_error<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.failed |= outcome.is_err();
        outcome.map_err(|error| error.in_format(FORMAT_NAME))
    }

    pub(super) fn name(&self, index: usize) -> String {
        self.schema.columns.get(index).map(|column| column.name.clone()).unwrap_or_default()
    }

    /// Appends checked rows chunk by chunk, so that blocks are in row order however many rows a call has.
    pub(super) fn append_checked(&mut self, columns: &[ColumnSlice<'_>], rows: usize) -> Result<()> {
        let mut outcome = Ok(());
        let mut appended = 0;
        let mut counts = self.columns.iter().map(PendingColumn::row_count);
        let first = counts.next();
        if !counts.all(|count| Some(count) == first) {
            // After `append_column`, columns of different lengths fill their blocks at different times.
            outcome =
                columns.iter().enumerate().try_for_each(|(index, slice)| self.append_checked_column(index, slice));
            appended = rows;
        }
        while appended < rows && outcome.is_ok() {
            let chunk_rows = self.chunk_rows(columns, appended..rows);
            outcome = self.append_chunk(columns, appended..appended + chunk_rows);
            appended += chunk_rows;
        }
        if let Some(progress) = &self.options.progress {
            progress.advance(rows as u64)?;
        }
        self.poison_on_error(outcome)
    }

    /// Number of rows to append next: at most the rest of the current block.
    fn chunk_rows(&self, columns: &[ColumnSlice<'_>], rest: Range<usize>) -> usize {
        let pending = self.columns.first().map_or(0, |column| column.values.len() as u64);
        let limit = self.rows_per_block.unwrap_or_else(|| self.options.max_rows());
        let free_rows = usize::try_from(limit.saturating_sub(pending)).unwrap_or(usize::MAX).max(1);
        let mut chunk_rows = rest.len().min(free_rows);
        if self.rows_per_block.is_none() {
            // Not much more than the first block can hold.
            let limit = self.options.max_group_bytes().min(self.options.max_block_bytes()).min(MAX_CHUNK_BYTES);
            let bytes = |rows: usize| {
                let of = |(column, slice): (&PendingColumn, &ColumnSlice<'_>)| {
                    let start = slice.range.start + rest.start;
                    codec::encoded_len(&column.kind, slice.values, start..start + rows)
                };
                self.columns.iter().zip(columns).map(of).sum::<u64>()
            };
            while chunk_rows > 1 && bytes(chunk_rows) > limit {
                chunk_rows = chunk_rows.div_ceil(2);
            }
        }
        chunk_rows
    }

    fn append_chunk(&mut self, columns: &[ColumnSlice<'_>], rows: Range<usize>) -> Result<()> {
        for (index, slice) in columns.iter().enumerate() {
            let range = slice.range.start + rows.start..slice.range.start + rows.end;
            let row = self.columns.get(index).map_or(0, PendingColumn::row_count);
            self.extend_column(index, slice.values, range)
                .map_err(|error| error.in_row(row).in_column(self.name(index)))?;
        }
        self.choose_rows_per_block(false)?;
        let full = self
            .rows_per_block
            .is_some_and(|rows| self.columns.first().is_some_and(|column| column.values.len() as u64 >= rows));
        if full { (0..self.columns.len()).try_for_each(|index| self.push_block(index)) } else { Ok(()) }
    }

    pub(super) fn append_checked_column(&mut self, index: usize, slice: &ColumnSlice<'_>) -> Result<()> {
        let mut range = slice.range.clone();
        while !range.is_empty() {
            let Some(column) = self.columns.get(index) else { return Ok(()) };
            let limit = self.rows_per_block.unwrap_or_else(|| self.options.max_rows());
            let free_rows = limit.saturating_sub(column.values.len() as u64);
            let chunk_rows = range.len().min(usize::try_from(free_rows).unwrap_or(usize::MAX).max(1));
            let is_full = column.values.len() as u64 + chunk_rows as u64 >= limit;
            self.extend_column(index, slice.values, range.start..range.start + chunk_rows)?;
            range.start += chunk_rows;
            self.choose_rows_per_block(is_full)?;
            // Choosing the rows per block may have emptied the column.
            let left = self.columns.get(index).map_or(0, |column| column.values.len() as u64);
            if self.rows_per_block.is_some_and(|rows| left >= rows) {
                self.push_block(index)?;
            }
        }
        Ok(())
    }

    /// Passes a column's values to the pipeline as a block.
    pub(super) fn push_block(&mut self, index: usize) -> Result<()> {
        let Some(column) = self.columns.get_mut(index) else { return Ok(()) };
        let rows = column.values.len();
        if rows == 0 {
            return Ok(());
        }
        let bytes = codec::encoded_len(&column.kind, &column.values, 0..rows);
        let limit = self.options.max_block_bytes();
        if bytes > limit {
            let max_rows = super::block_rows::rows_within(&(&column.kind, &column.values), rows, limit).max(1);
            let what = format!(
                "{rows} rows per block are too many, about {max_rows} fit (the number applies to the whole file): bytes of the block"
            );
            return Err(Error::limit(what, bytes, limit).in_row(column.rows).in_column(self.name(index)));
        }
        let empty = self.pipeline.buffer(index).unwrap_or_else(|| Values::of(&column.kind));
        let values = std::mem::replace(&mut column.values, empty);
        column.rows += rows as u64;
        self.pipeline.push(index, values, bytes).map_err(|error| error.in_column(self.name(index)))
    }
}

/// Approximate bytes of variable-width values.
fn weight(values: &Values) -> usize {
    match values {
        Values::Text(texts) => texts.parts().0.len(),
        Values::Vector(vectors) => vectors.values().len() * 8 + weight(vectors.values()),
        _ => 0,
    }
}

impl PendingColumn {
    fn new(kind: Type) -> Self {
        let mut pending =
            Self { values: Values::of(&kind), kind, rows: 0, estimate: 0, invalid: InvalidValues::default() };
        pending.estimate = pending.estimate();
        pending
    }

    /// Rows appended.
    pub(super) fn row_count(&self) -> u64 {
        self.rows + self.values.len() as u64
    }
}
