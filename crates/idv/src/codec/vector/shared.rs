//! Operations on vectors for record batches.

use std::ops::Range;

use super::Vectors;
use crate::codec::Values;

impl Vectors {
    /// Dense vectors of these lengths, consecutive in `items`.
    pub(crate) fn dense(lengths: Vec<i32>, items: Values) -> Self {
        let first = lengths.first().and_then(|&length| u32::try_from(length).ok());
        let rows = lengths.len();
        if first.is_some() && lengths.iter().all(|length| Some(length) == lengths.first()) {
            return Self { rows, length: first, values: items, ..Self::default() };
        }
        let mut end = 0;
        let starts = lengths.iter().map(|&length| {
            let start = end;
            end += usize::try_from(length).unwrap_or(0);
            start
        });
        let value_starts = starts.collect();
        let (counts, index_starts) = (vec![-1; rows], vec![0; rows]);
        Self { rows, lengths, counts, value_starts, index_starts, values: items, ..Self::default() }
    }

    /// Whether any vector of a range is sparse.
    pub(crate) fn has_sparse(&self, range: Range<usize>) -> bool {
        self.counts.get(range).is_some_and(|counts| counts.iter().any(|&count| count >= 0))
    }
}
