//! Converting Arrow times to ticks of 100 ns.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use container_core::{Error, Result};

use super::mismatch::{LossCounts, RowOf, mismatch, missing};
use crate::arrow::times::EPOCH;
use crate::time::LAST_TICK;

/// Requirements of the resulting ticks.
#[derive(Clone, Copy)]
pub(super) struct TickTarget {
    /// They count from 0001-01-01.
    pub(super) time: bool,
    /// Nulls become the minimum; otherwise they are errors.
    pub(super) missing: bool,
    /// Round too precise times down.
    pub(super) cut: bool,
    /// They are UTC instants, whose local time is range-checked later.
    pub(super) moment: bool,
}

/// Appends an array of times, durations or ticks.
pub(super) fn fill(
    out: &mut Vec<i64>,
    array: &ArrayRef,
    target: TickTarget,
    lost: &mut LossCounts,
    row_of: RowOf<'_>,
) -> Result<()> {
    let origin = if target.time { EPOCH } else { 0 };
    macro_rules! numbers {
        ($type:ty) => {
            array.as_primitive::<$type>().values()
        };
    }
    macro_rules! of {
        ($type:ty, $ticks:expr) => {
            convert(
                out,
                numbers!($type).iter().map(|&value| i64::from(value)),
                array,
                $ticks,
                origin,
                target,
                lost,
                row_of,
            )
        };
    }
    const SECOND: Unit = Unit::Ticks(10_000_000);
    const MILLI: Unit = Unit::Ticks(10_000);
    const MICRO: Unit = Unit::Ticks(10);
    match array.data_type() {
        DataType::Int64 => {
            convert(out, numbers!(Int64Type).iter().copied(), array, Unit::Ticks(1), 0, target, lost, row_of)
        }
        DataType::Timestamp(TimeUnit::Second, _) => of!(TimestampSecondType, SECOND),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of!(TimestampMillisecondType, MILLI),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType, MICRO),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of!(TimestampNanosecondType, Unit::Nanoseconds),
        DataType::Date32 => of!(Date32Type, Unit::Ticks(864_000_000_000)),
        DataType::Date64 => of!(Date64Type, MILLI),
        DataType::Time32(TimeUnit::Second) => of!(Time32SecondType, SECOND),
        DataType::Time32(TimeUnit::Millisecond) => of!(Time32MillisecondType, MILLI),
        DataType::Time64(TimeUnit::Microsecond) => of!(Time64MicrosecondType, MICRO),
        DataType::Time64(TimeUnit::Nanosecond) => of!(Time64NanosecondType, Unit::Nanoseconds),
        DataType::Duration(TimeUnit::Second) => of!(DurationSecondType, SECOND),
        DataType::Duration(TimeUnit::Millisecond) => of!(DurationMillisecondType, MILLI),
        DataType::Duration(TimeUnit::Microsecond) => of!(DurationMicrosecondType, MICRO),
        DataType::Duration(TimeUnit::Nanosecond) => of!(DurationNanosecondType, Unit::Nanoseconds),
        other => Err(mismatch(other)),
    }
}

/// Unit of the numbers.
#[derive(Clone, Copy)]
enum Unit {
    /// A multiple of a tick.
    Ticks(i64),
    /// A hundredth of a tick.
    Nanoseconds,
}

#[expect(clippy::too_many_arguments, reason = "one loop for fifteen types, with one caller")]
fn convert(
    out: &mut Vec<i64>,
    values: impl Iterator<Item = i64>,
    array: &ArrayRef,
    unit: Unit,
    origin: i64,
    target: TickTarget,
    lost: &mut LossCounts,
    row_of: RowOf<'_>,
) -> Result<()> {
    out.reserve(array.len());
    for (index, value) in values.enumerate() {
        if array.is_null(index) {
            if !target.missing {
                return Err(missing("duration", row_of(index)));
            }
            out.push(i64::MIN);
            continue;
        }
        let ticks = match unit {
            Unit::Ticks(each) => value.checked_mul(each),
            Unit::Nanoseconds => {
                if value % 100 != 0 {
                    if !target.cut {
                        let error = Error::invalid(format!("{value} ns is more precise than a tick of 100 ns"));
                        return Err(error.advising("{times} floor accepts it").in_row(row_of(index)));
                    }
                    lost.cut.add(1, row_of(index));
                }
                Some(value.div_euclid(100))
            }
        };
        let ticks = ticks.and_then(|ticks| ticks.checked_add(origin));
        let inside = |ticks: &i64| !target.time || target.moment || (0..=LAST_TICK).contains(ticks);
        let Some(ticks) = ticks.filter(inside) else {
            let range = if target.time { "the years 1 to 9999" } else { "64 bits of 100 ns ticks" };
            let detail = format!("{value} as {} is outside {range}", array.data_type());
            return Err(Error::invalid(detail).in_row(row_of(index)));
        };
        out.push(ticks);
    }
    Ok(())
}
