//! The conformance kit: what every format must bear, in a few lines of its tests.
//!
//! | check | what it does |
//! |---|---|
//! | [`every_prefix_fails`] | each strict prefix of a file is an error, with a position inside the prefix |
//! | [`every_bit_flip_is_handled`] | each flipped bit is read or refused, never a panic |
//! | [`every_source_agrees`] | mapped, positional, in memory, read in the smallest pieces: the same result |
//! | [`mapped`] | the way to reach files by mapping them |
//! | [`ends_after_error`] | an iterator that failed says nothing more |
//! | [`every_write_may_fail`] | the sink breaks at each write and seek in turn: an error, and the old file is as it was |
//! | [`golden`] | a folder of golden files, where they are |
//! | [`cases`] | how much a test tries: some of it, or all in a nightly run |
//! | [`Stopwatch`] | the processor's time, for tests that tell linear work from quadratic |
//! | [`FailingSink`] | a `Write`, and `Seek`, that breaks after so many calls, and that takes few bytes at a time |
//!
//! All panic with the case that failed, as tests do.
#![allow(clippy::panic, reason = "a test kit reports by panicking")]
#![allow(clippy::indexing_slicing, reason = "a test kit reports by panicking")]

mod mock;
mod sinks;
mod sources;
mod stopwatch;

pub use mock::MOCK;
pub use sinks::{FailingSink, Sink, every_write_may_fail};
pub use sources::{every_source_agrees, mapped};
pub use stopwatch::Stopwatch;

use crate::error::{ErrorKind, Result};

/// A folder of the golden files of the workspace that the package at `manifest` is part of. A package that was taken out of it has none, and a
/// line says that its test does nothing.
#[must_use]
pub fn golden(manifest: &str, folder: &str) -> Option<std::path::PathBuf> {
    let package = std::path::Path::new(manifest);
    // What cargo puts into packages.
    if package.join(".cargo_vcs_info.json").exists() {
        println!("SKIPPED: the golden files of {folder} are not in the package");
        return None;
    }
    Some(package.join("../../tests/golden").join(folder))
}

/// How much a test tries: `quick`, or `exhaustive` where `WHARF_EXHAUSTIVE` is set, as in `cargo xtask nightly`.
#[must_use]
pub fn cases<T>(quick: T, exhaustive: T) -> T {
    if std::env::var_os("WHARF_EXHAUSTIVE").is_some() { exhaustive } else { quick }
}

/// Every strict prefix of `full` must be refused by `read_all`, with an error whose byte position lies in the prefix.
///
/// For formats that say how long they are. Line formats, whose prefixes are files with fewer records, have checks of
/// their own. Prefixes of more than 4096 bytes are sampled: all cuts near the ends and 2048 in between.
pub fn every_prefix_fails(full: &[u8], read_all: impl Fn(&[u8]) -> Result<()>) {
    if let Err(error) = read_all(full) {
        panic!("the whole file must read: {error}");
    }
    for cut in sample(full.len()) {
        let Err(error) = read_all(&full[..cut]) else {
            panic!("the first {cut} of {} bytes read as if they were the whole", full.len());
        };
        assert_ne!(error.kind(), ErrorKind::Usage, "prefix of {cut} bytes: the caller is blamed: {error}");
        match error.position().byte {
            Some(byte) => assert!(byte <= cut as u64, "prefix of {cut} bytes: position outside: {error}"),
            None => panic!("prefix of {cut} bytes: no byte position: {error}"),
        }
    }
}

/// `read_all` must come back from every flip of one bit, with a value or an error. How many flips were still readable is
/// returned, so that a test can pin it.
pub fn every_bit_flip_is_handled(full: &[u8], read_all: impl Fn(&[u8]) -> Result<()>) -> usize {
    let mut copy = full.to_vec();
    let mut readable = 0;
    for byte in sample(full.len()) {
        for bit in 0..8 {
            copy[byte] ^= 1 << bit;
            match read_all(&copy) {
                Ok(()) => readable += 1,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Usage, "byte {byte} bit {bit}: the caller is blamed: {error}");
                }
            }
            copy[byte] ^= 1 << bit;
        }
    }
    readable
}

/// After its first error the iterator must end, and stay ended.
pub fn ends_after_error<T>(iterator: impl IntoIterator<Item = Result<T>>) {
    let mut iterator = iterator.into_iter();
    if iterator.by_ref().any(|item| item.is_err()) {
        for _ in 0..3 {
            assert!(iterator.next().is_none(), "an iterator goes on after an error");
        }
    } else {
        panic!("the iterator was expected to fail");
    }
}

/// All indexes below `len` up to 4096, else those near both ends and an even spread between.
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
    fn a_sound_reader_passes() {
        let full = [3, 0, b'a', b'b', b'c'];
        every_prefix_fails(&full, read);
        assert_eq!(every_bit_flip_is_handled(&full, read), 24);
        let items = [Ok(1), Err(Error::invalid("x"))];
        ends_after_error(items);
    }

    #[test]
    #[should_panic(expected = "read as if they were the whole")]
    fn a_reader_that_takes_a_prefix_is_caught() {
        every_prefix_fails(&[1, 2, 3], |_| Ok(()));
    }

    #[test]
    #[should_panic(expected = "no byte position")]
    fn an_error_without_position_is_caught() {
        every_prefix_fails(&[1, 2, 3], |bytes| if bytes.len() == 3 { Ok(()) } else { Err(Error::invalid("short")) });
    }

    #[test]
    #[should_panic(expected = "goes on after an error")]
    fn an_iterator_that_goes_on_is_caught() {
        ends_after_error(std::iter::repeat_with(|| Err::<(), _>(Error::invalid("x"))));
    }

    #[test]
    fn large_inputs_are_sampled_at_both_ends() {
        let picked = sample(1 << 20);
        assert!(picked.len() < 8192 && picked[0] == 0 && picked.last() == Some(&((1 << 20) - 1)));
        assert!(picked.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
