//! Setting and testing the bits of single keys.

use crate::digest::group::{Digest, LANES};
use crate::probe::{GroupIndices, KeyIndices, Modulus, Row};
use crate::shape::Shape;

/// The parameters of a [`Shape`] that determine the bits of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) modulus: Modulus,
    pub(crate) hashes: usize,
}

impl Plan {
    pub(crate) fn new(shape: &Shape) -> Self {
        // There are at most about 1100 hashes.
        Self { modulus: Modulus::new(shape.bits()), hashes: usize::try_from(shape.hashes()).unwrap_or(usize::MAX) }
    }

    pub(crate) fn hashes(&self) -> usize {
        self.hashes
    }

    pub(crate) fn group_indices(&self, digests: &[Digest; LANES]) -> GroupIndices {
        GroupIndices::new(self.modulus, digests)
    }

    /// Sets one key's bits.
    #[inline]
    pub(crate) fn insert(&self, bits: &mut [u8], digest: Digest) {
        for index in KeyIndices::new(self.modulus, digest).take(self.hashes) {
            set(bits, index);
        }
    }

    /// Whether one key's bits are set.
    #[inline]
    pub(crate) fn contains(&self, bits: &[u8], digest: Digest) -> bool {
        KeyIndices::new(self.modulus, digest).take(self.hashes).all(|index| is_set(bits, index))
    }
}

/// Rows per tile; keys with more bits take several tiles.
pub(crate) const ROWS: usize = 32;

pub(crate) type Tile = [Row; ROWS];

#[inline(always)]
pub(crate) fn byte_offset(index: u64) -> usize {
    #[allow(clippy::cast_possible_truncation, reason = "the bits are in memory")]
    let offset = (index / 8) as usize;
    offset
}

#[inline(always)]
pub(crate) fn set(bits: &mut [u8], index: u64) {
    if let Some(byte) = bits.get_mut(byte_offset(index)) {
        *byte |= 1 << (index % 8);
    }
}

#[inline(always)]
pub(crate) fn is_set(bits: &[u8], index: u64) -> bool {
    bits.get(byte_offset(index)).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// A digest for each lane; the first one fills lanes without a key.
#[inline(always)]
pub(crate) fn fill_lanes(digests: &[Digest]) -> [Digest; LANES] {
    let first = digests.first().copied().unwrap_or_default();
    let mut lanes = [first; LANES];
    for (to, from) in lanes.iter_mut().zip(digests) {
        *to = *from;
    }
    lanes
}
