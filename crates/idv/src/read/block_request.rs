//! Which block of a file.

use std::ops::Range;

/// Which block to make.
#[derive(Debug, Clone)]
pub(crate) struct BlockRequest {
    /// Which of the columns walked over, in their order.
    #[cfg_attr(
        not(feature = "arrow"),
        expect(dead_code, reason = "for makers that know more of a column than its number")
    )]
    pub(crate) slot: usize,
    pub(crate) column: usize,
    pub(crate) block: u64,
    /// The block's rows that are wanted.
    pub(crate) rows: Range<u64>,
}

impl BlockRequest {
    /// All rows of a block.
    pub(crate) const fn whole(column: usize, block: u64) -> Self {
        Self { slot: 0, column, block, rows: 0..u64::MAX }
    }
}
