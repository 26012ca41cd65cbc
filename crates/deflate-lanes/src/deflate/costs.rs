//! What literals and matches are expected to cost, learnt from what was chosen before.

use super::huffman::{MAX_BITS, code_lengths};
use super::stats::{FEW, FRACTION, Histogram, log2};
use super::symbols::{END, LENGTHS, LITLENS, MAX_MATCH, OFFSETS, Range, distance_place, length_place};

/// A repetition: `length` bytes that are also `distance` bytes further back. A length of 0 is no match.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Match {
    pub(super) length: usize,
    pub(super) distance: usize,
    /// What it saves.
    pub(super) gain: i32,
}

/// The average cost of a byte before anything is known: high, so that matches are tried out.
const UNKNOWN: i32 = 8 << FRACTION;
/// And what a match is said to cost beside its extra bits: little. What is chosen for that shows what it does cost.
const CHEAP: i32 = 2 << FRACTION;

/// Costs in parts of a bit, as `FRACTION` says.
pub(super) struct Costs {
    literals: [i32; 256],
    /// Of each length, with its extra bits.
    lengths: [i32; 512],
    /// Of each symbol of distances, with its extra bits.
    distances: [i32; 32],
    /// Of a byte, however it is coded.
    average: i32,
    /// What the costs are made of.
    model: Histogram,
    /// What the literals before each place are worth together; places are counted from `from`.
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
    /// Forgets everything, and knows only the literals to be compressed.
    pub(super) fn start(&mut self, plain: &Histogram) {
        self.model = plain.clone();
        self.average = UNKNOWN;
        self.update();
        self.set_lengths(|_| CHEAP);
        for (slot, range) in self.distances.iter_mut().zip(&OFFSETS) {
            *slot = CHEAP + extra(*range);
        }
    }

    /// Learns what was chosen last, for so many bytes; older choices count less.
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
            *slot = costs.get(length_place(length)).copied().unwrap_or(0);
        }
    }

    /// Makes ready for matches that lie between two places of the data.
    ///
    /// A literal is worth what it costs, but no more than so many halves of an average byte. What hardly ever is a literal would cost much as one,
    /// but without this match it would be part of another.
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

    /// What the literals between two places are worth.
    #[inline(always)]
    fn worth(&self, from: usize, to: usize) -> i32 {
        let sum = |at: usize| self.sums.get(at.wrapping_sub(self.from)).copied().unwrap_or(0);
        sum(to) - sum(from)
    }

    /// What a literal costs.
    #[inline(always)]
    pub(super) fn literal(&self, byte: u8) -> i32 {
        self.literals.get(usize::from(byte)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn of(&self, length: usize, distance: usize) -> i32 {
        self.lengths.get(length & 511).copied().unwrap_or(0)
            + self.distances.get(distance_place(distance) & 31).copied().unwrap_or(0)
    }

    /// What a match costs less than a literal of its first byte and what the other bytes are worth.
    #[inline(always)]
    pub(super) fn gain(&self, first: u8, at: usize, length: usize, distance: usize) -> i32 {
        self.literal(first) + self.worth(at + 1, at + length) - self.of(length, distance)
    }

    /// Whether a match so many places on, with literals of such a cost before it, costs less than a match here. Where one reaches farther, a
    /// byte counts as one on the average.
    #[inline(always)]
    pub(super) fn is_later_better(&self, found: Match, next: Match, by: usize, literals: i32) -> bool {
        let reach = |length: usize| i32::try_from(length).unwrap_or(0);
        let farther = reach(next.length + by) - reach(found.length);
        self.of(next.length, next.distance) + literals < self.of(found.length, found.distance) + farther * self.average
    }
}

/// What symbols cost that occur so often.
fn symbol_costs(counts: &[u32; 288], costs: &mut [i32; 288]) {
    let all = total(counts);
    for (slot, &count) in costs.iter_mut().zip(counts) {
        *slot = cost(all, count);
    }
    if counts.iter().filter(|&&count| count > 0).count() <= FEW {
        // Codes have whole bits, which matters most where they are short.
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

/// What a symbol costs that occurs so often; one that does not occur counts as half.
fn cost(total: u64, count: u32) -> i32 {
    let parts = total.saturating_sub(log2((2 * count).max(1))).max(1 << 16);
    i32::try_from(parts >> (16 - FRACTION)).unwrap_or(0)
}
