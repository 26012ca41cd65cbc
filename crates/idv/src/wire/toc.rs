use std::fmt;
use std::sync::Arc;

use container_core::{Cursor, Error, Result};

use super::{Header, Version, leb, string};

/// So many entries are made room for at once, whatever a count declares.
pub(crate) const PREALLOCATED_ENTRIES: usize = 4096;

/// How the blocks of a column are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Raw DEFLATE (RFC 1951).
    Deflate,
    /// zlib (RFC 1950). ML.NET no longer reads it.
    Zlib,
}

impl Compression {
    /// The kind of a byte in the file, if it is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::None),
            1 => Some(Self::Deflate),
            2 => Some(Self::Zlib),
            _ => None,
        }
    }
}

impl Compression {
    /// The byte of a kind in the file.
    pub(crate) const fn to_byte(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Deflate => 1,
            Self::Zlib => 2,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Deflate => "deflate",
            Self::Zlib => "zlib",
        })
    }
}

/// A codec as the file defines it: name and parameters, not yet understood.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecDefinition {
    /// `Single`, `VBuffer`, `Key2`, or anything else.
    pub name: Arc<str>,
    /// The bytes that follow it; what they mean, the codec says.
    pub parameters: Box<[u8]>,
    /// Where the parameters begin in the file.
    pub offset: u64,
}

impl CodecDefinition {
    /// Reads a definition.
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for lengths that are no numbers.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name = string(cursor, "codec name")?.as_ref().into();
        let len = leb(cursor, "length of the codec parameters")?;
        let offset = cursor.offset();
        let parameters = cursor.take_u64(len, "codec parameters")?.into();
        Ok(Self { name, parameters, offset })
    }
}

/// Where slot names of version 1.1.1.3 lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotNamesLocation {
    /// Their first byte in the file.
    pub offset: u64,
    /// Their bytes.
    pub len: u64,
    /// How many there are.
    pub count: u32,
}

/// One column in the table of contents. Offsets are not yet checked against the file, but for their sign.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TocEntry {
    /// Where the entry begins in the file.
    pub offset: u64,
    /// The column's name; several columns may have the same.
    pub name: String,
    /// The type of its values.
    pub codec: CodecDefinition,
    /// How its blocks are compressed: the byte of a [`Compression`], or another one.
    pub compression: u8,
    /// Rows of every block but the last.
    pub rows_per_block: u64,
    /// Where its [lookup table](LookupEntry) begins in the file.
    pub lookup_offset: u64,
    /// Its slot names, in version 1.1.1.3.
    pub slot_names: Option<Box<SlotNamesLocation>>,
    /// Where its table of metadata begins in the file, if it has one: since version 1.1.1.4.
    pub metadata_offset: Option<u64>,
}

/// Parses the table of contents; the cursor stands at its beginning and may reach beyond its end.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for offsets that are negative and
/// lengths that are no numbers; with the column.
pub fn parse_toc(cursor: &mut Cursor<'_>, header: &Header) -> Result<Vec<TocEntry>> {
    let mut entries = Vec::with_capacity(usize::try_from(header.columns).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    for index in 0..header.columns {
        let mut name = None;
        let entry = parse_entry(cursor, header.version, &mut name);
        let mut entry = entry.map_err(|error| match name {
            Some(name) => error.in_column(name),
            None => error.in_column(format!("#{index}")),
        })?;
        // Columns mostly have the codec of the one before.
        if let Some(last) = entries.last().filter(|last: &&TocEntry| last.codec.name == entry.codec.name) {
            entry.codec.name = Arc::clone(&last.codec.name);
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Parses one entry of the table.
///
/// # Errors
/// As [`parse_toc`].
pub fn parse_toc_entry(cursor: &mut Cursor<'_>, version: Version) -> Result<TocEntry> {
    parse_entry(cursor, version, &mut None)
}

fn parse_entry(cursor: &mut Cursor<'_>, version: Version, known_name: &mut Option<String>) -> Result<TocEntry> {
    let offset = cursor.offset();
    let name = string(cursor, "column name")?.into_owned();
    *known_name = Some(name.clone());
    let codec = CodecDefinition::parse(cursor)?;
    let compression = cursor.u8("compression kind")?;
    let rows_per_block = leb(cursor, "rows per block")?;
    let lookup_offset = position(cursor, "lookup table offset")?;
    let (mut slot_names, mut metadata_offset) = (None, None);
    if version >= Version::V4 {
        let offset = position(cursor, "metadata offset")?;
        metadata_offset = Some(offset).filter(|&offset| offset > 0);
    } else if version >= Version::V2 {
        let offset = position(cursor, "slot names offset")?;
        if version == Version::V3 && offset > 0 {
            let len = position(cursor, "slot names size")?;
            let at = cursor.offset();
            let count = cursor.i32_le("slot names count")?;
            let count = u32::try_from(count)
                .map_err(|_| Error::invalid(format!("slot names count {count} is negative")).at(at))?;
            slot_names = Some(Box::new(SlotNamesLocation { offset, len, count }));
        }
    }
    Ok(TocEntry { offset, name, codec, compression, rows_per_block, lookup_offset, slot_names, metadata_offset })
}

/// A 64-bit offset or size, which must not be negative.
pub(crate) fn position(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u64> {
    let at = cursor.offset();
    let value = cursor.i64_le(what)?;
    u64::try_from(value).map_err(|_| Error::invalid(format!("{what} {value} is negative")).at(at))
}

/// Bytes of one entry of a lookup table.
pub const LOOKUP_ENTRY_LEN: u64 = 16;

/// Where a block lies and how large it is, before and after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookupEntry {
    /// The block's first byte in the file.
    pub offset: u64,
    /// Its bytes in the file.
    pub len: u32,
    /// Its bytes once they are decompressed.
    pub raw_len: u32,
}

impl LookupEntry {
    /// Parses an entry and checks that the block lies between the header and `end`, the tail.
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for a block that lies elsewhere.
    pub fn parse(cursor: &mut Cursor<'_>, end: u64) -> Result<Self> {
        let at = cursor.offset();
        let offset = position(cursor, "block offset")?;
        let len = length(cursor, "block length")?;
        let raw_len = length(cursor, "decompressed block length")?;
        if offset < super::HEADER_LEN || offset.checked_add(len.into()).is_none_or(|stop| stop > end) {
            return Err(Error::invalid(format!(
                "a block of {len} bytes at byte {offset} is not between the header's end, {}, and the tail, {end}",
                super::HEADER_LEN
            ))
            .at(at));
        }
        Ok(Self { offset, len, raw_len })
    }
}

fn length(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u32> {
    let at = cursor.offset();
    let value = cursor.i32_le(what)?;
    u32::try_from(value).map_err(|_| Error::invalid(format!("{what} {value} is negative")).at(at))
}
