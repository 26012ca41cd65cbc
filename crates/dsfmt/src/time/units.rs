//! `days since 1970-01-01`.

use std::fmt;

use container_core::{Error, Result};

use super::calendar::Calendar;
use super::date::{DAY, Date, ratio, scaled};

/// What the numbers of a time variable count, and from when: the attributes `units` and `calendar` of the CF conventions.
///
/// Units are microseconds, milliseconds, seconds, minutes, hours, days and weeks with their usual abbreviations; months in the calendar
/// `360_day`, where all have 30 days; `common_years` in `noleap`.
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
    /// Microseconds.
    unit: i64,
    since: Date,
}

/// Names in lower case and microseconds.
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
    /// Understands an attribute `units`.
    ///
    /// `days since -4712-01-01 12:00` in the calendar `standard` is taken for the Julian date, whose first day has this name only where
    /// there is a year 0: so does ds-format.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for units whose length is not certain, such as months;
    /// [`Usage`](container_core::ErrorKind::Usage) for what is no unit of time, and for a date that cannot be read.
    pub fn parse(text: &str, calendar: Calendar) -> Result<Self> {
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(since)) = (words.next(), words.next()) else {
            return Err(no_units(text));
        };
        if !since.eq_ignore_ascii_case("since") {
            return Err(no_units(text));
        }
        let unit = unit(&name.to_ascii_lowercase(), calendar)?;
        // What follows the second word, which is where it is found first behind the first one.
        let rest = text.trim_start().get(name.len()..).unwrap_or_default().trim_start();
        let date = rest.get(since.len()..).unwrap_or_default().trim();
        if calendar == Calendar::Standard && unit == DAY && is_julian_epoch(date) {
            return Ok(Self::JULIAN);
        }
        Ok(Self { unit, since: Date::from_iso(date, calendar)? })
    }

    /// The Julian date: what variables with `.time` hold. `days since -4713-11-24 12:00 UTC` in the proleptic Gregorian calendar.
    pub const JULIAN: Self = Self { unit: DAY, since: Date::JULIAN_EPOCH };

    /// The calendar in which it counts.
    #[must_use]
    pub fn calendar(self) -> Calendar {
        self.since.calendar()
    }

    /// The point in time that 0 means.
    #[must_use]
    pub fn since(self) -> Date {
        self.since
    }

    /// The point in time of a number, to the nearest microsecond; `None` for what is not finite or some hundred million years off.
    #[must_use]
    pub fn date(self, value: f64) -> Option<Date> {
        Date::from_micros(self.since.total().checked_add(scaled(value, self.unit)?)?, self.calendar())
    }

    /// The same, rounded to what a number tells that may be off by `error`: to a microsecond, a millisecond, a second, or a minute.
    #[must_use]
    pub fn date_to(self, value: f64, error: f64) -> Option<Date> {
        #[allow(clippy::cast_precision_loss, reason = "an order of magnitude")]
        let error = error * self.unit as f64;
        let step = [1, 1000, 1_000_000].into_iter().find(|step| error <= f64::from(*step)).unwrap_or(60_000_000);
        self.date(value).map(|date| date.rounded(step))
    }

    /// The same of an integer, which a float may not hold.
    #[must_use]
    pub fn date_of_integer(self, value: i128) -> Option<Date> {
        let micros = value.checked_mul(self.unit.into())?.checked_add(self.since.total())?;
        Date::from_micros(micros, self.calendar())
    }

    /// The whole number of a point in time; `None` where there is none, and when this calendar has no such day.
    pub(crate) fn whole(self, date: Date) -> Option<i128> {
        let micros = date.to(self.calendar())?.total().checked_sub(self.since.total())?;
        let unit = i128::from(self.unit);
        (micros.rem_euclid(unit) == 0).then(|| micros.div_euclid(unit))
    }

    /// The number of a point in time, the nearest that a float holds; `None` when this calendar has no such day.
    #[must_use]
    pub fn value(self, date: Date) -> Option<f64> {
        let date = date.to(self.calendar())?;
        Some(ratio(date.total() - self.since.total(), self.unit))
    }
}

/// In full: `days since 1970-01-01T00:00:00`.
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

fn is_julian_epoch(date: &str) -> bool {
    let time = date.strip_prefix("-4712-01-01").and_then(|time| time.strip_prefix([' ', 'T']));
    time.is_some_and(|time| matches!(time.trim_end_matches(" UTC"), "12:00" | "12:00:00"))
}

fn no_units(text: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::usage(format!("{shown:?} is no unit of time since a date, such as \"days since 1970-01-01\""))
}

fn unit(name: &str, calendar: Calendar) -> Result<i64> {
    if let Some((_, micros)) = UNITS.iter().find(|(names, _)| names.contains(&name)) {
        return Ok(*micros);
    }
    match (name, calendar) {
        ("month" | "months", Calendar::Day360) => Ok(30 * DAY),
        ("common_year" | "common_years", Calendar::NoLeap) => Ok(365 * DAY),
        ("month" | "months", _) => Err(uncertain("months", calendar, "the calendar 360_day")),
        ("common_year" | "common_years", _) => Err(uncertain("common_years", calendar, "the calendar noleap")),
        ("year" | "years" | "yr" | "yrs", _) => Err(uncertain("years", calendar, "no calendar")),
        _ => {
            let shown: String = name.chars().take(40).collect();
            Err(Error::usage(format!("{shown:?} is no unit of time that is known: microseconds to weeks are")))
        }
    }
}

fn uncertain(name: &str, calendar: Calendar, only: &str) -> Error {
    Error::unsupported(format!("{name} of the calendar {calendar} are of no fixed length: they are counted in {only}"))
}
