//! Sum, mean and deviation: sums of integers are exact, those of floats compensated; deviations are from the mean of a block first.

use super::numbers::{Family, float_of};

/// Keys per block.
pub(super) const BLOCK: usize = 1 << 16;

/// Accumulated over blocks of keys.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    n: u64,
    /// The exact sum of integers.
    integers: i128,
    /// The sum of floats, and its compensation for rounding errors.
    floats: (f64, f64),
    /// Integers are counted from the first one: their mean has fewer digits to lose.
    pivot: Option<i128>,
    /// Running mean, from `pivot`, and the sum of squared deviations from it.
    running_mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a block of at most [`BLOCK`] keys.
    #[allow(clippy::cast_precision_loss, reason = "means and deviations are floats")]
    pub(super) fn add(&mut self, family: Family, keys: &[u64]) {
        let Some(first) = keys.first() else { return };
        let count = keys.len() as f64;
        let (mean, squares) = if family == Family::Float {
            let sum = keys.chunks(512).fold((0.0, 0.0), |sum, part| two_sum(sum, lanes(part, float_of)));
            let (all, lost) = two_sum(self.floats, sum.0);
            self.floats = (all, lost + sum.1);
            let mean = total(sum) / count;
            let deviation = |key| (float_of(key) - mean) * (float_of(key) - mean);
            (mean, lanes(keys, deviation))
        } else {
            let min = keys.iter().copied().min().unwrap_or(*first);
            let above: u128 = keys.iter().map(|key| u128::from(key - min)).sum();
            let mean_above = above as f64 / count;
            let deviation = |key| ((key - min) as f64 - mean_above) * ((key - min) as f64 - mean_above);
            let base = family.integer(min);
            let above = i128::try_from(above).unwrap_or(i128::MAX); // 2^16 numbers below 2^64
            self.integers = self.integers.saturating_add(base * keys.len() as i128 + above); // 2^63 numbers cannot overflow
            let pivot = *self.pivot.get_or_insert(base);
            ((base - pivot) as f64 + mean_above, lanes(keys, deviation))
        };
        self.merge(mean, squares, count);
        self.n += keys.len() as u64;
    }

    /// Adds a block of floats that have no keys.
    pub(super) fn add_floats(&mut self, numbers: &[f64]) {
        for block in numbers.chunks(BLOCK) {
            let keys: Vec<u64> = block.iter().map(|number| super::numbers::float_key(*number)).collect();
            self.add(Family::Float, &keys);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "counts weigh floats")]
    fn merge(&mut self, mean: f64, squares: f64, added: f64) {
        let before = self.n as f64;
        let all = before + added;
        let delta = if self.n == 0 { 0.0 } else { mean - self.running_mean };
        self.running_mean = if self.n == 0 { mean } else { self.running_mean + delta * (added / all) };
        self.squares += squares + delta * delta * (before * added / all);
    }

    /// The mean; `None` without values.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    pub(super) fn mean(&self, family: Family) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        if family == Family::Float {
            return Some(total(self.floats) / self.n as f64);
        }
        let n = i128::from(self.n);
        Some((self.integers / n) as f64 + (self.integers % n) as f64 / n as f64)
    }

    /// The mean of integers, rounded to the nearest one; `None` without values.
    pub(super) fn rounded_mean(&self) -> Option<i64> {
        let n = i128::from(self.n);
        let mean = (2 * self.integers).checked_add(n)?.checked_div_euclid(2 * n)?;
        i64::try_from(mean).ok()
    }

    /// The population standard deviation; `None` without values.
    #[allow(clippy::cast_precision_loss, reason = "a count divides a float")]
    pub(super) fn deviation(&self) -> Option<f64> {
        (self.n > 0).then(|| (self.squares / self.n as f64).sqrt())
    }
}

/// Adds a float to a compensated sum.
fn two_sum((sum, lost): (f64, f64), other: f64) -> (f64, f64) {
    let new = sum + other;
    // The rounding error is the part of the smaller term that the sum cannot represent.
    let error = if sum.abs() >= other.abs() { (sum - new) + other } else { (other - new) + sum };
    (new, lost + error)
}

/// Of infinite sums there is no compensation.
fn total((sum, lost): (f64, f64)) -> f64 {
    if lost.is_finite() { sum + lost } else { sum }
}

/// Sums in eight parallel lanes, for vectorization.
fn lanes(keys: &[u64], map: impl Fn(u64) -> f64) -> f64 {
    let (eights, rest) = keys.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, key) in sums.iter_mut().zip(eight) {
            *sum += map(*key);
        }
    }
    let rest: f64 = rest.iter().map(|key| map(*key)).sum();
    sums.iter().sum::<f64>() + rest
}
