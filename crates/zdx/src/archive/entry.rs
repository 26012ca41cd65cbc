//! Entries of a central directory.

use super::names::Rejection;

/// File type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    /// A device, a pipe, a socket, or a directory without its slash.
    Special,
}

/// An entry of the central directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: u32,
    pub(super) name_len: u32,
    pub(super) crc: u32,
    /// Compression method: 0 is STORE, 8 is DEFLATE.
    pub(super) method: u16,
    pub(super) kind: Kind,
    pub(super) encrypted: bool,
    /// Why it does not belong to the store, if so.
    pub(super) rejection: Option<Rejection>,
    /// Declared uncompressed size in bytes.
    pub(super) size: u64,
    /// Compressed size in bytes.
    pub(super) packed: u64,
    /// Offset of its local header.
    pub(super) offset: u64,
    /// Offset of the next entry or the directory.
    pub(super) end: u64,
}

/// The name of an entry, within the buffer of all names.
pub(super) fn name_in<'n>(names: &'n str, entry: &Entry) -> &'n str {
    let start = usize_of(entry.name);
    names.get(start..start + usize_of(entry.name_len)).unwrap_or_default()
}

/// Lossless on all platforms with enough memory for the directory.
pub(super) fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
