//! One-pass statistics of blocks of values.

use container_core::{moments, parallel};

use super::Number;
use super::number::Numeric;

/// Values per block: a multiple of 8.
pub(super) const BLOCK: usize = moments::BLOCK;

/// The values of a block that are neither missing nor NaN.
pub(super) struct Present<'b, T> {
    pub(super) values: &'b [T],
    missing: u64,
    nan: u64,
}

/// Calls `work` for all blocks on states made by `new`, and joins the states in order with `merge`. States may have megabytes: there are no
/// more of them than threads. `mask` has one bit per value.
pub(super) fn fold<T: Numeric, S: Send>(
    values: &[T],
    mask: Option<&[u8]>,
    state: &mut S,
    new: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, &Present<'_, T>) + Send + Sync,
    merge: impl Fn(&mut S, S) + Send + Sync,
) {
    let grain = values.len().div_ceil(BLOCK).div_ceil(parallel::threads());
    let work = |state: &mut S, number, values: &[T]| {
        with_present(values, block_mask(mask, number), |present| work(state, present));
    };
    parallel::fold_chunks(values, [BLOCK, grain.max(4)], state, new, work, merge);
}

/// The mask of block `number`.
fn block_mask(mask: Option<&[u8]>, number: usize) -> Option<&[u8]> {
    let mask = mask?;
    Some(mask.get(number * (BLOCK / 8)..mask.len().min((number + 1) * (BLOCK / 8))).unwrap_or_default())
}

fn with_present<T: Numeric>(values: &[T], mask: Option<&[u8]>, work: impl FnOnce(&Present<'_, T>)) {
    let missing = mask.map_or(0, |mask| mask.iter().map(|byte| u64::from(byte.count_ones())).sum());
    // Without an early end it takes vector instructions.
    let nan = values.iter().fold(false, |nan, value| nan | value.is_nan());
    if missing == 0 && !nan {
        return work(&Present { values, missing, nan: 0 });
    }
    let present_at =
        |index: usize| mask.is_none_or(|mask| mask.get(index / 8).is_none_or(|byte| byte << (index % 8) & 0x80 == 0));
    let mut present = Vec::with_capacity(values.len());
    present.extend(
        values
            .iter()
            .enumerate()
            .filter(|(index, value)| present_at(*index) && !value.is_nan())
            .map(|(_, value)| *value),
    );
    let nan = values.len() as u64 - missing - present.len() as u64;
    work(&Present { values: &present, missing, nan });
}

/// Statistics of one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<T> {
    missing: u64,
    nan: u64,
    range: Option<(T, T)>,
    moments: moments::Block,
}

impl<T: Numeric> Block<T> {
    pub(super) fn new(present: &Present<'_, T>) -> Self {
        let values = present.values;
        let range = values.first().map(|first| {
            let min = extreme(values, *first, |value, min| if value < min { value } else { min });
            let max = extreme(values, *first, |value, max| if value > max { value } else { max });
            (min, max)
        });
        Self { missing: present.missing, nan: present.nan, range, moments: T::moments(values) }
    }
}

/// The value that `choose` prefers to all others, in eight parallel lanes, for vectorization.
fn extreme<T: Copy>(values: &[T], first: T, choose: impl Fn(T, T) -> T) -> T {
    let (eights, rest) = values.as_chunks::<8>();
    let mut chosen = [first; 8];
    for eight in eights {
        for (chosen, value) in chosen.iter_mut().zip(eight) {
            *chosen = choose(*value, *chosen);
        }
    }
    chosen.iter().chain(rest).fold(first, |chosen, value| choose(*value, chosen))
}

/// Accumulated statistics of all blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accumulated<T> {
    pub(super) missing: u64,
    pub(super) nan: u64,
    range: Option<(T, T)>,
    pub(super) moments: moments::Moments,
}

impl<T: Numeric> Accumulated<T> {
    pub(super) fn new() -> Self {
        Self { missing: 0, nan: 0, range: None, moments: moments::Moments::default() }
    }

    pub(super) fn add(&mut self, block: &Block<T>) {
        self.missing += block.missing;
        self.nan += block.nan;
        self.moments.add(&block.moments);
        let Some((min, max)) = block.range else { return };
        self.range = Some(match self.range {
            None => (min, max),
            Some((low, high)) => (if min < low { min } else { low }, if max > high { max } else { high }),
        });
    }

    pub(super) fn range(&self) -> Option<(Number, Number)> {
        self.range.map(|(min, max)| (min.number(), max.number()))
    }
}
