//! Values in blocks, and what one pass finds out.

use container_core::parallel;

use super::Number;
use super::number::{Numeric, Sum};

/// Values of a block: few enough for the fast memory, and a multiple of 8.
pub(super) const BLOCK: usize = 64 << 10;

/// The values of a block that are there, and are numbers.
pub(super) struct Present<'b, T> {
    pub(super) values: &'b [T],
    missing: u64,
    nan: u64,
}

/// Runs `work` over all blocks of some values, on a state that `new` makes and `merge` joins, in order. `mask` has a bit for each value.
pub(super) fn fold<T: Numeric, S: Send>(
    values: &[T],
    mask: Option<&[u8]>,
    state: &mut S,
    new: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, &Present<'_, T>) + Send + Sync,
    merge: impl Fn(&mut S, S) + Send + Sync,
) {
    let work = |state: &mut S, number, values: &[T]| {
        with_present(values, part(mask, number), |present| work(state, present));
    };
    parallel::fold_chunks(values, [BLOCK, 4], state, new, work, merge);
}

/// The mask of a block.
fn part(mask: Option<&[u8]>, number: usize) -> Option<&[u8]> {
    let mask = mask?;
    Some(mask.get(number * (BLOCK / 8)..mask.len().min((number + 1) * (BLOCK / 8))).unwrap_or_default())
}

fn with_present<T: Numeric>(values: &[T], mask: Option<&[u8]>, work: impl FnOnce(&Present<'_, T>)) {
    let missing = mask.map_or(0, |mask| mask.iter().map(|byte| u64::from(byte.count_ones())).sum());
    let nan = values.iter().any(|value| value.is_nan());
    if missing == 0 && !nan {
        return work(&Present { values, missing, nan: 0 });
    }
    let there =
        |index: usize| mask.is_none_or(|mask| mask.get(index / 8).is_none_or(|byte| byte << (index % 8) & 0x80 == 0));
    let mut present = Vec::with_capacity(values.len());
    present.extend(
        values.iter().enumerate().filter(|(index, value)| there(*index) && !value.is_nan()).map(|(_, value)| *value),
    );
    let nan = values.len() as u64 - missing - present.len() as u64;
    work(&Present { values: &present, missing, nan });
}

/// What one block has told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<T> {
    n: u64,
    missing: u64,
    nan: u64,
    ends: Option<(T, T)>,
    sum: Sum,
    squares: f64,
}

impl<T: Numeric> Block<T> {
    pub(super) fn of(present: &Present<'_, T>) -> Self {
        let values = present.values;
        let ends = values.first().map(|first| {
            let least = values.iter().fold(*first, |least, value| if *value < least { *value } else { least });
            let most = values.iter().fold(*first, |most, value| if *value > most { *value } else { most });
            (least, most)
        });
        let (sum, squares) = T::sums(values);
        Self { n: values.len() as u64, missing: present.missing, nan: present.nan, ends, sum, squares }
    }
}

/// What all blocks have told, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments<T> {
    /// Values that are there, and are numbers.
    pub(super) n: u64,
    pub(super) missing: u64,
    pub(super) nan: u64,
    ends: Option<(T, T)>,
    sum: Option<Sum>,
    /// Of all values before: their mean, and the squares of their distances from it.
    running: f64,
    squares: f64,
}

impl<T: Numeric> Moments<T> {
    pub(super) const NONE: Self = Self { n: 0, missing: 0, nan: 0, ends: None, sum: None, running: 0.0, squares: 0.0 };

    #[allow(clippy::cast_precision_loss, reason = "counts weigh floats")]
    pub(super) fn add(&mut self, block: &Block<T>) {
        self.missing += block.missing;
        self.nan += block.nan;
        let Some((least, most)) = block.ends else { return };
        self.ends = Some(match self.ends {
            None => (least, most),
            Some((low, high)) => (if least < low { least } else { low }, if most > high { most } else { high }),
        });
        let mean = block.sum.over(block.n);
        let (before, more) = (self.n as f64, block.n as f64);
        let all = before + more;
        let apart = if self.n == 0 { 0.0 } else { mean - self.running };
        self.running = if self.n == 0 { mean } else { self.running + apart * (more / all) };
        self.squares += block.squares + apart * apart * (before * more / all);
        self.n += block.n;
        self.sum = Some(self.sum.map_or(block.sum, |sum| sum.add(block.sum)));
    }

    pub(super) fn extremes(&self) -> Option<(Number, Number)> {
        self.ends.map(|(least, most)| (least.number(), most.number()))
    }

    pub(super) fn mean(&self) -> Option<f64> {
        self.sum.map(|sum| sum.over(self.n))
    }

    #[allow(clippy::cast_precision_loss, reason = "a count divides a float")]
    pub(super) fn deviation(&self) -> Option<f64> {
        self.sum.map(|_| (self.squares / self.n as f64).sqrt())
    }
}
