//! Converts between units of time.

use std::fmt;

use container_core::calendar::civil_from_days;

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

/// "Not a time" of numpy.
pub(crate) const NAT: i64 = i64::MIN;

/// Seconds, and the fraction of a second as `digits` decimal digits.
struct Seconds {
    whole: i128,
    fraction: i128,
    digits: usize,
}

impl TimeUnit {
    fn seconds(self, steps: i128) -> Option<Seconds> {
        let steps = steps * i128::from(self.count);
        Some(match length_of(self)? {
            Unit::Seconds(seconds) => Seconds { whole: steps * seconds, fraction: 0, digits: 0 },
            Unit::PerSecond(parts) => {
                let digits = usize::try_from(parts.ilog10()).ok()?;
                Seconds { whole: steps.div_euclid(parts), fraction: steps.rem_euclid(parts), digits }
            }
        })
    }

    /// ISO 8601 of a datetime: a date if the unit is days or longer. `None` for an unspecified unit, and for years of more than nine digits.
    pub(crate) fn datetime_text(self, steps: i64) -> Option<String> {
        let months = match self.name {
            "Y" => Some(i128::from(steps) * i128::from(self.count) * 12),
            "M" => Some(i128::from(steps) * i128::from(self.count)),
            _ => None,
        };
        if let Some(months) = months {
            let (year, month) = (1970 + months.div_euclid(12), 1 + months.rem_euclid(12));
            return Some(format!("{}-{month:02}-01", year_text(year)?));
        }
        let Seconds { whole, fraction, digits } = self.seconds(steps.into())?;
        let (days, second) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
        let days = i64::try_from(days).ok().filter(|days| days.unsigned_abs() < 400_000_000_000)?;
        let (year, month, day) = civil_from_days(days);
        let date = format!("{}-{month:02}-{day:02}", year_text(year.into())?);
        if matches!(self.name, "W" | "D") {
            return Some(date);
        }
        let fraction = fraction_text(fraction, digits);
        Some(format!("{date}T{:02}:{:02}:{:02}{fraction}", second / 3600, second / 60 % 60, second % 60))
    }

    /// ISO 8601 of a timedelta, in seconds, or in months if the unit is months or years; `None` for an unspecified unit.
    pub(crate) fn timedelta_text(self, steps: i64) -> Option<String> {
        let sign = if steps < 0 { "-" } else { "" };
        let size = i128::from(steps.unsigned_abs());
        match self.name {
            "Y" => return Some(format!("{sign}P{}M", size * i128::from(self.count) * 12)),
            "M" => return Some(format!("{sign}P{}M", size * i128::from(self.count))),
            _ => {}
        }
        let Seconds { whole, fraction, digits } = self.seconds(size)?;
        Some(format!("{sign}PT{whole}{}S", fraction_text(fraction, digits)))
    }
}

/// Four digits; beyond them a sign is required.
fn year_text(year: i128) -> Option<String> {
    match year {
        0..=9999 => Some(format!("{year:04}")),
        -999_999_999..=999_999_999 => Some(format!("{year:+05}")),
        _ => None,
    }
}

/// Without trailing zeros.
fn fraction_text(fraction: i128, digits: usize) -> String {
    match fraction {
        0 => String::new(),
        _ => format!(".{fraction:0digits$}").trim_end_matches('0').to_owned(),
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
    fn texts_are_iso_8601() {
        let of = |count, name| TimeUnit { count, name };
        for (steps, unit, date, delta) in [
            (0, of(1, "s"), Some("1970-01-01T00:00:00"), Some("PT0S")),
            (1500, of(1, "ms"), Some("1970-01-01T00:00:01.5"), Some("PT1.5S")),
            (-1, of(1, "ns"), Some("1969-12-31T23:59:59.999999999"), Some("-PT0.000000001S")),
            (3, of(7, "D"), Some("1970-01-22"), Some("PT1814400S")),
            (-719_529, of(1, "D"), Some("-0001-12-31"), Some("-PT62167305600S")),
            (14, of(1, "M"), Some("1971-03-01"), Some("P14M")),
            (-2, of(1, "Y"), Some("1968-01-01"), Some("-P24M")),
            (10_000, of(1, "Y"), Some("+11970-01-01"), Some("P120000M")),
            (i64::MAX, of(1, "as"), Some("1970-01-01T00:00:09.223372036854775807"), Some("PT9.223372036854775807S")),
            (i64::MAX, of(1, "W"), None, Some("PT5578295407889768408073600S")),
            (5, of(1, ""), None, None),
        ] {
            assert_eq!(unit.datetime_text(steps).as_deref(), date, "{steps} {unit}");
            assert_eq!(unit.timedelta_text(steps).as_deref(), delta, "{steps} {unit}");
        }
    }

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
