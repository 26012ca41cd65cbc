//! Numbers of one unit of time in another.

use std::fmt;

use super::TimeUnit;

/// What is counted: so many of them are a second, or so many seconds one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond(i128),
    Seconds(i128),
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
pub(crate) fn rescaled(value: i64, unit: TimeUnit, wanted: Unit) -> Option<i64> {
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

impl TimeUnit {
    /// Is a step always of the same length? Months and years are not, and where no unit is said nobody knows.
    #[must_use]
    pub fn is_fixed(self) -> bool {
        of_numpy(self).is_some()
    }

    /// So many steps in another unit, of which `per_second` are a second; `None` where that is no whole number of 64 bits, and where steps are not
    /// of [one length](Self::is_fixed).
    ///
    /// ```
    /// # use datadings::numpy::TimeUnit;
    /// let hours = TimeUnit { count: 6, name: "h" };
    /// assert_eq!(hours.rescaled(4, 1), Some(86_400));
    /// assert_eq!(TimeUnit { count: 1, name: "ns" }.rescaled(50, 10_000_000), None);
    /// ```
    #[must_use]
    pub fn rescaled(self, steps: i64, per_second: u64) -> Option<i64> {
        rescaled(steps, self, Unit::PerSecond(per_second.into()))
    }
}

/// `25s`.
impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(self.name),
            count => write!(f, "{count}{}", self.name),
        }
    }
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
