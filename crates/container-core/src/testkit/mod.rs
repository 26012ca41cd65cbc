//! Conformance checks for formats: corrupted input, failing I/O, and every kind of source.
//!
//! | check | what it does |
//! |---|---|
//! | [`every_prefix_fails`] | each strict prefix of a file is an error with a position inside the prefix |
//! | [`every_bit_flip_is_handled`] | each single-bit flip yields a value or an error, never a panic |
//! | [`every_source_agrees`] | mapped, positional and in-memory sources give the same result |
//! | [`mapped`] | the [`Access`](crate::Access) that maps files |
//! | [`ends_after_error`] | an iterator ends after its first error |
//! | [`every_write_may_fail`] | each failing write or seek is reported and leaves the old file unchanged |
//! | [`golden`] | the path of a folder of golden files |
//! | [`cases`] | the number of cases: quick by default, exhaustive in nightly runs |
//! | [`Stopwatch`] | CPU time, for tests of complexity |
//! | [`FailingSink`] | a `Write` and `Seek` that fails after a number of calls and accepts a few bytes at a time |
//!
//! All checks panic with the failing case.
#![allow(clippy::panic, reason = "checks fail by panicking")]
#![allow(clippy::indexing_slicing, reason = "checks fail by panicking")]

mod mock;
mod sinks;
mod sources;
mod stopwatch;

pub use mock::MOCK;
pub use sinks::{FailingSink, Sink, every_write_may_fail};
pub use sources::{every_source_agrees, mapped};
pub use stopwatch::Stopwatch;

use crate::error::{ErrorKind, Result};

/// Returns a folder of golden files in the workspace of the package at `manifest`. A package outside the workspace has none: the skipped test
/// is reported on stdout.
#[must_use]
pub fn golden(manifest: &str, folder: &str) -> Option<std::path::PathBuf> {
    let package = std::path::Path::new(manifest);
    // Cargo adds this file to packages.
    if package.join(".cargo_vcs_info.json").exists() {
        println!("SKIPPED: the golden files of {folder} are not in the package");
        return None;
    }
    Some(package.join("../../tests/golden").join(folder))
}

/// Returns `quick`, or `exhaustive` if `WHARF_EXHAUSTIVE` is set, as in `cargo xtask nightly`.
#[must_use]
pub fn cases<T>(quick: T, exhaustive: T) -> T {
    if std::env::var_os("WHARF_EXHAUSTIVE").is_some() { exhaustive } else { quick }
}

/// Checks that `read_all` rejects every strict prefix of `full` with an error whose byte position is inside the prefix.
///
/// For formats that state their length, unlike line formats, whose prefixes are valid. Beyond 4096 bytes, prefixes are sampled: all near both
/// ends and about 2048 in between.
pub fn every_prefix_fails(full: &[u8], read_all: impl Fn(&[u8]) -> Result<()>) {
    if let Err(error) = read_all(full) {
        panic!("the complete file was rejected: {error}");
    }
    for cut in sample(full.len()) {
        let Err(error) = read_all(&full[..cut]) else {
            panic!("the first {cut} of {} bytes were accepted", full.len());
        };
        assert_ne!(error.kind(), ErrorKind::Usage, "prefix of {cut} bytes: blames the caller: {error}");
        match error.position().byte {
            Some(byte) => assert!(byte <= cut as u64, "prefix of {cut} bytes: position past the end: {error}"),
            None => panic!("prefix of {cut} bytes: no byte position: {error}"),
        }
    }
}

/// Checks that `read_all` returns a value or an error for every single-bit flip of `full`. Returns the number of flips that were accepted, so
/// that tests can pin it.
pub fn every_bit_flip_is_handled(full: &[u8], read_all: impl Fn(&[u8]) -> Result<()>) -> usize {
    let mut copy = full.to_vec();
    let mut readable = 0;
    for byte in sample(full.len()) {
        for bit in 0..8 {
            copy[byte] ^= 1 << bit;
            match read_all(&copy) {
                Ok(()) => readable += 1,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Usage, "byte {byte} bit {bit}: blames the caller: {error}");
                }
            }
            copy[byte] ^= 1 << bit;
        }
    }
    readable
}

/// Checks that an iterator fails and then ends for good.
pub fn ends_after_error<T>(iterator: impl IntoIterator<Item = Result<T>>) {
    let mut iterator = iterator.into_iter();
    if iterator.by_ref().any(|item| item.is_err()) {
        for _ in 0..3 {
            assert!(iterator.next().is_none(), "the iterator continues after an error");
        }
    } else {
        panic!("the iterator did not fail");
    }
}

/// All indexes below `len` if at most 4096, else those near both ends and an even spread between.
fn sample(len: usize) -> Vec<usize> {
    if len <= 4096 {
        return (0..len).collect();
    }
    let step = ((len - 2048) / 2048).max(1);
    (0..1024).chain((1024..len - 1024).step_by(step)).chain(len - 1024..len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cursor, Error};

    fn read(bytes: &[u8]) -> Result<()> {
        let mut cursor = Cursor::new(bytes);
        let len = cursor.u16_le("length")?;
        cursor.take(len.into(), "content")?;
        cursor.finish("content")
    }

    #[test]
    fn correct_reader_passes() {
        let full = [3, 0, b'a', b'b', b'c'];
        every_prefix_fails(&full, read);
        assert_eq!(every_bit_flip_is_handled(&full, read), 24);
        let items = [Ok(1), Err(Error::invalid("x"))];
        ends_after_error(items);
    }

    #[test]
    #[should_panic(expected = "were accepted")]
    fn detects_accepted_prefix() {
        every_prefix_fails(&[1, 2, 3], |_| Ok(()));
    }

    #[test]
    #[should_panic(expected = "no byte position")]
    fn detects_error_without_position() {
        every_prefix_fails(&[1, 2, 3], |bytes| if bytes.len() == 3 { Ok(()) } else { Err(Error::invalid("short")) });
    }

    #[test]
    #[should_panic(expected = "continues after an error")]
    fn detects_iterator_that_continues() {
        ends_after_error(std::iter::repeat_with(|| Err::<(), _>(Error::invalid("x"))));
    }

    #[test]
    fn samples_both_ends_of_large_inputs() {
        let indexes = sample(1 << 20);
        assert!(indexes.len() < 8192 && indexes[0] == 0 && indexes.last() == Some(&((1 << 20) - 1)));
        assert!(indexes.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
