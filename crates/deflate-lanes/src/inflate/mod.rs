//! Inflating.
//!
//! Why not by a library: on the floats that ML.NET's tables hold, zlib-rs 0.6 inflates 450 MB/s, miniz_oxide 340, and this 609 (texts: 516, 410, 536).
//! `cargo bench -p idv --bench deflate` has them side by side.

mod bits;
mod fast;
mod lanes;
mod stream;
mod tables;

use crate::{Damaged, Format};
use fast::Fast;

/// DEFLATE cannot make more than this many bytes of one: a length of 258 in two bits.
const MAX_RATIO: u64 = 1032;

/// Inflates blocks whose lengths are known. Its tables are kept from block to block.
#[derive(Default)]
pub struct Inflater(Box<Fast>);

impl Inflater {
    /// Inflates all of `packed` into all of `out`. Bytes behind the end of the stream are not looked at.
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
    /// [`Damaged`]: the bytes are no stream of this format, the stream inflates to more or fewer bytes than `out` has, or its checksum is
    /// another one. `out` may hold anything then.
    pub fn inflate(&mut self, format: Format, packed: &[u8], out: &mut [u8]) -> Result<(), Damaged> {
        self.0.inflate(format == Format::Zlib, packed, out).ok_or(Damaged)
    }
}

/// The most bytes that so many compressed ones can inflate to: what declares more lies.
#[must_use]
pub const fn most_inflated(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO)
}

#[cfg(test)]
mod tests;
