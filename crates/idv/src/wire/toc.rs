use std::fmt;
use std::sync::Arc;

use container_core::{Cursor, Error, Result};

use super::{Header, Version, leb, string};

/// Maximum entries allocated up front, whatever the declared count.
pub(crate) const PREALLOCATED_ENTRIES: usize = 4096;

/// Block compression of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Uncompressed.
    None,
    /// Raw DEFLATE (RFC 1951).
    Deflate,
    /// zlib (RFC 1950). ML.NET no longer reads it.
    Zlib,
}

impl Compression {
    /// The compression of a file byte; `None` if unknown.
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
    /// The file byte.
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

/// A codec as defined in the file: name and uninterpreted parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecDefinition {
    /// Load name: `Single`, `VBuffer`, `Key2`, or any other.
    pub name: Arc<str>,
    /// Codec-specific parameter bytes.
    pub parameters: Box<[u8]>,
    /// Offset of the parameters in the file.
    pub offset: u64,
}

impl CodecDefinition {
    /// Parses a definition.
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for malformed lengths.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name = string(cursor, "codec name")?.as_ref().into();
        let len = leb(cursor, "length of the codec parameters")?;
        let offset = cursor.offset();
        let parameters = cursor.take_u64(len, "codec parameters")?.into();
        Ok(Self { name, parameters, offset })
    }
}

/// Location of the slot names of version 1.1.1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotNamesLocation {
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Number of names.
    pub count: u32,
}

/// One column in the table of contents. Offsets are checked for sign but not against the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TocEntry {
    /// Offset of the entry in the file.
    pub offset: u64,
    /// Column name; names may repeat.
    pub name: String,
    /// Codec of the values.
    pub codec: CodecDefinition,
    /// Compression kind: a [`Compression`] byte, or an unknown one.
    pub compression: u8,
    /// Rows in each block but the last.
    pub rows_per_block: u64,
    /// Offset of the [lookup table](LookupEntry) in the file.
    pub lookup_offset: u64,
    /// Slot names (version 1.1.1.3).
    pub slot_names: Option<Box<SlotNamesLocation>>,
    /// Offset of the metadata table, if any (since version 1.1.1.4).
    pub metadata_offset: Option<u64>,
}

/// Parses the table of contents from its start; the cursor may extend past its end.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for negative offsets and malformed
/// lengths; with the column.
pub fn parse_toc(cursor: &mut Cursor<'_>, header: &Header) -> Result<Vec<TocEntry>> {
    let mut entries =
        Vec::with_capacity(usize::try_from(header.columns).unwrap_or(PREALLOCATED_ENTRIES).min(PREALLOCATED_ENTRIES));
    for index in 0..header.columns {
        let mut name = None;
        let entry = parse_entry(cursor, header.version, &mut name);
        let mut entry = entry.map_err(|error| match name {
            Some(name) => error.in_column(name),
            None => error.in_column(format!("#{index}")),
        })?;
        // Share the name: adjacent columns mostly have the same codec.
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
    let lookup_offset = read_offset(cursor, "lookup table offset")?;
    let (mut slot_names, mut metadata_offset) = (None, None);
    if version >= Version::V4 {
        let offset = read_offset(cursor, "metadata offset")?;
        metadata_offset = Some(offset).filter(|&offset| offset > 0);
    } else if version >= Version::V2 {
        let offset = read_offset(cursor, "slot names offset")?;
        if version == Version::V3 && offset > 0 {
            let len = read_offset(cursor, "slot names size")?;
            let at = cursor.offset();
            let count = cursor.i32_le("slot names count")?;
            let count = u32::try_from(count)
                .map_err(|_| Error::invalid(format!("slot names count {count} is negative")).at(at))?;
            slot_names = Some(Box::new(SlotNamesLocation { offset, len, count }));
        }
    }
    Ok(TocEntry { offset, name, codec, compression, rows_per_block, lookup_offset, slot_names, metadata_offset })
}

/// Reads a non-negative 64-bit offset or size.
pub(crate) fn read_offset(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u64> {
    let at = cursor.offset();
    let value = cursor.i64_le(what)?;
    u64::try_from(value).map_err(|_| Error::invalid(format!("{what} {value} is negative")).at(at))
}

/// Length of a lookup table entry in bytes.
pub const LOOKUP_ENTRY_LEN: u64 = 16;

/// Location and size of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookupEntry {
    /// Offset of the block in the file.
    pub offset: u64,
    /// Length in the file, in bytes.
    pub len: u32,
    /// Decompressed length in bytes.
    pub raw_len: u32,
}

impl LookupEntry {
    /// Parses an entry and checks that the block lies between the header and `end`, the offset of the tail.
    ///
    /// # Errors
    /// [`Truncated`](container_core::ErrorKind::Truncated), [`Invalid`](container_core::ErrorKind::Invalid) for a block outside that range.
    pub fn parse(cursor: &mut Cursor<'_>, end: u64) -> Result<Self> {
        let at = cursor.offset();
        let offset = read_offset(cursor, "block offset")?;
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
