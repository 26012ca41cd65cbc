//! Record batches into a file.

mod column_builder;
mod keys;
mod mismatch;
mod plan;
mod ticks;
mod values;
mod value_parser;

use std::io::{Seek, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use container_arrow::{BatchWriter, Times};
use container_core::{Error, ErrorKind, Loss, Output, OutputOptions, Result};

use self::plan::ColumnBuilder;
use crate::FORMAT_NAME;
use crate::codec::Values;
use crate::read::ColumnSlice;
use crate::schema::Schema;
use crate::write::{Writer, WriterOptions};

/// Rows of a batch that are taken at once.
const ROWS: usize = 1 << 14;

/// Writes a file from record batches. See [`arrow`](crate::arrow) for what becomes of each type.
///
/// Memory is that of [`Writer`], some rows of the batch, and the labels of all dictionaries.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::OutputOptions;
/// use container_arrow::{BatchReader, BatchScan, BatchWriter};
/// use idv::arrow::{ArrowOptions, ArrowWriter};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv");
/// # let directory = tempfile::tempdir()?;
/// # let copy = directory.path().join("copy.idv");
///
/// let reader = idv::Reader::open(path)?;
/// let mut batches = reader.record_batches(&BatchScan::default())?;
/// let schema = reader.arrow_schema(&BatchScan::default())?;
/// let mut writer = ArrowWriter::create(&copy, OutputOptions::default(), &schema, ArrowOptions::default())?;
/// while let Some(batch) = batches.try_next()? {
///     writer.write(&batch)?;
/// }
/// let losses = Box::new(writer).finish()?;
/// assert!(losses.is_empty());
/// assert_eq!(idv::Reader::open(&copy)?.row_count(), reader.row_count());
/// # Ok(())
/// # }
/// ```
pub struct ArrowWriter<W: Write + Seek = Output> {
    writer: Writer<W>,
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    /// Memory for the values of some rows.
    values: Vec<Values>,
    losses: Vec<Loss>,
}

/// How batches are file_schema.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ArrowOptions {
    /// How the file is file_schema.
    pub writer: WriterOptions,
    /// What becomes of nulls among integers.
    pub null_integers: NullIntegers,
    /// What becomes of times that are finer than 100 ns: by [`Times::Floor`] they become the tick before, counted as a
    /// loss, else one is an error.
    pub times: Times,
    /// The rows are of a format without types. Texts in columns whose metadata say another type than `Text` are read as values of that type, as
    /// [`Values::push_cell`] reads a word, and those of `arrow.json` columns as [`Values::push_json`] does; one that is no such value is an
    /// error. A null among floats is a missing one, and no loss.
    pub untyped: bool,
    /// Values in columns whose metadata say another type become values of that type, where [`Values::push_cell`] takes them; one that it does
    /// not take is an error. Else such metadata are left out.
    pub convert: bool,
}

/// What becomes of nulls among integers, which cannot be missing in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum NullIntegers {
    /// One is an error that names column and row.
    #[default]
    Error,
    /// Columns of integers that can be null become `Double`, where null is NaN; an integer that no `Double` has is an error.
    Double,
}

impl From<WriterOptions> for ArrowOptions {
    fn from(writer: WriterOptions) -> Self {
        Self { writer, ..Self::default() }
    }
}

impl ArrowOptions {
    /// Replaces [`writer`](Self::writer).
    #[must_use]
    pub fn with_writer(mut self, writer: WriterOptions) -> Self {
        self.writer = writer;
        self
    }

    /// Replaces [`null_integers`](Self::null_integers).
    #[must_use]
    pub const fn with_null_integers(mut self, null_integers: NullIntegers) -> Self {
        self.null_integers = null_integers;
        self
    }

    /// Replaces [`times`](Self::times).
    #[must_use]
    pub const fn with_times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Replaces [`convert`](Self::convert).
    #[must_use]
    pub const fn with_convert(mut self, convert: bool) -> Self {
        self.convert = convert;
        self
    }

    /// Replaces [`untyped`](Self::untyped).
    #[must_use]
    pub const fn with_untyped(mut self, untyped: bool) -> Self {
        self.untyped = untyped;
        self
    }
}

impl ArrowWriter<Output> {
    /// Begins a file at a path, where it appears when it is whole, for batches of this schema.
    ///
    /// # Errors
    /// As [`Writer::create`], and [`Unsupported`](container_core::ErrorKind::Unsupported) for a column whose type the format does not have.
    pub fn create(
        path: impl AsRef<Path>,
        output: OutputOptions,
        schema: &ArrowSchema,
        options: impl Into<ArrowOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let (columns, losses) = plan_columns(schema, &options)?;
        let writer = Writer::create(path, output, file_schema(&columns), options.writer)?;
        Ok(Self::of(writer, schema, columns, losses))
    }
}

/// The columns that batches of this schema become, and what of it is not kept.
fn plan_columns(schema: &ArrowSchema, options: &ArrowOptions) -> Result<(Vec<ColumnBuilder>, Vec<Loss>)> {
    plan::plan(schema, options).map_err(|error| error.in_format(FORMAT_NAME))
}

fn file_schema(columns: &[ColumnBuilder]) -> Schema {
    Schema::new(columns.iter().map(|column| column.schema.clone()))
}

impl<W: Write + Seek> ArrowWriter<W> {
    /// Begins a file where `sink` stands.
    ///
    /// # Errors
    /// As [`Writer::new`], and [`Unsupported`](container_core::ErrorKind::Unsupported) for a column whose type the format does not have.
    pub fn new(sink: W, schema: &ArrowSchema, options: impl Into<ArrowOptions>) -> Result<Self> {
        let options = options.into();
        let (columns, losses) = plan_columns(schema, &options)?;
        let writer = Writer::new(sink, file_schema(&columns), options.writer)?;
        Ok(Self::of(writer, schema, columns, losses))
    }

    fn of(writer: Writer<W>, schema: &ArrowSchema, columns: Vec<ColumnBuilder>, losses: Vec<Loss>) -> Self {
        let values = columns.iter().map(|column| Values::of(&column.schema.kind)).collect();
        Self { writer, schema: SchemaRef::new(schema.clone()), columns, values, losses }
    }

    /// The columns of the file. Those whose labels come with the batches do not have them yet.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.writer.schema()
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// As [`BatchWriter::write`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_schema(batch).map_err(|error| error.in_format(FORMAT_NAME))?;
        if self.columns.is_empty() {
            self.writer.append_columnless_rows(batch.num_rows() as u64);
            return Ok(());
        }
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = ROWS.min(batch.num_rows() - start);
            self.write_rows(batch, start, rows).map_err(|error| error.in_format(FORMAT_NAME))?;
            start += rows;
        }
        Ok(())
    }

    fn check_schema(&self, batch: &RecordBatch) -> Result<()> {
        let (found, wanted) = (batch.schema(), &self.schema);
        if found.fields().len() != wanted.fields().len() {
            let detail = format!("a batch of {} columns where {}", found.fields().len(), wanted.fields().len());
            return Err(Error::usage(format!("{detail} are file_schema")));
        }
        for (found, wanted) in found.fields().iter().zip(wanted.fields()) {
            if found.name() != wanted.name() || !found.data_type().equals_datatype(wanted.data_type()) {
                let detail = format!("column {:?} of {} where {}", found.name(), found.data_type(), wanted.data_type());
                return Err(Error::usage(format!("{detail} is file_schema")).in_column(wanted.name().clone()));
            }
        }
        Ok(())
    }

    fn write_rows(&mut self, batch: &RecordBatch, start: usize, rows: usize) -> Result<()> {
        let first = self.writer.row_count();
        for ((column, values), array) in self.columns.iter_mut().zip(&mut self.values).zip(batch.columns()) {
            values.clear();
            column
                .fill(values, &array.slice(start, rows), first)
                .map_err(|error| error.in_column(column.name.clone()))?;
        }
        let slices: Vec<_> = self.values.iter().map(ColumnSlice::from).collect();
        self.writer.append_columns(&slices).map_err(|error| match error.kind() {
            // It is the batch's value that is wrong, not how this was called.
            ErrorKind::Usage => {
                let place = error.position().clone();
                let mut invalid = Error::invalid(error.detail().to_owned());
                if let Some(row) = place.row {
                    invalid = invalid.in_row(row);
                }
                match place.column {
                    Some(column) => invalid.in_column(column),
                    None => invalid,
                }
            }
            _ => error,
        })
    }

    /// Ends the file and gives the sink back, and what could not be kept.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_sink(mut self) -> Result<(W, Vec<Loss>)> {
        let mut losses = self.losses;
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(schema) = column.labelled()? {
                self.writer.set_keys(index, schema)?;
            }
            losses.extend(column.losses());
        }
        Ok((self.writer.finish()?, losses))
    }
}

impl BatchWriter for ArrowWriter<Output> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        let (output, losses) = self.finish_sink()?;
        output.finish()?;
        Ok(losses)
    }
}
