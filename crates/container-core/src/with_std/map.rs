//! The one place of this crate with `unsafe`: mapping a file, and advice about memory.
#![allow(unsafe_code, reason = "the system's calls have no safe form; the argument stands at each")]

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

#[cfg_attr(not(target_os = "linux"), path = "map/no_advice.rs")]
#[cfg_attr(target_os = "linux", path = "map/advice.rs")]
mod advice;

pub(crate) use advice::{advise_huge_pages, advise_huge_pages_for_map};

/// Maps a whole file, read-only.
///
/// # Safety
/// Nobody, no other process either, may change or shorten the file as long as the bytes are there.
pub(crate) unsafe fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only; `Bytes` keeps it alive; the caller answers for the file.
    unsafe { Mmap::map(file) }.map(Bytes::from_owner)
}

/// The same for the files of tests.
#[cfg(any(test, feature = "testkit"))]
pub(crate) fn map_of_tests(file: &File) -> io::Result<Bytes> {
    // SAFETY: a test does not change a file while it reads it.
    unsafe { map(file) }
}
