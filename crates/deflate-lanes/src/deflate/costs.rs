//! Expected costs of literals and matches, learned from earlier choices.

use super::huffman::{MAX_BITS, code_lengths};
use super::stats::{FRACTION, Histogram, MAX_EXACT_SYMBOLS, log2};
use super::symbols::{END, LENGTHS, LITLENS, MAX_MATCH, OFFSETS, Range, distance_index, length_index};

/// A match of `length` bytes, `distance` bytes back. A length of 0 is no match.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Match {
    pub(super) length: usize,
    pub(super) distance: usize,
    /// The cost that it saves.
    pub(super) gain: i32,
}

/// The initial average cost of a byte: high, so that matches are tried.
const UNKNOWN: i32 = 8 << FRACTION;
/// The initial cost of a match without its extra bits: low, so that the actual cost is learned.
const INITIAL_MATCH: i32 = 2 << FRACTION;

/// Costs with [`FRACTION`] fractional bits.
pub(super) struct Costs {
    literals: [i32; 256],
    /// By length, including extra bits.
    lengths: [i32; 512],
    /// By distance symbol, including extra bits.
    distances: [i32; 32],
    /// The average per byte, literal or in a match.
    average: i32,
    /// The frequencies that the costs are derived from.
    model: Histogram,
    /// The total value of the literals before each position, from position `from` on.
    sums: Vec<i32>,
    from: usize,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            literals: [0; 256],
            lengths: [0; 512],
            distances: [0; 32],
            average: UNKNOWN,
            model: Histogram::new(),
            sums: Vec::new(),
            from: 0,
        }
    }
}

const fn extra(range: Range) -> i32 {
    (range.extra_bits as i32) << FRACTION
}

impl Costs {
    /// Starts with the frequencies of the bytes to be compressed.
    pub(super) fn start(&mut self, plain: &Histogram) {
        self.model = plain.clone();
        self.average = UNKNOWN;
        self.update();
        self.set_lengths(|_| INITIAL_MATCH);
        for (slot, range) in self.distances.iter_mut().zip(&OFFSETS) {
            *slot = INITIAL_MATCH + extra(*range);
        }
    }

    /// Learns from the choices for the last `bytes` bytes; older ones count less.
    pub(super) fn learn(&mut self, chosen: &Histogram, bytes: usize, cost: u64) {
        self.average = i32::try_from(cost / bytes.max(1) as u64).unwrap_or(UNKNOWN);
        for (old, new) in self.model.litlens.iter_mut().zip(&chosen.litlens) {
            *old = *old / 4 + new;
        }
        for (old, new) in self.model.distances.iter_mut().zip(&chosen.distances) {
            *old = *old / 4 + new;
        }
        self.update();
    }

    fn update(&mut self) {
        let mut litlens = [0; 288];
        symbol_costs(&self.model.litlens, &mut litlens);
        for (slot, &cost) in self.literals.iter_mut().zip(&litlens) {
            *slot = cost;
        }
        self.set_lengths(|place| litlens.get(257 + place).copied().unwrap_or(0));
        let all = total(&self.model.distances);
        for ((slot, &count), range) in self.distances.iter_mut().zip(&self.model.distances).zip(&OFFSETS) {
            *slot = cost(all, count) + extra(*range);
        }
    }

    fn set_lengths(&mut self, cost: impl Fn(usize) -> i32) {
        let mut costs = [0; LENGTHS.len()];
        for (place, (slot, range)) in costs.iter_mut().zip(&LENGTHS).enumerate() {
            *slot = cost(place) + extra(*range);
        }
        for (length, slot) in self.lengths.iter_mut().enumerate().take(MAX_MATCH + 1).skip(3) {
            *slot = costs.get(length_index(length)).copied().unwrap_or(0);
        }
    }

    /// Prepares for matches between two positions of the data.
    ///
    /// A literal's value is its cost, but at most `halves` halves of an average byte. A byte that is hardly ever a literal would be expensive as
    /// one, but without this match it would be part of another.
    pub(super) fn prepare(&mut self, data: &[u8], at: usize, end: usize, halves: i32) {
        self.from = at;
        self.sums.clear();
        let (mut sum, most) = (0, self.average * halves / 2);
        self.sums.push(sum);
        let literals = &self.literals;
        self.sums.extend(data.get(at..end.min(data.len())).unwrap_or_default().iter().map(|&byte| {
            sum += literals.get(usize::from(byte)).copied().unwrap_or(0).min(most);
            sum
        }));
    }

    /// The value of the literals between two positions.
    #[inline(always)]
    fn worth(&self, from: usize, to: usize) -> i32 {
        let sum = |at: usize| self.sums.get(at.wrapping_sub(self.from)).copied().unwrap_or(0);
        sum(to) - sum(from)
    }

    /// The cost of a literal.
    #[inline(always)]
    pub(super) fn literal(&self, byte: u8) -> i32 {
        self.literals.get(usize::from(byte)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn match_cost(&self, length: usize, distance: usize) -> i32 {
        self.lengths.get(length & 511).copied().unwrap_or(0)
            + self.distances.get(distance_index(distance) & 31).copied().unwrap_or(0)
    }

    /// The cost of the first byte as a literal and the value of the others, minus the cost of the match.
    #[inline(always)]
    pub(super) fn gain(&self, first: u8, at: usize, length: usize, distance: usize) -> i32 {
        self.literal(first) + self.worth(at + 1, at + length) - self.match_cost(length, distance)
    }

    /// Whether a match `by` bytes later, after literals of cost `literals`, is cheaper than the match here. Bytes that only one of them covers
    /// count as average.
    #[inline(always)]
    pub(super) fn is_later_better(&self, current: Match, next: Match, by: usize, literals: i32) -> bool {
        let reach = |length: usize| i32::try_from(length).unwrap_or(0);
        let farther = reach(next.length + by) - reach(current.length);
        self.match_cost(next.length, next.distance) + literals
            < self.match_cost(current.length, current.distance) + farther * self.average
    }
}

/// The costs of symbols with these frequencies.
fn symbol_costs(counts: &[u32; 288], costs: &mut [i32; 288]) {
    let all = total(counts);
    for (slot, &count) in costs.iter_mut().zip(counts) {
        *slot = cost(all, count);
    }
    if counts.iter().filter(|&&count| count > 0).count() <= MAX_EXACT_SYMBOLS {
        // Codes have whole bits, which matters most if they are short.
        let mut counts = *counts;
        if let Some(count) = counts.get_mut(END) {
            *count = (*count).max(1);
        }
        let mut lens = [0; 288];
        code_lengths(counts.get(..LITLENS).unwrap_or_default(), MAX_BITS, &mut lens);
        for (slot, &len) in costs.iter_mut().zip(&lens).filter(|(_, len)| **len > 0) {
            *slot = i32::from(len) << FRACTION;
        }
    }
}

/// The logarithm of a sum, for `cost`.
fn total(counts: &[u32]) -> u64 {
    log2(2 * counts.iter().sum::<u32>() + 2)
}

/// The cost of a symbol of this frequency; 0 counts as a half.
fn cost(total: u64, count: u32) -> i32 {
    let parts = total.saturating_sub(log2((2 * count).max(1))).max(1 << 16);
    i32::try_from(parts >> (16 - FRACTION)).unwrap_or(0)
}
