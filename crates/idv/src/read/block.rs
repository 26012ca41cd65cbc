use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use container_core::{Bytes, Cursor, Error, Result, parallel};

use super::Reader;
use super::block_request::BlockRequest;
use super::budget::BlockPrefix;
use super::open::Column;
use crate::FORMAT_NAME;
use crate::codec::{self, Values};
use crate::inflate::Inflater;
use crate::wire::{Compression, LOOKUP_ENTRY_LEN, LookupEntry, Type};

mod shared;

/// Scratch buffers for reading blocks; reuse one to avoid allocations.
#[derive(Default)]
pub struct Scratch {
    inflater: Inflater,
    packed: Vec<u8>,
    raw: Vec<u8>,
}

/// Idle scratch buffers. Not charged to a budget, so their size is limited.
#[derive(Default)]
pub(crate) struct ScratchPool {
    idle: Mutex<Vec<Scratch>>,
}

impl ScratchPool {
    /// Runs `work` with a scratch buffer.
    pub(crate) fn with<T>(&self, reader: &Reader, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = idle.unwrap_or_default();
        let result = work(&mut scratch);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle_bytes: usize = idle.iter().chain([&scratch]).map(Scratch::len).sum();
        if idle_bytes as u64 > reader.0.options.limits.memory_bytes / IDLE_PART {
            (scratch.packed, scratch.raw) = (Vec::new(), Vec::new());
        }
        idle.push(scratch);
        result
    }
}

impl Scratch {
    fn len(&self) -> usize {
        self.packed.capacity() + self.raw.capacity()
    }
}

/// Idle scratch buffers may take one in so many bytes of [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
const IDLE_PART: u64 = 8;

impl Reader {
    /// The row range of a block.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column or block that does not exist.
    pub fn block_rows(&self, column: usize, block: u64) -> Result<Range<u64>> {
        rows_of(self.column_at(column)?, block, self.row_count())
    }

    /// The block of a column that contains a row.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column or row that does not exist.
    pub fn block_of_row(&self, column: usize, row: u64) -> Result<u64> {
        let column = self.column_at(column)?;
        let block = row.checked_div(column.rows_per_block()).filter(|_| row < self.row_count());
        block.ok_or_else(|| {
            Error::usage(format!("row {row} is out of bounds for {} rows", self.row_count())).in_format(FORMAT_NAME)
        })
    }

    /// Reads one block of a column into `values`, whose memory is reused, and returns its rows.
    ///
    /// Reads only this block.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a block that does not exist, the reason why the column is unreadable, and any defect
    /// of the block, with byte, block and column. After an error, `values` is unspecified; the reader remains usable.
    pub fn read_block(
        &self,
        column: usize,
        block: u64,
        values: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<Range<u64>> {
        let column = self.column_at(column)?;
        let located =
            |error: Error| error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME);
        let kind = column.kind().map_err(|unreadable| located(unreadable.to_error()))?;
        let rows = rows_of(column, block, self.row_count())?;
        self.decode_block(column, kind, block, &rows, rows.end, values, scratch).map_err(located)?;
        Ok(rows)
    }

    /// Reads the requested rows of a block, possibly with the rows before them, or the whole block.
    pub(super) fn read_rows(&self, request: &BlockRequest, values: &mut Values, scratch: &mut Scratch) -> Result<()> {
        let column = self.column_at(request.column)?;
        let located = |error: Error| {
            error.in_column(column.unique_name().to_owned()).in_block(request.block).in_format(FORMAT_NAME)
        };
        let kind = column.kind().map_err(|unreadable| located(unreadable.to_error()))?;
        let rows = rows_of(column, request.block, self.row_count())?;
        self.decode_block(column, kind, request.block, &rows, request.rows.end, values, scratch).map_err(located)
    }

    /// The decompressed bytes of a block. Those of an uncompressed block share the source's memory.
    ///
    /// # Errors
    /// As [`read_block`](Self::read_block), except for errors of the codec.
    pub fn block_bytes(&self, column: usize, block: u64) -> Result<Bytes> {
        let column = self.column_at(column)?;
        let located =
            |error: Error| error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME);
        column.kind().map_err(|unreadable| located(unreadable.to_error()))?;
        rows_of(column, block, self.row_count())?;
        let mut scratch = Scratch::default();
        let bytes = self.lookup(column, block, &mut scratch.packed).and_then(|entry| {
            if column.compression() == Some(Compression::None) {
                check_stored(&entry)?;
                return self.source().read(entry.offset..entry.offset + u64::from(entry.len));
            }
            self.check_packed(&entry)?;
            let prefix = BlockPrefix { values: 0, bytes: entry.raw_len.into(), whole: true };
            self.0.options.limits.check_memory(BLOCK_MEMORY, prefix.bytes).map_err(|error| error.at(entry.offset))?;
            self.raw_block(column, &entry, &prefix, &mut scratch)?;
            Ok(Bytes::from(std::mem::take(&mut scratch.raw)))
        });
        bytes.map_err(located)
    }

    /// Total size of a column's blocks, in the file and decompressed; `None` when its lookup table exceeds `max_lookup` bytes or the
    /// column is unreadable.
    pub(crate) fn sizes(&self, column: usize, max_lookup: u64) -> Result<Option<(u64, u64)>> {
        let column = self.column_at(column)?;
        if column.kind().is_err() || column.block_count().saturating_mul(LOOKUP_ENTRY_LEN) > max_lookup {
            return Ok(None);
        }
        let (mut packed, mut raw, mut buffer) = (0, 0, Vec::new());
        for block in 0..column.block_count() {
            let entry = self.lookup(column, block, &mut buffer).map_err(|error| {
                error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME)
            })?;
            packed += u64::from(entry.len);
            raw += u64::from(entry.raw_len);
        }
        Ok(Some((packed, raw)))
    }

    /// Bytes of a block and its lookup entry in the file.
    pub(crate) fn stored_len(&self, column: &Column, block: u64) -> u64 {
        let entry = self.lookup(column, block, &mut Vec::new());
        LOOKUP_ENTRY_LEN + entry.map_or(0, |entry| entry.len.into())
    }

    /// Appends the lookup entries of existing blocks.
    pub(crate) fn lookup_entries(
        &self,
        column: usize,
        blocks: Range<u64>,
        entries: &mut VecDeque<LookupEntry>,
    ) -> Result<()> {
        let column = self.column_at(column)?;
        let last = blocks.end.saturating_sub(1);
        rows_of(column, last, self.row_count())?;
        let start = column.entry.lookup_offset + blocks.start * LOOKUP_ENTRY_LEN;
        let bytes = self.source().read(start..column.entry.lookup_offset + blocks.end * LOOKUP_ENTRY_LEN)?;
        let mut cursor = Cursor::at(&bytes, start);
        for block in blocks {
            let entry = LookupEntry::parse(&mut cursor, self.header().tail_offset).and_then(|entry| {
                if column.compression() == Some(Compression::None) {
                    check_stored(&entry)?;
                }
                Ok(entry)
            });
            entries.push_back(entry.map_err(|error| {
                error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME)
            })?);
        }
        Ok(())
    }

    /// Decodes the rows of a block up to `end`, or the whole block.
    #[expect(clippy::too_many_arguments, reason = "a block, its requested rows, and two buffers")]
    fn decode_block(
        &self,
        column: &Column,
        kind: &Type,
        block: u64,
        rows: &Range<u64>,
        end: u64,
        values: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let entry = self.lookup(column, block, &mut scratch.packed)?;
        let prefix = self.prefix(column, kind, rows, end, &entry)?;
        let cost = self.prefix_cost(column, kind, &prefix, &entry);
        let limits = &self.0.options.limits;
        limits.check_memory(BLOCK_MEMORY, cost.peak).map_err(|error| error.at(entry.offset))?;
        let n = usize::try_from(prefix.values).map_err(|_| too_many(rows).at(entry.offset))?;
        if column.compression() == Some(Compression::None) {
            let bytes = self.source().view(entry.offset..entry.offset + prefix.bytes, &mut scratch.packed)?;
            return codec::decode(kind, n, Cursor::at(bytes, entry.offset), limits.block_bytes, values);
        }
        let raw = self.raw_block(column, &entry, &prefix, scratch)?;
        codec::decode(kind, n, Cursor::new(raw), limits.block_bytes, values)
            .map_err(|error| inside(&error, entry.offset))
    }

    /// Checks that the declared decompressed length is possible and within the limits.
    fn check_packed(&self, entry: &LookupEntry) -> Result<()> {
        let raw_len = u64::from(entry.raw_len);
        let limits = &self.0.options.limits;
        limits.check_block("decompressed block length", raw_len).map_err(|error| error.at(entry.offset))?;
        if raw_len > deflate_lanes::most_inflated(entry.len.into()) {
            let detail = format!("{} compressed bytes cannot hold the {raw_len} declared", entry.len);
            return Err(Error::invalid(detail).at(entry.offset));
        }
        Ok(())
    }

    /// The prefix of a block to decode for its rows up to `end`. Checks lengths and counts before reading.
    pub(super) fn prefix(
        &self,
        column: &Column,
        kind: &Type,
        rows: &Range<u64>,
        end: u64,
        entry: &LookupEntry,
    ) -> Result<BlockPrefix> {
        let count = rows.end - rows.start;
        // Only one-bit items allow more rows than an i32 in a block of at most 2^31 - 1 bytes.
        let _: usize = usize::try_from(count).map_err(|_| too_many(rows).at(entry.offset))?;
        if column.compression() == Some(Compression::None) {
            check_stored(entry)?;
        } else {
            check_least(kind, rows, entry)?;
            self.check_packed(entry)?;
        }
        Ok(BlockPrefix::of(kind, count, end.min(rows.end).saturating_sub(rows.start), entry))
    }

    /// Inflates a prefix of a block into `scratch.raw` and returns it.
    fn raw_block<'s>(
        &self,
        column: &Column,
        entry: &LookupEntry,
        prefix: &BlockPrefix,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8]> {
        let compression = column.compression().unwrap_or(Compression::None);
        let range = entry.offset..entry.offset + u64::from(entry.len);
        let packed = self.source().view(range, &mut scratch.packed)?;
        let len = usize::try_from(prefix.bytes).unwrap_or(usize::MAX);
        // Only growth is zeroed; a fresh allocation avoids copying the old content.
        if scratch.raw.capacity() < len {
            scratch.raw = vec![0; len];
        } else if scratch.raw.len() < len {
            scratch.raw.resize(len, 0);
        }
        let out = scratch.raw.get_mut(..len).unwrap_or_default();
        let inflated = if prefix.whole {
            scratch.inflater.inflate(compression, packed, out)
        } else {
            scratch.inflater.inflate_prefix(compression, packed, out)
        };
        inflated.map_err(|error| error.at(entry.offset))?;
        Ok(out)
    }

    /// The lookup entry of a block. The table must be inside the file.
    pub(super) fn lookup(&self, column: &Column, block: u64, buffer: &mut Vec<u8>) -> Result<LookupEntry> {
        let start = column.entry.lookup_offset + block * LOOKUP_ENTRY_LEN;
        let bytes = self.source().view(start..start + LOOKUP_ENTRY_LEN, buffer)?;
        LookupEntry::parse(&mut Cursor::at(bytes, start), self.header().tail_offset)
    }
}

/// The rows of a block of a column.
fn rows_of(column: &Column, block: u64, rows: u64) -> Result<Range<u64>> {
    if block >= column.block_count() {
        let detail = format!("block {block} is out of bounds for {} blocks", column.block_count());
        return Err(Error::usage(detail).in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME));
    }
    let start = block * column.rows_per_block();
    Ok(start..start.saturating_add(column.rows_per_block()).min(rows))
}

/// What the memory of a block is called in errors.
const BLOCK_MEMORY: &str = "memory for a decoded block";

fn check_stored(entry: &LookupEntry) -> Result<()> {
    if entry.len == entry.raw_len {
        return Ok(());
    }
    let detail =
        format!("an uncompressed block declares {} bytes in the file and {} decompressed", entry.len, entry.raw_len);
    Err(Error::invalid(detail).at(entry.offset))
}

/// Rejects a block too short for its rows before it is inflated.
fn check_least(kind: &Type, rows: &Range<u64>, entry: &LookupEntry) -> Result<()> {
    let least = kind_least_len(kind, rows.end - rows.start).unwrap_or(u64::MAX);
    if least <= entry.raw_len.into() {
        return Ok(());
    }
    Err(Error::truncated("the decompressed block", least, entry.raw_len.into()).at(entry.offset))
}

fn kind_least_len(kind: &Type, rows: u64) -> Option<u64> {
    match kind {
        Type::Item(item) => codec::min_len(*item, rows),
        // A count per vector; number of vectors, length, number of indices.
        Type::Vector { .. } => rows.checked_mul(4)?.checked_add(12),
    }
}

#[cold]
fn too_many(rows: &Range<u64>) -> Error {
    Error::invalid(format!("a block of {} rows is too large", rows.end - rows.start))
}

/// Relocates an error in decompressed bytes: the position becomes the start of the block, the message gets the byte within it.
pub(super) fn inside(error: &Error, offset: u64) -> Error {
    let byte = error.position().byte.unwrap_or(0);
    Error::new(error.kind(), format!("{} at byte {byte} of the decompressed block", error.detail())).at(offset)
}

/// Maps blocks of a column to results, in order: on this thread if `threads` is 1 or the limits do not allow one block per pool thread,
/// otherwise on the pool. Each thread has its own buffers.
pub(crate) fn each_block<T: Send>(
    reader: &Reader,
    column: usize,
    blocks: Range<u64>,
    threads: usize,
    work: impl Fn(&mut (Values, Scratch), u64) -> T + Sync + Send,
) -> Vec<T> {
    if threads != 1 {
        let cost = |block| reader.block_cost(&BlockRequest::whole(column, block)).peak;
        let largest = blocks.clone().map(cost).max().unwrap_or(0);
        let total = largest.saturating_mul(parallel::threads() as u64);
        if total <= reader.0.options.limits.memory_bytes {
            return parallel::map_with(blocks.collect(), work);
        }
    }
    let mut state = Default::default();
    blocks.map(|block| work(&mut state, block)).collect()
}
