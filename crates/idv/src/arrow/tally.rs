//! Counting losses while blocks are converted.

/// Losses of a block or column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Keys above their key count.
    pub(super) bad_keys: Count,
    /// Times truncated to the microsecond.
    pub(super) cut: Count,
}

/// A number of losses and the row of the first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) times: u64,
    pub(super) first: u64,
}

impl Count {
    pub(super) fn add(&mut self, times: u64, row: u64) {
        if times > 0 {
            self.first = if self.times == 0 { row } else { self.first.min(row) };
            self.times += times;
        }
    }
}

impl Tally {
    pub(super) fn merge(&mut self, other: &Self) {
        self.bad_keys.add(other.bad_keys.times, other.bad_keys.first);
        self.cut.add(other.cut.times, other.cut.first);
    }
}

/// Maps items to rows.
pub(super) struct Rows<'a>(pub(super) &'a dyn Fn(usize) -> u64);

impl Rows<'_> {
    /// The row of an item, by its index in the converted range.
    pub(super) fn row(&self, item: usize) -> u64 {
        (self.0)(item)
    }
}
