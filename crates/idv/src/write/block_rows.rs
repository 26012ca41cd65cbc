//! How many rows fit into a block.

use crate::codec::{self, Values};
use crate::wire::Type;

/// How many of the first `rows` rows of a column have a block of at most `bytes`; 0 when one row is too large.
pub(super) fn rows_within((kind, values): &(&Type, &Values), rows: usize, bytes: u64) -> usize {
    most_within(rows, bytes, |rows| codec::encoded_len(kind, values, 0..rows.min(values.len())))
}

/// The most rows, up to `rows`, whose measure, which never falls, is at most `bytes`.
pub(super) fn most_within(rows: usize, bytes: u64, measure: impl Fn(usize) -> u64) -> usize {
    if measure(rows) <= bytes {
        return rows;
    }
    let (mut least, mut most) = (0, rows.saturating_sub(1));
    while least < most {
        let middle = most - (most - least) / 2;
        if measure(middle) <= bytes {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}
