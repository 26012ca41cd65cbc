//! Which bits belong to keys.

use crate::digest::group::{Digest, LANES};
use crate::probe::{Modulus, Row, Steps, Walk};
use crate::shape::Shape;

/// What of a shape finds the bits of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) modulus: Modulus,
    pub(crate) hashes: usize,
}

impl Plan {
    pub(crate) fn new(shape: &Shape) -> Self {
        // Hashes are some 1100 at most.
        Self { modulus: Modulus::new(shape.bits()), hashes: usize::try_from(shape.hashes()).unwrap_or(usize::MAX) }
    }

    pub(crate) fn hashes(&self) -> usize {
        self.hashes
    }

    pub(crate) fn walk(&self, digests: &[Digest; LANES]) -> Walk {
        Walk::new(self.modulus, digests)
    }

    /// Sets one key's bits.
    #[inline]
    pub(crate) fn insert(&self, bits: &mut [u8], digest: Digest) {
        for index in Steps::new(self.modulus, digest).take(self.hashes) {
            set(bits, index);
        }
    }

    /// Whether one key's bits are set.
    #[inline]
    pub(crate) fn contains(&self, bits: &[u8], digest: Digest) -> bool {
        Steps::new(self.modulus, digest).take(self.hashes).all(|index| is_set(bits, index))
    }
}

/// Rows of a tile; keys with more bits take several tiles.
pub(crate) const ROWS: usize = 32;

pub(crate) type Tile = [Row; ROWS];

#[inline(always)]
pub(crate) fn place(index: u64) -> usize {
    #[allow(clippy::cast_possible_truncation, reason = "there are as many bits as there is memory for")]
    let place = (index / 8) as usize;
    place
}

#[inline(always)]
pub(crate) fn set(bits: &mut [u8], index: u64) {
    if let Some(byte) = bits.get_mut(place(index)) {
        *byte |= 1 << (index % 8);
    }
}

#[inline(always)]
pub(crate) fn is_set(bits: &[u8], index: u64) -> bool {
    bits.get(place(index)).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// As many digests as there are lanes; the first again for those that are missing.
#[inline(always)]
pub(crate) fn filled(digests: &[Digest]) -> [Digest; LANES] {
    let first = digests.first().copied().unwrap_or_default();
    core::array::from_fn(|lane| digests.get(lane).copied().unwrap_or(first))
}
