//! Finding the maximum rows of a block for a byte limit.

use crate::codec::{self, Values};
use crate::wire::Type;

/// Maximum number of the first `rows` rows whose block has at most `bytes`; 0 if a single row is too large.
pub(super) fn rows_within((kind, values): &(&Type, &Values), rows: usize, bytes: u64) -> usize {
    max_rows_within(rows, bytes, |rows| codec::encoded_len(kind, values, 0..rows.min(values.len())))
}

/// Maximum number of rows, up to `rows`, for which `measure` (monotonic) is at most `bytes`. Binary search.
pub(super) fn max_rows_within(rows: usize, bytes: u64, measure: impl Fn(usize) -> u64) -> usize {
    if measure(rows) <= bytes {
        return rows;
    }
    let (mut low, mut high) = (0, rows.saturating_sub(1));
    while low < high {
        let middle = high - (high - low) / 2;
        if measure(middle) <= bytes {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
