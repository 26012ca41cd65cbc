//! Writing record batches.

mod column_builder;
mod keys;
mod mismatch;
mod plan;
mod ticks;
mod value_parser;
mod values;

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

/// Rows of a batch appended at a time.
const ROWS: usize = 1 << 14;

/// Writes record batches to a file. See [`arrow`](crate::arrow) for the type mapping.
///
/// Memory is that of [`Writer`], some rows of a batch, and the labels of all dictionaries.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::OutputOptions;
/// use container_arrow::{BatchReader, BatchScan};
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
/// let losses = writer.finish()?;
/// assert!(losses.is_empty());
/// assert_eq!(idv::Reader::open(&copy)?.row_count(), reader.row_count());
/// # Ok(())
/// # }
/// ```
pub struct ArrowWriter<W: Write + Seek = Output> {
    writer: Writer<W>,
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    /// Buffers for some rows.
    values: Vec<Values>,
    losses: Vec<Loss>,
}

/// Options of an [`ArrowWriter`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ArrowOptions {
    /// Options of the file.
    pub writer: WriterOptions,
    /// Conversion of nulls in integer columns.
    pub null_integers: NullIntegers,
    /// Conversion of times more precise than 100 ns: rounded down with [`Times::Floor`] and counted as a loss, otherwise an error.
    pub times: Times,
    /// The source has no types. Text in columns whose metadata declare another type is parsed as that type, like [`Cell::Untyped`] or, in
    /// `arrow.json` columns, by [`Values::push_json`]; errors are not ignored. A null in a float column is missing, not a loss.
    ///
    /// [`Cell::Untyped`]: crate::Cell::Untyped
    pub untyped: bool,
    /// Convert values in columns whose metadata declare another type by [`Values::push_cell`]; values that do not convert are errors.
    /// Otherwise such metadata are ignored.
    pub convert: bool,
}

/// Conversion of nulls in integer columns, as integers cannot be missing in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum NullIntegers {
    /// A null is an error, with column and row.
    #[default]
    Error,
    /// Nullable integer columns become `Double`, with NaN for null; an integer not representable as `Double` is an error.
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
    /// Creates a file for batches of this schema, which replaces `path` atomically with [`finish`](Self::finish).
    ///
    /// # Errors
    /// As [`Writer::create`], and [`Unsupported`](container_core::ErrorKind::Unsupported) for a column type without IDV equivalent.
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

    /// Completes the file, moves it to its path, and returns the losses.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish(self) -> Result<Vec<Loss>> {
        let (output, losses) = self.into_inner()?;
        output.finish()?;
        Ok(losses)
    }
}

/// Plans the columns for a schema, with losses.
fn plan_columns(schema: &ArrowSchema, options: &ArrowOptions) -> Result<(Vec<ColumnBuilder>, Vec<Loss>)> {
    plan::plan(schema, options).map_err(|error| error.in_format(FORMAT_NAME))
}

fn file_schema(columns: &[ColumnBuilder]) -> Schema {
    Schema::new(columns.iter().map(|column| column.schema.clone()))
}

impl<W: Write + Seek> ArrowWriter<W> {
    /// Starts a file at the current position of `sink`.
    ///
    /// # Errors
    /// As [`Writer::new`], and [`Unsupported`](container_core::ErrorKind::Unsupported) for a column type without IDV equivalent.
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

    /// The file's schema, without labels still being collected from dictionaries.
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
        let (found, expected) = (batch.schema(), &self.schema);
        if found.fields().len() != expected.fields().len() {
            let detail =
                format!("expected a batch of {} columns, found {}", expected.fields().len(), found.fields().len());
            return Err(Error::usage(detail));
        }
        for (found, expected) in found.fields().iter().zip(expected.fields()) {
            if found.name() != expected.name() || !found.data_type().equals_datatype(expected.data_type()) {
                let ((name, data_type), (found, found_type)) =
                    ((expected.name(), expected.data_type()), (found.name(), found.data_type()));
                let detail = format!("expected column {name:?} of {data_type}, found {found:?} of {found_type}");
                return Err(Error::usage(detail).in_column(name.clone()));
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
            // The batch's value is at fault, not the call.
            ErrorKind::Usage => {
                let position = error.position().clone();
                let mut invalid = Error::invalid(error.detail().to_owned());
                if let Some(row) = position.row {
                    invalid = invalid.in_row(row);
                }
                match position.column {
                    Some(column) => invalid.in_column(column),
                    None => invalid,
                }
            }
            _ => error,
        })
    }

    /// Finishes the file and returns the sink and the losses.
    ///
    /// # Errors
    /// As [`Writer::into_inner`].
    pub fn into_inner(mut self) -> Result<(W, Vec<Loss>)> {
        let mut losses = self.losses;
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(schema) = column.labeled()? {
                self.writer.set_keys(index, schema)?;
            }
            losses.extend(column.losses());
        }
        Ok((self.writer.into_inner()?, losses))
    }
}

impl BatchWriter for ArrowWriter<Output> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Self::finish(*self)
    }
}
