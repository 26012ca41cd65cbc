use super::permute::{Permutation, Purpose, key};
use super::quasi::{self, QuasiShuffle};

/// One step of an order, in the form stored in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub(super) enum Step {
    Range { start: u64, end: u64 },
    Shuffle { seed: u64 },
    QuasiShuffle { chunk: u64, buffer: u64, seed: u64 },
    Repeat { times: u64 },
    Cycle,
}

/// A step, with the length of the order before it (`u64::MAX` for an endless one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stage {
    pub(super) step: Step,
    pub(super) inner: u64,
}

/// State kept from one position to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    shuffle: Option<(u64, Permutation)>,
    quasi: quasi::Cache,
}

impl Stage {
    /// Maps epochs and positions to those before this step. Several at once are faster if their epochs are equal.
    #[inline]
    pub(super) fn apply<const N: usize>(
        &self,
        mut epochs: [u64; N],
        mut positions: [u64; N],
        cache: &mut Cache,
    ) -> ([u64; N], [u64; N]) {
        let times = match self.step {
            Step::Range { start, .. } => return (epochs, positions.map(|position| position + start)),
            Step::Repeat { times } => times,
            Step::Cycle => 1,
            Step::Shuffle { .. } | Step::QuasiShuffle { .. } => {
                match epochs.as_slice() {
                    [first, rest @ ..] if rest.iter().all(|epoch| epoch == first) => {
                        positions = self.permute(*first, positions, cache);
                    }
                    _ => {
                        for (epoch, position) in epochs.iter().zip(&mut positions) {
                            [*position] = self.permute(*epoch, [*position], cache);
                        }
                    }
                }
                return (epochs, positions);
            }
        };
        for (epoch, position) in epochs.iter_mut().zip(&mut positions) {
            *epoch = epoch.wrapping_mul(times).wrapping_add(*position / self.inner);
            *position %= self.inner;
        }
        (epochs, positions)
    }

    /// Maps positions of an epoch to those before a shuffle.
    #[inline]
    fn permute<const N: usize>(&self, epoch: u64, positions: [u64; N], cache: &mut Cache) -> [u64; N] {
        match self.step {
            Step::Shuffle { seed } => {
                let permutation = match &mut cache.shuffle {
                    Some((of, permutation)) if *of == epoch => permutation,
                    kept => {
                        let key = key(seed, Purpose::Shuffle, epoch, 0);
                        &mut kept.insert((epoch, Permutation::new(key, self.inner))).1
                    }
                };
                permutation.apply_all(positions)
            }
            Step::QuasiShuffle { chunk, buffer, seed } => {
                QuasiShuffle { chunk, buffer }.apply(self.inner, seed, epoch, positions, &mut cache.quasi)
            }
            Step::Range { .. } | Step::Repeat { .. } | Step::Cycle => positions,
        }
    }
}
