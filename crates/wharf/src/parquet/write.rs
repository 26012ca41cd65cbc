//! Writes record batches as a Parquet file.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use container_arrow::BatchWriter;
use container_core::{Error, Loss, OpenOptions, Output, OutputOptions, Result};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;

use super::distinct;
use super::groups::{Columns, Encoders, GroupBuilder, Pending};
use super::options::WriterOptions;
use super::read::Reader;
use super::source::library;
use super::writer_thread::GroupWriter;
use super::{FORMAT_NAME, supported_types, units};
use crate::batches::Dictionaries;
use crate::batches::size::bytes_of;
use crate::workers::Workers;

/// Bounds of the default row group size: column chunks should not be small, and several groups are in memory at once.
const MIN_GROUP_BYTES: usize = 16 << 20;
const MAX_GROUP_BYTES: usize = 64 << 20;

/// The first row groups have half the size, so that small files keep all threads busy too.
const HALF_SIZE_GROUPS: usize = 16;

/// Writes record batches as a Parquet file.
///
/// A complete row group is encoded in the background, its columns in parallel, while the next ones are collected. Its batches are kept in memory
/// until then, and its encoded pages until they are written. The Arrow schema is stored in the file and restored on reading.
pub struct Writer<W: Write + Send> {
    file: FileState<W>,
    /// Why the sink failed, which the library does not report.
    cause: Cause,
    columns: Arc<Columns>,
    /// Labels so far of dictionary columns with narrow indexes, which may not address all labels of the file.
    dictionaries: Dictionaries,
    narrow_dictionaries: Vec<usize>,
    workers: Arc<Workers>,
    group_rows: usize,
    group_bytes: usize,
    /// The number of first row groups that have half the size.
    half_size_groups: usize,
    /// Collects the next row group.
    next_group: GroupBuilder,
    /// Row groups being encoded.
    pending: Pending,
    /// Row groups started so far.
    started_groups: usize,
    failed: bool,
}

impl Writer<Output> {
    /// Creates a file, which appears at [`finish`](BatchWriter::finish).
    ///
    /// # Errors
    /// As [`new`](Self::new), and those of [`Output::create`].
    pub fn create(
        path: impl Into<PathBuf>,
        schema: SchemaRef,
        options: WriterOptions,
        output: OutputOptions,
    ) -> Result<Self> {
        Ok(Self::new(Output::create(path, output)?, schema, options)?.with_thread())
    }
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file. The sink gets large writes and is flushed only at the end.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a column without a Parquet type, with its name;
    /// [`Usage`](crate::ErrorKind::Usage) for duplicate column names or an invalid compression level.
    pub fn new(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        Self::begin(sink, schema, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Writes to the sink on a dedicated thread, unless the feature `parallel` is off or the [options](WriterOptions::threads) allow one thread
    /// only. One more row group may be in memory. Errors of the sink are returned by later calls, at the latest by [`end`](Self::end).
    ///
    /// Has no effect after rows were written.
    #[must_use]
    pub fn with_thread(mut self) -> Self
    where
        W: 'static,
    {
        if let FileState::Before(begin) = &mut self.file
            && self.workers.count() > 1
        {
            begin.group_writer = GroupWriter::threaded;
        }
        self
    }

    fn begin(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        supported_types::check(&schema)?;
        let properties = options.properties(&schema)?;
        let cause = Cause::default();
        let sink = Sink { inner: sink, cause: Arc::clone(&cause) };
        let stored = units::stored(&schema);
        let described = library("the schema", || ArrowSchemaConverter::new().convert(&units::described(&schema)))?;
        let group_bytes = options.group_bytes.unwrap_or_else(|| {
            let columns = described.num_columns();
            columns.saturating_mul(1 << 20).clamp(MIN_GROUP_BYTES, MAX_GROUP_BYTES)
        });
        let described = Arc::new(described);
        let begin =
            Prelude { sink, properties, described, dictionary: options.dictionary, group_writer: GroupWriter::direct };
        Ok(Self {
            file: FileState::Before(Box::new(begin)),
            cause,
            narrow_dictionaries: narrow_dictionaries(&schema),
            dictionaries: Dictionaries::default(),
            columns: Arc::new(Columns { schema, stored }),
            workers: Arc::new(Workers::new(options.threads)),
            group_rows: options.group_rows,
            group_bytes,
            half_size_groups: if options.group_bytes.is_none() { HALF_SIZE_GROUPS } else { 0 },
            next_group: GroupBuilder::default(),
            pending: Pending::default(),
            started_groups: 0,
            failed: false,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch with another schema, or after an error; [`Invalid`](crate::ErrorKind::Invalid) for a null in
    /// a non-nullable column; [`Limit`](crate::ErrorKind::Limit) for dictionaries that together have more labels than their indexes can address,
    /// as no reader could open the file; [`Io`](crate::ErrorKind::Io).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.guarded(|writer| writer.append(batch))
    }

    /// Finishes the file. Returns the flushed sink, and warnings about interoperability.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io); [`Usage`](crate::ErrorKind::Usage) after an error.
    pub fn end(mut self) -> Result<(W, Vec<Loss>)> {
        self.guarded(|writer| {
            writer.begin_group()?;
            while writer.end_group()? {}
            // A file without rows has not been begun yet.
            writer.file.begin(&writer.columns, &writer.next_group).map(drop)
        })?;
        let Self { file: FileState::Open(Open { group_writer, .. }), cause, columns, .. } = self else {
            return Err(Error::usage("the writer was used after a failure").in_format(FORMAT_NAME));
        };
        let ended = group_writer.end().and_then(|file| library("the footer", || file.into_inner()));
        let sink = ended.map_err(|error| with_sink_cause(&cause, error))?;
        let mut sink = sink.inner;
        sink.flush().map_err(cannot_write)?;
        Ok((sink, supported_types::warnings(&columns.schema)))
    }

    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the writer was used after a failure").in_format(FORMAT_NAME));
        }
        self.failed = true;
        work(self).map_err(|error| with_sink_cause(&self.cause, error))?;
        self.failed = false;
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        crate::batches::same_columns(&self.columns.schema, &batch.schema())?;
        if self.columns.schema.fields().is_empty() && batch.num_rows() > 0 {
            return Err(Error::unsupported("a Parquet file without columns cannot have rows"));
        }
        if !self.narrow_dictionaries.is_empty() {
            let narrow_dictionaries = batch.project(&self.narrow_dictionaries).map_err(container_arrow::from_arrow)?;
            self.dictionaries.join(&narrow_dictionaries)?;
        }
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let (rows, bytes) = (rest.num_rows(), bytes_of(&rest));
            let max_bytes =
                if self.started_groups < self.half_size_groups { self.group_bytes / 2 } else { self.group_bytes };
            let space = max_bytes.saturating_sub(self.next_group.bytes());
            let fit = (space as u128 * rows as u128).checked_div(bytes as u128).unwrap_or(u128::MAX);
            let space = self.group_rows.saturating_sub(self.next_group.rows());
            let fit = usize::try_from(fit).unwrap_or(usize::MAX).min(space);
            let take = if self.next_group.rows() == 0 { fit.max(1) } else { fit }.min(rows);
            if take == 0 {
                self.begin_group()?;
                continue;
            }
            self.next_group.push(rest.slice(0, take))?;
            rest = rest.slice(take, rows - take);
            if self.next_group.rows() >= self.group_rows {
                self.begin_group()?;
            }
        }
        // Write a finished group while others are encoded, to free its memory. One at a time: this thread also produces batches.
        if self.pending.is_done() {
            self.end_group()?;
        }
        Ok(())
    }

    /// Starts to encode the collected row group, after writing finished ones if too many are pending.
    fn begin_group(&mut self) -> Result<()> {
        if self.next_group.rows() == 0 {
            return Ok(());
        }
        while self.pending.is_full(&self.next_group, self.workers.count()) {
            self.end_group()?;
        }
        let encoders = Arc::clone(&self.file.begin(&self.columns, &self.next_group)?.encoders);
        let group = self.next_group.take();
        self.started_groups += 1;
        self.pending.begin(group, &encoders, &self.columns, &self.workers);
        Ok(())
    }

    /// Waits for the first pending row group and writes it. False if there is none.
    fn end_group(&mut self) -> Result<bool> {
        let Some(chunks) = self.pending.next()? else { return Ok(false) };
        self.file.begin(&self.columns, &self.next_group)?.group_writer.write(chunks)?;
        Ok(true)
    }
}

/// The file, before or after its first bytes are written.
enum FileState<W: Write + Send> {
    Before(Box<Prelude<W>>),
    Open(Open<W>),
    /// Beginning it failed.
    Failed,
}

struct Open<W: Write + Send> {
    group_writer: GroupWriter<Sink<W>>,
    encoders: Arc<Encoders>,
}

/// A file to be begun with the first rows, which decide on dictionaries.
struct Prelude<W: Write + Send> {
    sink: Sink<W>,
    properties: WriterPropertiesBuilder,
    described: Arc<SchemaDescriptor>,
    dictionary: bool,
    /// How row groups are written.
    group_writer: fn(SerializedFileWriter<Sink<W>>) -> GroupWriter<Sink<W>>,
}

impl<W: Write + Send> FileState<W> {
    /// Begins the file if necessary. `first` is its first row group, possibly empty.
    fn begin(&mut self, columns: &Columns, first: &GroupBuilder) -> Result<&mut Open<W>> {
        if matches!(self, Self::Before(_))
            && let Self::Before(begin) = std::mem::replace(self, Self::Failed)
        {
            let Prelude { sink, mut properties, described, dictionary, group_writer } = *begin;
            if dictionary {
                let fields: Vec<&Field> = columns.schema.fields().iter().map(AsRef::as_ref).collect();
                let distinct = distinct::mostly_distinct(&fields, first.batches());
                for (leaf, _) in described.columns().iter().zip(distinct).filter(|(_, distinct)| *distinct) {
                    properties = properties.set_column_dictionary_enabled(leaf.path().clone(), false);
                }
            }
            let mut properties = properties.build();
            add_encoded_arrow_schema_to_metadata(&units::restorable(&columns.schema), &mut properties);
            let file = library("the schema", || {
                SerializedFileWriter::new(sink, described.root_schema_ptr(), Arc::new(properties))
            })?;
            let encoders = Encoders { properties: Arc::clone(file.properties()), root: described.root_schema_ptr() };
            *self = Self::Open(Open { group_writer: group_writer(file), encoders: Arc::new(encoders) });
        }
        match self {
            Self::Open(open) => Ok(open),
            Self::Before(_) | Self::Failed => Err(Error::usage("the writer was used after a failure")),
        }
    }
}

impl BatchWriter for Writer<Output> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Writer::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        let (output, warnings) = self.end()?;
        read_back(&output)?;
        output.finish()?;
        Ok(warnings)
    }
}

/// Verifies a written file before it gets its name: reads the footer, and the dictionaries of each row group.
///
/// # Errors
/// What [`Reader::from_source`] rejects, or an unreadable dictionary.
pub fn read_back(output: &Output) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, OpenOptions::default())?;
    reader.check_dictionaries()
}

/// Why a sink failed.
type Cause = Arc<Mutex<Option<io::Error>>>;

/// Records why the sink failed.
struct Sink<W> {
    inner: W,
    cause: Cause,
}

impl<W: Write> Sink<W> {
    fn keep_cause<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|cause| {
            let kind = cause.kind();
            if kind != io::ErrorKind::Interrupted {
                *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.inner.write(bytes);
        self.keep_cause(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The library flushes after each row group; once at the end suffices.
        Ok(())
    }
}

fn cannot_write(cause: io::Error) -> Error {
    Error::io("cannot write the output", cause)
}

/// Replaces an error of the library by the sink's, if that is its cause.
fn with_sink_cause(cause: &Cause, error: Error) -> Error {
    match cause.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(cause) => cannot_write(cause),
        None => error.in_format(FORMAT_NAME),
    }
}

/// Columns with dictionaries of 8 or 16-bit indexes: a file can have more labels than these can address.
fn narrow_dictionaries(schema: &Schema) -> Vec<usize> {
    fn is_narrow(data_type: &DataType) -> bool {
        match data_type {
            DataType::Dictionary(index, _) => index.primitive_width().is_some_and(|width| width < 4),
            other => units::nested_types(other).into_iter().flatten().any(is_narrow),
        }
    }
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_narrow(field.data_type())).map(|(column, _)| column).collect()
}
