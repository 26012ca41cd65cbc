//! Parquet files written from record batches.

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
use super::groups::{Columns, Encoders, Gathered, Pending};
use super::lane::Lane;
use super::options::WriterOptions;
use super::read::Reader;
use super::source::library;
use super::{FORMAT_NAME, fit, units};
use crate::batches::Dictionaries;
use crate::batches::size::bytes_of;
use crate::workers::Workers;

/// Bytes of a row group where nothing is said: a chunk of a column should not be small, and several groups are encoded at once.
const LEAST_GROUP: usize = 16 << 20;
const MOST_GROUP: usize = 64 << 20;

/// So many row groups, the first ones, are half as large: of a small file, too, every thread has some, to the end.
const HALF_GROUPS: usize = 16;

/// Writes record batches as a Parquet file.
///
/// A row group is encoded when it is whole, by a thread of its own and column by column by those that have nothing to do, while the next
/// ones are gathered: a group's batches are held in memory until then, and what is encoded of it until it is written. The schema of Arrow is
/// kept in the file, so that reading gives it back.
pub struct Writer<W: Write + Send> {
    file: Stage<W>,
    /// Why the sink failed: the library tells no more than that it did.
    cause: Cause,
    columns: Arc<Columns>,
    /// The labels so far of the columns whose indexes may not count all of them, and these columns.
    dictionaries: Dictionaries,
    narrow: Vec<usize>,
    workers: Arc<Workers>,
    group_rows: usize,
    group_bytes: usize,
    /// How many row groups, the first ones, have half as many bytes.
    half_groups: usize,
    /// The rows of the next row group.
    gathered: Gathered,
    /// Row groups that are being encoded.
    pending: Pending,
    /// How many row groups were begun.
    begun: usize,
    failed: bool,
}

impl Writer<Output> {
    /// Begins a file, which appears at [`finish`](Self::finish).
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
    /// Begins a file. The sink gets large pieces; it is not flushed before the end.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a column that Parquet has no type for, with its name;
    /// [`Usage`](crate::ErrorKind::Usage) for two columns of one name, and for a level that the compression has not.
    pub fn new(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        Self::begin(sink, schema, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The sink is written to by a thread of its own, while this one goes on; without the feature `parallel`, and where the
    /// [options](WriterOptions::threads) allow one thread only, it is not. One row group more may be in memory. What the sink says comes with a
    /// later call, [`end`](Self::end) at last.
    ///
    /// Once rows were written this changes nothing.
    #[must_use]
    pub fn with_thread(mut self) -> Self
    where
        W: 'static,
    {
        if let Stage::Before(begin) = &mut self.file
            && self.workers.count() > 1
        {
            begin.lane = Lane::behind;
        }
        self
    }

    fn begin(sink: W, schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        fit::check(&schema)?;
        let properties = options.properties(&schema)?;
        let cause = Cause::default();
        let sink = Sink { inner: sink, cause: Arc::clone(&cause) };
        let stored = units::stored(&schema);
        let described = library("the schema", || ArrowSchemaConverter::new().convert(&stored))?;
        let group_bytes = options.group_bytes.unwrap_or_else(|| {
            let columns = described.num_columns();
            columns.saturating_mul(1 << 20).clamp(LEAST_GROUP, MOST_GROUP)
        });
        let described = Arc::new(described);
        let begin = Begin { sink, properties, described, dictionary: options.dictionary, lane: Lane::here };
        Ok(Self {
            file: Stage::Before(Box::new(begin)),
            cause,
            narrow: narrow(&schema),
            dictionaries: Dictionaries::default(),
            columns: Arc::new(Columns { schema, stored }),
            workers: Arc::new(Workers::new(options.threads)),
            group_rows: options.group_rows,
            group_bytes,
            half_groups: if options.group_bytes.is_none() { HALF_GROUPS } else { 0 },
            gathered: Gathered::default(),
            pending: Pending::default(),
            begun: 0,
            failed: false,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a batch of another schema, or after an error; [`Invalid`](crate::ErrorKind::Invalid) for a
    /// null in a column that has none; [`Limit`](crate::ErrorKind::Limit) for dictionaries that have more labels together than their indexes can
    /// count, as no reader could open the file; [`Io`](crate::ErrorKind::Io).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.guarded(|writer| writer.append(batch))
    }

    /// Ends the file and gives back the sink, flushed, and notes for whoever reads the file elsewhere.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io); [`Usage`](crate::ErrorKind::Usage) after an error.
    pub fn end(mut self) -> Result<(W, Vec<Loss>)> {
        self.guarded(|writer| {
            writer.begin_group()?;
            while writer.end_group()? {}
            // A file without rows has not begun yet.
            writer.file.begin(&writer.columns, &writer.gathered).map(drop)
        })?;
        let Self { file: Stage::Open(Open { lane, .. }), cause, columns, .. } = self else {
            return Err(Error::usage("the writer was used after it failed").in_format(FORMAT_NAME));
        };
        let ended = lane.end().and_then(|file| library("the footer", || file.into_inner()));
        let sink = ended.map_err(|error| failed(&cause, error))?;
        let mut sink = sink.inner;
        sink.flush().map_err(cannot_write)?;
        Ok((sink, fit::notes(&columns.schema)))
    }

    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the writer was used after it failed").in_format(FORMAT_NAME));
        }
        self.failed = true;
        work(self).map_err(|error| failed(&self.cause, error))?;
        self.failed = false;
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        crate::batches::same_columns(&self.columns.schema, &batch.schema())?;
        if self.columns.schema.fields().is_empty() && batch.num_rows() > 0 {
            return Err(Error::unsupported("a Parquet file without columns has no rows"));
        }
        if !self.narrow.is_empty() {
            let narrow = batch.project(&self.narrow).map_err(container_arrow::from_arrow)?;
            self.dictionaries.join(&narrow)?;
        }
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let (rows, bytes) = (rest.num_rows(), bytes_of(&rest));
            let most = if self.begun < self.half_groups { self.group_bytes / 2 } else { self.group_bytes };
            let room = most.saturating_sub(self.gathered.bytes());
            let fit = (room as u128 * rows as u128).checked_div(bytes as u128).unwrap_or(u128::MAX);
            let room = self.group_rows.saturating_sub(self.gathered.rows());
            let fit = usize::try_from(fit).unwrap_or(usize::MAX).min(room);
            let take = if self.gathered.rows() == 0 { fit.max(1) } else { fit }.min(rows);
            if take == 0 {
                self.begin_group()?;
                continue;
            }
            self.gathered.push(rest.slice(0, take))?;
            rest = rest.slice(take, rows - take);
            if self.gathered.rows() >= self.group_rows {
                self.begin_group()?;
            }
        }
        // What is done leaves memory, and is written while others are encoded; one at a time, as whoever makes batches may be this thread.
        if self.pending.is_done() {
            self.end_group()?;
        }
        Ok(())
    }

    /// Has the row group encoded that was gathered, and writes what lies too far ahead.
    fn begin_group(&mut self) -> Result<()> {
        if self.gathered.rows() == 0 {
            return Ok(());
        }
        while self.pending.is_full(&self.gathered, self.workers.count()) {
            self.end_group()?;
        }
        let encoders = Arc::clone(&self.file.begin(&self.columns, &self.gathered)?.encoders);
        let group = self.gathered.take();
        self.begun += 1;
        self.pending.begin(group, &encoders, &self.columns, &self.workers);
        Ok(())
    }

    /// Writes the first of the row groups that are being encoded; false where there is none.
    fn end_group(&mut self) -> Result<bool> {
        let Some(chunks) = self.pending.next()? else { return Ok(false) };
        self.file.begin(&self.columns, &self.gathered)?.lane.write(chunks)?;
        Ok(true)
    }
}

/// The file, before and behind its first bytes.
enum Stage<W: Write + Send> {
    Before(Box<Begin<W>>),
    Open(Open<W>),
    /// It could not begin.
    Failed,
}

struct Open<W: Write + Send> {
    lane: Lane<Sink<W>>,
    encoders: Arc<Encoders>,
}

/// What the file begins with, when rows are there that tell what is worth a dictionary.
struct Begin<W: Write + Send> {
    sink: Sink<W>,
    properties: WriterPropertiesBuilder,
    described: Arc<SchemaDescriptor>,
    dictionary: bool,
    /// How row groups come into the file.
    lane: fn(SerializedFileWriter<Sink<W>>) -> Lane<Sink<W>>,
}

impl<W: Write + Send> Stage<W> {
    /// Begins the file where that is not done yet; `first` is its first row group, or there is none.
    fn begin(&mut self, columns: &Columns, first: &Gathered) -> Result<&mut Open<W>> {
        if matches!(self, Self::Before(_))
            && let Self::Before(begin) = std::mem::replace(self, Self::Failed)
        {
            let Begin { sink, mut properties, described, dictionary, lane } = *begin;
            if dictionary {
                let fields: Vec<&Field> = columns.schema.fields().iter().map(AsRef::as_ref).collect();
                let distinct = distinct::nearly_all(&fields, first.batches());
                for (leaf, _) in described.columns().iter().zip(distinct).filter(|(_, distinct)| *distinct) {
                    properties = properties.set_column_dictionary_enabled(leaf.path().clone(), false);
                }
            }
            let mut properties = properties.build();
            add_encoded_arrow_schema_to_metadata(&columns.schema, &mut properties);
            let file = library("the schema", || {
                SerializedFileWriter::new(sink, described.root_schema_ptr(), Arc::new(properties))
            })?;
            let encoders = Encoders { properties: Arc::clone(file.properties()), root: described.root_schema_ptr() };
            *self = Self::Open(Open { lane: lane(file), encoders: Arc::new(encoders) });
        }
        match self {
            Self::Open(open) => Ok(open),
            Self::Before(_) | Self::Failed => Err(Error::usage("the writer was used after it failed")),
        }
    }
}

impl BatchWriter for Writer<Output> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Writer::write(self, batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        let (output, notes) = self.end()?;
        read_back(&output)?;
        output.finish()?;
        Ok(notes)
    }
}

/// Opens what was written, before it gets its name: the footer, and the dictionaries of each row group.
///
/// # Errors
/// What is wrong with it.
pub fn read_back(output: &Output) -> Result<()> {
    let reader = Reader::from_source(output.read_back()?, OpenOptions::default())?;
    reader.check_dictionaries()
}

/// Why a sink failed.
type Cause = Arc<Mutex<Option<io::Error>>>;

/// A sink that keeps why it failed.
struct Sink<W> {
    inner: W,
    cause: Cause,
}

impl<W: Write> Sink<W> {
    fn kept<T>(&self, done: io::Result<T>) -> io::Result<T> {
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
        self.kept(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The library flushes behind each row group: at the end it is soon enough.
        Ok(())
    }
}

fn cannot_write(cause: io::Error) -> Error {
    Error::io("cannot write the output", cause)
}

/// The error of the sink, where it is the reason for one of the library.
fn failed(cause: &Cause, error: Error) -> Error {
    match cause.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(cause) => cannot_write(cause),
        None => error.in_format(FORMAT_NAME),
    }
}

/// The columns with dictionaries whose indexes have 8 or 16 bits: a file can have more labels than these count.
fn narrow(schema: &Schema) -> Vec<usize> {
    fn is_narrow(data_type: &DataType) -> bool {
        match data_type {
            DataType::Dictionary(index, _) => index.primitive_width().is_some_and(|width| width < 4),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => is_narrow(item.data_type()),
            DataType::Struct(members) => members.iter().any(|member| is_narrow(member.data_type())),
            _ => false,
        }
    }
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_narrow(field.data_type())).map(|(column, _)| column).collect()
}
