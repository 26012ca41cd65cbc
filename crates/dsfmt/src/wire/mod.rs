//! The file as it lies on disk: parsed, no I/O.

pub(crate) mod header;

pub(crate) use header::{Entry, Header, SPECIAL, bit_bytes};

/// What every file begins with, up to the version.
pub(crate) const MAGIC: &[u8] = b"ds-";

/// The version that is read and written.
pub(crate) const VERSION: &str = "1.0";

/// Bytes of the line in front of the header.
pub(crate) const VERSION_LINE: u64 = (MAGIC.len() + VERSION.len() + 1) as u64;
