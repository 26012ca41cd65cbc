//! Symbol frequencies, and estimates of their cost.

use super::huffman::{MAX_BITS, code_lengths};
use super::symbols::{END, LENGTHS, OFFSETS, Range, distance_index, length_index};

/// Fractional bits of estimated costs.
pub(super) const FRACTION: u32 = 8;

/// The cost of a block header: per used symbol, and fixed.
const HEADER_PER_SYMBOL: u64 = 4 << FRACTION;
const HEADER: u64 = 70 << FRACTION;

/// With at most this many symbols, costs are taken from actual codes.
pub(super) const MAX_EXACT_SYMBOLS: usize = 24;

static EMPTY: Histogram = Histogram::new();

/// Symbol frequencies of a block, or of a part of one.
#[derive(Clone)]
pub(super) struct Histogram {
    pub(super) litlens: [u32; 288],
    pub(super) distances: [u32; 32],
    pub(super) extra_bits: u64,
}

impl Histogram {
    pub(super) const fn new() -> Self {
        Self { litlens: [0; 288], distances: [0; 32], extra_bits: 0 }
    }

    #[inline(always)]
    pub(super) fn literal(&mut self, byte: u8) {
        if let Some(count) = self.litlens.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }

    #[inline(always)]
    pub(super) fn copy(&mut self, length: usize, distance: usize) {
        let (length, distance) = (length_index(length), distance_index(distance));
        if let Some(count) = self.litlens.get_mut(257 + length) {
            *count += 1;
        }
        if let Some(count) = self.distances.get_mut(distance) {
            *count += 1;
        }
        let extra = |range: Option<&Range>| range.map_or(0, |range| u64::from(range.extra_bits));
        self.extra_bits += extra(LENGTHS.get(length)) + extra(OFFSETS.get(distance));
    }

    /// Adds bytes as literals.
    pub(super) fn literals(&mut self, bytes: &[u8]) {
        // Several counters per byte, so that runs do not depend on a single one.
        let mut counts = [[0u32; 256]; 4];
        let [a, b, c, d] = &mut counts;
        let (words, rest) = bytes.as_chunks::<8>();
        let count = |counts: &mut [u32; 256], byte: u64| {
            #[expect(clippy::cast_possible_truncation, reason = "one byte of eight")]
            let byte = usize::from(byte as u8);
            if let Some(count) = counts.get_mut(byte) {
                *count += 1;
            }
        };
        for word in words {
            let word = u64::from_le_bytes(*word);
            count(a, word);
            count(b, word >> 8);
            count(c, word >> 16);
            count(d, word >> 24);
            count(a, word >> 32);
            count(b, word >> 40);
            count(c, word >> 48);
            count(d, word >> 56);
        }
        for &byte in rest {
            count(a, byte.into());
        }
        for ((((sum, a), b), c), d) in self.litlens.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *sum += *a + *b + *c + *d;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.litlens.iter_mut().zip(&other.litlens) {
            *sum += count;
        }
        for (sum, count) in self.distances.iter_mut().zip(&other.distances) {
            *sum += count;
        }
        self.extra_bits += other.extra_bits;
    }

    /// The estimated cost as a block, with [`FRACTION`] fractional bits.
    pub(super) fn cost(&self) -> u64 {
        self.cost_with(&EMPTY)
    }

    /// The estimated cost of a block of both.
    pub(super) fn cost_with(&self, other: &Self) -> u64 {
        let (mut litlens, mut distances) = (self.litlens, self.distances);
        for (sum, count) in litlens.iter_mut().zip(&other.litlens) {
            *sum += count;
        }
        for (sum, count) in distances.iter_mut().zip(&other.distances) {
            *sum += count;
        }
        if let Some(count) = litlens.get_mut(END) {
            *count = 1;
        }
        let fixed = fixed_bits(&litlens, &distances) << FRACTION;
        let dynamic = HEADER + entropy(&litlens) + entropy(&distances);
        dynamic.min(fixed) + ((self.extra_bits + other.extra_bits) << FRACTION)
    }

    /// Adds the end of the block.
    pub(super) fn end(&mut self) {
        if let Some(count) = self.litlens.get_mut(END) {
            *count = 1;
        }
    }
}

/// The estimated cost of symbols with these frequencies, including the header.
fn entropy(counts: &[u32]) -> u64 {
    let used = counts.iter().filter(|&&count| count > 0).count();
    let header = used as u64 * HEADER_PER_SYMBOL;
    if used <= MAX_EXACT_SYMBOLS {
        // Codes have whole bits, which matters most if they are short.
        let mut lens = [0; 288];
        code_lengths(counts, MAX_BITS, &mut lens);
        let bits = counts.iter().zip(lens).map(|(&count, len)| u64::from(count) * u64::from(len));
        return (bits.sum::<u64>() << FRACTION) + header;
    }
    let all = log2(counts.iter().sum());
    let sum = counts.iter().map(|&count| u64::from(count) * (all.saturating_sub(log2(count))).max(1 << 16));
    (sum.sum::<u64>() >> (16 - FRACTION)) + header
}

/// The bits of the symbols in the fixed codes.
fn fixed_bits(litlens: &[u32; 288], distances: &[u32; 32]) -> u64 {
    let sum = |counts: &[u32], from: usize, to: usize| {
        u64::from(counts.get(from..to).unwrap_or_default().iter().sum::<u32>())
    };
    8 * (sum(litlens, 0, 144) + sum(litlens, 280, 288))
        + 9 * sum(litlens, 144, 256)
        + 7 * sum(litlens, 256, 280)
        + 5 * sum(distances, 0, 32)
}

/// The binary logarithm with 16 fractional bits, accurate to 0.003; 0 for 0.
#[inline(always)]
pub(super) fn log2(number: u32) -> u64 {
    let Some(exponent) = number.checked_ilog2() else { return 0 };
    let index = (u64::from(number) << (31 - exponent) >> 23 & 255) as usize;
    u64::from(exponent) << 16 | u64::from(LOG2.get(index).copied().unwrap_or(0))
}

/// The logarithms of `1 + i / 256` with 16 fractional bits, by squaring. Not in floating point, whose results may differ between machines.
#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static LOG2: [u16; 256] = {
    let mut logs = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut x = (256 + i as u64) << 24;
        let (mut bit, mut log) = (1u16 << 15, 0);
        while bit > 0 {
            // `x` has 32 fractional bits and is below 2.
            x = ((x >> 2) * (x >> 2)) >> 28;
            if x >> 33 > 0 {
                x >>= 1;
                log |= bit;
            }
            bit >>= 1;
        }
        logs[i] = log;
        i += 1;
    }
    logs
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximates_logarithms() {
        assert_eq!(log2(0), 0);
        for number in (1..5000).chain([65_535, 65_536, 1 << 31, u32::MAX]) {
            let (actual, exact) = (log2(number) as f64 / 65536.0, f64::from(number).log2());
            assert!((actual - exact).abs() < 0.006, "{number}: {actual}, {exact}");
        }
    }

    #[test]
    fn literals_counts_each_byte() {
        let bytes: Vec<u8> = (0..5000u32).map(|i| ((i * i) >> 5) as u8).collect();
        for len in [0, 1, 7, 8, 9, 5000] {
            let mut all = Histogram::new();
            all.literals(&bytes[..len]);
            let mut each = Histogram::new();
            bytes[..len].iter().for_each(|&byte| each.literal(byte));
            assert_eq!(all.litlens, each.litlens);
        }
    }

    #[test]
    fn cost_with_equals_cost_of_the_sum() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.literals(b"a text with some letters");
        b.literals(&[0; 99]);
        b.copy(258, 30_000);
        let expected = a.cost_with(&b);
        assert!(a.cost() + b.cost() < expected + (HEADER << 2));
        a.add(&b);
        assert_eq!(a.cost(), expected);
        let bits = a.cost() >> FRACTION;
        assert!(bits > 100 && bits < 2000, "{bits}");
    }
}
