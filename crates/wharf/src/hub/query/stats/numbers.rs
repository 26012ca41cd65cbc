//! Statistics of numbers, booleans, times and decimals, as keys in their order.

use container_core::moments::{BLOCK, Block, Moments};

use super::sketch::{Key, Summary, Values};

/// How keys stand for numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Unsigned integers and booleans: the number itself.
    Unsigned,
    /// Signed integers and times: the sign bit is flipped.
    Signed,
    /// Floats, as 64 bits: negative ones are reversed. -0 is 0.
    Float,
}

const SIGN: u64 = 1 << 63;

impl Family {
    #[allow(clippy::cast_possible_wrap, reason = "the bits of a signed integer")]
    pub(super) const fn integer(self, key: u64) -> i128 {
        match self {
            Self::Signed => (key ^ SIGN) as i64 as i128,
            _ => key as i128,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    pub(super) fn float(self, key: u64) -> f64 {
        match self {
            Self::Float => float_of(key),
            _ => self.integer(key) as f64,
        }
    }
}

#[allow(clippy::cast_sign_loss, reason = "the bits of a signed integer")]
pub(super) const fn signed_key(number: i64) -> u64 {
    number as u64 ^ SIGN
}

/// The key of a float other than NaN.
pub(super) fn float_key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

pub(super) fn float_of(key: u64) -> f64 {
    // All bits if it is positive. A choice would be vectorized less well.
    let positive = (key.cast_signed() >> 63).cast_unsigned();
    f64::from_bits(key ^ (!positive | SIGN))
}

/// Collects keys.
pub(super) struct Numbers {
    pub(super) family: Family,
    pub(super) moments: Moments,
    pub(super) values: Ordered<u64>,
}

impl Numbers {
    pub(super) fn new(family: Family, capacity: usize) -> Self {
        Self { family, moments: Moments::default(), values: Ordered::new(capacity) }
    }

    pub(super) fn add(&mut self, keys: &[u64]) {
        let block = |keys: &[u64]| match self.family {
            Family::Float => Block::of_floats(keys, float_of),
            family => Block::of_integers(keys, |key| key, |key| family.integer(key)),
        };
        keys.chunks(BLOCK).for_each(|keys| self.moments.add(&block(keys)));
        self.values.add(keys);
    }
}

/// Values with their extremes.
pub(super) struct Ordered<K> {
    pub(super) range: Option<(K, K)>,
    values: Values<K>,
}

impl<K: Key> Ordered<K> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { range: None, values: Values::new(capacity) }
    }

    pub(super) fn add(&mut self, keys: &[K]) {
        let Some(first) = keys.first() else { return };
        let (low, high) = keys.iter().fold((*first, *first), |(low, high), key| (low.min(*key), high.max(*key)));
        self.range = Some(self.range.map_or((low, high), |(min, max)| (min.min(low), max.max(high))));
        self.values.add(keys);
    }

    pub(super) fn finish(self) -> (Option<(K, K)>, Summary<K>) {
        (self.range, self.values.finish())
    }
}

/// The median, and the ends of the central 50, 68, 95 and 99 percent.
pub(super) const PERCENTILES: [f64; 9] = [50.0, 25.0, 75.0, 16.0, 84.0, 2.5, 97.5, 0.5, 99.5];

/// A quantile: the values of two neighboring ranks, and the fraction of the way from one to the other.
pub(super) struct Quantile<K> {
    pub(super) low: K,
    pub(super) high: K,
    pub(super) fraction: f64,
}

impl Quantile<u64> {
    /// Interpolated, with numpy's order of operations.
    pub(super) fn float(&self, family: Family) -> f64 {
        let (low, high) = (family.float(self.low), family.float(self.high));
        match self.fraction {
            0.0 => low,
            // The difference of equal infinities is NaN.
            _ if low == high => low,
            fraction if fraction < 0.5 => low + (high - low) * fraction,
            fraction => high - (high - low) * (1.0 - fraction),
        }
    }
}

/// The quantiles of [`PERCENTILES`]; empty without values.
pub(super) fn quantiles<K: Key>(summary: &Summary<K>) -> Vec<Quantile<K>> {
    let Some(last) = summary.n.checked_sub(1) else { return Vec::new() };
    let positions = PERCENTILES.map(|percent| position(percent, summary.n));
    let mut ranks: Vec<u64> = positions.iter().flat_map(|(rank, _)| [*rank, (rank + 1).min(last)]).collect();
    ranks.sort_unstable();
    let found = summary.at_ranks(&ranks);
    let at = |rank: u64| ranks.binary_search(&rank).ok().and_then(|index| found.get(index).copied());
    let quantile =
        |(rank, fraction): (u64, f64)| Some(Quantile { low: at(rank)?, high: at((rank + 1).min(last))?, fraction });
    positions.into_iter().filter_map(quantile).collect()
}

/// Position of a percentile among `n` sorted values: a rank, and the fraction of the way to the next one.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "beyond 2^53 values, neighboring ranks are as good"
)]
fn position(percent: f64, n: u64) -> (u64, f64) {
    if percent == 50.0 {
        return ((n - 1) / 2, if n.is_multiple_of(2) { 0.5 } else { 0.0 });
    }
    let at = (n - 1) as f64 * (percent / 100.0);
    ((at as u64).min(n - 1), at.fract())
}
