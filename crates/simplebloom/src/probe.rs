//! The indices of a key's bits: `(h1 + k * h2 mod 2^64) mod bits` for each `k`, without a division for each.
//!
//! The next index is the last one plus `h2 mod bits`, minus `bits` if that is too large. If `h1 + k * h2` overflows 2^64,
//! `2^64 mod bits` must be subtracted as well.

use crate::digest::group::{Digest, LANES};

/// The limit of bits: below it, the sum of two indices does not overflow.
pub(crate) const MAX_BITS: u64 = 1 << 63;

/// A number of bits, with constants for dividing by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modulus {
    bits: u64,
    /// 2^64 / `bits`, or slightly less.
    reciprocal: u64,
    /// 2^64 mod `bits`.
    wrap: u64,
}

impl Modulus {
    /// `bits` is at least 1 and at most [`MAX_BITS`].
    pub(crate) const fn new(bits: u64) -> Self {
        Self { bits, reciprocal: u64::MAX / bits, wrap: (u64::MAX % bits + 1) % bits }
    }

    /// `value mod bits`.
    #[inline(always)]
    fn of(self, value: u64) -> u64 {
        // The quotient, or one less: value * (2^64 / bits - reciprocal) / 2^64 is below 1.
        let product = u128::from(value) * u128::from(self.reciprocal);
        let quotient = (product >> 64) as u64;
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.bits));
        rest.min(rest.wrapping_sub(self.bits))
    }

    /// The increment for `step`, and the one for a sum that overflows.
    #[inline(always)]
    fn steps(self, step: u64) -> (u64, u64) {
        let plain = self.of(step);
        let wrapped = plain.wrapping_sub(self.wrap);
        (plain, wrapped.min(wrapped.wrapping_add(self.bits)))
    }
}

/// The indices of one key, without end.
pub(crate) struct KeyIndices {
    sum: u64,
    step: u64,
    index: u64,
    plain: u64,
    wrapped: u64,
    bits: u64,
}

impl KeyIndices {
    #[inline(always)]
    pub(crate) fn new(modulus: Modulus, digest: Digest) -> Self {
        let [sum, step] = digest;
        let (plain, wrapped) = modulus.steps(step);
        Self { sum, step, index: modulus.of(sum), plain, wrapped, bits: modulus.bits }
    }
}

impl Iterator for KeyIndices {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let index = self.index;
        let (sum, wraps) = self.sum.overflowing_add(self.step);
        self.sum = sum;
        let next = index + if wraps { self.wrapped } else { self.plain };
        // Below `bits` the difference wraps, and is more.
        self.index = next.min(next.wrapping_sub(self.bits));
        Some(index)
    }
}

/// One index for each of sixteen keys.
pub(crate) type Row = [u64; LANES];

/// The indices of sixteen keys side by side.
#[derive(Clone, Copy)]
pub(crate) struct GroupIndices {
    sum: Row,
    step: Row,
    index: Row,
    plain: Row,
    /// The bits of `plain` to flip if the sum overflows.
    change: Row,
    bits: u64,
}

impl GroupIndices {
    /// A loop, as compilers do not inline `map` of arrays this long.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes are in bounds")]
    pub(crate) fn new(modulus: Modulus, digests: &[Digest; LANES]) -> Self {
        let (mut sum, mut step, mut index) = ([0; LANES], [0; LANES], [0; LANES]);
        let (mut plain, mut change) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            [sum[lane], step[lane]] = digests[lane];
            index[lane] = modulus.of(sum[lane]);
            let (own, wrapped) = modulus.steps(step[lane]);
            (plain[lane], change[lane]) = (own, own ^ wrapped);
        }
        Self { sum, step, index, plain, change, bits: modulus.bits }
    }

    /// Writes the next indices, a row for each `k`.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "lanes are in bounds")]
    pub(crate) fn next_rows(&mut self, rows: &mut [Row]) {
        // Copies, which stay in registers.
        let Self { mut sum, step, mut index, plain, change, bits } = *self;
        for row in rows {
            *row = index;
            for lane in 0..LANES {
                sum[lane] = sum[lane].wrapping_add(step[lane]);
                let wraps = u64::from(sum[lane] < step[lane]);
                let next = index[lane] + (plain[lane] ^ change[lane] & wraps.wrapping_neg());
                index[lane] = next.min(next.wrapping_sub(bits));
            }
        }
        (self.sum, self.index) = (sum, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;

    /// The definition.
    fn defined_indices(digest: Digest, bits: u64, count: u64) -> Vec<u64> {
        (0..count).map(|k| digest[0].wrapping_add(k.wrapping_mul(digest[1])) % bits).collect()
    }

    fn draw(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of indices")]
    fn indices_follow_the_definition() {
        let mut state = 7;
        let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 8, 7, 9, 1 << 32];
        let mut sizes = vec![8, 16, 24, 64, 1 << 32, (1 << 32) + 8, MAX_BITS, MAX_BITS - 8, MAX_BITS / 2 + 8, 1000];
        sizes.extend((3..63).map(|shift| ((draw(&mut state) | 1 << 63) >> shift) & !7));
        let mut checked = 0;
        for bits in sizes.into_iter().filter(|bits| *bits >= 8) {
            let modulus = Modulus::new(bits);
            let mut digests = Vec::new();
            for a in edges {
                digests.extend(edges.map(|b| [a, b]));
                digests.extend([[a, draw(&mut state)], [draw(&mut state), a]]);
                digests.extend([[a.wrapping_mul(bits), a.wrapping_sub(bits)], [bits - 1, a.wrapping_add(bits)]]);
            }
            digests.extend((0..64).map(|_| [draw(&mut state), draw(&mut state)]));
            for chunk in digests.chunks(LANES) {
                let lanes: [Digest; LANES] = core::array::from_fn(|lane| chunk.get(lane).copied().unwrap_or_default());
                let (mut portable, mut best) = ([[0; LANES]; 40], [[0; LANES]; 40]);
                GroupIndices::new(modulus, &lanes).next_rows(&mut portable);
                let mut indices = GroupIndices::new(modulus, &lanes);
                let (first, second) = best.split_at_mut(17);
                simd::next_rows(&mut indices, first);
                simd::next_rows(&mut indices, second);
                for (lane, digest) in lanes.into_iter().enumerate() {
                    let expected = defined_indices(digest, bits, 40);
                    assert_eq!(
                        KeyIndices::new(modulus, digest).take(40).collect::<Vec<_>>(),
                        expected,
                        "{digest:x?} {bits}"
                    );
                    assert_eq!(portable.map(|row| row[lane]).to_vec(), expected, "{digest:x?} {bits}");
                    assert_eq!(best.map(|row| row[lane]).to_vec(), expected, "{digest:x?} {bits}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 10_000);
    }
}
