//! The on-disk format, parsed without I/O.

pub(crate) mod header;

use std::borrow::Cow;

pub(crate) use header::{Entry, Header, SPECIAL_KEYS, bit_bytes};

/// The bytes before the version number of every file.
pub(crate) const MAGIC: &[u8] = b"ds-";

/// The format version that is read and written.
pub(crate) const VERSION: &str = "1.0";

/// Length of the version line, including its line feed.
pub(crate) const VERSION_LINE: u64 = (MAGIC.len() + VERSION.len() + 1) as u64;

/// Shortens a long name for messages that quote it once per variable.
pub(crate) fn short(name: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 60;
    match name.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()).into(),
        None => name.into(),
    }
}
