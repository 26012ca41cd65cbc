//! The one place of this crate with `unsafe`: mapping a file.
#![allow(unsafe_code, reason = "mapping a file has no safe form; the argument stands at the call")]

use std::fs::File;
use std::io;

use bytes::Bytes;

/// Maps a whole file, read-only.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only and private to this process; `Bytes` keeps it alive. What cannot be excluded is that
    // another process changes the file meanwhile: bytes of a changed file may differ between two reads, which all
    // parsers of this workspace bear (they check what they use, from plain byte slices without invariants), and a file
    // cut short raises SIGBUS. That is the known price of mapping, documented at `Access::Mapped`; `Access::Positional` is the way
    // to refuse it.
    let map = unsafe { memmap2::Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}
