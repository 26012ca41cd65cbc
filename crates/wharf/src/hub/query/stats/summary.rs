//! The statistics of one column.

use container_core::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::column::{Column, Values, is_time};
use super::distinct::HyperLogLog;
use super::numbers::{Numbers, Ordered, quantiles};
use super::scalars::{self, Scalar};
use super::texts::{self, Texts};

/// Statistics of a column, or of what is nested in one. Values are JSON as `cat` prints them. What a type does not have is `None`.
///
/// Nulls and NaN are counted, and excluded from everything else. Serializes as an object of all members, in their order.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ColumnStats {
    /// The name: `a`; `a.b` for a member of a struct, `a[]` for the elements of lists and vectors.
    pub column: String,
    /// The Arrow type, or that of a ds variable.
    pub data_type: String,
    /// Number of values, including nulls and NaN: rows, or for `a[]` the elements of all rows.
    pub count: u64,
    /// Number of nulls.
    pub nulls: u64,
    /// Number of NaN.
    pub nan: u64,
    /// Number of distinct values.
    pub distinct: Option<u64>,
    /// Minimum: of texts, by bytes.
    pub min: Option<Scalar>,
    /// Maximum.
    pub max: Option<Scalar>,
    /// Arithmetic mean; of booleans the fraction of `true`; of times a time, rounded.
    pub mean: Option<Scalar>,
    /// Population standard deviation of numbers.
    pub std: Option<Scalar>,
    /// Median: the middle value, or the mean of the two middle values; of times and decimals the first of the two.
    pub median: Option<Scalar>,
    /// Central 50 %: the quartiles. Linearly interpolated; of times and decimals the value before.
    pub p50: Option<[Scalar; 2]>,
    /// Central 68 %: percentiles 16 and 84.
    pub p68: Option<[Scalar; 2]>,
    /// Central 95 %: percentiles 2.5 and 97.5.
    pub p95: Option<[Scalar; 2]>,
    /// Central 99 %: percentiles 0.5 and 99.5.
    pub p99: Option<[Scalar; 2]>,
    /// Lengths: of texts and bytes in bytes, of lists and vectors in elements.
    pub lengths: Option<Lengths>,
    /// The most frequent values and their counts, the most frequent first; equal counts by value. `None` if not counted.
    pub top: Option<Vec<(Scalar, u64)>>,
    /// The members that are estimates; `None` if all is exact.
    pub estimates: Option<Estimates>,
}

/// Lengths of values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Lengths {
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// The mean.
    pub mean: f64,
}

/// How wrong estimates can be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimates {
    /// The standard error of `distinct`, relative to it.
    pub distinct: f64,
    /// By how much the rank of median and percentiles can be wrong at most, as a fraction of the number of values; `None` without values.
    pub quantiles: Option<f64>,
    /// By how much the counts of `top` can be too small at most. Values that occur at most twice as often can be missing, and texts of more than 256
    /// bytes.
    pub top: u64,
}

/// Adds the statistics of a column, and of those that are nested.
pub(super) fn add(column: Column, max_top: usize, all: &mut Vec<Result<ColumnStats>>) {
    let Column { name, data_type, count, nulls, nan, values } = column;
    let mut stats =
        ColumnStats { column: name, data_type: data_type.to_string(), count, nulls, nan, ..ColumnStats::default() };
    let (mut nested, mut outcome) = (Vec::new(), Ok(()));
    match values {
        Values::Nulls => {}
        Values::Numbers(numbers) => outcome = stats.numbers(numbers, &data_type, max_top),
        Values::Decimals(ordered, moments) => {
            outcome = stats.decimals(ordered, &data_type, max_top).and_then(|()| {
                stats.mean = moments.mean().map(scalars::of_float).transpose()?;
                stats.std = moments.deviation().map(scalars::of_float).transpose()?;
                Ok(())
            });
        }
        Values::Texts(texts) => outcome = stats.texts(texts, &data_type, max_top),
        Values::List(lengths, item) => {
            stats.lengths(lengths);
            nested.push(*item);
        }
        Values::Struct(members) => nested = members,
    }
    all.push(outcome.map_err(|error| error.in_column(stats.column.clone())).map(|()| stats));
    nested.into_iter().for_each(|column| add(column, max_top, all));
}

impl ColumnStats {
    fn numbers(&mut self, numbers: Numbers, data_type: &arrow_schema::DataType, max_top: usize) -> Result<()> {
        let Numbers { family, moments, values } = numbers;
        let (range, summary) = values.finish();
        let scalars = |keys: &[u64]| scalars::of_keys(data_type, family, keys);
        self.range(range.map(|(min, max)| scalars(&[min, max])).transpose()?);
        let is_time = is_time(data_type);
        if is_time {
            let mean = moments.rounded_mean().map(super::numbers::signed_key);
            self.mean = mean.map(|mean| scalars(&[mean])).transpose()?.and_then(|mut mean| mean.pop());
        } else {
            self.mean = moments.mean().map(scalars::of_float).transpose()?;
            self.std = moments.deviation().map(scalars::of_float).transpose()?;
        }
        if *data_type != arrow_schema::DataType::Boolean {
            let quantile = |quantile: super::numbers::Quantile<u64>| {
                // A value that occurs is shown in its type, without rounding.
                match is_time || quantile.fraction == 0.0 || quantile.low == quantile.high {
                    true => scalars(&[quantile.low]).map(|mut scalars| scalars.pop()),
                    false => scalars::of_float(quantile.float(family)).map(Some),
                }
            };
            let quantiles = quantiles(&summary).into_iter().map(quantile).collect::<Result<Option<Vec<_>>>>()?;
            self.quantiles(quantiles.unwrap_or_default());
        }
        let top = summary.top(max_top);
        let keys: Vec<u64> = top.iter().map(|(key, _)| *key).collect();
        self.top = Some(scalars(&keys)?.into_iter().zip(top.iter().map(|(_, count)| *count)).collect());
        self.counted(summary.distinct, summary.is_exact, summary.count_error, Some((summary.rank_error, summary.n)));
        Ok(())
    }

    fn decimals(&mut self, values: Ordered<i128>, data_type: &arrow_schema::DataType, max_top: usize) -> Result<()> {
        let (range, summary) = values.finish();
        let scalars = |unscaled: &[i128]| scalars::of_decimals(data_type, unscaled);
        self.range(range.map(|(min, max)| scalars(&[min, max])).transpose()?);
        let low: Vec<i128> = quantiles(&summary).iter().map(|quantile| quantile.low).collect();
        self.quantiles(scalars(&low)?);
        let top = summary.top(max_top);
        let keys: Vec<i128> = top.iter().map(|(key, _)| *key).collect();
        self.top = Some(scalars(&keys)?.into_iter().zip(top.iter().map(|(_, count)| *count)).collect());
        self.counted(summary.distinct, summary.is_exact, summary.count_error, Some((summary.rank_error, summary.n)));
        Ok(())
    }

    fn texts(&mut self, texts: Texts, data_type: &arrow_schema::DataType, max_top: usize) -> Result<()> {
        use arrow_schema::DataType::{LargeUtf8, Utf8, Utf8View};
        self.lengths(texts.lengths);
        let is_text = matches!(data_type, Utf8 | LargeUtf8 | Utf8View);
        if let Some((min, max)) = texts.range.as_ref().filter(|_| is_text) {
            self.range(Some(scalars::of_bytes(data_type, [&**min, &**max].into_iter())?));
        }
        let texts::Summary { is_exact, distinct, top, count_error } = texts.finish(max_top);
        if is_text {
            let values = scalars::of_bytes(data_type, top.iter().map(|(value, _)| &**value))?;
            self.top = Some(values.into_iter().zip(top.iter().map(|(_, count)| *count)).collect());
        }
        self.counted(distinct, is_exact, count_error, None);
        Ok(())
    }

    fn range(&mut self, ends: Option<Vec<Scalar>>) {
        let mut ends = ends.into_iter().flatten();
        (self.min, self.max) = (ends.next(), ends.next());
    }

    /// Takes the quantiles in the order of [`PERCENTILES`](super::numbers::PERCENTILES).
    fn quantiles(&mut self, quantiles: Vec<Scalar>) {
        let mut next = quantiles.into_iter();
        self.median = next.next();
        for interval in [&mut self.p50, &mut self.p68, &mut self.p95, &mut self.p99] {
            *interval = next.next().zip(next.next()).map(|(low, high)| [low, high]);
        }
    }

    fn lengths(&mut self, lengths: texts::Lengths) {
        self.lengths = lengths.finish().map(|(min, max, mean)| Lengths { min, max, mean });
    }

    #[allow(clippy::cast_precision_loss, reason = "a bound need not be exact")]
    fn counted(&mut self, distinct: u64, is_exact: bool, top: u64, ranks: Option<(u64, u64)>) {
        self.distinct = Some(distinct);
        if !is_exact {
            let quantiles = ranks.map(|(error, n)| error as f64 / n as f64);
            self.estimates = Some(Estimates { distinct: HyperLogLog::ERROR, quantiles, top });
        }
    }
}

impl Serialize for ColumnStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("column", &self.column)?;
        map.serialize_entry("type", &self.data_type)?;
        map.serialize_entry("count", &self.count)?;
        map.serialize_entry("nulls", &self.nulls)?;
        map.serialize_entry("nan", &self.nan)?;
        map.serialize_entry("distinct", &self.distinct)?;
        for (name, value) in
            [("min", &self.min), ("max", &self.max), ("mean", &self.mean), ("std", &self.std), ("median", &self.median)]
        {
            map.serialize_entry(name, value)?;
        }
        for (name, ends) in [("p50", &self.p50), ("p68", &self.p68), ("p95", &self.p95), ("p99", &self.p99)] {
            map.serialize_entry(name, ends)?;
        }
        map.serialize_entry("lengths", &self.lengths)?;
        let top = self.top.as_ref().map(|top| top.iter().map(|(value, count)| Frequent { value, count: *count }));
        map.serialize_entry("top", &top.map(Iterator::collect::<Vec<_>>))?;
        map.serialize_entry("estimates", &self.estimates)?;
        map.end()
    }
}

struct Frequent<'a> {
    value: &'a Scalar,
    count: u64,
}

impl Serialize for Frequent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("value", self.value)?;
        map.serialize_entry("count", &self.count)?;
        map.end()
    }
}

impl Serialize for Lengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("min", &self.min)?;
        map.serialize_entry("max", &self.max)?;
        map.serialize_entry("mean", &self.mean)?;
        map.end()
    }
}

impl Serialize for Estimates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("distinct", &self.distinct)?;
        map.serialize_entry("quantiles", &self.quantiles)?;
        map.serialize_entry("top", &self.top)?;
        map.end()
    }
}
