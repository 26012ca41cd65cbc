//! Estimates the number of distinct values: HyperLogLog by Flajolet et al., with Ertl's estimator.

/// Bits of a hash that select a register.
const BITS: u32 = 14;

/// Registers with the maximum number of leading zeros seen.
pub(super) struct HyperLogLog(Box<[u8]>);

impl HyperLogLog {
    /// The standard error of an estimate, relative to it.
    pub(super) const ERROR: f64 = 1.04 / 128.0; // 1.04 / sqrt(2^14)

    pub(super) fn new() -> Self {
        Self(vec![0; 1 << BITS].into())
    }

    #[allow(clippy::cast_possible_truncation, reason = "a register number has 14 bits, a rank is at most 51")]
    pub(super) fn add(&mut self, hash: u64) {
        let rank = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        if let Some(register) = self.0.get_mut((hash >> (u64::BITS - BITS)) as usize) {
            *register = rank.max(*register);
        }
    }

    /// Ertl's improved estimator, which needs no correction for small or large numbers (arXiv:1702.01284, algorithm 6).
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate is not negative; beyond 2^64 it saturates"
    )]
    pub(super) fn estimate(&self) -> u64 {
        const Q: usize = (u64::BITS - BITS) as usize;
        let mut counts = [0.0; Q + 2];
        for register in &self.0 {
            if let Some(count) = counts.get_mut(usize::from(*register)) {
                *count += 1.0;
            }
        }
        let m = f64::from(1 << BITS);
        let [zeros, middle @ .., full] = counts;
        let mut z = m * tau(1.0 - full / m);
        for count in middle.iter().rev() {
            z = 0.5 * (z + count);
        }
        z += m * sigma(zeros / m);
        (m * m / (2.0 * std::f64::consts::LN_2 * z)).round() as u64
    }
}

#[allow(clippy::float_cmp, reason = "iterates until nothing changes")]
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

#[allow(clippy::float_cmp, reason = "iterates until nothing changes")]
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// The finalizer of SplitMix64: a bijection that mixes all bits.
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A hash of bytes.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(last, byte)| *last = *byte);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(mix(bytes.len() as u64), |hash, word| mix(hash.rotate_left(29) ^ word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_within_four_standard_errors() {
        let mut all = HyperLogLog::new();
        let mut n = 0_u64;
        for target in [1, 10, 1000, 10_000, 50_000, 200_000, 1_000_000] {
            for number in n..target {
                all.add(mix(number));
                all.add(mix(number));
            }
            n = target;
            let error = (all.estimate() as f64 - n as f64).abs() / n as f64;
            assert!(error < 4.0 * HyperLogLog::ERROR, "{n}: {}", all.estimate());
        }
    }

    #[test]
    fn hashes_of_texts_differ() {
        let texts = (0..1000_u32).flat_map(|number| {
            [format!("{number}"), format!("{number:08}"), format!("{number:020}"), "\0".repeat(number as usize + 1)]
        });
        let texts: std::collections::HashSet<String> = texts.collect();
        let hashes: std::collections::HashSet<u64> = texts.iter().map(|text| hash_bytes(text.as_bytes())).collect();
        assert_eq!(hashes.len(), texts.len());
    }
}
