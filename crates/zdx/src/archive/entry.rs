//! Entries of a central directory.

use super::names::Why;

/// What an entry says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    /// A device, a pipe, a socket, or a directory without its slash.
    Special,
}

/// An entry, as the central directory describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: u32,
    pub(super) name_len: u32,
    pub(super) crc: u32,
    /// 0 is STORE, 8 is DEFLATE.
    pub(super) method: u16,
    pub(super) kind: Kind,
    pub(super) encrypted: bool,
    /// Why it is left alone.
    pub(super) why: Option<Why>,
    /// Bytes as declared, once decompressed.
    pub(super) size: u64,
    /// Bytes in the archive.
    pub(super) packed: u64,
    /// Where its local header begins.
    pub(super) offset: u64,
    /// Where the next entry, or the directory, begins.
    pub(super) room: u64,
}

/// The name of an entry among all names.
pub(super) fn name_in<'n>(names: &'n str, entry: &Entry) -> &'n str {
    let start = usize_of(entry.name);
    names.get(start..start + usize_of(entry.name_len)).unwrap_or_default()
}

/// Lossless on every machine with `std` that has memory for what is counted.
pub(super) fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
