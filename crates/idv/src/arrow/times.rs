//! Converting ticks of 100 ns to Arrow timestamps and durations.

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

/// Ticks from 0001-01-01 to 1970-01-01.
pub(super) const EPOCH: i64 = 621_355_968_000_000_000;

/// Ticks per minute.
pub(super) const MINUTE: i64 = 600_000_000;

/// What ticks represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A time since 0001-01-01.
    Time,
    Span,
}

impl Meaning {
    /// Ticks of Arrow's origin.
    const fn origin(self) -> i64 {
        match self {
            Self::Time => EPOCH,
            Self::Span => 0,
        }
    }
}

/// Displays ticks as a time or duration.
struct TicksDisplay(Meaning, i64);

impl fmt::Display for TicksDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Meaning::Time, ticks) => DateTime(*ticks).fmt(f),
            Self(Meaning::Span, ticks) => TimeSpan(*ticks).fmt(f),
        }
    }
}

/// The Arrow type of ticks; with `zone`, a timestamp in UTC.
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

/// Ticks as an array of [`data_type`]. Values of nulls are unspecified.
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

/// Instants as UTC timestamps without nulls.
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

fn is_null(nulls: Option<&NullBuffer>, index: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(index))
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
    // Rounds down before subtracting the origin, a multiple of a microsecond, so that nothing overflows.
    let values: Vec<i64> = ticks.iter().map(|ticks| ticks.div_euclid(10) - origin / 10).collect();
    if ticks.iter().any(|ticks| ticks % 10 != 0) {
        for (index, &ticks) in ticks.iter().enumerate() {
            if ticks % 10 == 0 || is_null(nulls.as_ref(), index) {
                continue;
            }
            if times == Times::Exact {
                let displayed = TicksDisplay(meaning, ticks);
                let error =
                    Error::invalid(format!("{displayed} is more precise than a microsecond")).in_row(rows.row(index));
                return Err(error.advising("{times} floor, nanoseconds or ticks accepts it"));
            }
            tally.cut.add(1, rows.row(index));
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
    for (index, &ticks) in ticks.iter().enumerate() {
        let value = ticks.checked_sub(meaning.origin()).and_then(|ticks| ticks.checked_mul(100));
        values.push(match value {
            Some(value) => value,
            None if is_null(nulls.as_ref(), index) => 0,
            None => {
                let displayed = TicksDisplay(meaning, ticks);
                let range = match meaning {
                    Meaning::Time => "1677-09-21 to 2262-04-11",
                    Meaning::Span => "292 years in either direction",
                };
                let detail = format!("{displayed} is out of the range of nanoseconds, {range}");
                let error = Error::invalid(detail).in_row(rows.row(index));
                return Err(error.advising("{times} floor or ticks accepts it"));
            }
        });
    }
    primitive::<T>(values, nulls)
}

/// Converts local times to instants in UTC ticks.
pub(super) fn moments(ticks: &[i64], minutes: &[i16], nulls: Option<&NullBuffer>, rows: &Rows<'_>) -> Result<Vec<i64>> {
    let mut moments = Vec::with_capacity(ticks.len());
    for (index, (&ticks, &minutes)) in ticks.iter().zip(minutes).enumerate() {
        moments.push(match ticks.checked_sub(i64::from(minutes) * MINUTE) {
            Some(moment) => moment,
            None if is_null(nulls, index) => 0,
            None => {
                let detail = format!("time of {ticks} ticks with an offset of {minutes} minutes overflows 64 bits");
                return Err(Error::invalid(detail).in_row(rows.row(index)));
            }
        });
    }
    Ok(moments)
}
