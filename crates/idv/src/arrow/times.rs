//! Ticks of 100 ns as Arrow's times.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationNanosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use container_arrow::Times;
use container_core::{Error, Result};

use super::array::primitive;
use super::tally::{Rows, Tally};
use crate::time::{DateTime, TimeSpan};

/// Ticks from the beginning of year 1 to that of 1970.
pub(super) const EPOCH: i64 = 621_355_968_000_000_000;

/// Ticks of a minute.
pub(super) const MINUTE: i64 = 600_000_000;

/// What ticks mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A time since the beginning of year 1.
    Time,
    Span,
}

impl Meaning {
    /// The ticks of what Arrow's numbers count from.
    const fn origin(self) -> i64 {
        match self {
            Self::Time => EPOCH,
            Self::Span => 0,
        }
    }
}

/// Ticks as rows show them.
struct TicksDisplay(Meaning, i64);

impl fmt::Display for TicksDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Meaning::Time, ticks) => DateTime(*ticks).fmt(f),
            Self(Meaning::Span, ticks) => TimeSpan(*ticks).fmt(f),
        }
    }
}

/// Arrow's type for ticks; `zone` for times in UTC.
pub(super) fn data_type(meaning: Meaning, times: Times, zone: bool) -> DataType {
    let unit = match times {
        Times::Ticks => return DataType::Int64,
        Times::Nanoseconds => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    match meaning {
        Meaning::Time => DataType::Timestamp(unit, zone.then(|| "UTC".into())),
        Meaning::Span => DataType::Duration(unit),
    }
}

/// Ticks as an array of [`data_type`]. Those that are null may hold anything.
pub(super) fn array(
    ticks: &[i64],
    nulls: Option<NullBuffer>,
    meaning: Meaning,
    times: Times,
    rows: &Rows<'_>,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    match (times, meaning) {
        (Times::Ticks, _) => primitive::<arrow_array::types::Int64Type>(ticks.to_vec(), nulls),
        (Times::Nanoseconds, Meaning::Time) => nanoseconds::<TimestampNanosecondType>(ticks, nulls, meaning, rows),
        (Times::Nanoseconds, Meaning::Span) => nanoseconds::<DurationNanosecondType>(ticks, nulls, meaning, rows),
        (_, Meaning::Time) => microseconds::<TimestampMicrosecondType>(ticks, nulls, meaning, times, rows, tally),
        (_, Meaning::Span) => microseconds::<DurationMicrosecondType>(ticks, nulls, meaning, times, rows, tally),
    }
}

/// Moments as times in UTC, none of them null.
pub(super) fn zoned_array(moments: &[i64], times: Times, rows: &Rows<'_>, tally: &mut Tally) -> Result<ArrayRef> {
    let array = array(moments, None, Meaning::Time, times, rows, tally)?;
    if let Some(array) = array.as_primitive_opt::<TimestampMicrosecondType>() {
        return Ok(Arc::new(array.clone().with_timezone("UTC")));
    }
    if let Some(array) = array.as_primitive_opt::<TimestampNanosecondType>() {
        return Ok(Arc::new(array.clone().with_timezone("UTC")));
    }
    Ok(array)
}

fn is_null(nulls: Option<&NullBuffer>, place: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(place))
}

fn microseconds<T: ArrowPrimitiveType<Native = i64>>(
    ticks: &[i64],
    nulls: Option<NullBuffer>,
    meaning: Meaning,
    times: Times,
    rows: &Rows<'_>,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let origin = meaning.origin();
    // Each part is rounded towards the past by itself, which cannot overflow: the origin is a whole number of microseconds.
    let values: Vec<i64> = ticks.iter().map(|ticks| ticks.div_euclid(10) - origin / 10).collect();
    if ticks.iter().any(|ticks| ticks % 10 != 0) {
        for (place, &ticks) in ticks.iter().enumerate() {
            if ticks % 10 == 0 || is_null(nulls.as_ref(), place) {
                continue;
            }
            if times == Times::Exact {
                let shown = TicksDisplay(meaning, ticks);
                let error = Error::invalid(format!("{shown} is finer than a microsecond")).in_row(rows.row(place));
                return Err(error.advising("{times} floor, nanoseconds or ticks takes it"));
            }
            tally.cut.add(1, rows.row(place));
        }
    }
    primitive::<T>(values, nulls)
}

fn nanoseconds<T: ArrowPrimitiveType<Native = i64>>(
    ticks: &[i64],
    nulls: Option<NullBuffer>,
    meaning: Meaning,
    rows: &Rows<'_>,
) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(ticks.len());
    for (place, &ticks) in ticks.iter().enumerate() {
        let value = ticks.checked_sub(meaning.origin()).and_then(|ticks| ticks.checked_mul(100));
        values.push(match value {
            Some(value) => value,
            None if is_null(nulls.as_ref(), place) => 0,
            None => {
                let shown = TicksDisplay(meaning, ticks);
                let range = match meaning {
                    Meaning::Time => "1677-09-21 to 2262-04-11",
                    Meaning::Span => "292 years either way",
                };
                let detail = format!("{shown} is out of the range of nanoseconds, {range}");
                let error = Error::invalid(detail).in_row(rows.row(place));
                return Err(error.advising("{times} floor or ticks takes it"));
            }
        });
    }
    primitive::<T>(values, nulls)
}

/// Local times as moments: their ticks in UTC.
pub(super) fn moments(ticks: &[i64], minutes: &[i16], nulls: Option<&NullBuffer>, rows: &Rows<'_>) -> Result<Vec<i64>> {
    let mut moments = Vec::with_capacity(ticks.len());
    for (place, (&ticks, &minutes)) in ticks.iter().zip(minutes).enumerate() {
        moments.push(match ticks.checked_sub(i64::from(minutes) * MINUTE) {
            Some(moment) => moment,
            None if is_null(nulls, place) => 0,
            None => {
                let detail = format!("time of {ticks} ticks and {minutes} minutes is beyond all that can be counted");
                return Err(Error::invalid(detail).in_row(rows.row(place)));
            }
        });
    }
    Ok(moments)
}
