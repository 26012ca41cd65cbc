//! Sets of disjoint row ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Total number of rows.
pub(super) fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// A union of ranges added in any order; O(log n) amortized per range.
#[derive(Default)]
pub(super) struct RangeSet {
    /// Ends by starts; disjoint and not adjacent.
    ranges: BTreeMap<u64, u64>,
    total: u64,
}

impl RangeSet {
    pub(super) fn add(&mut self, range: &Range<u64>) {
        let (mut start, mut end) = (range.start, range.end);
        if start >= end {
            return;
        }
        // Merge all touching ranges, from the last.
        while let Some((&from, &to)) = self.ranges.range(..=end).next_back() {
            if to < start {
                break;
            }
            (start, end) = (start.min(from), end.max(to));
            self.ranges.remove(&from);
            self.total -= to - from;
        }
        self.ranges.insert(start, end);
        self.total += end - start;
    }

    /// Total number of rows.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The rows below `rows` in none of the ranges.
    pub(super) fn complement(&self, rows: u64) -> Vec<Range<u64>> {
        let mut left = Vec::with_capacity(self.ranges.len() + 1);
        let mut start = 0;
        for (&from, &to) in &self.ranges {
            if from > start {
                left.push(start..from);
            }
            start = to;
        }
        if start < rows {
            left.push(start..rows);
        }
        left
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]
mod tests {
    use super::*;

    fn range_set(ranges: &[Range<u64>]) -> RangeSet {
        let mut all = RangeSet::default();
        ranges.iter().for_each(|range| all.add(range));
        all
    }

    #[test]
    fn ranges_merge_and_complement() {
        let all = range_set(&[0..2, 5..7, 1..3, 7..9, 4..4]);
        assert_eq!((all.total(), all.complement(12)), (7, vec![3..5, 9..12]));
        let all = range_set(&[1..2, 4..5, 8..9, 0..7]);
        assert_eq!((all.total(), all.complement(10)), (8, vec![7..8, 9..10]));
        assert_eq!(range_set(&[2..4, 0..1, 6..8, 3..7]).complement(9), [1..2, 8..9]);
        assert_eq!(range_set(&[]).complement(0), []);
        assert_eq!(range_set(&[0..4]).complement(4), []);
        assert_eq!(total(&[0..3, 5..9]), 7);
    }
}
