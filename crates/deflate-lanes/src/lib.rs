#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, reason = "tests create data with casts"))]

mod adler;
mod deflate;
mod inflate;

use std::fmt;

pub use adler::adler32;
pub use deflate::Deflater;
pub use inflate::{Inflater, most_inflated};

/// The container of the compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// None: DEFLATE, RFC 1951.
    Raw,
    /// A header of two bytes and a checksum: zlib, RFC 1950.
    Zlib,
}

/// A block is invalid, or does not inflate to the expected length. The reason is not recorded, which would slow down valid blocks; another library
/// can tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid compressed data, or unexpected inflated length")
    }
}

impl std::error::Error for Damaged {}
