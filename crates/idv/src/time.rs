mod parse;

use std::fmt;

use container_core::calendar::{civil_from_days, days_from_civil};

/// Ticks of 100 ns per second.
const SECOND: u64 = 10_000_000;
/// Ticks per day.
const DAY: i64 = 86_400 * 10_000_000;

/// .NET's maximum tick: 9999-12-31T23:59:59.9999999.
pub(crate) const LAST_TICK: i64 = 3_155_378_975_999_999_999;

/// A duration in ticks of 100 ns. Displayed as ISO 8601 in seconds, `PT12.3456789S` or `-PT1S`.
///
/// Parses that form, days, hours and minutes too (`P1DT2H3M4.5S`), and .NET's form (`-1.02:03:04.5`).
///
/// ```
/// use idv::TimeSpan;
/// assert_eq!("PT1M0.5S".parse::<TimeSpan>().unwrap(), TimeSpan(605_000_000));
/// assert_eq!("00:01:00.5".parse::<TimeSpan>().unwrap(), TimeSpan(605_000_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub i64);

/// A time without offset: ticks of 100 ns since 0001-01-01T00:00:00. Displayed as ISO 8601 without trailing zeros in the fraction.
///
/// Parses that form, also with a space instead of the `T`, without seconds, or only a date.
///
/// ```
/// use idv::DateTime;
/// assert_eq!("2020-01-01 01:00".parse::<DateTime>().unwrap().to_string(), "2020-01-01T01:00:00");
/// let error = "2020-02-30".parse::<DateTime>().unwrap_err();
/// assert_eq!(error.to_string(), r#"invalid time "2020-02-30": day 30 is not between 1 and 29 (example: 2020-12-31T23:59:59.1234567)"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(pub i64);

/// A local time with its offset from UTC in minutes. Displayed as ISO 8601 with the offset, `+00:30`.
///
/// Parses the forms of [`DateTime`] followed by an offset, also `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DateTimeOffset {
    /// Local clock time: ticks of 100 ns since 0001-01-01T00:00:00.
    pub ticks: i64,
    /// Offset from UTC in minutes.
    pub minutes: i16,
}

impl DateTimeOffset {
    /// A local time in ticks and its offset from UTC in minutes.
    #[must_use]
    pub const fn new(ticks: i64, minutes: i16) -> Self {
        Self { ticks, minutes }
    }
}

/// Writes the fraction of a second with its point and without trailing zeros; nothing when it is zero.
fn fraction(f: &mut fmt::Formatter<'_>, ticks: u64) -> fmt::Result {
    if ticks == 0 {
        return Ok(());
    }
    let digits = format!("{ticks:07}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ticks = self.0.unsigned_abs();
        write!(f, "{sign}PT{}", ticks / SECOND)?;
        fraction(f, ticks % SECOND)?;
        f.write_str("S")
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        // The Euclidean remainder is not negative.
        let ticks = self.0.rem_euclid(DAY).unsigned_abs();
        let seconds = ticks / SECOND;
        // .NET has the years 1 to 9999; others (from damaged files) use ISO 8601's expanded form.
        match year {
            0..=9999 => write!(f, "{year:04}")?,
            10_000.. => write!(f, "+{year:05}")?,
            _ => write!(f, "-{:05}", year.unsigned_abs())?,
        }
        write!(f, "-{month:02}-{day:02}T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        fraction(f, ticks % SECOND)
    }
}

impl fmt::Display for DateTimeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.minutes < 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        write!(f, "{}{sign}{:02}:{:02}", DateTime(self.ticks), minutes / 60, minutes % 60)
    }
}

/// Days from 0001-01-01 to 1970-01-01.
const EPOCH: i64 = 719_162;

/// Year, month and day for days since 0001-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    civil_from_days(days - EPOCH)
}

/// Days since 0001-01-01 for a date, the inverse of [`civil`]. The month is 1 to 12.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    days_from_civil(year, month, day) + EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_agrees_with_counting_days() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in 0..=LAST_TICK / DAY {
            assert_eq!(civil(days), (year, month, day), "day {days}");
            assert_eq!(days_of(year, month, day), days);
            let last = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > last {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn times_print_as_the_readme_says() {
        let at = |days: i64, ticks: i64| DateTime(days * DAY + ticks).to_string();
        assert_eq!(at(0, 0), "0001-01-01T00:00:00");
        assert_eq!(DateTime(LAST_TICK).to_string(), "9999-12-31T23:59:59.9999999");
        assert_eq!(DateTime(637_134_336_000_000_000 + 36_000_000_001).to_string(), "2020-01-01T01:00:00.0000001");
        assert_eq!(DateTime(LAST_TICK + 1).to_string(), "+10000-01-01T00:00:00");
        assert_eq!(DateTime(-1).to_string(), "0000-12-31T23:59:59.9999999");
        assert_eq!(DateTime(-367 * DAY).to_string(), "-00001-12-31T00:00:00");
        let _ = (DateTime(i64::MIN).to_string(), DateTime(i64::MAX).to_string());
        assert_eq!(DateTimeOffset::new(0, 30).to_string(), "0001-01-01T00:00:00+00:30");
        assert_eq!(DateTimeOffset::new(SECOND as i64 / 2, -605).to_string(), "0001-01-01T00:00:00.5-10:05");
        assert_eq!(DateTimeOffset::new(0, 0).to_string(), "0001-01-01T00:00:00+00:00");
    }

    #[test]
    fn durations_print_in_seconds() {
        assert_eq!(TimeSpan(0).to_string(), "PT0S");
        assert_eq!(TimeSpan(123_456_789).to_string(), "PT12.3456789S");
        assert_eq!(TimeSpan(-10_000_000).to_string(), "-PT1S");
        assert_eq!(TimeSpan(-5_000_000).to_string(), "-PT0.5S");
        assert_eq!(TimeSpan(i64::MIN).to_string(), "-PT922337203685.4775808S");
    }
}
