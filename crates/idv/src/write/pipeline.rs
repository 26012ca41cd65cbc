//! The block pipeline: blocks are encoded and compressed on all threads and written in order.

use std::collections::VecDeque;
use std::io::{Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Bytes, Error, Result, parallel};

use crate::codec::{self, Values};
use crate::lookahead::{Job, Worker};
use crate::wire::ItemType;
use crate::wire::{Compression, LookupEntry, Type};
use deflate_lanes::{Deflater, Format};

/// Maximum uncompressed bytes in flight, beyond one block per thread.
const AHEAD_BYTES: u64 = 64 << 20;

/// Uncompressed blocks smaller than this, in bytes, are encoded inline: a copy is cheaper than a thread handoff.
const INLINE_BYTES: u64 = 1 << 20;

/// The same for text, whose UTF-16 units must be counted.
const INLINE_TEXT_BYTES: u64 = 16 << 10;

/// Encodes blocks; shared by all threads.
pub(super) struct Encoder {
    columns: Vec<(Type, Compression)>,
    level: u8,
    scratch_pool: Mutex<Vec<Scratch>>,
    /// Buffers of written blocks, for reuse.
    spare: Mutex<Vec<Vec<u8>>>,
}

#[derive(Default)]
struct Scratch {
    raw: Vec<u8>,
    deflater: Deflater,
}

/// The values of one block.
pub(super) struct Task {
    column: usize,
    values: Values,
}

/// An encoded block, and its values for reuse.
pub(super) struct Packed {
    column: usize,
    values: Values,
    bytes: Vec<u8>,
    raw_len: u32,
}

impl Encoder {
    pub(super) fn new(columns: Vec<(Type, Compression)>, level: u8) -> Self {
        Self { columns, level, scratch_pool: Mutex::default(), spare: Mutex::default() }
    }

    fn encode(&self, task: Task) -> Result<Packed> {
        let Task { column, values } = task;
        let Some((kind, compression)) = self.columns.get(column) else {
            return Err(Error::usage(format!("column {column} is out of bounds for {} columns", self.columns.len())));
        };
        let mut bytes = locked(&self.spare).pop().unwrap_or_default();
        bytes.clear();
        let format = match compression {
            Compression::None => None,
            Compression::Deflate => Some(Format::Raw),
            Compression::Zlib => Some(Format::Zlib),
        };
        let raw_len = if let Some(format) = format {
            let mut scratch = locked(&self.scratch_pool).pop().unwrap_or_default();
            scratch.raw.clear();
            let encoded = codec::encode(kind, &values, 0..values.len(), &mut scratch.raw);
            if encoded.is_ok() {
                scratch.deflater.deflate(format, self.level, &scratch.raw, &mut bytes);
            }
            let raw_len = scratch.raw.len();
            locked(&self.scratch_pool).push(scratch);
            encoded?;
            raw_len
        } else {
            codec::encode(kind, &values, 0..values.len(), &mut bytes)?;
            bytes.len()
        };
        let raw_len = u32::try_from(raw_len).map_err(|_| too_large(raw_len))?;
        Ok(Packed { column, values, bytes, raw_len })
    }
}

impl Worker for Encoder {
    type Task = Task;
    type Outcome = Result<Packed>;

    fn work(&self, task: Task) -> Result<Packed> {
        self.encode(task)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sink, the lookup tables, and the blocks in flight.
pub(super) struct Pipeline<W> {
    sink: W,
    position: u64,
    /// Per column, the lookup entries in row order.
    pub(super) lookups: Vec<Vec<LookupEntry>>,
    encoder: Arc<Encoder>,
    queue: Queue,
    /// Uncompressed bytes in the queue.
    bytes: u64,
    max_queued: usize,
    threads: usize,
    /// Per column, values for reuse.
    free: Vec<Vec<Values>>,
}

/// Blocks in flight, in write order.
#[derive(Default)]
struct Queue(VecDeque<QueuedBlock>);

struct QueuedBlock {
    work: Work,
    bytes: u64,
}

enum Work {
    Job(Arc<Job<Encoder>>),
    /// Already encoded.
    Encoded(Packed),
    /// Contiguous blocks of another file.
    CopiedBlock(Bytes, Vec<CopiedBlock>),
}

/// A block copied from another file.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopiedBlock {
    pub(super) column: usize,
    pub(super) len: u32,
    pub(super) raw_len: u32,
}

impl<W: Write + Seek> Pipeline<W> {
    pub(super) fn new(sink: W, encoder: Encoder, threads: usize) -> Self {
        let columns = encoder.columns.len();
        let threads = if threads == 0 { parallel::threads() } else { threads.min(parallel::threads()) };
        Self {
            sink,
            position: 0,
            lookups: vec![Vec::new(); columns],
            encoder: Arc::new(encoder),
            queue: Queue::default(),
            bytes: 0,
            max_queued: if threads <= 1 { 0 } else { threads * 8 },
            threads,
            free: vec![Vec::new(); columns],
        }
    }

    /// Whether everything has been written.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.0.is_empty()
    }

    /// Offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Empty values for reuse, if available.
    pub(super) fn buffer(&mut self, column: usize) -> Option<Values> {
        self.free.get_mut(column).and_then(Vec::pop)
    }

    /// Queues the next block of a column; `bytes` is its uncompressed length.
    pub(super) fn push(&mut self, column: usize, values: Values, bytes: u64) -> Result<()> {
        let task = Task { column, values };
        if self.threads > 1 {
            let inline_limit = match self.encoder.columns.get(column) {
                Some((kind, Compression::None)) if kind.item() == ItemType::Text => INLINE_TEXT_BYTES,
                Some((_, Compression::None)) => INLINE_BYTES,
                _ => 0,
            };
            if bytes >= inline_limit {
                let work = Work::Job(Job::spawn(&self.encoder, task));
                return self.enqueue(work, bytes);
            }
            if !self.is_idle() {
                let packed = self.encoder.encode(task)?;
                return self.enqueue(Work::Encoded(packed), bytes);
            }
        }
        // Nothing is queued before it: write it now.
        let packed = self.encoder.encode(task)?;
        self.write_block(packed)
    }

    /// Queues contiguous blocks of another file.
    pub(super) fn push_copied(&mut self, bytes: Bytes, blocks: Vec<CopiedBlock>) -> Result<()> {
        let len = bytes.len() as u64;
        self.enqueue(Work::CopiedBlock(bytes, blocks), len)
    }

    fn enqueue(&mut self, work: Work, bytes: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.queue.0.push_back(QueuedBlock { work, bytes });
        while self.queue.0.len() > self.max_queued || (self.bytes > AHEAD_BYTES && self.queue.0.len() > self.threads) {
            self.write_next()?;
        }
        Ok(())
    }

    /// Writes all but the last `keep` entries.
    pub(super) fn drain(&mut self, keep: usize) -> Result<()> {
        while self.queue.0.len() > keep {
            self.write_next()?;
        }
        Ok(())
    }

    fn write_next(&mut self) -> Result<()> {
        let Some(QueuedBlock { work, bytes }) = self.queue.0.pop_front() else { return Ok(()) };
        self.bytes -= bytes;
        match work {
            Work::Job(job) => {
                let packed = job.take(&self.encoder)?;
                self.write_block(packed)
            }
            Work::Encoded(packed) => self.write_block(packed),
            Work::CopiedBlock(bytes, blocks) => {
                self.record_copied(&blocks);
                self.write(&bytes)
            }
        }
    }

    fn write_block(&mut self, packed: Packed) -> Result<()> {
        let Packed { column, mut values, bytes, raw_len } = packed;
        let len = u32::try_from(bytes.len()).ok().filter(|&len| i32::try_from(len).is_ok());
        let len = len.ok_or_else(|| too_large(bytes.len()))?;
        self.record(column, len, raw_len, self.position);
        self.write(&bytes)?;
        locked(&self.encoder.spare).push(bytes);
        values.clear();
        if let Some(free) = self.free.get_mut(column) {
            free.push(values);
        }
        Ok(())
    }

    /// Records the lookup entries of contiguous blocks to be written next.
    pub(super) fn record_copied(&mut self, blocks: &[CopiedBlock]) {
        let mut offset = self.position;
        for block in blocks {
            self.record(block.column, block.len, block.raw_len, offset);
            offset += u64::from(block.len);
        }
    }

    fn record(&mut self, column: usize, len: u32, raw_len: u32, offset: u64) {
        if let Some(lookup) = self.lookups.get_mut(column) {
            lookup.push(LookupEntry { offset, len, raw_len });
        }
    }

    /// Appends bytes to the sink.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(failed)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Overwrites the first bytes and returns the sink, positioned at the end.
    pub(super) fn finish(mut self, first: &[u8]) -> Result<W> {
        // Relative seeks: the file may start in the middle of a stream.
        let back = i64::try_from(self.position).map_err(|_| Error::limit("bytes", self.position, 1 << 63))?;
        self.sink.seek_relative(-back).map_err(failed)?;
        self.sink.write_all(first).map_err(failed)?;
        self.sink.seek_relative(back - i64::try_from(first.len()).unwrap_or(0)).map_err(failed)?;
        self.sink.flush().map_err(failed)?;
        Ok(self.sink)
    }
}

/// Cancels jobs that have not started.
impl Drop for Queue {
    fn drop(&mut self) {
        for next in &self.0 {
            if let Work::Job(job) = &next.work {
                job.cancel();
            }
        }
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write", cause)
}

#[cold]
fn too_large(len: usize) -> Error {
    Error::limit("bytes of a block", len as u64, 0x7FFF_FFFF)
}
