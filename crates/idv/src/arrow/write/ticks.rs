//! Times of Arrow as ticks of 100 ns.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use container_core::{Error, Result};

use super::mismatch::{LossCounts, RowOf, mismatch, missing};
use crate::arrow::times::EPOCH;
use crate::time::LAST_TICK;

/// What ticks are made of.
#[derive(Clone, Copy)]
pub(super) struct TickTarget {
    /// They count from the beginning of year 1.
    pub(super) time: bool,
    /// The least number stands for a null; else there must be none.
    pub(super) missing: bool,
    /// What is finer is cut off.
    pub(super) cut: bool,
    /// They are of UTC, and a local clock's may be out of range.
    pub(super) moment: bool,
}

/// Appends an array of times or durations of any unit, or of ticks.
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

/// What a number counts.
#[derive(Clone, Copy)]
enum Unit {
    /// So many ticks each.
    Ticks(i64),
    /// A hundredth of a tick.
    Nanoseconds,
}

#[expect(clippy::too_many_arguments, reason = "one loop for fifteen types, called from one place")]
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
    for (place, value) in values.enumerate() {
        if array.is_null(place) {
            if !target.missing {
                return Err(missing("duration", row_of(place)));
            }
            out.push(i64::MIN);
            continue;
        }
        let ticks = match unit {
            Unit::Ticks(each) => value.checked_mul(each),
            Unit::Nanoseconds => {
                if value % 100 != 0 {
                    if !target.cut {
                        let detail = format!(
                            "{value} ns is finer than a tick of 100 ns (Times::Floor takes the tick before it)"
                        );
                        return Err(Error::invalid(detail).in_row(row_of(place)));
                    }
                    lost.cut.add(1, row_of(place));
                }
                Some(value.div_euclid(100))
            }
        };
        let ticks = ticks.and_then(|ticks| ticks.checked_add(origin));
        let inside = |ticks: &i64| !target.time || target.moment || (0..=LAST_TICK).contains(ticks);
        let Some(ticks) = ticks.filter(inside) else {
            let range = if target.time { "of the years 1 to 9999" } else { "that 64 bits hold in ticks of 100 ns" };
            let detail = format!("{value} as {} is none {range}", array.data_type());
            return Err(Error::invalid(detail).in_row(row_of(place)));
        };
        out.push(ticks);
    }
    Ok(())
}
