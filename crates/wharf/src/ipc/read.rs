//! Arrow IPC read: where the messages lie is found once, then a scan decodes what it asks for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use container_arrow::{BatchReader, BatchScan, BatchSlices, from_arrow, to_arrow};
use container_core::{Error, Limits, Loss, OpenOptions, Result, Source};

use super::FORMAT_NAME;
use super::wire::{Index, Placed, check_buffers, index};
use crate::batches::{Chosen, guarded, has_dictionary, name, pieces};
use crate::workers::Workers;

/// Bytes of batches that are decoded at once, at most, where threads are many: one batch whatever its size.
const AT_ONCE: u64 = 256 << 20;

/// An Arrow IPC file or stream, its messages found.
#[derive(Debug, Clone)]
pub struct Reader {
    source: Source,
    pub(super) index: Arc<Index>,
    limits: Limits,
}

impl Reader {
    /// Finds the messages. Of a stream, all of their headers are read.
    ///
    /// # Errors
    /// What is wrong with the footer or a header; [`Truncated`](crate::ErrorKind::Truncated) where the bytes end within a message.
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        let index = index(&source, &options.limits).map_err(|error| error.in_format(FORMAT_NAME))?;
        Ok(Self { source, index: Arc::new(index), limits: options.limits })
    }

    /// The bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The schema. Names of columns may be there twice.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.index.schema
    }

    /// How many rows the batches have.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.index.rows()
    }

    /// How many batches there are.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.index.batches.len()
    }

    /// True for a file with a footer, false for a stream.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.index.is_file
    }

    /// Reads all dictionaries.
    pub(super) fn check_dictionaries(&self) -> Result<()> {
        let all: Vec<usize> = (0..self.schema().fields().len()).collect();
        self.decoder(&all).prepare(self, usize::MAX).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Decodes these columns of batches; no dictionary is there yet.
    pub(super) fn decoder(&self, columns: &[usize]) -> Decoder {
        /// Of so many columns each is compared with each of the chosen ones.
        const COMPARED: usize = 1 << 22;
        let all = self.index.schema.fields().len();
        let inner = FileDecoder::new(Arc::clone(&self.index.schema), self.index.version);
        let (inner, chosen) = match all.saturating_mul(columns.len()) > COMPARED {
            true => (inner, Some(columns.to_vec())),
            false => (inner.with_projection(columns.to_vec()), None),
        };
        let fields = columns.iter().filter_map(|&column| self.index.schema.fields().get(column));
        let needs_dictionaries = fields.into_iter().any(|field| has_dictionary(field));
        Decoder { inner, chosen, needs_dictionaries, dictionaries: 0 }
    }

    /// The bytes of a message, checked.
    fn message(&self, placed: &Placed) -> Result<Buffer> {
        let bytes = placed.read(&self.source)?;
        check_buffers(&bytes, placed, &self.limits)?;
        Ok(Buffer::from(bytes))
    }
}

/// What the library says of a message, which it has in memory: what it calls a failure of input is one of decompressing.
fn damaged(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(what, _) => Error::invalid(what),
        other => from_arrow(other),
    }
}

/// What decodes batches, with the dictionaries that stand before them.
pub(super) struct Decoder {
    inner: FileDecoder,
    /// Columns that are taken out of all, where the library would take long to find them.
    chosen: Option<Vec<usize>>,
    needs_dictionaries: bool,
    /// How many have been read.
    dictionaries: usize,
}

impl Decoder {
    /// Reads the dictionaries that stand before a batch.
    pub(super) fn prepare(&mut self, reader: &Reader, batch: usize) -> Result<()> {
        while self.needs_dictionaries
            && let Some((before, placed)) = reader.index.dictionaries.get(self.dictionaries)
            && *before <= batch
        {
            self.dictionaries += 1;
            let read = || {
                let message = reader.message(placed)?;
                self.inner.read_dictionary(&placed.block()?, &message).map_err(damaged)
            };
            guarded("the dictionary", read).map_err(|error| error.at(placed.offset))?;
        }
        Ok(())
    }

    /// How many batches may be decoded with the dictionaries that are there.
    fn until(&self, reader: &Reader) -> usize {
        let next = reader.index.dictionaries.get(self.dictionaries).filter(|_| self.needs_dictionaries);
        next.map_or(usize::MAX, |(before, _)| *before)
    }

    pub(super) fn decode(&self, reader: &Reader, batch: usize) -> Result<RecordBatch> {
        let missing = || Error::usage(format!("there is no batch {batch}"));
        let placed = reader.index.batches.get(batch).ok_or_else(missing)?;
        let read = || {
            let message = reader.message(placed)?;
            let found = self.inner.read_record_batch(&placed.block()?, &message).map_err(damaged)?;
            let found = found.ok_or_else(|| Error::invalid("the message has no rows"))?;
            match &self.chosen {
                None => Ok(found),
                Some(chosen) => found.project(chosen).map_err(from_arrow),
            }
        };
        guarded("the batch", read)
            .map_err(|error| error.at(placed.offset).in_block(batch as u64).in_format(FORMAT_NAME))
    }
}

/// A walk over record batches of Arrow IPC.
pub struct Batches {
    reader: Reader,
    chosen: Chosen,
    fields: Arc<[FieldRef]>,
    workers: Workers,
    decoder: Decoder,
    batch_rows: usize,
    batch_bytes: usize,
    next: usize,
    ready: VecDeque<Result<RecordBatch>>,
    cut: Option<BatchSlices>,
    failed: bool,
}

impl Batches {
    pub(super) fn new(reader: Reader, chosen: Chosen, fields: Arc<[FieldRef]>, scan: &BatchScan) -> Self {
        let next = reader.index.batches.partition_point(|batch| batch.start + batch.rows <= chosen.rows.start);
        Self {
            decoder: reader.decoder(&chosen.columns),
            reader,
            chosen,
            fields,
            workers: Workers::new(scan.scan.threads),
            batch_rows: scan.batch_rows,
            batch_bytes: scan.batch_bytes,
            next,
            ready: VecDeque::new(),
            cut: None,
            failed: false,
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(piece) = self.cut.as_mut().and_then(Iterator::next) {
                return Ok(Some(piece));
            }
            if let Some(batch) = self.ready.pop_front() {
                self.cut = Some(pieces(batch?, self.batch_rows, self.batch_bytes));
                continue;
            }
            let batches = self.ahead()?;
            if batches.is_empty() {
                return Ok(None);
            }
            self.ready = self.workers.map(batches, |batch| self.one(batch)).into();
        }
    }

    /// The batches to decode now: none at the end.
    fn ahead(&mut self) -> Result<Vec<usize>> {
        let mut batches = Vec::new();
        let mut bytes = 0_u64;
        while let Some(placed) = self.reader.index.batches.get(self.next) {
            let enough = batches.len() >= self.workers.count() || bytes.saturating_add(placed.body) > AT_ONCE;
            if placed.start >= self.chosen.rows.end || (enough && !batches.is_empty()) {
                break;
            }
            if batches.is_empty() {
                self.decoder.prepare(&self.reader, self.next).map_err(|error| error.in_format(FORMAT_NAME))?;
            } else if self.next >= self.decoder.until(&self.reader) {
                break;
            }
            bytes = bytes.saturating_add(placed.body);
            batches.push(self.next);
            self.next += 1;
        }
        Ok(batches)
    }

    /// The wanted rows of a batch.
    fn one(&self, batch: usize) -> Result<RecordBatch> {
        let decoded = self.decoder.decode(&self.reader, batch).map_err(|error| self.blame(batch, error))?;
        let options = RecordBatchOptions::new().with_row_count(Some(decoded.num_rows()));
        let decoded =
            RecordBatch::try_new_with_options(Arc::clone(&self.chosen.schema), decoded.columns().to_vec(), &options);
        let decoded = decoded.map_err(from_arrow)?;
        let Some(placed) = self.reader.index.batches.get(batch) else { return Ok(decoded) };
        let within =
            |row: u64| usize::try_from(row.saturating_sub(placed.start).min(placed.rows)).unwrap_or(usize::MAX);
        let (start, end) = (within(self.chosen.rows.start), within(self.chosen.rows.end));
        let rows = decoded.num_rows();
        Ok(decoded.slice(start.min(rows), end.min(rows).saturating_sub(start)))
    }

    /// Finds the column that cannot be read: each is read alone until one fails.
    fn blame(&self, batch: usize, error: Error) -> Error {
        match self.reader.damaged(batch, &self.chosen.columns, 1).first() {
            Some((column, _)) => error.in_column(name(&self.fields, *column)),
            None => error,
        }
    }
}

impl Reader {
    /// Columns of a batch that cannot be read alone, so many at most.
    pub(super) fn damaged(&self, batch: usize, columns: &[usize], most: usize) -> Vec<(usize, Error)> {
        /// More columns than these are not tried.
        const TRIED: usize = 256;
        let alone = |column: usize| -> Result<()> {
            let mut decoder = self.decoder(&[column]);
            decoder.prepare(self, batch)?;
            decoder.decode(self, batch).map(drop)
        };
        let failed = columns.iter().take(TRIED).filter_map(|&column| Some((column, alone(column).err()?)));
        failed.take(most).collect()
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
        Arc::clone(&self.chosen.schema)
    }
}

impl BatchReader for Batches {
    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}
