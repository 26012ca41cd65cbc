//! Inflating.
//!
//! Why not with a library: on the floats of ML.NET's tables, zlib-rs 0.6 inflates 450 MB/s, miniz_oxide 340, and this 609 (texts: 516, 410, 536).
//! `cargo bench -p idv --bench deflate` compares them.

mod bits;
mod fast;
mod lanes;
mod stream;
mod tables;

use crate::{Damaged, Format};
use fast::Fast;

/// The maximum number of bytes that one byte inflates to: a match of 258 takes two bits.
const MAX_RATIO: u64 = 1032;

/// Inflates blocks of known length. Its tables are reused from block to block.
#[derive(Default)]
pub struct Inflater(Box<Fast>);

impl Inflater {
    /// Inflates `packed`, which must fill `out` exactly. Bytes after the end of the stream are ignored.
    ///
    /// ```
    /// use deflate_lanes::{Deflater, Format, Inflater};
    ///
    /// let numbers: Vec<u8> = (0..10_000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    /// let mut packed = Vec::new();
    /// Deflater::default().deflate(Format::Zlib, 6, &numbers, &mut packed);
    /// assert!(packed.len() < numbers.len());
    ///
    /// let mut out = vec![0; numbers.len()];
    /// Inflater::default().inflate(Format::Zlib, &packed, &mut out)?;
    /// assert_eq!(out, numbers);
    /// # Ok::<(), deflate_lanes::Damaged>(())
    /// ```
    ///
    /// # Errors
    /// [`Damaged`] if the bytes are not a stream of this format, it inflates to more or fewer bytes than `out` has, or its checksum differs.
    /// The content of `out` is unspecified then.
    pub fn inflate(&mut self, format: Format, packed: &[u8], out: &mut [u8]) -> Result<(), Damaged> {
        self.0.inflate(format == Format::Zlib, packed, out).ok_or(Damaged)
    }
}

/// The maximum number of bytes that `packed` compressed bytes can inflate to. A larger declared length is invalid.
#[must_use]
pub const fn most_inflated(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO)
}

#[cfg(test)]
mod tests;
