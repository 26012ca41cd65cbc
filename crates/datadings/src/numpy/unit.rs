//! Converts between units of time.

use std::fmt;

use super::TimeUnit;

/// The length of a step: a fraction of a second, or a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond(i128),
    Seconds(i128),
}

/// The length of a numpy unit; `None` if it varies or is unspecified.
fn length_of(unit: TimeUnit) -> Option<Unit> {
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

/// Converts `value` steps into another unit, if the result is an integer.
pub(crate) fn rescaled(value: i64, unit: TimeUnit, target: Unit) -> Option<i64> {
    let (up, down) = match length_of(unit)? {
        Unit::Seconds(seconds) => (seconds, 1),
        Unit::PerSecond(parts) => (1, parts),
    };
    let (multiplier, less) = match target {
        Unit::Seconds(seconds) => (1, seconds),
        Unit::PerSecond(parts) => (parts, 1),
    };
    // Cancel powers of ten, so that products stay small.
    let (multiplier, down) = if multiplier % down == 0 { (multiplier / down, 1) } else { (multiplier, down) };
    let (multiplier, down) = if down % multiplier == 0 { (1, down / multiplier) } else { (multiplier, down) };
    let scaled = i128::from(value).checked_mul(unit.count.into())?.checked_mul(up)?.checked_mul(multiplier)?;
    let divisor = down.checked_mul(less)?;
    (scaled % divisor == 0).then(|| i64::try_from(scaled / divisor).ok()).flatten()
}

impl TimeUnit {
    /// Whether all steps have the same length. Those of months and years do not, and an unspecified unit has none.
    #[must_use]
    pub fn is_fixed(self) -> bool {
        length_of(self).is_some()
    }

    /// Converts `steps` into a unit of which `per_second` make a second; `None` if the result is not an integer of 64 bits, or if steps are
    /// not of [fixed length](Self::is_fixed).
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

/// For example `25s`.
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
    fn conversions_are_exact_or_fail() {
        let of = |name| TimeUnit { count: 1, name };
        let micros = Unit::PerSecond(1_000_000);
        for (value, unit, target, expected) in [
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
            assert_eq!(rescaled(value, unit, target), expected, "{value} {unit:?} {target:?}");
        }
    }
}
