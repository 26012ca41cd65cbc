#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, reason = "tests make their data with casts"))]

mod adler;
mod deflate;
mod inflate;

use std::fmt;

pub use adler::adler32;
pub use deflate::Deflater;
pub use inflate::{Inflater, most_inflated};

/// What stands around the compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Nothing: DEFLATE, RFC 1951.
    Raw,
    /// A head of two bytes and a checksum: zlib, RFC 1950.
    Zlib,
}

/// A block cannot be inflated into what it was to become. Why is not looked at, as that would cost time in blocks that are right: whoever wants
/// to tell it asks another library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the compressed data are damaged, or of another length")
    }
}

impl std::error::Error for Damaged {}
