//! Blocks without a table of contents: found one behind the other from the header on, and taken for the columns' in turn.
//!
//! A compressed block says itself where it ends; one that is not is decoded, which says it too. What is found is described
//! by tables of our own, behind the bytes that are there, so that the file can be read like any other.

use std::io;

use container_core::{Bytes, Cursor, Error, ErrorKind, Limits, ReadAt, Result, Source};
use flate2::{Decompress, FlushDecompress, Status};

use super::RecoverOptions;
use crate::check;
use crate::codec::{self, Values};
use crate::read::Reader;
use crate::schema::Schema;
use crate::wire::{Compression, HEADER_LEN, Header, ItemType, LookupEntry, Type, Version, put_leb, put_string};

/// Reads of a source that is not in memory are of so many bytes.
const CHUNK: u64 = 1 << 20;

/// Opens a file whose table of contents is `lost` by its blocks alone.
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
        let detail = format!("the header says {} columns, the schema has {}", header.columns, schema.columns.len());
        return Err(Error::usage(detail).at(48));
    }
    let mut blocks =
        BlockCursor { source, limits: options.open.limits, at: HEADER_LEN, raw: Vec::new(), window: Bytes::new(), start: 0 };
    let found = find(&mut blocks, schema, header.rows)?;
    let rows = header.rows.min(found.groups.saturating_mul(found.per_block));
    let s = if found.groups == 1 { "" } else { "s" };
    let findings = vec![
        Error::invalid(format!(
            "the table of contents is lost: by the schema that was given, {} block{s} of each column were found up to byte {}; it cannot be proved that \
             they lie in the order of rows",
            found.groups, found.end
        ))
        .at(24),
    ];
    let rebuilt = rebuild(source, schema, rows, &found)?;
    let reader = Reader::from_source(rebuilt, options.open)?;
    Ok((reader, findings, header.rows))
}

/// Rows and columns as the header has them, which need not be true in anything else.
fn declared(head: &Bytes, lost: Error) -> Result<Header> {
    let mut cursor = Cursor::at(head.get(40..).unwrap_or_default(), 40);
    let (rows, columns) = match (cursor.i64_le("row count"), cursor.i32_le("column count")) {
        (Ok(rows), Ok(columns)) => (u64::try_from(rows), u32::try_from(columns)),
        _ => return Err(lost),
    };
    match (rows, columns) {
        (Ok(rows @ 1..), Ok(columns @ 1..)) => Ok(Header { rows, columns, ..Header::empty() }),
        // A file that was not finished has no header at all.
        _ => Err(lost),
    }
}

/// The blocks that were found.
struct FoundBlocks {
    per_block: u64,
    /// How many blocks each column has.
    groups: u64,
    /// For each column.
    lookups: Vec<Vec<LookupEntry>>,
    end: u64,
}

fn find(blocks: &mut BlockCursor<'_>, schema: &Schema, rows: u64) -> Result<FoundBlocks> {
    let per_block = rows_per_block(blocks, schema, rows)?;
    let mut found = FoundBlocks { per_block, groups: 0, lookups: vec![Vec::new(); schema.columns.len()], end: HEADER_LEN };
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
                        "the block of {n} rows from row {first} on is not the column's: blocks do not lie in the order of \
                         rows and columns, so what they are cannot be known"
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

/// How many rows a block has: what the first blocks say of themselves.
fn rows_per_block(blocks: &mut BlockCursor<'_>, schema: &Schema, rows: u64) -> Result<u64> {
    let unknown = || {
        let detail = "how many rows a block has cannot be told from the blocks: without compression it takes a column of text \
                      or vectors before any other";
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
            // Bools may fill their last byte or not: the next column says it.
            None if compression != Compression::None => {}
            None => return Err(unknown()),
        }
    }
    Err(unknown())
}

/// How many items a decompressed block has, where its bytes say it.
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

/// One block after another.
struct BlockCursor<'a> {
    source: &'a Source,
    limits: Limits,
    at: u64,
    raw: Vec<u8>,
    /// What was read last, and from where on: many blocks may lie in it.
    window: Bytes,
    start: u64,
}

impl BlockCursor<'_> {
    /// Up to so many bytes from a place on.
    fn view(&self, at: u64, len: u64) -> Result<Bytes> {
        let end = at.saturating_add(len).min(self.source.len());
        self.source.read(at.min(end)..end)
    }

    /// Some bytes from a place on, none at the end: what is left of those read last, or else as many as are read at once.
    fn some(&mut self, at: u64) -> Result<Bytes> {
        let place = at.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        if let Some(place) = place.filter(|&place| place < self.window.len()) {
            return Ok(self.window.slice(place..));
        }
        (self.window, self.start) = (self.view(at, CHUNK)?, at);
        Ok(self.window.clone())
    }

    /// The next block, decoded; [`Truncated`](ErrorKind::Truncated) when the file ends within it.
    fn block(&mut self, kind: &Type, compression: Compression, n: u64, values: &mut Values) -> Result<LookupEntry> {
        let offset = self.at;
        let rows = usize::try_from(n).map_err(|_| Error::limit("rows of a block", n, usize::MAX as u64))?;
        let limit = self.limits.block_bytes;
        let raw_len = if compression == Compression::None {
            self.plain(kind, rows, values)?
        } else {
            self.inflate(compression)?;
            let raw = std::mem::take(&mut self.raw);
            // What a block lacks is not what the file lacks.
            let decoded = codec::decode(kind, rows, Cursor::new(&raw), limit, values)
                .map_err(|error| Error::invalid(error.to_string()).at(offset));
            let len = raw.len() as u64;
            self.raw = raw;
            decoded?;
            len
        };
        check::validate(kind, values, 0..values.len()).map_err(|wrong| Error::invalid(wrong.detail).at(offset))?;
        let stored =
            |len: u64| u32::try_from(len).map_err(|_| Error::limit("bytes of a block", len, 0x7FFF_FFFF).at(offset));
        Ok(LookupEntry { offset, len: stored(self.at - offset)?, raw_len: stored(raw_len)? })
    }

    /// Decodes a block that is not compressed and goes behind it.
    fn plain(&mut self, kind: &Type, rows: usize, values: &mut Values) -> Result<u64> {
        let limit = self.limits.block_bytes.min(0x7FFF_FFFF);
        let mut room = if self.source.as_slice().is_some() { limit } else { 0 };
        let mut bytes = if room == 0 { self.some(self.at)? } else { self.view(self.at, room)? };
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

    /// Inflates a block into `raw` and goes behind it.
    fn inflate(&mut self, compression: Compression) -> Result<()> {
        let mut state = Decompress::new(compression == Compression::Zlib);
        let offset = self.at;
        let limit = self.limits.block_bytes;
        self.raw.clear();
        let (mut chunk, mut start) = (self.some(offset)?, offset);
        loop {
            let read = offset + state.total_in();
            if read >= start + chunk.len() as u64 {
                (chunk, start) = (self.some(read)?, read);
            }
            let rest = chunk.get(usize::try_from(read - start).unwrap_or(usize::MAX)..).unwrap_or_default();
            if self.raw.len() == self.raw.capacity() {
                self.raw.reserve(self.raw.len().clamp(64 << 10, 16 << 20));
            }
            let (taken, made) = (state.total_in(), self.raw.len());
            let status = state
                .decompress_vec(rest, &mut self.raw, FlushDecompress::None)
                .map_err(|error| Error::invalid("the compressed data are damaged").at(offset).caused_by(error))?;
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

/// The file's bytes up to the last block that was found, and tables that describe them.
fn rebuild(source: &Source, schema: &Schema, rows: u64, found: &FoundBlocks) -> Result<Source> {
    let mut rest = Vec::new();
    let mut places = Vec::new();
    for lookup in &found.lookups {
        places.push(found.end + rest.len() as u64);
        lookup.iter().try_for_each(|entry| entry.emit(&mut rest))?;
    }
    let toc_offset = found.end + rest.len() as u64;
    for (column, place) in schema.columns.iter().zip(places) {
        put_string(&column.name, &mut rest)?;
        column.kind.emit(&mut rest)?;
        rest.push(column.compression.unwrap_or(Compression::Deflate).to_byte());
        put_leb(found.per_block, &mut rest)?;
        rest.extend_from_slice(&place.to_le_bytes());
        rest.extend_from_slice(&0_i64.to_le_bytes());
    }
    let tail_offset = found.end + rest.len() as u64;
    rest.extend_from_slice(&Header::tail());
    let columns = u32::try_from(schema.columns.len()).map_err(|_| Error::usage("too many columns"))?;
    let header = Header { version: Version::V6, compatible: Version::V6, toc_offset, tail_offset, rows, columns };
    Ok(Source::new(RebuiltFile { head: header.emit()?, source: source.clone(), end: found.end, rest }))
}

/// A header, blocks of a file, and tables.
struct RebuiltFile {
    head: Vec<u8>,
    source: Source,
    /// Where the blocks end.
    end: u64,
    rest: Vec<u8>,
}

impl ReadAt for RebuiltFile {
    fn len(&self) -> u64 {
        self.end + self.rest.len() as u64
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
                _ => within(&self.rest),
            };
            into.copy_from_slice(&bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            done += len;
        }
        if done == buffer.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
