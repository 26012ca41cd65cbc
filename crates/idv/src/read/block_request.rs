//! A request for a block.

use std::ops::Range;

/// A block to decode.
#[derive(Debug, Clone)]
pub(crate) struct BlockRequest {
    /// Index of the column in the scan's projection.
    pub(crate) slot: usize,
    pub(crate) column: usize,
    pub(crate) block: u64,
    /// Requested rows of the block, by row number in the file.
    pub(crate) rows: Range<u64>,
}

impl BlockRequest {
    /// All rows of a block.
    pub(crate) const fn whole(column: usize, block: u64) -> Self {
        Self { slot: 0, column, block, rows: 0..u64::MAX }
    }
}
