//! The one place of this crate with `unsafe`: mapping a file, and advice about memory.
#![allow(unsafe_code, reason = "the system's calls have no safe form; the argument stands at each")]

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

/// Tells the system that large pages are wanted under this memory. Nothing where there are none.
#[cfg(target_os = "linux")]
pub(crate) fn want_large_pages<T>(memory: &mut [T]) {
    const PAGE: usize = 4096;
    let (start, len) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    // From the beginning of its first page: an allocator has a few bytes of its own in front, and a mapping of which the first page is
    // left out has no large page there.
    let before = start.addr() % PAGE;
    let len = (before + len).next_multiple_of(PAGE);
    // SAFETY: the pages are those in which memory lies that is borrowed for us alone, so they are there; this advice changes nothing that a
    // program could see, of neighbours in the first and last of them either, and nothing is read or written through the address.
    // Where it is not taken (an address that is no page's, a kernel without large pages) an error comes back, and the pages are small.
    let _ = unsafe { libc::madvise(start.wrapping_sub(before).cast(), len, libc::MADV_HUGEPAGE) };
}

/// Elsewhere nobody is to be told.
#[cfg(not(target_os = "linux"))]
pub(crate) fn want_large_pages<T>(_: &mut [T]) {}
