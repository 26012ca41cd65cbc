use core::ops::Range;

use container_core::{Error, Result};

/// A share of the work: one of `ranks` processes, and one of `workers` in each. Counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shard {
    rank: u32,
    ranks: u32,
    worker: u32,
    workers: u32,
}

/// How positions are divided among shards. Each position goes to exactly one shard, and the lengths of shards differ by at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// Consecutive ranges, as in Python's `IterableDataset`. Best for reading in file order, where neighbors are cheap, and for a
    /// quasi-shuffle, whose windows then mostly belong to one shard. What remains of an interrupted epoch is not a single range of
    /// positions: resume such an epoch with the same number of shards.
    Contiguous,
    /// Round-robin, position by position. Best if an epoch may be resumed with another number of shards: after every shard has taken `k`
    /// samples, exactly the positions below `from + k * shards` are done, and the rest can be divided anew. The only way to divide an
    /// endless order.
    Strided,
}

impl Shard {
    /// Everything: one rank with one worker.
    pub const WHOLE: Self = Self { rank: 0, ranks: 1, worker: 0, workers: 1 };

    /// The share of a worker of a rank.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for no ranks or workers, or a rank or worker not below their number.
    pub fn new(rank: u32, ranks: u32, worker: u32, workers: u32) -> Result<Self> {
        for (what, index, count) in [("rank", rank, ranks), ("worker", worker, workers)] {
            if index >= count {
                return Err(Error::usage(format!("{what} {index} is out of range for {count} {what}s")));
            }
        }
        Ok(Self { rank, ranks, worker, workers })
    }

    /// Number of shards: ranks times workers.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.ranks) * u64::from(self.workers)
    }

    /// The index of this shard in an epoch: `((rank + epoch) * workers + worker) % count`, as in Python. Ranks thus take turns, which
    /// matters if the order is the same in every epoch.
    #[must_use]
    pub fn index(&self, epoch: u64) -> u64 {
        let ranks = u64::from(self.ranks);
        let rank = (u64::from(self.rank) + epoch % ranks) % ranks;
        rank * u64::from(self.workers) + u64::from(self.worker)
    }

    /// This shard's share of a range of positions in an epoch.
    ///
    /// With [`Split::Contiguous`], shares begin at `start + i * (end - start) / count`, rounded to nearest, ties to even. Python does the
    /// same with an intermediate rounding; this is exact.
    #[must_use]
    pub fn positions(&self, epoch: u64, positions: Range<u64>, split: Split) -> Positions {
        let (index, count) = (self.index(epoch), self.count());
        let (from, rest) = (positions.start, positions.end.saturating_sub(positions.start));
        match split {
            Split::Contiguous => {
                let begin = nearest(rest, index, count);
                Positions { first: from.saturating_add(begin), step: 1, len: nearest(rest, index + 1, count) - begin }
            }
            Split::Strided => {
                let len = if index < rest { (rest - index - 1) / count + 1 } else { 0 };
                Positions { first: from.saturating_add(index), step: count, len }
            }
        }
    }
}

/// `rest * index / count` for `index` up to `count`, rounded to nearest, ties to even.
fn nearest(rest: u64, index: u64, count: u64) -> u64 {
    let product = u128::from(rest) * u128::from(index);
    let (floor, twice) = (product / u128::from(count), product % u128::from(count) * 2);
    let up = twice > u128::from(count) || (twice == u128::from(count) && floor % 2 == 1);
    u64::try_from(floor).unwrap_or(rest) + u64::from(up)
}

/// Positions at a fixed distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positions {
    pub(super) first: u64,
    pub(super) step: u64,
    pub(super) len: u64,
}

impl Positions {
    /// Number of positions.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Distance from each position to the next: 1 for [`Split::Contiguous`].
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Position `i`, from 0; `None` past the end.
    #[must_use]
    #[inline]
    pub fn get(&self, i: u64) -> Option<u64> {
        (i < self.len).then(|| self.first + i * self.step)
    }
}
