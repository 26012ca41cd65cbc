//! Turns bytes into literals and matches.

use super::blocks::Sequence;
use super::matches::{Chains, Effort, Match};
use super::stats::Histogram;
use super::symbols::MIN_MATCH;

/// How literals and matches are chosen.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) effort: Effort,
    /// Whether to look at the next place, and the one after it, before a match is taken.
    pub(super) lazy: u8,
}

/// The sequences of a block so far.
#[derive(Default)]
pub(super) struct Sequences {
    pub(super) list: Vec<Sequence>,
    /// Literals behind the last match.
    literals: u32,
}

impl Sequences {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.literals = 0;
    }

    /// Adds bytes that will be literals.
    pub(super) fn literals(&mut self, count: usize) {
        self.literals += u32::try_from(count).unwrap_or(0);
    }

    fn copy(&mut self, found: Match) {
        let narrow = |number: usize| u16::try_from(number).unwrap_or(0);
        let literals = std::mem::take(&mut self.literals);
        self.list.push(Sequence { literals, length: narrow(found.length), distance: narrow(found.distance) });
    }

    /// What is there so far.
    pub(super) fn mark(&self) -> (usize, u32) {
        (self.list.len(), self.literals)
    }

    /// Goes back to that.
    pub(super) fn reset(&mut self, mark: (usize, u32)) {
        self.list.truncate(mark.0);
        self.literals = mark.1;
    }

    /// The sequences there were at a mark; literals at the end are not among them.
    pub(super) fn before(&self, mark: (usize, u32)) -> &[Sequence] {
        self.list.get(..mark.0).unwrap_or_default()
    }

    /// Forgets what there was at a mark.
    pub(super) fn forget(&mut self, mark: (usize, u32)) {
        self.list.drain(..mark.0.min(self.list.len()));
        let literals = self.list.first_mut().map_or(&mut self.literals, |sequence| &mut sequence.literals);
        *literals = literals.saturating_sub(mark.1);
    }
}

/// Whether a match one or two places on is worth the literals before it.
#[inline(always)]
fn is_better(next: Match, found: Match, least: i32) -> bool {
    let log = |distance: usize| i32::try_from(distance.max(1).ilog2()).unwrap_or(0);
    let length = |found: Match| i32::try_from(found.length).unwrap_or(0);
    next.length > 0 && 4 * (length(next) - length(found)) + log(found.distance) - log(next.distance) > least
}

/// Adds what the bytes from `at` to `end` are made of; the last match may reach beyond. Returns where it ends.
pub(super) fn parse(
    chains: &mut Chains,
    style: Style,
    data: &[u8],
    mut at: usize,
    end: usize,
    sequences: &mut Sequences,
    histogram: &mut Histogram,
) -> usize {
    let Style { effort, lazy } = style;
    let half = Effort { depth: effort.depth / 2, ..effort };
    let quarter = Effort { depth: effort.depth / 4, ..effort };
    let literal = |sequences: &mut Sequences, histogram: &mut Histogram, at: usize| {
        sequences.literals(1);
        histogram.literal(data.get(at).copied().unwrap_or(0));
    };
    chains.enter(data, at);
    while at < end {
        let mut found = chains.find(data, at, MIN_MATCH - 1, effort);
        if found.length < MIN_MATCH {
            literal(sequences, histogram, at);
            at += 1;
            continue;
        }
        while lazy > 0 && found.length < effort.nice {
            let next = chains.find(data, at + 1, found.length - 1, half);
            if is_better(next, found, 2) {
                literal(sequences, histogram, at);
                at += 1;
                found = next;
                continue;
            }
            if lazy > 1 {
                let next = chains.find(data, at + 2, found.length - 1, quarter);
                if is_better(next, found, 6) {
                    literal(sequences, histogram, at);
                    literal(sequences, histogram, at + 1);
                    at += 2;
                    found = next;
                    continue;
                }
            }
            break;
        }
        sequences.copy(found);
        histogram.copy(found.length, found.distance);
        at += found.length;
        chains.enter(data, at);
    }
    at
}
