use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};
use serde::Serialize;

use super::options::WriterOptions;
use super::pipeline::{Encoder, Pipeline};
use super::row::RowBuffer;
use crate::FORMAT_NAME;
use crate::check::InvalidValues;
use crate::codec::{self, Values};
use crate::read::{Batch, ColumnSlice};
use crate::schema::Schema;
use crate::wire::{HEADER_LEN, Type};

/// Rows that came one by one are moved to the columns when there are so many,
const MAX_BUFFERED_ROWS: usize = 1024;

/// or about so many bytes of them.
const MAX_BUFFERED_BYTES: usize = 4 << 20;

/// Bytes that are looked at together before it is known how many rows a block has.
const MAX_CHUNK_BYTES: u64 = 32 << 20;

/// Writes a file of version 1.1.1.6, which ML.NET reads.
///
/// Values come by rows ([`append_row`](Self::append_row)), by runs of all columns ([`append_columns`](Self::append_columns)) or a column
/// at a time ([`append_column`](Self::append_column)). Blocks are encoded and compressed by all cores (feature `parallel`) and
/// written in the order in which they fill; the file's bytes do not depend on the number of threads nor on how rows are split_into_blocks
/// into calls. Memory is a few blocks a thread. The header is written last: a file without [`finish`](Self::finish) is none.
///
/// After an error of the sink every further call fails; after an error about values nothing of them has been taken, and
/// others may follow.
pub struct Writer<W: Write + Seek> {
    pub(super) schema: Schema,
    pub(super) options: WriterOptions,
    pub(super) pipeline: Pipeline<W>,
    pub(super) columns: Vec<PendingColumn>,
    /// Rows of each block; `None` until enough rows are there to say it.
    pub(super) rows_per_block: Option<u64>,
    /// With so many bytes it is worth looking again whether enough rows are there.
    pub(super) next_check_bytes: u64,
    /// Until it is decided: how large ML.NET takes the blocks of all columns to be, at most,
    pub(super) estimate: u64,
    /// and whether that of one column is larger than a block may be.
    pub(super) oversized: bool,
    /// Rows of a table without columns.
    pub(super) columnless_rows: u64,
    /// Rows that came one by one and are not yet among the columns' values.
    rows: RowBuffer,
    /// For bytes that are copied.
    pub(super) buffer: Vec<u8>,
    /// The sink failed.
    pub(super) failed: bool,
}

/// What a column has so far.
pub(super) struct PendingColumn {
    pub(super) kind: Type,
    /// Rows of blocks that are full.
    pub(super) rows: u64,
    /// The values of the block that is not.
    pub(super) values: Values,
    /// How large ML.NET takes that block to be, at most; kept until it is decided how many rows a block has.
    pub(super) estimate: u64,
    /// Values out of other files that mean nothing.
    pub(super) invalid: InvalidValues,
}

impl Writer<Output> {
    /// Begins a file at a path, where it appears when it is whole: after [`finish`](Self::finish), which gives the
    /// [`Output`] back, and [`Output::finish`].
    ///
    /// A process that is killed leaves the old file as it was, and may leave a `.wharf-*.tmp` beside it, which the
    /// next process that writes into the folder removes.
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
    /// writer.finish()?.finish()?;
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
        // What is wrong with the schema is said before a file is made.
        schema.check()?;
        Self::new(Output::create(path.as_ref(), output)?, schema, options)
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a file where `sink` stands. Writes are large: it needs no buffer.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a schema that no file can have (see [`Schema::check`]) and for options out of range,
    /// [`Limit`](container_core::ErrorKind::Limit) for more columns than a reader with the same limits takes,
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
        // The place of the header: nobody takes a file for whole that was left before the end.
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

    /// What is written.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How many rows were appended: of the column that has the fewest.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.columns.iter().map(PendingColumn::row_count).min().unwrap_or(self.columnless_rows) + self.rows.len() as u64
    }

    /// Appends a row: anything that serde can serialize to a struct or a map whose members are named like the columns, in any order
    /// (repeated names of columns get `#2`, `#3`, as [`Column::unique_name`](crate::Column::unique_name) has them), or to a tuple or
    /// sequence with an item for each column.
    ///
    /// Numbers go where they fit exactly, an `f64` is rounded to `Single`; a key is its label, or its value from 0; a time is its ticks
    /// or its ISO 8601 text, a time with offset also the pair of ticks and minutes; a vector is a sequence, or as the reader's
    /// [`Row`](crate::Row) gives a sparse one. What is absent or none is missing, where the type can be. Rows are held back until some are
    /// there.
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid) with row and column when a value does not fit, and the row is not taken then; as
    /// [`append_columns`](Self::append_columns) for those before it.
    pub fn append_row<T: Serialize + ?Sized>(&mut self, row: &T) -> Result<()> {
        self.check_not_failed()?;
        if self.rows.len() == 0 {
            self.rows.begin(self.row_count());
        }
        self.rows.push(row)?;
        if self.rows.len() >= MAX_BUFFERED_ROWS || self.rows.values().iter().map(weight).sum::<usize>() >= MAX_BUFFERED_BYTES {
            self.flush_rows()?;
        }
        Ok(())
    }

    /// Moves rows that came one by one to the columns.
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

    /// Appends the same rows of all columns, one slice for each in the schema's order.
    ///
    /// Keys are the numbers they are stored as: 0 for missing, else the value and 1.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for slices of another number, type or length; with row and column for a key above its count, a
    /// vector of another length than its type, a time that .NET does not have; nothing is appended then.
    /// [`Limit`](container_core::ErrorKind::Limit) for a block of more bytes than the limits allow, where fewer rows per block are the
    /// answer; [`Io`](container_core::ErrorKind::Io) of the sink. After both of these every call fails.
    pub fn append_columns(&mut self, columns: &[ColumnSlice<'_>]) -> Result<()> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let rows = self.check_slices(columns).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.check_values(columns, rows).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.append_checked(columns, rows)
    }

    /// Appends values that are known to be of their columns, whatever they mean.
    pub(crate) fn append_unchecked(&mut self, columns: &[ColumnSlice<'_>]) -> Result<()> {
        self.flush_rows()?;
        self.check_not_failed()?;
        let rows = self.check_slices(columns).map_err(|error| error.in_format(FORMAT_NAME))?;
        self.append_checked(columns, rows)
    }

    /// Appends the rows of a batch, whose columns are those of the schema, in its order.
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

    /// Appends rows of one column, counted from 0. In the end all columns must have as many.
    ///
    /// Columns may come one after the other, whole; blocks lie in the file in the order in which they fill. How many rows
    /// a block has is decided when the first is full: ask for a number where later columns have far larger values.
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

    /// Appends rows of a table that has no columns.
    pub(crate) fn append_columnless_rows(&mut self, rows: u64) {
        self.columnless_rows = self.columnless_rows.saturating_add(rows);
    }

    /// Fails when the sink has.
    pub(super) fn check_not_failed(&self) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the file is not whole: writing failed before").in_format(FORMAT_NAME));
        }
        Ok(())
    }

    /// After a failure there is no going on.
    pub(super) fn poison_on_error<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.failed |= outcome.is_err();
        outcome.map_err(|error| error.in_format(FORMAT_NAME))
    }

    pub(super) fn name(&self, index: usize) -> String {
        self.schema.columns.get(index).map(|column| column.name.clone()).unwrap_or_default()
    }

    /// Takes rows that were checked: chunk_rows by chunk_rows, so that blocks come in row order however many rows come at once.
    pub(super) fn append_checked(&mut self, columns: &[ColumnSlice<'_>], rows: usize) -> Result<()> {
        let mut outcome = Ok(());
        let mut done = 0;
        let mut counts = self.columns.iter().map(PendingColumn::row_count);
        let first = counts.next();
        if !counts.all(|count| Some(count) == first) {
            // Columns that came one at a time and have not come as far as each other fill their blocks at different times.
            outcome = columns.iter().enumerate().try_for_each(|(index, slice)| self.append_checked_column(index, slice));
            done = rows;
        }
        while done < rows && outcome.is_ok() {
            let chunk_rows = self.chunk_rows(columns, done..rows);
            outcome = self.append_chunk(columns, done..done + chunk_rows);
            done += chunk_rows;
        }
        if let Some(progress) = &self.options.progress {
            progress.advance(rows as u64);
        }
        self.poison_on_error(outcome)
    }

    /// How many of these rows go into the block that is not full, or are looked at before that is known.
    fn chunk_rows(&self, columns: &[ColumnSlice<'_>], rest: Range<usize>) -> usize {
        let pending = self.columns.first().map_or(0, |column| column.values.len() as u64);
        let most = self.rows_per_block.unwrap_or_else(|| self.options.max_rows());
        let room = usize::try_from(most.saturating_sub(pending)).unwrap_or(usize::MAX).max(1);
        let mut chunk_rows = rest.len().min(room);
        if self.rows_per_block.is_none() {
            // Not much more than can go into the first block.
            let most = self.options.max_group_bytes().min(self.options.max_block_bytes()).min(MAX_CHUNK_BYTES);
            let bytes = |rows: usize| {
                let of = |(column, slice): (&PendingColumn, &ColumnSlice<'_>)| {
                    let start = slice.range.start + rest.start;
                    codec::encoded_len(&column.kind, slice.values, start..start + rows)
                };
                self.columns.iter().zip(columns).map(of).sum::<u64>()
            };
            while chunk_rows > 1 && bytes(chunk_rows) > most {
                chunk_rows = chunk_rows.div_ceil(2);
            }
        }
        chunk_rows
    }

    fn append_chunk(&mut self, columns: &[ColumnSlice<'_>], rows: Range<usize>) -> Result<()> {
        for (index, slice) in columns.iter().enumerate() {
            let range = slice.range.start + rows.start..slice.range.start + rows.end;
            let row = self.columns.get(index).map_or(0, PendingColumn::row_count);
            self.extend_column(index, slice.values, range).map_err(|error| error.in_row(row).in_column(self.name(index)))?;
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
            let most = self.rows_per_block.unwrap_or_else(|| self.options.max_rows());
            let room = most.saturating_sub(column.values.len() as u64);
            let chunk_rows = range.len().min(usize::try_from(room).unwrap_or(usize::MAX).max(1));
            let now = column.values.len() as u64 + chunk_rows as u64 >= most;
            self.extend_column(index, slice.values, range.start..range.start + chunk_rows)?;
            range.start += chunk_rows;
            self.choose_rows_per_block(now)?;
            // What was there may have been split_into_blocks into blocks just now.
            let left = self.columns.get(index).map_or(0, |column| column.values.len() as u64);
            if self.rows_per_block.is_some_and(|rows| left >= rows) {
                self.push_block(index)?;
            }
        }
        Ok(())
    }

    /// Gives the values of a column, which are those of a block or of the last one, to the pipeline.
    pub(super) fn push_block(&mut self, index: usize) -> Result<()> {
        let Some(column) = self.columns.get_mut(index) else { return Ok(()) };
        let rows = column.values.len();
        if rows == 0 {
            return Ok(());
        }
        let bytes = codec::encoded_len(&column.kind, &column.values, 0..rows);
        let most = self.options.max_block_bytes();
        if bytes > most {
            let fits = super::block_rows::rows_within(&(&column.kind, &column.values), rows, most).max(1);
            let what = format!(
                "{rows} rows per block are too many here, about {fits} would do (one number holds for the whole file): bytes of the block"
            );
            return Err(Error::limit(what, bytes, most).in_row(column.rows).in_column(self.name(index)));
        }
        let fresh = self.pipeline.buffer(index).unwrap_or_else(|| Values::of(&column.kind));
        let values = std::mem::replace(&mut column.values, fresh);
        column.rows += rows as u64;
        self.pipeline.push(index, values, bytes).map_err(|error| error.in_column(self.name(index)))
    }
}

/// About how many bytes values take that are not of a fixed width.
fn weight(values: &Values) -> usize {
    match values {
        Values::Text(texts) => texts.parts().0.len(),
        Values::Vector(vectors) => vectors.values().len() * 8 + weight(vectors.values()),
        _ => 0,
    }
}

impl PendingColumn {
    fn new(kind: Type) -> Self {
        let mut pending = Self { values: Values::of(&kind), kind, rows: 0, estimate: 0, invalid: InvalidValues::default() };
        pending.estimate = pending.estimate();
        pending
    }

    /// Rows appended.
    pub(super) fn row_count(&self) -> u64 {
        self.rows + self.values.len() as u64
    }
}
