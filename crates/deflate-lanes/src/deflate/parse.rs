//! Splits bytes into literals and matches.

use std::ops::Range;

use super::blocks::Sequence;
use super::costs::{Costs, Match};
use super::matches::{Chains, Effort};
use super::stats::Histogram;
use super::symbols::{MAX_MATCH, MIN_MATCH};

/// Parameters of the choice between literals and matches.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) effort: Effort,
    /// The number of later positions, up to 2, to try before a match is accepted.
    pub(super) lazy: u8,
    /// A match of this length is accepted at once.
    pub(super) patience: usize,
    /// The maximum value of a literal saved by a match, in halves of the average cost of a byte.
    pub(super) worth: i32,
}

/// The sequences of a block so far.
#[derive(Default)]
pub(super) struct Sequences {
    pub(super) list: Vec<Sequence>,
    /// Literals after the last match.
    literals: u32,
}

impl Sequences {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.literals = 0;
    }

    /// Adds literals.
    pub(super) fn literals(&mut self, count: usize) {
        self.literals += u32::try_from(count).unwrap_or(0);
    }

    fn copy(&mut self, copied: Match) {
        let narrow = |number: usize| u16::try_from(number).unwrap_or(0);
        let literals = std::mem::take(&mut self.literals);
        self.list.push(Sequence { literals, length: narrow(copied.length), distance: narrow(copied.distance) });
    }

    /// The current end.
    pub(super) fn mark(&self) -> (usize, u32) {
        (self.list.len(), self.literals)
    }

    /// Truncates to a mark.
    pub(super) fn reset(&mut self, mark: (usize, u32)) {
        self.list.truncate(mark.0);
        self.literals = mark.1;
    }

    /// The sequences before a mark, without trailing literals.
    pub(super) fn before(&self, mark: (usize, u32)) -> &[Sequence] {
        self.list.get(..mark.0).unwrap_or_default()
    }

    /// Removes everything before a mark.
    pub(super) fn forget(&mut self, mark: (usize, u32)) {
        self.list.drain(..mark.0.min(self.list.len()));
        let literals = self.list.first_mut().map_or(&mut self.literals, |sequence| &mut sequence.literals);
        *literals = literals.saturating_sub(mark.1);
    }
}

/// Adds the literals and matches of a range of the bytes, and returns their end: the last match may extend beyond the range.
pub(super) fn parse(
    chains: &mut Chains,
    costs: &mut Costs,
    style: Style,
    data: &[u8],
    bytes: Range<usize>,
    sequences: &mut Sequences,
    histogram: &mut Histogram,
) -> usize {
    let Range { start: mut at, end } = bytes;
    let Style { effort, lazy, patience, worth } = style;
    let half = Effort { depth: effort.depth / 2, ..effort };
    let quarter = Effort { depth: effort.depth / 4, ..effort };
    let byte = |at: usize| data.get(at).copied().unwrap_or(0);
    chains.insert_up_to(data, at);
    costs.prepare(data, at, end + MAX_MATCH + 2, worth);
    while at < end {
        let mut best = chains.find(data, costs, at, MIN_MATCH - 1, effort);
        if best.length < MIN_MATCH {
            sequences.literals(1);
            histogram.literal(byte(at));
            at += 1;
            continue;
        }
        while lazy > 0 && best.length < patience && at < end {
            let (mut by, mut literals) = (1, costs.literal(byte(at)));
            let mut next = chains.find(data, costs, at + 1, best.length - 1, half);
            let mut better = next.length > 0 && costs.is_later_better(best, next, by, literals);
            if !better && lazy > 1 {
                (by, literals) = (2, literals + costs.literal(byte(at + 1)));
                next = chains.find(data, costs, at + 2, best.length - 1, quarter);
                better = next.length > 0 && costs.is_later_better(best, next, by, literals);
            }
            if !better {
                break;
            }
            sequences.literals(by);
            (at..at + by).for_each(|at| histogram.literal(byte(at)));
            at += by;
            best = next;
        }
        sequences.copy(best);
        histogram.copy(best.length, best.distance);
        at += best.length;
        chains.insert_up_to(data, at);
    }
    at
}
