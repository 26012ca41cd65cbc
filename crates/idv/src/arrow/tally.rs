//! What could not be kept, and in which rows.

/// What could not be kept of the items of a block, or of a column so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Keys above their count.
    pub(super) bad_keys: Count,
    /// Times cut off at the microsecond.
    pub(super) cut: Count,
}

/// How many, and in which row first.
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

/// Which row an item is of.
pub(super) struct Rows<'a>(pub(super) &'a dyn Fn(usize) -> u64);

impl Rows<'_> {
    /// The row of an item, counted from the first one that is made.
    pub(super) fn row(&self, item: usize) -> u64 {
        (self.0)(item)
    }
}
