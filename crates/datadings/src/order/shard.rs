use core::ops::Range;

use container_core::{Error, Result};

/// Which part of the work is whose: one of `ranks` processes, one of `workers` in each of them. All counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shard {
    rank: u32,
    ranks: u32,
    worker: u32,
    workers: u32,
}

/// How positions are dealt out to shards. Both give every position to exactly one of them, and their lengths differ by one at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// One piece after the other, as Python's `IterableDataset` does. Take it for reading in file order, where neighbours are
    /// cheap, and for a quasi-shuffle, whose windows then mostly belong to one shard. What an interrupted epoch has left over
    /// is no single range of positions: resume such an epoch with the same number of shards.
    Contiguous,
    /// In turns, position by position. Take it where an epoch may have to be resumed with another number of shards: after every shard has
    /// taken `k` samples, the positions below `from + k * shards` are done and no others, and the rest is dealt out anew from
    /// there. It is also the only way through an endless order.
    Strided,
}

impl Shard {
    /// The whole: one rank with one worker.
    pub const WHOLE: Self = Self { rank: 0, ranks: 1, worker: 0, workers: 1 };

    /// This rank's worker.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage): no ranks or workers, or a rank or worker that is not below their number.
    pub fn new(rank: u32, ranks: u32, worker: u32, workers: u32) -> Result<Self> {
        for (what, index, count) in [("rank", rank, ranks), ("worker", worker, workers)] {
            if index >= count {
                return Err(Error::usage(format!("{what} {index} (counted from 0) of {count}")));
            }
        }
        Ok(Self { rank, ranks, worker, workers })
    }

    /// How many shards there are: ranks times workers.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.ranks) * u64::from(self.workers)
    }

    /// The number of this shard in an epoch: `((rank + epoch) * workers + worker) % count`, as in Python. Ranks so take every part in
    /// turn, which matters when the order itself does not change.
    #[must_use]
    pub fn index(&self, epoch: u64) -> u64 {
        let ranks = u64::from(self.ranks);
        let rank = (u64::from(self.rank) + epoch % ranks) % ranks;
        rank * u64::from(self.workers) + u64::from(self.worker)
    }

    /// This shard's share of a range of positions in an epoch.
    ///
    /// The pieces of [`Split::Contiguous`] begin at `start + i * (end - start) / count`, rounded to the nearest, and halves to the even
    /// one. That is what Python does, but exactly, where it rounds once more on the way.
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

/// `rest * index / count` (`index` up to `count`), to the nearest, halves to the even one.
fn nearest(rest: u64, index: u64, count: u64) -> u64 {
    let product = u128::from(rest) * u128::from(index);
    let (floor, twice) = (product / u128::from(count), product % u128::from(count) * 2);
    let up = twice > u128::from(count) || (twice == u128::from(count) && floor % 2 == 1);
    u64::try_from(floor).unwrap_or(rest) + u64::from(up)
}

/// Positions at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positions {
    pub(super) first: u64,
    pub(super) step: u64,
    pub(super) len: u64,
}

impl Positions {
    /// How many positions there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// From each position to the next: 1 for [`Split::Contiguous`].
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The position number `i` (from 0) of these; `None` past its end.
    #[must_use]
    #[inline]
    pub fn get(&self, i: u64) -> Option<u64> {
        (i < self.len).then(|| self.first + i * self.step)
    }
}
