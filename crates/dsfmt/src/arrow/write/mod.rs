//! Writes files from record batches.

mod column;
mod dimensions;
mod leaf;
mod lists;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::BatchWriter;
use container_core::{Error, Loss, Output, OutputOptions, Result};

use super::meta::FieldMetadata;
use crate::read::Reader;
use crate::types::Endian;
use crate::write::assembly::{Assembly, Body};
use crate::write::builder::{Builder, in_file};
use crate::write::layout;
use crate::write::put::Buffered;
use crate::write::spool::Spool;
use column::{Column, Finished};
use dimensions::Dimensions;

/// Options of [`ArrowWriter`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Name of the row dimension. Default: from a column's metadata, otherwise `row`.
    pub dimension: Option<String>,
    /// Byte order of numbers. Default: from a column's metadata, otherwise native.
    pub endian: Option<Endian>,
    /// Handling of lists of different lengths.
    pub ragged: Ragged,
    /// Handling of structs.
    pub structs: Structs,
    /// How the output is created.
    pub output: OutputOptions,
}

/// Handling of lists of different lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Ragged {
    /// An error with column, row and both lengths.
    #[default]
    Refuse,
    /// Pads lists to the longest with missing elements, which take one bit each. Counted as a loss.
    Pad,
}

/// Handling of structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Structs {
    /// A column of structs is an error.
    #[default]
    Refuse,
    /// One variable per member, named `a.b`. Members of a null struct are missing.
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

/// Writes a ds file from record batches: see the tables of the [module](super).
///
/// The header declares sizes and lengths, and variables are stored one after the other. So values go to an unnamed temporary file next to the
/// output, and are assembled at the end, or [read](Self::into_reader) without a ds file. Takes memory for a batch and some tens of megabytes.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float32Array, RecordBatch};
/// use dsfmt::{Reader, arrow::{ArrowWriter, WriterOptions}};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.ds");
///
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Float32Array::from(vec![Some(1.5), None])) as _)])?;
/// let mut writer = ArrowWriter::create(&path, batch.schema(), WriterOptions::default().with_dimension("day"))?;
/// writer.write(&batch)?;
/// assert!(writer.finish()?.is_empty()); // nothing was lost
/// let reader = Reader::open(&path)?;
/// let x = reader.variable("x")?;
/// assert_eq!((x.dimensions(), x.read()?.missing()), (&["day".to_owned()][..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the file appears only after finish()"]
pub struct ArrowWriter {
    path: PathBuf,
    schema: SchemaRef,
    options: WriterOptions,
    /// `None` for a dataset that is not written.
    output: Option<Output>,
    columns: Vec<Column>,
    metadata: FieldMetadata,
    spool: Spool,
    rows: u64,
    failed: bool,
}

impl ArrowWriter {
    /// Creates a file for batches of this schema. It appears atomically with [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unsupported column type, naming an option that helps;
    /// [`Usage`](container_core::ErrorKind::Usage) for duplicate column names; [`Invalid`](container_core::ErrorKind::Invalid) for contradictory
    /// metadata; [`Limit`](container_core::ErrorKind::Limit) for more columns than readers accept; errors of [`Output`].
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let path = path.as_ref();
        let begin = || {
            let mut writer = Self::begin(path, schema, options)?;
            writer.output = Some(Output::create(path, writer.options.output)?);
            Ok(writer)
        };
        begin().map_err(|error| in_file(error, path))
    }

    /// Starts a dataset that is not written, to be read from where its values lie: see [`into_reader`](Self::into_reader). The unnamed temporary
    /// file is created in the directory of `path`, which errors name.
    ///
    /// # Errors
    /// As [`create`](Self::create), without those of [`Output`].
    pub fn unwritten(path: impl AsRef<Path>, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::begin(path, schema, options).map_err(|error| in_file(error, path))
    }

    fn begin(path: &Path, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let mut spool = Spool::beside(path);
        let metadata = FieldMetadata::from_metadata(schema.metadata())?;
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (index, field) in schema.fields().iter().enumerate() {
            column::columns(field, field.name().clone(), vec![index], &options, &mut spool, &mut columns)?;
        }
        let mut preview = builder(&metadata);
        for column in &columns {
            preview.field(column.name.clone(), column.preview());
        }
        preview.validate()?;
        let path = path.to_owned();
        Ok(Self { path, schema, options, output: None, columns, metadata, spool, rows: 0, failed: false })
    }

    /// Path of the output file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of rows written.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a batch of another schema, and after a failed write;
    /// [`Invalid`](container_core::ErrorKind::Invalid) or [`Unsupported`](container_core::ErrorKind::Unsupported) with row and column for values
    /// that the variable cannot hold; [`Io`](container_core::ErrorKind::Io) of the temporary file.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.take(batch).map_err(|error| in_file(error, &self.path))
    }

    /// Completes the file, moves it to its path, and returns what could not be kept.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) after a failed write, and for a dataset that is [not written](Self::unwritten);
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn finish(self) -> Result<Vec<Loss>> {
        let path = self.path.clone();
        self.complete().map_err(|error| in_file(error, &path))
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        let (batch_schema, schema) = (batch.schema(), &self.schema);
        let same = batch_schema.fields().len() == schema.fields().len()
            && batch_schema.fields().iter().zip(schema.fields()).all(|(found, expected)| {
                found.name() == expected.name() && found.data_type().equals_datatype(expected.data_type())
            });
        if !same {
            return Err(Error::usage("the batch has another schema than the file"));
        }
        for column in &mut self.columns {
            if let Err(error) = column.take(batch, self.rows, &self.options, &mut self.spool) {
                self.failed = true;
                return Err(column::in_column(error, &column.name));
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Completes the dataset and opens it. Nothing is written: its values are read from the unnamed temporary file and from memory, encoded as in
    /// a ds file. Also returns what could not be kept.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn into_reader(mut self) -> Result<(Reader, Vec<Loss>)> {
        let path = self.path.clone();
        let open = || {
            let mut body = Assembly::new();
            let (_, losses) = self.assemble(&mut body)?;
            Ok((body.open(self.spool)?, losses))
        };
        open().map_err(|error| in_file(error, &path))
    }

    fn complete(mut self) -> Result<Vec<Loss>> {
        let output = self.output.take().ok_or_else(|| Error::usage("the dataset was begun without a file"))?;
        let mut out = Buffered::new(output, u64::MAX);
        let (expected, losses) = self.assemble(&mut out)?;
        out.flush()?;
        debug_assert_eq!(out.len(), expected, "the header's lengths are exact");
        out.into_inner().finish()?;
        Ok(losses)
    }

    /// Passes the dataset to `body`. Returns its size, and what could not be kept.
    fn assemble(&mut self, body: &mut dyn Body) -> Result<(u64, Vec<Loss>)> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        let mut builder = builder(&self.metadata);
        let (mut ends, mut losses) = (Vec::with_capacity(self.columns.len()), Vec::new());
        self.spool.complete()?;
        let mut dimensions = Dimensions::default();
        for name in self.columns.iter().filter_map(|column| column.leading(&self.options, self.rows)) {
            dimensions.reserve(name, self.rows);
        }
        for column in &mut self.columns {
            let finished = column.finish(self.rows, &self.options, &mut dimensions, &mut self.spool);
            let Finished { field, masked, len, losses: column_losses } =
                finished.map_err(|error| column::in_column(error, &column.name))?;
            builder.field(column.name.clone(), field);
            ends.push((masked, len));
            losses.extend(column_losses);
        }
        let mut slots = builder.slots()?;
        for slot in &mut slots {
            if let Some((masked, len)) = ends.get(slot.field) {
                (slot.masked, slot.len) = (*masked, Some(*len));
            }
        }
        let (header, len) = layout::header(&builder.attributes, &builder.fields, &slots)?;
        body.put(header.as_bytes())?;
        self.spool.complete()?;
        for slot in &slots {
            if let (Some(column), true) = (self.columns.get(slot.field), slot.len != Some(0)) {
                column.put(self.rows, slot.masked, &mut self.spool, body)?;
            }
        }
        Ok((len.saturating_add(header.len() as u64), losses))
    }
}

/// A dataset with the attributes of schema metadata.
fn builder(metadata: &FieldMetadata) -> Builder<'static> {
    let mut builder = Builder::new();
    for (name, value) in &metadata.attributes {
        builder.attributes.set(name.clone(), value.clone());
    }
    builder
}

impl BatchWriter for ArrowWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Self::finish(*self)
    }
}

impl std::fmt::Debug for ArrowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").field("path", &self.path).field("rows", &self.rows).finish_non_exhaustive()
    }
}
