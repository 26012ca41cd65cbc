//! The file as it lies on disk: parsed, no I/O.

pub(crate) mod header;

use std::borrow::Cow;

pub(crate) use header::{Entry, Header, SPECIAL, bit_bytes};

/// What every file begins with, up to the version.
pub(crate) const MAGIC: &[u8] = b"ds-";

/// The version that is read and written.
pub(crate) const VERSION: &str = "1.0";

/// Bytes of the line in front of the header.
pub(crate) const VERSION_LINE: u64 = (MAGIC.len() + VERSION.len() + 1) as u64;

/// A name in what is said of another one: of a long one the beginning, or it would be said as often as there are others.
pub(crate) fn short(name: &str) -> Cow<'_, str> {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()).into(),
        None => name.into(),
    }
}
