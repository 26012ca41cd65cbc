//! Ranges of rows that rise and lie apart from each other.

use std::ops::Range;

/// How many rows there are in all.
pub(super) fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// All rows of both.
pub(super) fn union(one: &[Range<u64>], other: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a.start <= b.start => one.next(),
            (_, Some(_)) => other.next(),
            (_, None) => one.next(),
        };
        let Some(next) = next else { return all };
        match all.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => all.push(next.clone()),
        }
    }
}

/// The rows up to `rows` that are in none of the ranges.
pub(super) fn complement(ranges: &[Range<u64>], rows: u64) -> Vec<Range<u64>> {
    let mut left = Vec::with_capacity(ranges.len() + 1);
    let mut start = 0;
    for range in ranges {
        if range.start > start {
            left.push(start..range.start);
        }
        start = range.end;
    }
    if start < rows {
        left.push(start..rows);
    }
    left
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_leave_the_rest() {
        assert_eq!(union(&[0..2, 5..7], &[1..3, 7..9]), [0..3, 5..9]);
        assert_eq!(union(&[], &[1..3]), [1..3]);
        assert_eq!(union(&[1..2, 4..5], &[0..9]), [0..9]);
        assert_eq!(complement(&[0..3, 5..9], 12), [3..5, 9..12]);
        assert_eq!(complement(&[], 0), Vec::<Range<u64>>::new());
        assert_eq!(complement(&[0..4], 4), Vec::<Range<u64>>::new());
        assert_eq!(total(&[0..3, 5..9]), 7);
    }
}
