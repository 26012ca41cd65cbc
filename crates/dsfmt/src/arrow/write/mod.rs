//! Files from record batches.

mod column;
mod dimensions;
mod leaf;
mod lists;
mod spool;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::BatchWriter;
use container_core::{Error, Loss, Output, OutputOptions, Result};

use super::meta::FieldMetadata;
use crate::types::Endian;
use crate::write::builder::{Builder, in_file};
use crate::write::layout;
use crate::write::put::{Buffered, Put};
use column::{Column, Finished};
use dimensions::Dimensions;
use spool::Spool;

/// How batches become a file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The dimension along which the rows lie. By default what the metadata of a column says it was, else `row`.
    pub dimension: Option<String>,
    /// The order of a number's bytes. By default what the metadata of a column says it was, else this machine's.
    pub endian: Option<Endian>,
    /// Lists of different lengths.
    pub ragged: Ragged,
    /// Structs.
    pub structs: Structs,
    /// How the file is written.
    pub output: OutputOptions,
}

/// What becomes of lists of different lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Ragged {
    /// An error that names column, row and both lengths.
    #[default]
    Refuse,
    /// All are as long as the longest: filled up with missing elements, which take a bit each. Counted as a loss.
    Pad,
}

/// What becomes of structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Structs {
    /// An error.
    #[default]
    Refuse,
    /// Each member a variable, called `a.b`. What is null in a struct that is null is missing.
    Flatten,
}

impl WriterOptions {
    /// Replaces [`dimension`](Self::dimension).
    #[must_use]
    pub fn with_dimension(mut self, name: impl Into<String>) -> Self {
        self.dimension = Some(name.into());
        self
    }

    /// Replaces [`endian`](Self::endian).
    #[must_use]
    pub fn with_endian(mut self, endian: Endian) -> Self {
        self.endian = Some(endian);
        self
    }

    /// Replaces [`ragged`](Self::ragged).
    #[must_use]
    pub fn with_ragged(mut self, ragged: Ragged) -> Self {
        self.ragged = ragged;
        self
    }

    /// Replaces [`structs`](Self::structs).
    #[must_use]
    pub fn with_structs(mut self, structs: Structs) -> Self {
        self.structs = structs;
        self
    }

    /// Replaces [`output`](Self::output).
    #[must_use]
    pub fn with_output(mut self, output: OutputOptions) -> Self {
        self.output = output;
        self
    }
}

/// Makes a ds file from record batches: see the tables of the [module](super).
///
/// The header of a file states sizes and lengths, and variables stand in it one behind the other: what comes is kept in a temporary file
/// without a name beside the output, and put together at the end. Memory is taken for a batch and some tens of megabytes.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float32Array, RecordBatch};
/// use container_arrow::BatchWriter;
/// use dsfmt::{Reader, arrow::{ArrowWriter, WriterOptions}};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.ds");
///
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Float32Array::from(vec![Some(1.5), None])) as _)])?;
/// let mut writer = Box::new(ArrowWriter::new(&path, batch.schema(), WriterOptions::default().with_dimension("day"))?);
/// writer.write(&batch)?;
/// assert!(writer.finish()?.is_empty()); // nothing was lost
/// let reader = Reader::open(&path)?;
/// let x = reader.variable("x")?;
/// assert_eq!((x.dimensions(), x.read()?.missing()), (&["day".to_owned()][..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "without finish() the file does not appear"]
pub struct ArrowWriter {
    path: PathBuf,
    schema: SchemaRef,
    options: WriterOptions,
    output: Output,
    columns: Vec<Column>,
    said: FieldMetadata,
    spool: Spool,
    rows: u64,
    failed: bool,
}

impl ArrowWriter {
    /// Begins a file of batches of this schema. It appears, whole, with [`finish`](BatchWriter::finish).
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a column of a type that is not written, naming the option that helps;
    /// [`Usage`](container_core::ErrorKind::Usage) for two columns of one name; [`Invalid`](container_core::ErrorKind::Invalid) for
    /// metadata that contradicts itself; [`Limit`](container_core::ErrorKind::Limit) for more columns than readers take; and what
    /// [`Output`] has.
    pub fn new(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::begin(path, schema, options).map_err(|error| in_file(error, path))
    }

    fn begin(path: &Path, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let mut spool = Spool::beside(path);
        let said = FieldMetadata::of(schema.metadata())?;
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (index, field) in schema.fields().iter().enumerate() {
            column::columns(field, field.name().clone(), vec![index], &options, &mut spool, &mut columns)?;
        }
        let mut sketch = builder(&said);
        for column in &columns {
            sketch.field(column.name.clone(), column.sketch());
        }
        sketch.validate()?;
        let output = Output::create(path, options.output)?;
        Ok(Self { path: path.to_owned(), schema, options, output, columns, said, spool, rows: 0, failed: false })
    }

    /// Where the file will appear.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows that have come.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        let (found, wanted) = (batch.schema(), &self.schema);
        let same = found.fields().len() == wanted.fields().len()
            && found.fields().iter().zip(wanted.fields()).all(|(found, wanted)| {
                found.name() == wanted.name() && found.data_type().equals_datatype(wanted.data_type())
            });
        if !same {
            return Err(Error::usage("the batch is of another schema than the file"));
        }
        for column in &mut self.columns {
            let taken = column.take(batch, self.rows, &self.options, &mut self.spool);
            if let Err(error) = taken {
                self.failed = true;
                return Err(column::placed(error, &column.name));
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn complete(mut self) -> Result<Vec<Loss>> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        let mut builder = builder(&self.said);
        let (mut ends, mut losses) = (Vec::with_capacity(self.columns.len()), Vec::new());
        self.spool.complete()?;
        let mut taken = Dimensions::default();
        for name in self.columns.iter().filter_map(|column| column.leading(&self.options, self.rows)) {
            taken.take(name, self.rows);
        }
        for column in &mut self.columns {
            let finished = column.finish(self.rows, &self.options, &mut taken, &mut self.spool);
            let Finished { field, masked, len, losses: lost } =
                finished.map_err(|error| column::placed(error, &column.name))?;
            builder.field(column.name.clone(), field);
            ends.push((masked, len));
            losses.extend(lost);
        }
        let mut places = builder.places()?;
        for place in &mut places {
            if let Some((masked, len)) = ends.get(place.field) {
                (place.masked, place.len) = (*masked, Some(*len));
            }
        }
        let (header, body) = layout::header(&builder.attributes, &builder.fields, &places)?;
        let expected = body.saturating_add(header.len() as u64);
        let mut out = Buffered::new(self.output, expected);
        out.put(header.as_bytes())?;
        self.spool.complete()?;
        for place in &places {
            if let (Some(column), true) = (self.columns.get(place.field), place.len != Some(0)) {
                column.put(self.rows, place.masked, &self.spool, &mut out)?;
            }
        }
        out.flush()?;
        debug_assert_eq!(out.len(), expected, "as the header says");
        out.into_inner().finish()?;
        Ok(losses)
    }
}

/// A dataset with the attributes that metadata says.
fn builder(said: &FieldMetadata) -> Builder<'static> {
    let mut builder = Builder::new();
    for (name, value) in &said.attributes {
        builder.attributes.set(name.clone(), value.clone());
    }
    builder
}

impl BatchWriter for ArrowWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.take(batch).map_err(|error| in_file(error, &self.path))
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        let path = self.path.clone();
        (*self).complete().map_err(|error| in_file(error, &path))
    }
}

impl std::fmt::Debug for ArrowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").field("path", &self.path).field("rows", &self.rows).finish_non_exhaustive()
    }
}
