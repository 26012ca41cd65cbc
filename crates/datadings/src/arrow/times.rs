//! Numbers of one unit of time in another.

use arrow_schema::{DataType, TimeUnit as ArrowUnit};

use crate::numpy::TimeUnit;

/// What a column counts, where it counts time: so many of them are a second, or so many seconds one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    PerSecond(i128),
    Seconds(i128),
}

/// The unit of a column of times; `None` for any other.
pub(super) fn unit_of(data_type: &DataType) -> Option<Unit> {
    Some(match data_type {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => Unit::PerSecond(match unit {
            ArrowUnit::Second => 1,
            ArrowUnit::Millisecond => 1_000,
            ArrowUnit::Microsecond => 1_000_000,
            ArrowUnit::Nanosecond => 1_000_000_000,
        }),
        DataType::Date32 => Unit::Seconds(86_400),
        DataType::Date64 => Unit::PerSecond(1_000),
        _ => return None,
    })
}

/// The unit of numpy; `None` for one whose length is not always the same, or not said.
fn of_numpy(unit: TimeUnit) -> Option<Unit> {
    Some(match unit.name {
        "W" => Unit::Seconds(604_800),
        "D" => Unit::Seconds(86_400),
        "h" => Unit::Seconds(3_600),
        "m" => Unit::Seconds(60),
        "s" => Unit::Seconds(1),
        "ms" => Unit::PerSecond(1_000),
        "us" => Unit::PerSecond(1_000_000),
        "ns" => Unit::PerSecond(1_000_000_000),
        "ps" => Unit::PerSecond(1_000_000_000_000),
        "fs" => Unit::PerSecond(1_000_000_000_000_000),
        "as" => Unit::PerSecond(1_000_000_000_000_000_000),
        _ => return None,
    })
}

/// A number of one unit in another, if it is a whole one there.
pub(super) fn rescaled(value: i64, unit: TimeUnit, wanted: Unit) -> Option<i64> {
    let (up, down) = match of_numpy(unit)? {
        Unit::Seconds(seconds) => (seconds, 1),
        Unit::PerSecond(parts) => (1, parts),
    };
    let (more, less) = match wanted {
        Unit::Seconds(seconds) => (1, seconds),
        Unit::PerSecond(parts) => (parts, 1),
    };
    // Powers of ten on both sides are the smaller the better.
    let (more, down) = if more % down == 0 { (more / down, 1) } else { (more, down) };
    let (more, down) = if down % more == 0 { (1, down / more) } else { (more, down) };
    let scaled = i128::from(value).checked_mul(unit.count.into())?.checked_mul(up)?.checked_mul(more)?;
    let divisor = down.checked_mul(less)?;
    (scaled % divisor == 0).then(|| i64::try_from(scaled / divisor).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_exchanged_exactly_or_not_at_all() {
        let of = |name| TimeUnit { count: 1, name };
        let micros = Unit::PerSecond(1_000_000);
        for (value, unit, wanted, found) in [
            (7, of("us"), micros, Some(7)),
            (i64::MAX, of("us"), micros, Some(i64::MAX)),
            (7, of("ns"), micros, None),
            (7_000, of("ns"), micros, Some(7)),
            (-3, of("h"), micros, Some(-10_800_000_000)),
            (2, of("W"), Unit::Seconds(86_400), Some(14)),
            (36, of("h"), Unit::Seconds(86_400), None),
            (48, of("h"), Unit::Seconds(86_400), Some(2)),
            (i64::MAX, of("W"), micros, None),
            (1, of("Y"), micros, None),
            (1, of(""), micros, None),
            (5, TimeUnit { count: 25, name: "s" }, Unit::PerSecond(1), Some(125)),
            (4_000_000_000, of("as"), Unit::PerSecond(1_000_000_000), Some(4)),
        ] {
            assert_eq!(rescaled(value, unit, wanted), found, "{value} {unit:?} {wanted:?}");
        }
    }
}
