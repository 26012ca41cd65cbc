//! Sample orders as pure functions of seed, epoch and position.
//!
//! An [`Order`] is a description, not a generator: the sample at a position is computed from the position, so iteration can start or
//! resume anywhere at once, in any number of processes that share only the description. A checkpoint consists of the order (with the feature
//! `serde` it implements serde's traits), the epoch, and the number of positions done.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use datadings::order::{Order, Shard, Split};
//!
//! let order = Order::sequential(1000).range(0..900)?.shuffled(42)?;
//! let (epoch, done) = (3, 500);
//! let checkpoint = serde_json::to_string(&(&order, epoch, done))?;
//!
//! // Later, with 2 ranks of 3 workers, whatever the numbers were before:
//! let (order, epoch, done): (Order, u64, u64) = serde_json::from_str(&checkpoint)?;
//! let mut rest = Vec::new();
//! for (rank, worker) in (0..2).flat_map(|rank| (0..3).map(move |worker| (rank, worker))) {
//!     rest.extend(order.shard(epoch, done, Shard::new(rank, 2, worker, 3)?, Split::Strided)?);
//! }
//! rest.extend(order.iter(epoch).take(500)); // what was done before
//! rest.sort_unstable();
//! assert_eq!(rest, (0..900).collect::<Vec<_>>());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Steps
//!
//! An order begins with the samples `0..len`; each step transforms the order so far:
//!
//! | step | position `p` of epoch `e` is | length |
//! |---|---|---|
//! | [`range(a..b)`](Order::range) | position `a + p` of epoch `e` before | `b - a` |
//! | [`shuffled`](Order::shuffled), [`quasi_shuffled`](Order::quasi_shuffled) | position `permutation(e, p)` of epoch `e` before | the same |
//! | [`repeat(t)`](Order::repeat) of `n` | position `p % n` of epoch `e * t + p / n` before | `t * n` |
//! | [`cycle`](Order::cycle) of `n` | position `p % n` of epoch `e + p / n` before | endless |
//!
//! A range of a shuffled order thus selects other samples in every epoch; a shuffled range always has the same samples. Every round of a
//! repeated or cycled shuffle is shuffled anew; a shuffle of a repeated order mixes the rounds with each other. Epochs count modulo 2^64.
//! Consecutive shuffles should have different seeds.
//!
//! # The algorithm, which is stable
//!
//! The same description gives the same order in every later version and on every machine. All numbers are unsigned 64-bit and
//! wrap around; `hi(x, n)` is `x * n / 2^64`; `mix` is the finalizer of SplitMix64; `G` is 0x9e3779b97f4a7c15:
//!
//! ```text
//! mix(x)            x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;  x = (x ^ x >> 27) * 0x94d049bb133111eb;  x ^ x >> 31
//! draw(key, i)      mix(key + (i + 1) * G)
//! key(what, e, w)   draw(draw(draw(seed, what) ^ e, 0) ^ w, 0)
//!
//! permute(key, n, x), n up to 32:
//!     for i in 1..n:  j = hi(draw(key, i), i + 1);  if x is i it becomes j, or else if x is j it becomes i
//! permute(key, n, x), n above 32:
//!     bits = half the bits of n - 1, rounded up;  a = ((n - 1) >> bits) + 1;  rounds = 12 for n up to 4096, or else 8
//!     do
//!         l = x >> bits;  r = x % 2^bits
//!         for i in 0, 2, .. below rounds:
//!             l = (l + hi(f(r ^ draw(key, i)), a)) % a
//!             r = (r + (f(l ^ draw(key, i + 1)) >> 64 - bits)) % 2^bits
//!         x = l << bits | r
//!     until x < n
//! f(x)              x = x * 0xbf58476d1ce4e5b9;  (x ^ x >> 32) * 0x94d049bb133111eb
//!
//! shuffle of n:     permute(key(1, e, 0), n, p)
//! quasi-shuffle of n by c (chunk) and b (buffer):
//!     slots = ceil(n / c);  windows = ceil(slots / ceil(b / c)), of slots / windows slots, the first slots % windows of one more
//!     slots = ceil(n / c);  windows = ceil(slots / ceil(b / c)), of slots / windows slots, the first slots % windows of one more
//!     p is in window w, whose first slot is s, and which has m positions from s * c on
//!     q = permute(key(4, e, w), m, p - s * c);  slot = s + q / c
//!     chunk = permute(key(3, e, 0), n / c, slot), or slot if slot is n / c, the short one
//! ```
//!
//! # How random it is
//!
//! Random enough for training, sampling and splitting; not at all for secrets. A permutation is determined by 64 bits: up to some 16
//! samples every order is about equally likely; above 20 most of the `n!` orders never occur. The tests compare, over many keys, the
//! samples at each position, at neighboring and at distant positions, their differences, cycles, parities and successive epochs with what
//! chance would give. A quasi-shuffle cannot pass such tests and does not try: the samples of a chunk stay together in one window.

#[cfg(feature = "serde")]
mod description;
mod iter;
mod permute;
mod quasi;
mod shard;
mod stage;
#[cfg(test)]
mod tests;

use core::ops::Range;

use container_core::{Error, Result};

use self::stage::{Cache, Stage, Step};

pub use self::iter::Iter;
pub use self::quasi::QuasiShuffle;
pub use self::shard::{Positions, Shard, Split};

/// A sample order; see the [module](self). Its form in serde (feature `serde`) is `{"len": 1000, "steps": [{"shuffle": {"seed": 42}}]}`;
/// deserializing validates it and rejects unknown members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "description::Description", into = "description::Description")
)]
pub struct Order {
    base: u64,
    stages: Vec<Stage>,
    len: Option<u64>,
}

impl Order {
    /// The samples `0..len` in file order, in every epoch.
    #[must_use]
    pub fn sequential(len: u64) -> Self {
        Self { base: len, stages: Vec::new(), len: Some(len) }
    }

    /// Shuffles all positions, differently in every epoch. (Python's `Shuffler` uses the length as default seed; its order differs from this
    /// one.)
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the order is endless: shuffle before cycling.
    pub fn shuffled(self, seed: u64) -> Result<Self> {
        self.then(Step::Shuffle { seed })
    }

    /// Shuffles chunks of neighboring positions and mixes them within windows, differently in every epoch.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the order is endless, or a chunk or the buffer is 0.
    pub fn quasi_shuffled(self, quasi: QuasiShuffle, seed: u64) -> Result<Self> {
        self.then(Step::QuasiShuffle { chunk: quasi.chunk, buffer: quasi.buffer, seed })
    }

    /// Selects a range of positions. (Unlike Python's `Range`, it neither counts from the end nor clamps.)
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the range runs backwards or past the end.
    pub fn range(self, range: Range<u64>) -> Result<Self> {
        self.then(Step::Range { start: range.start, end: range.end })
    }

    /// Joins `times` epochs into one.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the order is endless, or has more than 2^64 - 1 positions then.
    pub fn repeat(self, times: u64) -> Result<Self> {
        self.then(Step::Repeat { times })
    }

    /// Joins all epochs, without end: epoch `e` begins with epoch `e`. A cycle of an empty order is empty, and one of an endless order is
    /// that order.
    #[must_use]
    pub fn cycle(mut self) -> Self {
        if let Some(inner) = self.len {
            self.len = (inner == 0).then_some(0);
            self.stages.push(Stage { step: Step::Cycle, inner });
        }
        self
    }

    fn then(mut self, step: Step) -> Result<Self> {
        let name = match step {
            Step::Cycle => return Ok(self.cycle()),
            Step::Range { .. } => "range",
            Step::Shuffle { .. } => "shuffle",
            Step::QuasiShuffle { .. } => "quasi-shuffle",
            Step::Repeat { .. } => "repetition",
        };
        let len = match (step, self.len) {
            (Step::Range { start, end }, len) => {
                if start > end || len.is_some_and(|len| end > len) {
                    let of = len.map_or("an endless order".to_owned(), |len| format!("{len} positions"));
                    return Err(Error::usage(format!("range {start}..{end} is out of bounds for {of}")));
                }
                end - start
            }
            (_, None) => return Err(Error::usage(format!("cannot apply a {name} to an endless order"))),
            (Step::Repeat { times }, Some(len)) => len.checked_mul(times).ok_or_else(|| {
                Error::usage(format!("{len} positions repeated {times} times exceed 2^64 - 1 positions"))
            })?,
            (Step::QuasiShuffle { chunk, buffer, .. }, Some(len)) => {
                QuasiShuffle { chunk, buffer }.check()?;
                len
            }
            (_, Some(len)) => len,
        };
        self.stages.push(Stage { step, inner: self.len.unwrap_or(u64::MAX) });
        self.len = Some(len);
        Ok(self)
    }

    /// Number of positions per epoch; `None` if endless.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// True if there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == Some(0)
    }

    /// Number of samples the order began with: every sample is below.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.base
    }

    /// The sample at a position of an epoch (both from 0); `None` past the end. Computes the keys of the epoch each time:
    /// [`iter`](Self::iter) keeps them, and [`fill`](Self::fill) computes several positions together, which is fastest.
    #[must_use]
    pub fn get(&self, epoch: u64, position: u64) -> Option<u64> {
        if position >= self.end() {
            return None;
        }
        let (mut epochs, mut positions) = ([epoch], [position]);
        for stage in self.stages.iter().rev() {
            (epochs, positions) = stage.apply(epochs, positions, &mut Cache::default());
        }
        let [sample] = positions;
        Some(sample)
    }

    /// Writes the samples from `position` on to `out`. Returns their number, which is smaller than requested at the end.
    pub fn fill(&self, epoch: u64, position: u64, out: &mut [u64]) -> usize {
        let mut caches = self.caches();
        let left = self.end().saturating_sub(position);
        let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        let (fours, rest) = out.get_mut(..count).unwrap_or_default().as_chunks_mut::<4>();
        let mut next = position..self.end();
        for four in fours {
            let first = next.start;
            next.start += 4;
            *four = self.locate(epoch, [first, first + 1, first + 2, first + 3], &mut caches);
        }
        for (to, position) in rest.iter_mut().zip(next) {
            [*to] = self.locate(epoch, [position], &mut caches);
        }
        count
    }

    /// The samples of an epoch in order.
    #[must_use]
    pub fn iter(&self, epoch: u64) -> Iter {
        self.iter_from(epoch, 0)
    }

    /// The samples of an epoch from a position on, in O(1): none past the end.
    #[must_use]
    pub fn iter_from(&self, epoch: u64, position: u64) -> Iter {
        self.iter_at(epoch, Shard::WHOLE.positions(epoch, position..self.end(), Split::Strided))
    }

    /// The samples at these positions, without those past the end.
    #[must_use]
    pub fn iter_at(&self, epoch: u64, positions: Positions) -> Iter {
        let within = match self.end().checked_sub(positions.first) {
            Some(rest) => rest.div_ceil(positions.step),
            None => 0,
        };
        Iter::new(self, epoch, Positions { len: positions.len.min(within), ..positions })
    }

    /// The samples of a shard, among the positions from `position` on.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for [`Split::Contiguous`] of an endless order.
    pub fn shard(&self, epoch: u64, position: u64, shard: Shard, split: Split) -> Result<Iter> {
        if self.len.is_none() && split == Split::Contiguous {
            return Err(Error::usage("cannot split an endless order into contiguous ranges"));
        }
        Ok(self.iter_at(epoch, shard.positions(epoch, position..self.end(), split)))
    }

    /// The positions around this one that are best read together; `None` past the end.
    ///
    /// For a quasi-shuffle, a window: its samples make a few [`contiguous_ranges`] of the file, while part of them would make many. For a
    /// full shuffle and for none, the rest of the round. The same in every epoch.
    #[must_use]
    pub fn window(&self, position: u64) -> Option<Range<u64>> {
        let mut around = 0..self.end();
        let mut at = position;
        if position >= around.end {
            return None;
        }
        for &Stage { step, inner } in self.stages.iter().rev() {
            match step {
                Step::Range { start, .. } => {
                    at += start;
                    around = around.start + start..around.end + start;
                }
                Step::Repeat { .. } | Step::Cycle => {
                    let begin = at - at % inner;
                    at -= begin;
                    around = around.start.saturating_sub(begin)..(around.end - begin).min(inner);
                }
                Step::QuasiShuffle { chunk, buffer, .. } => {
                    let (.., window) = QuasiShuffle { chunk, buffer }.layout(inner).window(at);
                    around = around.start.max(window.start)..around.end.min(window.end);
                    break;
                }
                Step::Shuffle { .. } => break,
            }
        }
        Some(position - (at - around.start)..position + (around.end - at))
    }

    /// The end of the positions: the length, or `u64::MAX` for an endless order.
    fn end(&self) -> u64 {
        self.len.unwrap_or(u64::MAX)
    }

    /// One cache per stage.
    fn caches(&self) -> Vec<Cache> {
        self.stages.iter().map(|_| Cache::default()).collect()
    }

    /// Like [`get`](Self::get), for positions below [`end`](Self::end), with caches.
    #[inline]
    fn locate<const N: usize>(&self, epoch: u64, mut positions: [u64; N], caches: &mut [Cache]) -> [u64; N] {
        let mut epochs = [epoch; N];
        for (stage, cache) in self.stages.iter().zip(caches).rev() {
            (epochs, positions) = stage.apply(epochs, positions, cache);
        }
        positions
    }
}

/// The contiguous ranges that these samples form, in file order: what must be read to get them. Samples can be in any order, with
/// duplicates. Sorts `samples`.
///
/// ```
/// # fn main() -> container_core::Result<()> {
/// use datadings::order::{Order, QuasiShuffle, contiguous_ranges};
///
/// let order = Order::sequential(10_000).quasi_shuffled(QuasiShuffle { chunk: 50, buffer: 500 }, 7)?;
/// let window = order.window(1234).unwrap();
/// let mut samples = vec![0; 500];
/// order.fill(0, window.start, &mut samples);
/// assert!(contiguous_ranges(&mut samples).len() <= 11, "ten chunks, one of which may wrap around the end of the file");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn contiguous_ranges(samples: &mut [u64]) -> Vec<Range<u64>> {
    samples.sort_unstable();
    samples
        .chunk_by(|a, b| b - a <= 1)
        .filter_map(|part| Some(*part.first()?..part.last()?.saturating_add(1)))
        .collect()
}
