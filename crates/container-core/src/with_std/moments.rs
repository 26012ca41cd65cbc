//! Sum, mean and deviation of numbers, for the statistics of all formats: sums of integers are exact, those of floats compensated. Blocks can be
//! computed in parallel; the result depends only on the blocks and their order.

#[cfg(test)]
mod tests;

/// Maximum values per block. It fits the CPU cache.
pub const BLOCK: usize = 1 << 16;

/// A power of two: the sum of 2^64 scaled numbers is finite.
const SUM_SCALE: f64 = f64::from_bits((1023 - 80) << 52);

/// A power of two: the sum of the squares of 2^64 scaled numbers is finite.
const SQUARES_SCALE: f64 = f64::from_bits((1023 - 550) << 52);

/// The moments of one block of values.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    count: u64,
    sum: BlockSum,
    deviations: Deviations,
}

#[derive(Debug, Clone, Copy)]
enum BlockSum {
    /// The exact sum, the least value, and the mean counted from it.
    Integers {
        sum: i128,
        min: i128,
        mean_above: f64,
    },
    Floats {
        sum: Sum,
        mean: f64,
    },
}

impl Block {
    /// Computes the moments of integers, at most [`BLOCK`] of them. `key` maps them to unsigned integers in the same order and with the same
    /// differences; `integer` is its inverse.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "means and deviations are floats")]
    pub fn of_integers<T: Copy + Ord>(values: &[T], key: impl Fn(T) -> u64, integer: impl Fn(u64) -> i128) -> Self {
        /// The sum of a block of smaller numbers fits 64 bits, and each one a float.
        const NARROW: u64 = 1 << 48;
        let Some(first) = values.first() else { return Self::of_floats(&[], |float| float) };
        let extremes = values.iter().fold((*first, *first), |(min, max), value| (min.min(*value), max.max(*value)));
        let (min, max) = (key(extremes.0), key(extremes.1));
        let count = values.len();
        let above = |value: T| key(value).wrapping_sub(min);
        let (sum, mean_above, deviations);
        if max.saturating_sub(min) < NARROW {
            sum = u128::from(values.iter().map(|value| above(*value)).sum::<u64>());
            mean_above = sum as f64 / count as f64;
            deviations = Deviations::of(values, 1.0, |value| float_of_narrow(above(value)) - mean_above);
        } else {
            sum = values.iter().map(|value| u128::from(above(*value))).sum();
            mean_above = sum as f64 / count as f64;
            deviations = Deviations::of(values, 1.0, |value| above(value) as f64 - mean_above);
        }
        let (count, min) = (count as u64, integer(min));
        let sum = i128::try_from(sum).unwrap_or(i128::MAX) + min * i128::from(count); // 2^16 numbers below 2^64
        Self { count, sum: BlockSum::Integers { sum, min, mean_above }, deviations }
    }

    /// Computes the moments of floats other than NaN, at most [`BLOCK`] of them.
    #[must_use]
    pub fn of_floats<T: Copy>(values: &[T], float: impl Fn(T) -> f64) -> Self {
        let all_finite = || values.iter().all(|value| float(*value).is_finite());
        let mut sum = Sum::of(values, 1.0, &float);
        if !sum.high.is_finite() && all_finite() {
            sum = Sum::of(values, SUM_SCALE, &float);
        }
        let mean = if values.is_empty() { 0.0 } else { sum.mean(values.len() as u64) };
        let scaled = |scale: f64| Deviations::of(values, scale, |value| float(value) * scale - mean * scale);
        let mut deviations = Deviations::of(values, 1.0, |value| float(value) - mean);
        if !deviations.squares.is_finite() && all_finite() {
            deviations = scaled(SQUARES_SCALE);
        }
        Self { count: values.len() as u64, sum: BlockSum::Floats { sum, mean }, deviations }
    }
}

/// A number below 2^52 as a float. Compilers vectorize this, but not the conversion of 64-bit integers.
fn float_of_narrow(number: u64) -> f64 {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    f64::from_bits(TWO_52.to_bits() | number) - TWO_52
}

/// The moments of all blocks added so far: of integers only, or of floats only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    count: u64,
    is_float: bool,
    /// The exact sum of integers.
    integers: i128,
    floats: Sum,
    /// Numbers are counted from the least one of the first block, or from its mean: the running mean then has fewer digits to lose.
    pivot: i128,
    float_pivot: f64,
    squares: Squares,
}

impl Moments {
    /// Adds a block.
    #[allow(clippy::cast_precision_loss, reason = "means and deviations are floats")]
    pub fn add(&mut self, block: &Block) {
        if block.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        let mean = match block.sum {
            BlockSum::Integers { sum, min, mean_above } => {
                self.integers = self.integers.saturating_add(sum); // 2^63 numbers cannot overflow
                if is_first {
                    self.pivot = min;
                }
                [(min - self.pivot) as f64 + mean_above, 0.0]
            }
            BlockSum::Floats { sum, mean } => {
                self.is_float = true;
                self.floats = self.floats.plus_finite(sum);
                if is_first {
                    self.float_pivot = mean;
                }
                [mean, self.float_pivot]
            }
        };
        self.squares = self.squares.with(self.count, block.count, mean, block.deviations);
        self.count += block.count;
    }

    /// The number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        match self.count {
            0 => None,
            count if self.is_float => Some(self.floats.mean(count)),
            count => Some(quotient(self.integers, count)),
        }
    }

    /// The mean of integers, rounded to the nearest one; `None` without values.
    #[must_use]
    pub fn rounded_mean(&self) -> Option<i64> {
        let count = i128::from(self.count);
        let mean = (2 * self.integers).checked_add(count)?.checked_div_euclid(2 * count)?;
        i64::try_from(mean).ok()
    }

    /// The population standard deviation; `None` without values.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a count divides a float")]
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares.squares / self.count as f64).sqrt() / self.squares.scale)
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

/// A sum of scaled floats, and its compensation for rounding errors.
#[derive(Debug, Clone, Copy)]
struct Sum {
    high: f64,
    lost: f64,
    /// 1, or [`SUM_SCALE`] once the sum of finite numbers was not finite.
    scale: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { high: 0.0, lost: 0.0, scale: 1.0 }
    }
}

impl Sum {
    /// Sums in parallel lanes. With fewer, the compiler unrolls the inner loop and then finds no vector instructions for it, which takes
    /// more than twice the time.
    fn of<T: Copy>(values: &[T], scale: f64, float: impl Fn(T) -> f64) -> Self {
        const LANES: usize = 32;
        let (chunks, rest) = values.as_chunks::<LANES>();
        let (mut highs, mut losts) = ([0.0; LANES], [0.0; LANES]);
        for chunk in chunks {
            for ((high, lost), value) in highs.iter_mut().zip(&mut losts).zip(chunk) {
                let error;
                (*high, error) = two_sum(*high, float(*value) * scale);
                *lost += error;
            }
        }
        let lanes = highs.into_iter().zip(losts).map(|(high, lost)| Self { high, lost, scale });
        let rest = rest.iter().map(|value| Self { high: float(*value) * scale, lost: 0.0, scale });
        lanes.chain(rest).fold(Self { scale, ..Self::default() }, Self::plus)
    }

    /// Adds a sum of the same scale.
    fn plus(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        Self { high, lost: self.lost + other.lost + error, scale: self.scale }
    }

    /// Adds a sum. That of finite numbers is finite.
    fn plus_finite(self, other: Self) -> Self {
        if self.scale == other.scale {
            let sum = self.plus(other);
            if sum.high.is_finite() || self.scale != 1.0 || !self.high.is_finite() || !other.high.is_finite() {
                return sum;
            }
        }
        self.scaled().plus(other.scaled())
    }

    fn scaled(self) -> Self {
        let factor = SUM_SCALE / self.scale;
        Self { high: self.high * factor, lost: self.lost * factor, scale: SUM_SCALE }
    }

    /// The mean of as many unscaled numbers. Of infinite sums there is no compensation.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    fn mean(self, count: u64) -> f64 {
        let count = count as f64;
        let mean = self.high / count;
        // The rounding error of the quotient is exact.
        let rest = (-mean).mul_add(count, self.high) + self.lost;
        (if rest.is_finite() { mean + rest / count } else { mean }) / self.scale
    }
}

/// A sum and its rounding error, without a comparison, which would not be vectorized.
fn two_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let part = sum - one;
    (sum, (one - (sum - part)) + (other - part))
}

/// The running mean, counted from the pivot, and the sum of squared deviations from it.
#[derive(Debug, Clone, Copy)]
struct Squares {
    mean: f64,
    squares: f64,
    /// What numbers are multiplied by: 1, or [`SQUARES_SCALE`] once the squares of finite numbers were not finite.
    scale: f64,
}

impl Default for Squares {
    fn default() -> Self {
        Self { mean: 0.0, squares: 0.0, scale: 1.0 }
    }
}

impl Squares {
    /// With a block added, whose mean is the difference of two numbers. Squares of finite numbers are finite.
    fn with(self, before: u64, added: u64, mean: [f64; 2], deviations: Deviations) -> Self {
        if self.scale == deviations.scale {
            let merged = self.merged(before, added, mean, deviations);
            let are_finite = self.squares.is_finite() && deviations.squares.is_finite();
            if merged.squares.is_finite() || self.scale != 1.0 || !are_finite {
                return merged;
            }
        }
        let factor = SQUARES_SCALE / self.scale;
        let this = Self { mean: self.mean * factor, squares: self.squares * factor * factor, scale: SQUARES_SCALE };
        let factor = SQUARES_SCALE / deviations.scale;
        let (sum, squares) = (deviations.sum * factor, deviations.squares * factor * factor);
        this.merged(before, added, mean, Deviations { sum, squares, scale: SQUARES_SCALE })
    }

    /// With a block of the same scale. Its mean may be rounded.
    #[allow(clippy::cast_precision_loss, reason = "counts weigh floats")]
    fn merged(self, before: u64, added: u64, [mean, pivot]: [f64; 2], deviations: Deviations) -> Self {
        let (before, added) = (before as f64, added as f64);
        let mean = mean * self.scale - pivot * self.scale + deviations.sum / added;
        let squares = deviations.squares - deviations.sum * (deviations.sum / added);
        // Rounding can make it negative.
        let squares = if squares < 0.0 { 0.0 } else { squares };
        if before == 0.0 {
            return Self { mean, squares, scale: self.scale };
        }
        let (delta, all) = (mean - self.mean, before + added);
        Self {
            mean: self.mean + delta * (added / all),
            squares: self.squares + squares + delta * delta * (before * added / all),
            scale: self.scale,
        }
    }
}

/// The sum of scaled deviations from a mean, and of their squares.
#[derive(Debug, Clone, Copy)]
struct Deviations {
    sum: f64,
    squares: f64,
    /// 1 or [`SQUARES_SCALE`].
    scale: f64,
}

impl Deviations {
    /// Sums in eight parallel lanes, for vectorization.
    fn of<T: Copy>(values: &[T], scale: f64, deviation: impl Fn(T) -> f64) -> Self {
        let (eights, rest) = values.as_chunks::<8>();
        let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
        for eight in eights {
            for ((sum, squares), value) in sums.iter_mut().zip(&mut squares).zip(eight) {
                let deviation = deviation(*value);
                *sum += deviation;
                *squares += deviation * deviation;
            }
        }
        let (mut sum, mut squares) = (sums.iter().sum::<f64>(), squares.iter().sum::<f64>());
        for value in rest {
            let deviation = deviation(*value);
            sum += deviation;
            squares += deviation * deviation;
        }
        Self { sum, squares, scale }
    }
}
