//! Reads Arrow IPC: messages are located once, then a scan decodes the batches and columns it selects.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use container_arrow::{BatchScan, BatchSlices, BatchSteps, StepReader, from_arrow};
use container_core::{Error, Limits, OpenOptions, Result, Source};

use super::FORMAT_NAME;
use super::wire::{Index, MessageLocation, check_buffers, index};
use crate::batches::{Projection, batch_slices, guarded, has_dictionary, name};
use crate::workers::Workers;

/// Maximum bytes of batches decoded in parallel; one batch is always allowed.
const MAX_DECODE_BYTES: u64 = 256 << 20;

/// An Arrow IPC file or stream with its messages located.
#[derive(Debug, Clone)]
pub struct Reader {
    source: Source,
    pub(super) index: Arc<Index>,
    limits: Limits,
}

impl Reader {
    /// Locates the messages. For a stream, reads all message headers.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a damaged footer or header; [`Truncated`](crate::ErrorKind::Truncated) if the source ends within a
    /// message.
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        let index = index(&source, &options.limits).map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(Self { source, index: Arc::new(index), limits: options.limits })
    }

    /// The source.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The schema. Column names may be duplicated.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.index.schema
    }

    /// The first row of each batch.
    pub(super) fn batch_starts(&self) -> Vec<u64> {
        self.index.batches.iter().map(|batch| batch.start).collect()
    }

    /// The number of rows in all batches.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.index.rows()
    }

    /// The number of batches.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.index.batches.len()
    }

    /// Whether this is a file with a footer rather than a stream.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.index.is_file
    }

    /// Reads all dictionaries.
    pub(super) fn check_dictionaries(&self) -> Result<()> {
        let all: Vec<usize> = (0..self.schema().fields().len()).collect();
        self.decoder(&all).prepare(self, usize::MAX).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// A decoder for these columns, without dictionaries yet.
    pub(super) fn decoder(&self, columns: &[usize]) -> Decoder {
        /// The library's projection is quadratic; beyond this many comparisons all columns are decoded instead.
        const MAX_COMPARISONS: usize = 1 << 22;
        let all = self.index.schema.fields().len();
        let inner = FileDecoder::new(Arc::clone(&self.index.schema), self.index.version);
        let (inner, projection) = match all.saturating_mul(columns.len()) > MAX_COMPARISONS {
            true => (inner, Some(columns.to_vec())),
            false => (inner.with_projection(columns.to_vec()), None),
        };
        let fields = columns.iter().filter_map(|&column| self.index.schema.fields().get(column));
        let needs_dictionaries = fields.into_iter().any(|field| has_dictionary(field));
        Decoder { inner, projection, needs_dictionaries, dictionaries: 0 }
    }

    /// Reads and checks a message.
    fn message(&self, location: &MessageLocation) -> Result<Buffer> {
        let bytes = location.read(&self.source)?;
        check_buffers(&bytes, location, &self.limits)?;
        Ok(Buffer::from(bytes))
    }
}

/// Converts an error in a message. The message is in memory, so an I/O error of the library is one of decompression.
fn damaged(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(what, _) => Error::invalid(what),
        other => from_arrow(other),
    }
}

/// Decodes batches, and the dictionaries before them.
pub(super) struct Decoder {
    inner: FileDecoder,
    /// The projection to apply after decoding, if the library does not.
    projection: Option<Vec<usize>>,
    needs_dictionaries: bool,
    /// Number of dictionaries read.
    dictionaries: usize,
}

impl Decoder {
    /// Reads the dictionaries before a batch.
    pub(super) fn prepare(&mut self, reader: &Reader, batch: usize) -> Result<()> {
        while self.needs_dictionaries
            && let Some((before, location)) = reader.index.dictionaries.get(self.dictionaries)
            && *before <= batch
        {
            self.dictionaries += 1;
            let read = || {
                let message = reader.message(location)?;
                self.inner.read_dictionary(&location.block()?, &message).map_err(damaged)
            };
            guarded("the dictionary", read).map_err(|error| error.at(location.offset))?;
        }
        Ok(())
    }

    /// The first batch that needs further dictionaries.
    fn until(&self, reader: &Reader) -> usize {
        let next = reader.index.dictionaries.get(self.dictionaries).filter(|_| self.needs_dictionaries);
        next.map_or(usize::MAX, |(before, _)| *before)
    }

    pub(super) fn decode(&self, reader: &Reader, batch: usize) -> Result<RecordBatch> {
        let missing = || Error::usage(format!("no batch {batch}"));
        let location = reader.index.batches.get(batch).ok_or_else(missing)?;
        let read = || {
            let message = reader.message(location)?;
            let found = self.inner.read_record_batch(&location.block()?, &message).map_err(damaged)?;
            let found = found.ok_or_else(|| Error::invalid("message without rows"))?;
            match &self.projection {
                None => Ok(found),
                Some(projection) => found.project(projection).map_err(from_arrow),
            }
        };
        guarded("the batch", read)
            .map_err(|error| error.at(location.offset).in_block(batch as u64).in_format(FORMAT_NAME))
    }
}

/// Reads Arrow IPC as record batches.
pub type Batches = StepReader<Steps>;

/// The state of [`Batches`].
pub struct Steps {
    reader: Reader,
    projection: Projection,
    fields: Arc<[FieldRef]>,
    workers: Workers,
    decoder: Decoder,
    batch_rows: usize,
    batch_bytes: usize,
    next: usize,
    ready: VecDeque<Result<RecordBatch>>,
    slices: Option<BatchSlices>,
}

impl Steps {
    pub(super) fn new(reader: Reader, projection: Projection, fields: Arc<[FieldRef]>, scan: &BatchScan) -> Self {
        let next = reader.index.batches.partition_point(|batch| batch.start + batch.rows <= projection.rows.start);
        Self {
            decoder: reader.decoder(&projection.columns),
            reader,
            projection,
            fields,
            workers: Workers::new(scan.scan.threads),
            batch_rows: scan.batch_rows,
            batch_bytes: scan.batch_bytes,
            next,
            ready: VecDeque::new(),
            slices: None,
        }
    }

    /// The batches to decode next; none at the end.
    fn next_batches(&mut self) -> Result<Vec<usize>> {
        let mut batches = Vec::new();
        let mut bytes = 0_u64;
        while let Some(location) = self.reader.index.batches.get(self.next) {
            let enough =
                batches.len() >= self.workers.count() || bytes.saturating_add(location.body) > MAX_DECODE_BYTES;
            if location.start >= self.projection.rows.end || (enough && !batches.is_empty()) {
                break;
            }
            if batches.is_empty() {
                self.decoder.prepare(&self.reader, self.next).map_err(|error| error.in_format(FORMAT_NAME))?;
            } else if self.next >= self.decoder.until(&self.reader) {
                break;
            }
            bytes = bytes.saturating_add(location.body);
            batches.push(self.next);
            self.next += 1;
        }
        Ok(batches)
    }

    /// Reads the selected rows of a batch.
    fn read_batch(&self, batch: usize) -> Result<RecordBatch> {
        let decoded =
            self.decoder.decode(&self.reader, batch).map_err(|error| self.with_damaged_column(batch, error))?;
        let decoded = self.projection.batch(decoded.columns().to_vec(), decoded.num_rows())?;
        let Some(location) = self.reader.index.batches.get(batch) else { return Ok(decoded) };
        let within =
            |row: u64| usize::try_from(row.saturating_sub(location.start).min(location.rows)).unwrap_or(usize::MAX);
        let (start, end) = (within(self.projection.rows.start), within(self.projection.rows.end));
        let rows = decoded.num_rows();
        Ok(decoded.slice(start.min(rows), end.min(rows).saturating_sub(start)))
    }

    /// Adds the damaged column's name to an error: columns are read one by one until one fails.
    fn with_damaged_column(&self, batch: usize, error: Error) -> Error {
        match self.reader.damaged(batch, &self.projection.columns, 1).first() {
            Some((column, _)) => error.in_column(name(&self.fields, *column)),
            None => error,
        }
    }
}

impl Reader {
    /// Damaged columns of a batch, at most `limit`, with their errors.
    pub(super) fn damaged(&self, batch: usize, columns: &[usize], limit: usize) -> Vec<(usize, Error)> {
        /// Maximum columns tried.
        const MAX_TRIED: usize = 256;
        let alone = |column: usize| -> Result<()> {
            let mut decoder = self.decoder(&[column]);
            decoder.prepare(self, batch)?;
            decoder.decode(self, batch).map(drop)
        };
        let failed = columns.iter().take(MAX_TRIED).filter_map(|&column| Some((column, alone(column).err()?)));
        failed.take(limit).collect()
    }
}

impl BatchSteps for Steps {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(slice) = self.slices.as_mut().and_then(Iterator::next) {
                return Ok(Some(slice));
            }
            if let Some(batch) = self.ready.pop_front() {
                self.slices = Some(batch_slices(batch?, self.batch_rows, self.batch_bytes));
                continue;
            }
            let batches = self.next_batches()?;
            if batches.is_empty() {
                return Ok(None);
            }
            self.ready = self.workers.map(batches, |batch| self.read_batch(batch)).into();
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.projection.schema)
    }
}
