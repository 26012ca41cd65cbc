//! Mapping of local files.
#![allow(unsafe_code, reason = "mapping: see the argument below")]

use container_core::{Access, Bytes, Map};

/// How local files are read: mapped, or with `mapped` false by position.
pub(crate) fn access(mapped: bool) -> Access {
    if mapped { Access::Mapped(Map::new(map)) } else { Access::Auto }
}

/// Maps a file.
pub(crate) fn map(file: &std::fs::File) -> std::io::Result<Bytes> {
    // SAFETY: as with `numpy.memmap`, whoever opens a file with access "mapped" promises that nothing changes or truncates it meanwhile. The
    // documentation of `wharf_data.open` says so and offers access "positional" for files that do change.
    unsafe { memmap2::Mmap::map(file) }.map(Bytes::from_owner)
}
