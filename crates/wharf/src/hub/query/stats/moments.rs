//! Sum, mean and deviation: sums of integers are exact, those of floats compensated; deviations are from the mean of a block first.

use super::numbers::{Family, float_of};

/// Keys per block.
pub(super) const BLOCK: usize = 1 << 16;

/// A power of two: the sum of 2^64 scaled numbers is finite.
const SUM_SCALE: f64 = f64::from_bits((1023 - 80) << 52);

/// A power of two: the sum of the squares of 2^64 scaled numbers is finite.
const SQUARES_SCALE: f64 = f64::from_bits((1023 - 550) << 52);

/// Accumulated over blocks of keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    n: u64,
    /// The exact sum of integers.
    integers: i128,
    /// The sum of floats, multiplied by a scale: 1, or [`SUM_SCALE`] once the sum of finite numbers was not finite.
    floats: Sum,
    scale: f64,
    /// Numbers are counted from the first one, or the mean of the first block of floats: means have fewer digits to lose.
    pivot: Option<i128>,
    float_pivot: Option<f64>,
    /// Running mean, from the pivot, and the sum of squared deviations from it, both of numbers multiplied by a scale: 1 or [`SQUARES_SCALE`].
    running_mean: f64,
    squares: f64,
    squares_scale: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            n: 0,
            integers: 0,
            floats: Sum::default(),
            scale: 1.0,
            pivot: None,
            float_pivot: None,
            running_mean: 0.0,
            squares: 0.0,
            squares_scale: 1.0,
        }
    }
}

impl Moments {
    /// Adds a block of at most [`BLOCK`] keys.
    #[allow(clippy::cast_precision_loss, reason = "means and deviations are floats")]
    pub(super) fn add(&mut self, family: Family, keys: &[u64]) {
        let Some(first) = keys.first() else { return };
        if family == Family::Float {
            self.add_block_of_floats(keys);
        } else {
            let min = keys.iter().copied().min().unwrap_or(*first);
            let above: u128 = keys.iter().map(|key| u128::from(key - min)).sum();
            let mean_above = above as f64 / keys.len() as f64;
            let deviations = Deviations::of(keys, |key| (key - min) as f64 - mean_above);
            let base = family.integer(min);
            let above = i128::try_from(above).unwrap_or(i128::MAX); // 2^16 numbers below 2^64
            self.integers = self.integers.saturating_add(base * keys.len() as i128 + above); // 2^63 numbers cannot overflow
            let pivot = *self.pivot.get_or_insert(base);
            self.merge((base - pivot) as f64 + mean_above, &deviations);
        }
        self.n += keys.len() as u64;
    }

    fn add_block_of_floats(&mut self, keys: &[u64]) {
        let is_finite = || keys.iter().all(|key| float_of(*key).is_finite());
        let scaled = |scale: f64| Sum::of(keys, |key| float_of(key) * scale);
        let mut sum = scaled(self.scale);
        let overflows =
            |moments: &Self, sum: Sum| moments.floats.high.is_finite() && !moments.floats.plus(sum).high.is_finite();
        if self.scale == 1.0 && overflows(self, sum) && is_finite() {
            (self.scale, self.floats) = (SUM_SCALE, self.floats.times(SUM_SCALE));
            sum = scaled(SUM_SCALE);
        }
        self.floats = self.floats.plus(sum);
        #[allow(clippy::cast_precision_loss, reason = "a block is small")]
        let mean = sum.total() / keys.len() as f64 / self.scale;
        let pivot = *self.float_pivot.get_or_insert(mean);
        let before = *self;
        self.merge_floats(keys, mean, pivot);
        if self.squares_scale == 1.0 && before.squares.is_finite() && !self.squares.is_finite() && is_finite() {
            self.squares_scale = SQUARES_SCALE;
            self.running_mean = before.running_mean * SQUARES_SCALE;
            self.squares = before.squares * SQUARES_SCALE * SQUARES_SCALE;
            self.merge_floats(keys, mean, pivot);
        }
    }

    fn merge_floats(&mut self, keys: &[u64], mean: f64, pivot: f64) {
        let scale = self.squares_scale;
        let (mean, pivot) = (mean * scale, pivot * scale);
        self.merge(mean - pivot, &Deviations::of(keys, |key| float_of(key) * scale - mean));
    }

    /// Adds a block of floats that have no keys.
    pub(super) fn add_floats(&mut self, numbers: &[f64]) {
        for block in numbers.chunks(BLOCK) {
            let keys: Vec<u64> = block.iter().map(|number| super::numbers::float_key(*number)).collect();
            self.add(Family::Float, &keys);
        }
    }

    /// Adds a block with these deviations from its mean, which may be rounded.
    #[allow(clippy::cast_precision_loss, reason = "counts weigh floats")]
    fn merge(&mut self, mean: f64, deviations: &Deviations) {
        let (before, added) = (self.n as f64, deviations.count);
        let mean = mean + deviations.sum / added;
        let squares = deviations.squares - deviations.sum * (deviations.sum / added);
        let all = before + added;
        let delta = if self.n == 0 { 0.0 } else { mean - self.running_mean };
        self.running_mean = if self.n == 0 { mean } else { self.running_mean + delta * (added / all) };
        // Rounding can make it negative.
        self.squares += if squares < 0.0 { 0.0 } else { squares } + delta * delta * (before * added / all);
    }

    /// The mean; `None` without values.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    pub(super) fn mean(&self, family: Family) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        if family == Family::Float {
            return Some(self.floats.total() / self.n as f64 / self.scale);
        }
        Some(quotient(self.integers, self.n))
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
        (self.n > 0).then(|| (self.squares / self.n as f64).sqrt() / self.squares_scale)
    }
}

/// The float that is nearest to a quotient. The divisor is not 0.
#[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
fn quotient(dividend: i128, divisor: u64) -> f64 {
    let (absolute, divisor) = (dividend.unsigned_abs(), u128::from(divisor));
    if absolute == 0 {
        return 0.0;
    }
    // At least 63 digits, of which the last stands for all that follow.
    let shift = absolute.leading_zeros();
    let shifted = absolute << shift;
    let digits = (shifted / divisor) | u128::from(shifted % divisor != 0);
    let quotient = digits as f64 / (1_u128 << shift) as f64;
    if dividend < 0 { -quotient } else { quotient }
}

/// A sum of floats, and its compensation for rounding errors.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    high: f64,
    lost: f64,
}

impl Sum {
    /// Sums in parallel lanes. With fewer, the compiler unrolls the inner loop and then finds no vector instructions for it, which takes
    /// more than twice the time.
    fn of(keys: &[u64], map: impl Fn(u64) -> f64) -> Self {
        const LANES: usize = 32;
        let (chunks, rest) = keys.as_chunks::<LANES>();
        let (mut highs, mut losts) = ([0.0; LANES], [0.0; LANES]);
        for chunk in chunks {
            for ((high, lost), key) in highs.iter_mut().zip(&mut losts).zip(chunk) {
                let error;
                (*high, error) = two_sum(*high, map(*key));
                *lost += error;
            }
        }
        let lanes = highs.into_iter().zip(losts).map(|(high, lost)| Self { high, lost });
        let rest = rest.iter().map(|key| Self { high: map(*key), lost: 0.0 });
        lanes.chain(rest).fold(Self::default(), Self::plus)
    }

    fn plus(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        Self { high, lost: self.lost + other.lost + error }
    }

    fn times(self, factor: f64) -> Self {
        Self { high: self.high * factor, lost: self.lost * factor }
    }

    /// Of infinite sums there is no compensation.
    fn total(self) -> f64 {
        if self.lost.is_finite() { self.high + self.lost } else { self.high }
    }
}

/// A sum and its rounding error, without a comparison, which would not be vectorized.
fn two_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let part = sum - one;
    (sum, (one - (sum - part)) + (other - part))
}

/// The sum of deviations from a mean, and of their squares.
struct Deviations {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Deviations {
    /// Sums in eight parallel lanes, for vectorization.
    #[allow(clippy::cast_precision_loss, reason = "a block is small")]
    fn of(keys: &[u64], deviation: impl Fn(u64) -> f64) -> Self {
        let (eights, rest) = keys.as_chunks::<8>();
        let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
        for eight in eights {
            for ((sum, squares), key) in sums.iter_mut().zip(&mut squares).zip(eight) {
                let deviation = deviation(*key);
                *sum += deviation;
                *squares += deviation * deviation;
            }
        }
        let (mut sum, mut squares) = (sums.iter().sum::<f64>(), squares.iter().sum::<f64>());
        for key in rest {
            let deviation = deviation(*key);
            sum += deviation;
            squares += deviation * deviation;
        }
        Self { count: keys.len() as f64, sum, squares }
    }
}
