//! Statistics of a variable, exactly as `ds stats` defines them.
//!
//! Values are read in chunks: once for count, extremes, mean and deviation, and once or twice more for the order statistics, which are exact
//! too. Feature `parallel` processes blocks concurrently; the result is the same, bit for bit.

mod block;
mod number;
mod order;

#[cfg(test)]
mod tests;

use std::ops::Range;

use container_core::{Error, Result, Unit, Watch};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::array::{Array, Values};
use crate::read::Variable;
use block::{Accumulated, BLOCK, Block, Present, fold};
use number::Numeric;
use order::Counts;

/// Elements read at once when not in memory: whole blocks.
const CHUNK: u64 = 128 * BLOCK as u64;

/// Statistics of numbers, excluding missing values and NaN. Everything but the counts is `None` when no values remain.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of elements, including missing ones and NaN.
    pub count: u64,
    /// Number of missing elements.
    pub missing: u64,
    /// Number of NaN elements.
    pub nan: u64,
    /// Minimum.
    pub min: Option<Number>,
    /// Maximum.
    pub max: Option<Number>,
    /// Arithmetic mean: of integers by their exact sum, of floats by a compensated one.
    pub mean: Option<f64>,
    /// Median: the middle value, or the mean of the two middle values. A value that occurs is in its type, also below.
    pub median: Option<Number>,
    /// Population standard deviation.
    pub std: Option<f64>,
    /// Central 50%: the quartiles, linearly interpolated.
    pub p50: Option<[Number; 2]>,
    /// Central 68%: percentiles 16 and 84, linearly interpolated.
    pub p68: Option<[Number; 2]>,
    /// Central 95%: percentiles 2.5 and 97.5.
    pub p95: Option<[Number; 2]>,
    /// Central 99%: percentiles 0.5 and 99.5.
    pub p99: Option<[Number; 2]>,
}

/// A number in its variable's type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Any integer type; booleans are 0 and 1.
    Integer(i128),
    /// `float32`.
    Float32(f32),
    /// `float64`.
    Float64(f64),
}

impl Number {
    /// The nearest float.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float32(number) => number.into(),
            Self::Float64(number) => number,
        }
    }
}

/// Serializes as a number; non-finite values as strings.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Integer(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => serializer.serialize_i64(number),
                (_, Ok(number)) => serializer.serialize_u64(number),
                _ => serializer.serialize_str(&number.to_string()),
            },
            Self::Float32(number) if number.is_finite() => serializer.serialize_f32(number),
            other => Finite(other.as_f64()).serialize(serializer),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Float32(number) => number.fmt(f),
            Self::Float64(number) => number.fmt(f),
        }
    }
}

/// A float; serializes as a string when not finite.
struct Finite(f64);

impl Serialize for Finite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("NaN"),
            number => serializer.serialize_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }
}

/// Serializes as a map of all fields, in order.
impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Stats", 12)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("missing", &self.missing)?;
        fields.serialize_field("nan", &self.nan)?;
        fields.serialize_field("min", &self.min)?;
        fields.serialize_field("max", &self.max)?;
        fields.serialize_field("mean", &self.mean.map(Finite))?;
        fields.serialize_field("median", &self.median)?;
        fields.serialize_field("std", &self.std.map(Finite))?;
        fields.serialize_field("p50", &self.p50)?;
        fields.serialize_field("p68", &self.p68)?;
        fields.serialize_field("p95", &self.p95)?;
        fields.serialize_field("p99", &self.p99)?;
        fields.end()
    }
}

impl Variable<'_> {
    /// Computes statistics of all values. Takes at most about 100 MB, and the time of three reads, rarely five.
    ///
    /// # Errors
    /// As [`read`](Variable::read); [`Usage`](container_core::ErrorKind::Usage) for strings.
    pub fn stats(&self) -> Result<Stats> {
        self.stats_with(&Watch::default())
    }

    /// As [`stats`](Self::stats). `watch` is told of every element that is read, as often as it is read.
    ///
    /// # Errors
    /// As [`stats`](Self::stats); [`Cancelled`](container_core::ErrorKind::Cancelled) if `watch` says so.
    pub fn stats_with(&self, watch: &Watch) -> Result<Stats> {
        if self.shape().is_none() && self.problem().is_none() {
            return Ok(Stats::empty());
        }
        self.check()?;
        let count = self.len();
        let chunk = |range: Range<u64>| self.read_elements(range);
        let data_type = self.data_type().ok_or_else(|| Error::usage("the variable has no type"));
        let stats = data_type.and_then(|data_type| {
            watch.begin(Unit::Rows, None);
            let source = ChunkSource { count, chunk: &chunk, watch };
            macro_rules! by_type {
                ($($name:ident => $number:ty),*) => {
                    match data_type {
                        $(crate::DataType::$name => compute::<$number>(&source),)*
                        other => Err(not_numbers(other)),
                    }
                };
            }
            by_type! {
                Float32 => f32, Float64 => f64, Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, Uint8 => u8, Uint16 => u16,
                Uint32 => u32, Uint64 => u64, Bool => u8
            }
        });
        stats.map_err(|error| self.in_variable(error))
    }
}

fn not_numbers(data_type: crate::DataType) -> Error {
    Error::usage(format!("expected numbers or bool for statistics, found {data_type}"))
}

/// Reads all values, as often as needed.
struct ChunkSource<'f, 'a> {
    count: u64,
    chunk: &'f (dyn Fn(Range<u64>) -> Result<Array<'a>> + Sync),
    watch: &'f Watch,
}

impl ChunkSource<'_, '_> {
    /// Passes all values to `each`, in the same chunks every time.
    fn chunks<T: Numeric>(&self, mut each: impl FnMut(&[T], Option<&[u8]>)) -> Result<()> {
        let mut at = 0;
        while at < self.count {
            let end = self.count.min(at + CHUNK);
            let array = (self.chunk)(at..end)?;
            let mask = array.mask().map(crate::Mask::as_bits);
            let values = match array.values() {
                Values::Bool(bools) => bytemuck::try_cast_slice(bytemuck::cast_slice::<bool, u8>(bools)).ok(),
                values => values.as_slice::<T>(),
            };
            match values {
                Some(values) => each(values, mask),
                None => return Err(not_numbers(array.data_type())),
            }
            self.watch.advance(end - at)?;
            at = end;
        }
        Ok(())
    }
}

/// Results of the first pass.
struct FirstPass<T> {
    blocks: Vec<Block<T>>,
    counts: Counts<T>,
}

/// Percentiles as hundredths: the median, and the ends of the four intervals.
const PERCENTILES: [f64; 9] = [50.0, 25.0, 75.0, 16.0, 84.0, 2.5, 97.5, 0.5, 99.5];

fn compute<T: Numeric>(source: &ChunkSource<'_, '_>) -> Result<Stats> {
    let new = || FirstPass { blocks: Vec::new(), counts: Counts::<T>::new(source.count) };
    let (mut first, mut all) = (new(), Accumulated::<T>::new());
    source.chunks(|values: &[T], mask| {
        let work = |first: &mut FirstPass<T>, present: &Present<'_, T>| {
            first.blocks.push(Block::new(present));
            first.counts.add(present.values);
        };
        let merge = |first: &mut FirstPass<T>, more: FirstPass<T>| {
            first.blocks.extend(more.blocks);
            first.counts.merge(more.counts);
        };
        fold(values, mask, &mut first, new, work, merge);
        first.blocks.drain(..).for_each(|block| all.add(&block));
    })?;
    let mut stats = Stats { count: source.count, missing: all.missing, nan: all.nan, ..Stats::empty() };
    let Some((min, max)) = all.range() else { return Ok(stats) };
    let n = all.moments.count();
    let positions = PERCENTILES.map(|percent| position(percent, n));
    let ranks: Vec<u64> = positions.iter().flat_map(|(rank, _)| [*rank, (rank + 1).min(n - 1)]).collect();
    let ranked = order::select::<T>(source, &first.counts, n, &ranks)?;
    let pairs = ranked.as_chunks::<2>().0.iter().zip(positions);
    let mut values = pairs.map(|([low, high], (_, fraction))| interpolate(*low, *high, fraction));
    let mut next = || values.next();
    (stats.min, stats.max) = (Some(min), Some(max));
    (stats.mean, stats.std) = (all.moments.mean(), all.moments.deviation());
    stats.median = next();
    for interval in [&mut stats.p50, &mut stats.p68, &mut stats.p95, &mut stats.p99] {
        *interval = next().zip(next()).map(|(low, high)| [low, high]);
    }
    Ok(stats)
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

/// Interpolates between two values, with numpy's order of operations. A value that occurs is not rounded.
fn interpolate<T: Numeric>(low: T, high: T, fraction: f64) -> Number {
    // The difference of equal infinities is NaN.
    if fraction == 0.0 || low.key() == high.key() {
        return low.number();
    }
    let (low, high) = (low.number().as_f64(), high.number().as_f64());
    Number::Float64(match fraction {
        fraction if fraction < 0.5 => low + (high - low) * fraction,
        fraction => high - (high - low) * (1.0 - fraction),
    })
}

impl Stats {
    const fn empty() -> Self {
        Self {
            count: 0,
            missing: 0,
            nan: 0,
            min: None,
            max: None,
            mean: None,
            median: None,
            std: None,
            p50: None,
            p68: None,
            p95: None,
            p99: None,
        }
    }
}
