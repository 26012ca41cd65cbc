//! CF time units, such as `days since 1970-01-01`.

use std::fmt;

use container_core::{Error, Result};

use super::calendar::Calendar;
use super::date::{DAY, Date, ratio, scaled};

/// The meaning of a time variable's numbers: the CF attributes `units` and `calendar`.
///
/// Supports microseconds, milliseconds, seconds, minutes, hours, days and weeks with their usual abbreviations; months in calendar `360_day`,
/// where each has 30 days; `common_years` in `noleap`.
///
/// ```
/// use dsfmt::time::{Calendar, Units};
/// let units = Units::parse("hours since 1970-01-01 00:00 +01:00", Calendar::Standard)?;
/// let date = units.date(25.5).unwrap();
/// assert_eq!(date.to_string(), "1970-01-02T00:30:00");
/// assert_eq!((units.value(date), date.julian_date()), (Some(25.5), Some(2440588.5208333335)));
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// Microseconds per unit.
    unit: i64,
    since: Date,
}

/// Lower-case names, and microseconds per unit.
const UNITS: [(&[&str], i64); 7] = [
    (&["microseconds", "microsecond", "microsec", "microsecs"], 1),
    (&["milliseconds", "millisecond", "millisec", "millisecs", "msec", "msecs", "ms"], 1000),
    (&["seconds", "second", "sec", "secs", "s"], 1_000_000),
    (&["minutes", "minute", "min", "mins"], 60_000_000),
    (&["hours", "hour", "hr", "hrs", "h"], 3_600_000_000),
    (&["days", "day", "d"], DAY),
    (&["weeks", "week"], 7 * DAY),
];

impl Units {
    /// Parses a `units` attribute.
    ///
    /// `days since -4712-01-01 12:00` in calendar `standard` means the Julian date, as in ds-format, although its first day has this name only in
    /// calendars with a year 0.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for units without a fixed length, such as months;
    /// [`Usage`](container_core::ErrorKind::Usage) for unknown units and invalid dates.
    pub fn parse(text: &str, calendar: Calendar) -> Result<Self> {
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(since)) = (words.next(), words.next()) else {
            return Err(invalid_units(text));
        };
        if !since.eq_ignore_ascii_case("since") {
            return Err(invalid_units(text));
        }
        let unit = unit(&name.to_ascii_lowercase(), calendar)?;
        // Skip the first two words and keep the rest as it is.
        let rest = text.trim_start().get(name.len()..).unwrap_or_default().trim_start();
        let date = rest.get(since.len()..).unwrap_or_default().trim();
        let since = Date::from_iso(date, calendar)?;
        if calendar == Calendar::Standard && unit == DAY && since == Date::from_iso(JULIAN_EPOCH, calendar)? {
            return Ok(Self::JULIAN);
        }
        Ok(Self { unit, since })
    }

    /// Julian dates, the values of `.time` variables: `days since -4713-11-24 12:00 UTC` in the proleptic Gregorian calendar.
    pub const JULIAN: Self = Self { unit: DAY, since: Date::JULIAN_EPOCH };

    /// The calendar.
    #[must_use]
    pub fn calendar(self) -> Calendar {
        self.since.calendar()
    }

    /// The reference time, which the value 0 stands for.
    #[must_use]
    pub fn since(self) -> Date {
        self.since
    }

    /// The point in time of a value, to the nearest microsecond; `None` for non-finite values and about a hundred million years from now.
    #[must_use]
    pub fn date(self, value: f64) -> Option<Date> {
        Date::from_micros(self.since.total().checked_add(scaled(value, self.unit)?)?, self.calendar())
    }

    /// As [`date`](Self::date) for a value with the given absolute error: rounded to a microsecond, millisecond, second or minute accordingly.
    #[must_use]
    pub fn date_with_error(self, value: f64, error: f64) -> Option<Date> {
        #[allow(clippy::cast_precision_loss, reason = "an order of magnitude")]
        let error = error * self.unit as f64;
        let step = [1, 1000, 1_000_000].into_iter().find(|step| error <= f64::from(*step)).unwrap_or(60_000_000);
        self.date(value).map(|date| date.rounded(step))
    }

    /// As [`date`](Self::date) for an integer, exactly.
    #[must_use]
    pub fn date_of_integer(self, value: i128) -> Option<Date> {
        let micros = value.checked_mul(self.unit.into())?.checked_add(self.since.total())?;
        Date::from_micros(micros, self.calendar())
    }

    /// The integer of a point in time; `None` when it is not integral, or when this calendar has no such day.
    pub(crate) fn integer_value(self, date: Date) -> Option<i128> {
        let micros = date.to(self.calendar())?.total().checked_sub(self.since.total())?;
        let unit = i128::from(self.unit);
        (micros.rem_euclid(unit) == 0).then(|| micros.div_euclid(unit))
    }

    /// The value of a point in time as the integer below it and the rest; `None` when this calendar has no such day.
    pub(crate) fn split(self, date: Date) -> Option<(i128, f64)> {
        let micros = date.to(self.calendar())?.total().checked_sub(self.since.total())?;
        let unit = i128::from(self.unit);
        Some((micros.div_euclid(unit), ratio(micros.rem_euclid(unit), self.unit)))
    }

    /// A duration such as `6h` or `1.5 days`, in this unit.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for anything else.
    pub(crate) fn duration(self, text: &str) -> Result<f64> {
        let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, name) = text.split_at(end);
        let number: f64 = number
            .trim()
            .parse()
            .map_err(|_| Error::usage(format!("expected a duration such as \"6h\" or \"1.5 days\", found {text:?}")))?;
        #[expect(clippy::cast_precision_loss, reason = "a unit has less than 53 bits")]
        let ratio = unit(&name.to_ascii_lowercase(), self.calendar())? as f64 / self.unit as f64;
        Ok(number * ratio)
    }

    /// The value of a point in time, rounded to the nearest `f64`; `None` when this calendar has no such day.
    #[must_use]
    pub fn value(self, date: Date) -> Option<f64> {
        let date = date.to(self.calendar())?;
        Some(ratio(date.total() - self.since.total(), self.unit))
    }
}

/// The full form: `days since 1970-01-01T00:00:00`.
impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = UNITS.iter().find(|(_, micros)| *micros == self.unit);
        let name = match (known, self.calendar()) {
            (Some((names, _)), _) => names.first().copied().unwrap_or_default(),
            (None, Calendar::Day360) => "months",
            (None, _) => "common_years",
        };
        write!(f, "{name} since {}", self.since)
    }
}

/// How ds-format writes the Julian date 0 in the standard calendar: with a year 0, which that calendar lacks.
const JULIAN_EPOCH: &str = "-4712-01-01T12:00";

fn invalid_units(text: &str) -> Error {
    let excerpt: String = text.chars().take(60).collect();
    Error::usage(format!("invalid time units {excerpt:?}: expected a form such as \"days since 1970-01-01\""))
}

fn unit(name: &str, calendar: Calendar) -> Result<i64> {
    if let Some((_, micros)) = UNITS.iter().find(|(names, _)| names.contains(&name)) {
        return Ok(*micros);
    }
    match (name, calendar) {
        ("month" | "months", Calendar::Day360) => Ok(30 * DAY),
        ("common_year" | "common_years", Calendar::NoLeap) => Ok(365 * DAY),
        ("month" | "months", _) => Err(no_fixed_length("months", calendar, "calendar 360_day")),
        ("common_year" | "common_years", _) => Err(no_fixed_length("common_years", calendar, "calendar noleap")),
        ("year" | "years" | "yr" | "yrs", _) => Err(no_fixed_length("years", calendar, "no calendar")),
        _ => {
            let excerpt: String = name.chars().take(40).collect();
            Err(Error::usage(format!("unknown time unit {excerpt:?} (known: microseconds to weeks)")))
        }
    }
}

fn no_fixed_length(name: &str, calendar: Calendar, supported: &str) -> Error {
    Error::unsupported(format!("{name} have no fixed length in calendar {calendar} (supported in: {supported})"))
}
