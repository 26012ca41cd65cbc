//! Statistics of a variable: what `ds stats` tells, exactly.
//!
//! Values are gone through in chunks, whatever their number: once for count, extremes, mean and deviation, and once or twice more for the
//! order statistics, which are exact, too. With feature `parallel` blocks are worked on side by side; the result is the same, bit for bit.

mod block;
mod number;
mod order;

#[cfg(test)]
mod tests;

use std::ops::Range;

use container_core::{Error, Result};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::array::{Array, Values};
use crate::read::Variable;
use block::{BLOCK, Block, Moments, Present, fold};
use number::Numeric;
use order::Counts;

/// Elements that are read at once, where they are not in memory: whole blocks.
const CHUNK: u64 = 64 * BLOCK as u64;

/// Statistics of numbers, the missing ones and those that are NaN left out. Everything but the counts is `None` where none are left.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Elements, missing ones and NaN among them.
    pub count: u64,
    /// Elements that are missing.
    pub missing: u64,
    /// Elements that are NaN.
    pub nan: u64,
    /// The least.
    pub min: Option<Number>,
    /// The greatest.
    pub max: Option<Number>,
    /// The arithmetic mean: of integers by their exact sum.
    pub mean: Option<f64>,
    /// The middle one, or the mean of the two in the middle.
    pub median: Option<f64>,
    /// The standard deviation of a population: divided by the count, not by one less.
    pub std: Option<f64>,
    /// What 68 of 100 lie in: the percentiles 16 and 84, between two values in proportion.
    pub p68: Option<[f64; 2]>,
    /// What 95 of 100 lie in: the percentiles 2.5 and 97.5.
    pub p95: Option<[f64; 2]>,
    /// What 99 of 100 lie in: the percentiles 0.5 and 99.5.
    pub p99: Option<[f64; 2]>,
}

/// A number as its variable has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Of any type of integers, and of truth values: 0 and 1.
    Integer(i128),
    /// Of `float32`.
    Float32(f32),
    /// Of `float64`.
    Float64(f64),
}

impl Number {
    /// The nearest float.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is what is wanted")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float32(number) => number.into(),
            Self::Float64(number) => number,
        }
    }
}

/// As rows are shown: what is not finite is a text.
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

/// A float, or its name.
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

/// A map of all fields, in their order.
impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Stats", 11)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("missing", &self.missing)?;
        fields.serialize_field("nan", &self.nan)?;
        fields.serialize_field("min", &self.min)?;
        fields.serialize_field("max", &self.max)?;
        fields.serialize_field("mean", &self.mean.map(Finite))?;
        fields.serialize_field("median", &self.median.map(Finite))?;
        fields.serialize_field("std", &self.std.map(Finite))?;
        fields.serialize_field("p68", &self.p68.map(|ends| ends.map(Finite)))?;
        fields.serialize_field("p95", &self.p95.map(|ends| ends.map(Finite)))?;
        fields.serialize_field("p99", &self.p99.map(|ends| ends.map(Finite)))?;
        fields.end()
    }
}

impl Variable<'_> {
    /// Statistics of its values. Memory is some tens of megabytes at most; time that of three readings, rarely five.
    ///
    /// # Errors
    /// As [`read`](Variable::read); [`Usage`](container_core::ErrorKind::Usage) for strings.
    pub fn stats(&self) -> Result<Stats> {
        if self.shape().is_none() && self.problem().is_none() {
            return Ok(Stats::of_nothing());
        }
        self.check()?;
        let count = self.len();
        let chunk = |range: Range<u64>| self.read_elements(range);
        let data_type = self.data_type().ok_or_else(|| Error::usage("it has no type"));
        let found = data_type.and_then(|data_type| {
            let feed = Feed { count, chunk: &chunk };
            macro_rules! by_type {
                ($($name:ident => $number:ty),*) => {
                    match data_type {
                        $(crate::DataType::$name => of::<$number>(&feed),)*
                        other => Err(of_strings(other)),
                    }
                };
            }
            by_type! {
                Float32 => f32, Float64 => f64, Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, Uint8 => u8, Uint16 => u16,
                Uint32 => u32, Uint64 => u64, Bool => u8
            }
        });
        found.map_err(|error| self.place(error))
    }
}

fn of_strings(data_type: crate::DataType) -> Error {
    Error::usage(format!("its values are {data_type}: statistics are of numbers"))
}

/// Where the values come from, as often as they are asked for.
struct Feed<'f, 'a> {
    count: u64,
    chunk: &'f (dyn Fn(Range<u64>) -> Result<Array<'a>> + Sync),
}

impl Feed<'_, '_> {
    /// Gives all values to `each`, in the same chunks every time.
    fn chunks<T: Numeric>(&self, mut each: impl FnMut(&[T], Option<&[u8]>)) -> Result<()> {
        let mut at = 0;
        while at < self.count {
            let end = self.count.min(at + CHUNK);
            let array = (self.chunk)(at..end)?;
            let mask = array.mask().map(crate::Mask::as_bits);
            let truths = match array.values() {
                Values::Bool(truths) => bytemuck::try_cast_slice(bytemuck::cast_slice::<bool, u8>(truths)).ok(),
                values => values.as_slice::<T>(),
            };
            match truths {
                Some(values) => each(values, mask),
                None => return Err(of_strings(array.data_type())),
            }
            at = end;
        }
        Ok(())
    }
}

/// What the first pass finds out.
struct First<T> {
    blocks: Vec<Block<T>>,
    counts: Counts<T>,
}

/// Percentiles as hundredths: the median, and the ends of the three intervals.
const PERCENTILES: [f64; 7] = [50.0, 16.0, 84.0, 2.5, 97.5, 0.5, 99.5];

fn of<T: Numeric>(feed: &Feed<'_, '_>) -> Result<Stats> {
    let new = || First { blocks: Vec::new(), counts: Counts::<T>::new(feed.count) };
    let (mut first, mut moments) = (new(), Moments::<T>::NONE);
    feed.chunks(|values: &[T], mask| {
        let work = |first: &mut First<T>, present: &Present<'_, T>| {
            first.blocks.push(Block::of(present));
            first.counts.add(present.values);
        };
        let merge = |first: &mut First<T>, more: First<T>| {
            first.blocks.extend(more.blocks);
            first.counts.merge(&more.counts);
        };
        fold(values, mask, &mut first, new, work, merge);
        first.blocks.drain(..).for_each(|block| moments.add(&block));
    })?;
    let mut stats = Stats { count: feed.count, missing: moments.missing, nan: moments.nan, ..Stats::of_nothing() };
    let Some((min, max)) = moments.extremes() else { return Ok(stats) };
    let places = PERCENTILES.map(|percent| place(percent, moments.n));
    let ranks: Vec<u64> = places.iter().flat_map(|(rank, _)| [*rank, (rank + 1).min(moments.n - 1)]).collect();
    let found = order::select::<T>(feed, &first.counts, moments.n, &ranks)?;
    let mut values =
        found.as_chunks::<2>().0.iter().zip(places).map(|([low, high], (_, part))| between(*low, *high, part));
    let mut next = || values.next();
    (stats.min, stats.max) = (Some(min), Some(max));
    (stats.mean, stats.std) = (moments.mean(), moments.deviation());
    stats.median = next();
    for interval in [&mut stats.p68, &mut stats.p95, &mut stats.p99] {
        *interval = next().zip(next()).map(|(low, high)| [low, high]);
    }
    Ok(stats)
}

/// Where a percentile lies among `n` values: a rank, and the part of the way to the next one.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a rank of more than 2^53 values is one of millions that are as good"
)]
fn place(percent: f64, n: u64) -> (u64, f64) {
    if percent == 50.0 {
        return ((n - 1) / 2, if n.is_multiple_of(2) { 0.5 } else { 0.0 });
    }
    let at = (n - 1) as f64 * (percent / 100.0);
    ((at as u64).min(n - 1), at.fract())
}

/// A part of the way between two values, in the order of operations that numpy has.
fn between<T: Numeric>(low: T, high: T, part: f64) -> f64 {
    let (low, high) = (low.number().as_f64(), high.number().as_f64());
    match part {
        0.0 => low,
        // The distance of two that are the same and infinite is no number.
        _ if low == high => low,
        part if part < 0.5 => low + (high - low) * part,
        part => high - (high - low) * (1.0 - part),
    }
}

impl Stats {
    const fn of_nothing() -> Self {
        Self {
            count: 0,
            missing: 0,
            nan: 0,
            min: None,
            max: None,
            mean: None,
            median: None,
            std: None,
            p68: None,
            p95: None,
            p99: None,
        }
    }
}
