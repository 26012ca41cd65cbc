use core::ops::Range;

use container_core::{Error, Result};

use super::permute::{Permutation, Purpose, key, scale};

/// Parameters of a quasi-shuffle: chunks of neighbors in random order, their samples mixed within windows of a few chunks.
///
/// Less random than a full shuffle, with far fewer seeks: a reader that loads the chunks of a window at once (see
/// [`Order::window`](super::Order::window) and [`contiguous_ranges`](super::contiguous_ranges)) reads ranges of `chunk` samples and holds
/// at most `buffer` samples, rounded up to whole chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct QuasiShuffle {
    /// Neighboring samples that stay in one window. Larger chunks read faster, smaller ones mix better.
    pub chunk: u64,
    /// Maximum number of samples mixed with each other, rounded up to whole chunks. Windows have equal lengths to within one chunk, so the
    /// last is no shorter than the rest.
    pub buffer: u64,
}

impl QuasiShuffle {
    /// The default chunk of Python's `QuasiShuffler`.
    pub const PYTHON_CHUNK: u64 = 16;
    /// The default buffer of Python's `QuasiShuffler`: a hundredth of the samples.
    pub const PYTHON_BUFFER: f64 = 0.01;

    /// Interprets `buffer` like Python's `QuasiShuffler`: below 1 it is a fraction of `len`, rounded up, else a number of samples, rounded
    /// down. (Python uses 0.01 for every fraction; here the fraction counts.) The order is not Python's.
    ///
    /// ```
    /// use datadings::order::QuasiShuffle;
    /// # fn main() -> container_core::Result<()> {
    /// let quasi = QuasiShuffle::of_len(1_000_000, QuasiShuffle::PYTHON_BUFFER, QuasiShuffle::PYTHON_CHUNK)?;
    /// assert_eq!(quasi, QuasiShuffle { chunk: 16, buffer: 10_000 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a buffer that is negative or not finite, or a chunk of 0.
    pub fn of_len(len: u64, buffer: f64, chunk: u64) -> Result<Self> {
        if !(buffer.is_finite() && buffer >= 0.0) {
            return Err(Error::usage(format!("buffer: expected a fraction or a number of samples, found {buffer}")));
        }
        // Floats are exact enough for a fraction of the length, and the conversion saturates.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; it saturates")]
        let buffer = if buffer < 1.0 { (len as f64 * buffer).ceil() as u64 } else { buffer as u64 };
        let this = Self { chunk, buffer: buffer.max(1) };
        this.check()?;
        Ok(this)
    }

    /// Checks that both are at least 1.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self { chunk: 0, .. } => Err(Error::usage("quasi-shuffle chunk: expected at least 1 sample, found 0")),
            Self { buffer: 0, .. } => Err(Error::usage("quasi-shuffle buffer: expected at least 1 sample, found 0")),
            _ => Ok(()),
        }
    }

    /// The layout for `n` samples, which must not be 0.
    #[inline]
    pub(super) fn layout(&self, n: u64) -> Layout {
        let slots = n.div_ceil(self.chunk);
        let windows = slots.div_ceil(self.buffer.div_ceil(self.chunk));
        Layout { n, chunk: self.chunk, base: slots / windows, extra: slots % windows }
    }
}

/// The arithmetic of chunks and windows. A slot is a position in the order of chunks; the short chunk, if there is one, has the last.
pub(super) struct Layout {
    n: u64,
    chunk: u64,
    /// Slots per window; the first `extra` windows have one more.
    base: u64,
    extra: u64,
}

impl Layout {
    /// The index and the first slot of the window around a position, and the window's positions.
    #[inline]
    pub(super) fn window(&self, position: u64) -> (u64, u64, Range<u64>) {
        let slot = position / self.chunk;
        // A single window may have 2^64 - 1 slots; none is longer then.
        let long = self.base.saturating_add(1);
        let longer = self.extra * long;
        let (window, first, slots) = if slot < longer {
            let window = slot / long;
            (window, window * long, long)
        } else {
            let window = (slot - longer) / self.base;
            (window + self.extra, longer + window * self.base, self.base)
        };
        let end = (first + slots).saturating_mul(self.chunk).min(self.n);
        (window, first, first * self.chunk..end)
    }
}

/// The permutations used last, for one seed and length.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    epoch: Option<Epoch>,
    window: Option<Window>,
}

/// State of an epoch: the offset of chunks, the number of full chunks, and their order.
#[derive(Debug, Clone)]
struct Epoch {
    epoch: u64,
    turn: u64,
    full: u64,
    chunks: Permutation,
}

/// State of a window in an epoch: its first slot, its positions and their order.
#[derive(Debug, Clone)]
struct Window {
    epoch: u64,
    first: u64,
    positions: Range<u64>,
    mix: Permutation,
}

impl QuasiShuffle {
    /// The samples at these positions of `n`. A cache must be used with one seed and length only.
    #[inline]
    pub(super) fn apply<const N: usize>(
        &self,
        n: u64,
        seed: u64,
        epoch: u64,
        mut positions: [u64; N],
        cache: &mut Cache,
    ) -> [u64; N] {
        let Cache { epoch: known, window } = cache;
        let known = match known {
            Some(known) if known.epoch == epoch => known,
            kept => kept.insert(self.epoch(n, seed, epoch)),
        };
        match window {
            Some(window) if window.epoch == epoch && positions.iter().all(|at| window.positions.contains(at)) => {
                self.locate(n, known, window, positions)
            }
            kept => {
                for position in &mut positions {
                    let window = match &mut *kept {
                        Some(window) if window.epoch == epoch && window.positions.contains(position) => window,
                        kept => kept.insert(self.window(n, seed, epoch, *position)),
                    };
                    [*position] = self.locate(n, known, window, [*position]);
                }
                positions
            }
        }
    }

    /// The samples at these positions of a window.
    #[inline]
    fn locate<const N: usize>(&self, n: u64, epoch: &Epoch, window: &Window, positions: [u64; N]) -> [u64; N] {
        let mixed = window.mix.apply_all(positions.map(|position| position - window.positions.start));
        let slots = mixed.map(|mixed| window.first + mixed / self.chunk);
        let mut chunks = slots;
        if slots.iter().all(|&slot| slot < epoch.full) {
            chunks = epoch.chunks.apply_all(slots);
        } else {
            // The short chunk has the last slot.
            for chunk in chunks.iter_mut().filter(|slot| **slot < epoch.full) {
                *chunk = epoch.chunks.apply(*chunk);
            }
        }
        // Chunks begin elsewhere in every epoch, so that boundaries vary.
        let room = n - epoch.turn;
        let mut samples = mixed;
        for (sample, chunk) in samples.iter_mut().zip(chunks) {
            let straight = chunk * self.chunk + *sample % self.chunk;
            *sample = if straight < room { straight + epoch.turn } else { straight - room };
        }
        samples
    }

    fn epoch(&self, n: u64, seed: u64, epoch: u64) -> Epoch {
        let full = n / self.chunk;
        let turn = scale(key(seed, Purpose::Turn, epoch, 0), n);
        Epoch { epoch, turn, full, chunks: Permutation::new(key(seed, Purpose::Chunks, epoch, 0), full) }
    }

    fn window(&self, n: u64, seed: u64, epoch: u64, position: u64) -> Window {
        let (number, first, positions) = self.layout(n).window(position);
        let mix = Permutation::new(key(seed, Purpose::Window, epoch, number), positions.end - positions.start);
        Window { epoch, first, positions, mix }
    }
}
