//! Finding blocks without a table of contents: consecutive blocks after the header are assigned to the columns in turn.
//!
//! A compressed block marks its own end; an uncompressed one ends where decoding ends. New tables are appended to the found blocks in
//! memory, so that an ordinary [`Reader`] can read the result.

use std::io;

use container_core::{Bytes, Cursor, Error, ErrorKind, Limits, ReadAt, Result, Source};
use flate2::{Decompress, FlushDecompress, Status};

use super::RecoverOptions;
use crate::check;
use crate::codec::{self, Values};
use crate::read::Reader;
use crate::schema::Schema;
use crate::wire::{Compression, HEADER_LEN, Header, ItemType, LookupEntry, Type, Version, put_leb, put_string};

/// Bytes per read of a source that is not in memory.
const CHUNK: u64 = 1 << 20;

/// Opens a file by its blocks alone; `lost` is the error of the lost table of contents.
pub(super) fn salvage(
    source: &Source,
    schema: &Schema,
    options: &RecoverOptions,
    lost: Error,
) -> Result<(Reader, Vec<Error>, u64)> {
    schema.check()?;
    let head = source.read(0..HEADER_LEN.min(source.len()))?;
    let header = declared(&head, lost)?;
    if header.columns as usize != schema.columns.len() {
        let detail = format!("the schema has {} columns, the header {}", schema.columns.len(), header.columns);
        return Err(Error::usage(detail).at(48));
    }
    let mut blocks = BlockCursor {
        source,
        limits: options.open.limits,
        at: HEADER_LEN,
        raw: Vec::new(),
        window: Bytes::new(),
        start: 0,
    };
    let found = find(&mut blocks, schema, header.rows)?;
    let rows = header.rows.min(found.groups.saturating_mul(found.per_block));
    let s = if found.groups == 1 { "" } else { "s" };
    let findings = vec![
        Error::invalid(format!(
            "the table of contents is lost: with the given schema, {} block{s} per column were found up to byte {}; their row order is \
             assumed, not proven",
            found.groups, found.end
        ))
        .at(24),
    ];
    let rebuilt = rebuild(source, schema, rows, &found)?;
    let reader = Reader::from_source(rebuilt, options.open)?;
    Ok((reader, findings, header.rows))
}

/// Row and column count of a header whose other fields may be damaged.
fn declared(head: &Bytes, lost: Error) -> Result<Header> {
    let mut cursor = Cursor::at(head.get(40..).unwrap_or_default(), 40);
    let (rows, columns) = match (cursor.i64_le("row count"), cursor.i32_le("column count")) {
        (Ok(rows), Ok(columns)) => (u64::try_from(rows), u32::try_from(columns)),
        _ => return Err(lost),
    };
    match (rows, columns) {
        (Ok(rows @ 1..), Ok(columns @ 1..)) => Ok(Header { rows, columns, ..Header::empty() }),
        // An unfinished file has an empty header.
        _ => Err(lost),
    }
}

/// The blocks found.
struct FoundBlocks {
    per_block: u64,
    /// Number of blocks per column.
    groups: u64,
    /// Per column.
    lookups: Vec<Vec<LookupEntry>>,
    end: u64,
}

fn find(blocks: &mut BlockCursor<'_>, schema: &Schema, rows: u64) -> Result<FoundBlocks> {
    let per_block = rows_per_block(blocks, schema, rows)?;
    let mut found =
        FoundBlocks { per_block, groups: 0, lookups: vec![Vec::new(); schema.columns.len()], end: HEADER_LEN };
    blocks.at = HEADER_LEN;
    let mut values = Values::default();
    while found.groups < rows.div_ceil(per_block) {
        let first = found.groups * per_block;
        let n = per_block.min(rows - first);
        let mut group = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            let compression = column.compression.unwrap_or(Compression::Deflate);
            match blocks.block(&column.kind, compression, n, &mut values) {
                Ok(entry) => group.push(entry),
                Err(error) if matches!(error.kind(), ErrorKind::Truncated { .. }) => return ended(found),
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => {
                    let detail = format!(
                        "the block of {n} rows at row {first} does not match the column: the blocks are not in the order of rows and \
                         columns and cannot be assigned"
                    );
                    let at = error.position().byte.unwrap_or(blocks.at);
                    return Err(Error::invalid(detail).at(at).in_column(column.name.clone()).caused_by(error));
                }
            }
        }
        for (lookup, entry) in found.lookups.iter_mut().zip(group) {
            lookup.push(entry);
        }
        found.groups += 1;
        found.end = blocks.at;
    }
    ended(found)
}

fn ended(found: FoundBlocks) -> Result<FoundBlocks> {
    if found.groups == 0 {
        return Err(Error::invalid("the file ends before each column has a block").at(HEADER_LEN));
    }
    Ok(found)
}

/// Determines the rows per block from the first blocks.
fn rows_per_block(blocks: &mut BlockCursor<'_>, schema: &Schema, rows: u64) -> Result<u64> {
    let unknown = || {
        let detail =
            "the rows per block cannot be determined: uncompressed blocks need text or vectors in the first column";
        Error::invalid(detail).at(HEADER_LEN)
    };
    for column in &schema.columns {
        let compression = column.compression.unwrap_or(Compression::Deflate);
        let known = match compression {
            Compression::None => match (&column.kind, blocks.view(blocks.at, 4)?.first_chunk::<4>()) {
                (Type::Vector { .. } | Type::Item(ItemType::Text), Some(count)) => {
                    u64::try_from(i32::from_le_bytes(*count)).ok()
                }
                _ => None,
            },
            compression => {
                blocks.inflate(compression)?;
                count_of(&column.kind, &blocks.raw)
            }
        };
        match known {
            Some(n @ 1..) => return Ok(n.min(rows)),
            Some(0) => return Err(unknown()),
            // Booleans leave the exact number open: try the next column.
            None if compression != Compression::None => {}
            None => return Err(unknown()),
        }
    }
    Err(unknown())
}

/// Number of rows of a decompressed block, if its bytes determine it.
fn count_of(kind: &Type, raw: &[u8]) -> Option<u64> {
    let item = match kind {
        Type::Vector { .. } | Type::Item(ItemType::Text) => {
            return u64::try_from(i32::from_le_bytes(*raw.first_chunk::<4>()?)).ok();
        }
        Type::Item(ItemType::Boolean | ItemType::DvBool) => return None,
        Type::Item(item) => *item,
    };
    let width = codec::min_len(item, 1)?;
    let len = raw.len() as u64;
    len.is_multiple_of(width).then(|| len / width)
}

/// A cursor over consecutive blocks.
struct BlockCursor<'a> {
    source: &'a Source,
    limits: Limits,
    at: u64,
    raw: Vec<u8>,
    /// The last read bytes and their offset; may contain many blocks.
    window: Bytes,
    start: u64,
}

impl BlockCursor<'_> {
    /// Up to `len` bytes at an offset.
    fn view(&self, at: u64, len: u64) -> Result<Bytes> {
        let end = at.saturating_add(len).min(self.source.len());
        self.source.read(at.min(end)..end)
    }

    /// Bytes at an offset, empty at the end: the rest of the window, or a newly read one.
    fn window_at(&mut self, at: u64) -> Result<Bytes> {
        let offset = at.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
        if let Some(offset) = offset.filter(|&offset| offset < self.window.len()) {
            return Ok(self.window.slice(offset..));
        }
        (self.window, self.start) = (self.view(at, CHUNK)?, at);
        Ok(self.window.clone())
    }

    /// Decodes the next block; [`Truncated`](ErrorKind::Truncated) when the file ends within it.
    fn block(&mut self, kind: &Type, compression: Compression, n: u64, values: &mut Values) -> Result<LookupEntry> {
        let offset = self.at;
        let rows = usize::try_from(n).map_err(|_| Error::limit("rows of a block", n, usize::MAX as u64))?;
        let limit = self.limits.block_bytes;
        let raw_len = if compression == Compression::None {
            self.decode_uncompressed(kind, rows, values)?
        } else {
            self.inflate(compression)?;
            let raw = std::mem::take(&mut self.raw);
            // A truncated block is invalid, not a truncated file.
            let decoded = codec::decode(kind, rows, Cursor::new(&raw), limit, values)
                .map_err(|error| Error::invalid(error.to_string()).at(offset));
            let len = raw.len() as u64;
            self.raw = raw;
            decoded?;
            len
        };
        check::validate(kind, values, 0..values.len()).map_err(|invalid| Error::invalid(invalid.detail).at(offset))?;
        let stored =
            |len: u64| u32::try_from(len).map_err(|_| Error::limit("bytes of a block", len, 0x7FFF_FFFF).at(offset));
        Ok(LookupEntry { offset, len: stored(self.at - offset)?, raw_len: stored(raw_len)? })
    }

    /// Decodes an uncompressed block and moves past it.
    fn decode_uncompressed(&mut self, kind: &Type, rows: usize, values: &mut Values) -> Result<u64> {
        let limit = self.limits.block_bytes.min(0x7FFF_FFFF);
        let mut room = if self.source.as_slice().is_some() { limit } else { 0 };
        let mut bytes = if room == 0 { self.window_at(self.at)? } else { self.view(self.at, room)? };
        loop {
            let mut cursor = Cursor::at(&bytes, self.at);
            let whole = bytes.len() as u64 == self.source.len() - self.at || room >= limit;
            match codec::decode_prefix(kind, rows, &mut cursor, limit, values) {
                Ok(()) => {
                    let len = cursor.offset() - self.at;
                    self.at += len;
                    return Ok(len);
                }
                Err(error) if !whole && matches!(error.kind(), ErrorKind::Truncated { .. }) => {
                    room = room.saturating_mul(4).max(CHUNK).min(limit);
                    bytes = self.view(self.at, room)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Inflates a block into `raw` and moves past it.
    fn inflate(&mut self, compression: Compression) -> Result<()> {
        let mut state = Decompress::new(compression == Compression::Zlib);
        let offset = self.at;
        let limit = self.limits.block_bytes;
        self.raw.clear();
        let (mut chunk, mut start) = (self.window_at(offset)?, offset);
        loop {
            let read = offset + state.total_in();
            if read >= start + chunk.len() as u64 {
                (chunk, start) = (self.window_at(read)?, read);
            }
            let rest = chunk.get(usize::try_from(read - start).unwrap_or(usize::MAX)..).unwrap_or_default();
            if self.raw.len() == self.raw.capacity() {
                self.raw.reserve(self.raw.len().clamp(64 << 10, 16 << 20));
            }
            let (taken, made) = (state.total_in(), self.raw.len());
            let status = state
                .decompress_vec(rest, &mut self.raw, FlushDecompress::None)
                .map_err(|error| Error::invalid("corrupt compressed data").at(offset).caused_by(error))?;
            if self.raw.len() as u64 > limit {
                return Err(Error::limit("decompressed block length", self.raw.len() as u64, limit).at(offset));
            }
            match status {
                Status::StreamEnd => {
                    self.at = offset + state.total_in();
                    return Ok(());
                }
                _ if state.total_in() > taken || self.raw.len() > made => {}
                _ => {
                    return Err(
                        Error::truncated("the compressed data", state.total_in() + 1, state.total_in()).at(offset)
                    );
                }
            }
        }
    }
}

/// A file of the found blocks with new tables.
fn rebuild(source: &Source, schema: &Schema, rows: u64, found: &FoundBlocks) -> Result<Source> {
    let mut tables = Vec::new();
    let mut lookup_offsets = Vec::new();
    for lookup in &found.lookups {
        lookup_offsets.push(found.end + tables.len() as u64);
        lookup.iter().try_for_each(|entry| entry.emit(&mut tables))?;
    }
    let toc_offset = found.end + tables.len() as u64;
    for (column, offset) in schema.columns.iter().zip(lookup_offsets) {
        put_string(&column.name, &mut tables)?;
        column.kind.emit(&mut tables)?;
        tables.push(column.compression.unwrap_or(Compression::Deflate).to_byte());
        put_leb(found.per_block, &mut tables)?;
        tables.extend_from_slice(&offset.to_le_bytes());
        tables.extend_from_slice(&0_i64.to_le_bytes());
    }
    let tail_offset = found.end + tables.len() as u64;
    tables.extend_from_slice(&Header::tail());
    let columns = u32::try_from(schema.columns.len()).map_err(|_| Error::usage("too many columns"))?;
    let header = Header { version: Version::V6, compatible: Version::V6, toc_offset, tail_offset, rows, columns };
    Ok(Source::new(RebuiltFile { head: header.emit()?, source: source.clone(), end: found.end, tables }))
}

/// A source of a new header, the found blocks, and new tables.
struct RebuiltFile {
    head: Vec<u8>,
    source: Source,
    /// End of the blocks.
    end: u64,
    tables: Vec<u8>,
}

impl ReadAt for RebuiltFile {
    fn len(&self) -> u64 {
        self.end + self.tables.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let parts = [(0, HEADER_LEN), (HEADER_LEN, self.end), (self.end, self.len())];
        let stop = offset.saturating_add(buffer.len() as u64);
        let mut done = 0;
        for (part, (start, end)) in parts.into_iter().enumerate() {
            let (from, to) = (offset.max(start), stop.min(end));
            if from >= to {
                continue;
            }
            let len = usize::try_from(to - from).unwrap_or(usize::MAX);
            let into = buffer.get_mut(done..done + len).ok_or(io::ErrorKind::UnexpectedEof)?;
            let within = |bytes: &[u8]| {
                let at = usize::try_from(from - start).unwrap_or(usize::MAX);
                bytes.get(at..at.saturating_add(len)).map(<[u8]>::to_vec)
            };
            let bytes = match part {
                0 => within(&self.head),
                1 => Some(self.source.read(from..to).map_err(io::Error::other)?.to_vec()),
                _ => within(&self.tables),
            };
            into.copy_from_slice(&bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            done += len;
        }
        if done == buffer.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
