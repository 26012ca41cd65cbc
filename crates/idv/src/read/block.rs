use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use container_core::{Bytes, Cursor, Error, Result, parallel};

use super::Reader;
use super::budget::BlockPrefix;
use super::open::Column;
use super::block_request::BlockRequest;
use crate::FORMAT_NAME;
use crate::codec::{self, Values};
use crate::inflate::Inflater;
use crate::wire::{Compression, LOOKUP_ENTRY_LEN, LookupEntry, Type};

#[cfg(feature = "arrow")]
mod shared;

/// Working memory for reading blocks: give the same one again and nothing is allocated anew.
#[derive(Default)]
pub struct Scratch {
    inflater: Inflater,
    packed: Vec<u8>,
    raw: Vec<u8>,
}

/// Working memory that is not in use. It is charged to no budget, so its size is limited.
#[derive(Default)]
pub(crate) struct ScratchPool {
    idle: Mutex<Vec<Scratch>>,
}

impl ScratchPool {
    /// Does something with working memory.
    pub(crate) fn with<T>(&self, reader: &Reader, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = idle.unwrap_or_default();
        let done = work(&mut scratch);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = idle.iter().chain([&scratch]).map(Scratch::len).sum();
        if kept as u64 > reader.0.options.limits.memory_bytes / IDLE_PART {
            (scratch.packed, scratch.raw) = (Vec::new(), Vec::new());
        }
        idle.push(scratch);
        done
    }
}

impl Scratch {
    fn len(&self) -> usize {
        self.packed.capacity() + self.raw.capacity()
    }
}

/// Which prefix of the memory of an operation may be kept for blocks to come.
const IDLE_PART: u64 = 8;

impl Reader {
    /// The rows of a block.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column or block that does not exist.
    pub fn block_rows(&self, column: usize, block: u64) -> Result<Range<u64>> {
        rows_of(self.column_at(column)?, block, self.row_count())
    }

    /// The block of a column that holds a row.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column or row that does not exist.
    pub fn block_of_row(&self, column: usize, row: u64) -> Result<u64> {
        let column = self.column_at(column)?;
        let block = row.checked_div(column.rows_per_block()).filter(|_| row < self.row_count());
        block.ok_or_else(|| Error::usage(format!("row {row} of {} rows", self.row_count())).in_format(FORMAT_NAME))
    }

    /// Reads one block of a column into `values`, whose memory is reused, and returns its rows.
    ///
    /// Costs the block's bytes: nothing of other blocks or columns is touched.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a block that does not exist, why the column is unreadable, and all that is wrong with the
    /// block, with byte, block and column. After an error `values` holds anything; the reader goes on as before.
    pub fn read_block(
        &self,
        column: usize,
        block: u64,
        values: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<Range<u64>> {
        let column = self.column_at(column)?;
        let place =
            |error: Error| error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME);
        let kind = column.kind().map_err(|unreadable| place(unreadable.to_error()))?;
        let rows = rows_of(column, block, self.row_count())?;
        self.decode_block(column, kind, block, &rows, rows.end, values, scratch).map_err(place)?;
        Ok(rows)
    }

    /// Reads a block as far as its rows are wanted: maybe only the rows up to the last of them.
    pub(super) fn read_rows(&self, place: &BlockRequest, values: &mut Values, scratch: &mut Scratch) -> Result<()> {
        let column = self.column_at(place.column)?;
        let named = |error: Error| {
            error.in_column(column.unique_name().to_owned()).in_block(place.block).in_format(FORMAT_NAME)
        };
        let kind = column.kind().map_err(|unreadable| named(unreadable.to_error()))?;
        let rows = rows_of(column, place.block, self.row_count())?;
        self.decode_block(column, kind, place.block, &rows, place.rows.end, values, scratch).map_err(named)
    }

    /// The bytes of a block as its codec wrote them, decompressed. Those of an uncompressed block share the source's
    /// memory.
    ///
    /// # Errors
    /// As [`read_block`](Self::read_block), but for what only the codec would find.
    pub fn block_bytes(&self, column: usize, block: u64) -> Result<Bytes> {
        let column = self.column_at(column)?;
        let place =
            |error: Error| error.in_column(column.unique_name().to_owned()).in_block(block).in_format(FORMAT_NAME);
        column.kind().map_err(|unreadable| place(unreadable.to_error()))?;
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
        bytes.map_err(place)
    }

    /// The bytes of all blocks of a column, in the file and decompressed; `None` when its lookup table has more than `most` bytes
    /// or the column is unreadable.
    pub(crate) fn sizes(&self, column: usize, most: u64) -> Result<Option<(u64, u64)>> {
        let column = self.column_at(column)?;
        if column.kind().is_err() || column.block_count().saturating_mul(LOOKUP_ENTRY_LEN) > most {
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

    /// The bytes of the file that a block takes with its entry in the lookup table.
    pub(crate) fn stored_len(&self, column: &Column, block: u64) -> u64 {
        let entry = self.lookup(column, block, &mut Vec::new());
        LOOKUP_ENTRY_LEN + entry.map_or(0, |entry| entry.len.into())
    }

    /// Where blocks of a column lie, which are known to be there.
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

    /// Decodes the rows of a block up to `end`, or all of them.
    #[expect(clippy::too_many_arguments, reason = "a block, what is wanted of it, and two buffers")]
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

    /// What a block declares to inflate to must be possible, and not too much.
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

    /// The prefix of a block that is decoded for its rows up to `end`; checks what can be before any of it is read.
    pub(super) fn prefix(
        &self,
        column: &Column,
        kind: &Type,
        rows: &Range<u64>,
        end: u64,
        entry: &LookupEntry,
    ) -> Result<BlockPrefix> {
        let count = rows.end - rows.start;
        // More rows than an i32 counts cannot be in a block of at most 2^31 - 1 bytes, except of one-bit items.
        let _: usize = usize::try_from(count).map_err(|_| too_many(rows).at(entry.offset))?;
        if column.compression() == Some(Compression::None) {
            check_stored(entry)?;
        } else {
            check_least(kind, rows, entry)?;
            self.check_packed(entry)?;
        }
        Ok(BlockPrefix::of(kind, count, end.min(rows.end).saturating_sub(rows.start), entry))
    }

    /// Inflates a prefix of a block into the first bytes of `scratch.raw`, and gives them.
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
        // Old content is overwritten; only growth is zeroed, in memory that has nothing old to be copied to it.
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

    /// The entry of a block in its column's lookup table, which is known to lie inside the file.
    pub(super) fn lookup(&self, column: &Column, block: u64, buffer: &mut Vec<u8>) -> Result<LookupEntry> {
        let start = column.entry.lookup_offset + block * LOOKUP_ENTRY_LEN;
        let bytes = self.source().view(start..start + LOOKUP_ENTRY_LEN, buffer)?;
        LookupEntry::parse(&mut Cursor::at(bytes, start), self.header().tail_offset)
    }
}

/// The rows of a block of a column.
fn rows_of(column: &Column, block: u64, rows: u64) -> Result<Range<u64>> {
    if block >= column.block_count() {
        let detail = format!("block {block} of {} blocks (counted from 0)", column.block_count());
        return Err(Error::usage(detail).in_column(column.unique_name().to_owned()).in_format(FORMAT_NAME));
    }
    let start = block * column.rows_per_block();
    Ok(start..start.saturating_add(column.rows_per_block()).min(rows))
}

/// What is charged for a block.
const BLOCK_MEMORY: &str = "memory for a decoded block";

fn check_stored(entry: &LookupEntry) -> Result<()> {
    if entry.len == entry.raw_len {
        return Ok(());
    }
    let detail =
        format!("an uncompressed block has {} bytes in the file and {} without compression", entry.len, entry.raw_len);
    Err(Error::invalid(detail).at(entry.offset))
}

/// What cannot hold so many items is refused before it is inflated.
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
        // A count for each vector, the number of vectors, their length, the number of indices.
        Type::Vector { .. } => rows.checked_mul(4)?.checked_add(12),
    }
}

#[cold]
fn too_many(rows: &Range<u64>) -> Error {
    Error::invalid(format!("a block of {} rows", rows.end - rows.start))
}

/// An error inside decompressed bytes: the file's byte is where the block begins, the place in it goes into the text.
pub(super) fn inside(error: &Error, offset: u64) -> Error {
    let place = error.position().byte.unwrap_or(0);
    Error::new(error.kind(), format!("{} at byte {place} of the decompressed block", error.detail())).at(offset)
}

/// Does something with each of some blocks of a column, by so many threads as `threads` (1: this one; else all of the pool) and the
/// memory of an operation allow, and gives the results in order. Each thread has memory of its own to read blocks with.
pub(crate) fn each_block<T: Send>(
    reader: &Reader,
    column: usize,
    blocks: Range<u64>,
    threads: usize,
    work: impl Fn(&mut (Values, Scratch), u64) -> T + Sync + Send,
) -> Vec<T> {
    if threads != 1 {
        let cost = |block| reader.block_cost(&BlockRequest::whole(column, block)).peak;
        let most = blocks.clone().map(cost).max().unwrap_or(0);
        let all = most.saturating_mul(parallel::threads() as u64);
        if all <= reader.0.options.limits.memory_bytes {
            return parallel::map_with(blocks.collect(), work);
        }
    }
    let mut state = Default::default();
    blocks.map(|block| work(&mut state, block)).collect()
}
