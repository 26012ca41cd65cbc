//! Memory mapping and memory advice: the only module of this crate with `unsafe` code of its own.
#![allow(unsafe_code, reason = "system calls without a safe form; each is justified")]

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

#[cfg_attr(not(target_os = "linux"), path = "map/no_advice.rs")]
mod advice;

pub(crate) use advice::{advise_huge_pages, advise_huge_pages_for_map};

/// Maps a whole file, read-only.
///
/// # Safety
/// No process may change or truncate the file while the bytes are alive.
pub(crate) unsafe fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only; `Bytes` keeps it alive; the caller guarantees that the file does not change.
    unsafe { Mmap::map(file) }.map(Bytes::from_owner)
}

/// Maps a file in a test.
#[cfg(any(test, feature = "testkit"))]
pub(crate) fn map_test_file(file: &File) -> io::Result<Bytes> {
    // SAFETY: tests do not change files while reading them.
    unsafe { map(file) }
}
