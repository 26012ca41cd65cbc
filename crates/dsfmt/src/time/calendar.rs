//! Calendars: which days exist, and their day numbers.

use std::fmt;

use container_core::calendar::{civil_from_days, days_from_civil};
use container_core::{Error, Result};

/// A calendar of the CF conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Calendar {
    /// Julian up to 4 October 1582, Gregorian from 15 October on; no year 0, year -1 precedes 1. `standard`, `gregorian`.
    Standard,
    /// Gregorian throughout, with a year 0.
    ProlepticGregorian,
    /// Julian throughout, without a year 0.
    Julian,
    /// No leap years. `noleap`, `365_day`.
    NoLeap,
    /// Only leap years. `all_leap`, `366_day`.
    AllLeap,
    /// Twelve months of 30 days.
    Day360,
}

/// Day number of 15 October 1582, the first Gregorian day of [`Calendar::Standard`], counted from 1970-01-01.
const GREGORIAN_FROM: i64 = -141_427;

/// Days from 1 March of year 0 to 1 January 1970 in the Julian calendar.
const JULIAN_SHIFT: i64 = 719_470;

/// Largest absolute year that is supported.
pub(super) const MAX_YEAR: i64 = 100_000_000;

/// Year, month, day; month and day count from 1.
pub(super) type Ymd = (i64, u8, u8);

impl Calendar {
    /// All calendars.
    pub const ALL: [Self; 6] =
        [Self::Standard, Self::ProlepticGregorian, Self::Julian, Self::NoLeap, Self::AllLeap, Self::Day360];

    /// Its name in a `calendar` attribute.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ProlepticGregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Day360 => "360_day",
        }
    }

    /// Parses a calendar name, ignoring case.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for an unknown name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gregorian" => Ok(Self::Standard),
            "365_day" => Ok(Self::NoLeap),
            "366_day" => Ok(Self::AllLeap),
            lower => Self::ALL.into_iter().find(|calendar| calendar.name() == lower).ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                Error::unsupported(format!("unknown calendar {name:?} (known: {known}, gregorian, 365_day, 366_day)"))
            }),
        }
    }

    /// True when year 0 exists.
    #[must_use]
    pub const fn has_year_zero(self) -> bool {
        !matches!(self, Self::Standard | Self::Julian)
    }

    /// True when days correspond to real days, which have Julian dates; the other calendars are those of climate models.
    #[must_use]
    pub const fn is_real(self) -> bool {
        matches!(self, Self::Standard | Self::ProlepticGregorian | Self::Julian)
    }

    /// Day number of a date; `None` when the calendar has no such day. Real calendars count from 1970-01-01 Gregorian, the others from their own
    /// year 0.
    pub(super) fn day_number(self, (year, month, day): Ymd) -> Option<i64> {
        if !(1..=12).contains(&month) || day == 0 || year.abs() > MAX_YEAR || (year == 0 && !self.has_year_zero()) {
            return None;
        }
        // Astronomical year numbering from here on: 0 precedes 1.
        let year = if year < 0 && !self.has_year_zero() { year + 1 } else { year };
        let (month, day) = (i64::from(month), i64::from(day));
        let number = match self {
            Self::Day360 => year * 360 + (month - 1) * 30 + day - 1,
            Self::NoLeap => year * 365 + days_before(month, false) + day - 1,
            Self::AllLeap => year * 366 + days_before(month, true) + day - 1,
            Self::ProlepticGregorian => days_from_civil(year, month, day),
            Self::Julian => julian(year, month, day),
            Self::Standard => match days_from_civil(year, month, day) {
                number if number >= GREGORIAN_FROM => number,
                // Skipped days get the numbers of later days and fail the round trip below.
                _ => julian(year, month, day),
            },
        };
        (self.date(number) == (self.calendar_year(year), month_u8(month), day_u8(day))).then_some(number)
    }

    /// Date of a day number.
    pub(super) fn date(self, number: i64) -> Ymd {
        let (year, month, day) = match self {
            Self::Day360 => {
                let (year, rest) = (number.div_euclid(360), number.rem_euclid(360));
                (year, rest / 30 + 1, rest % 30 + 1)
            }
            Self::NoLeap => from_fixed_years(number, 365, false),
            Self::AllLeap => from_fixed_years(number, 366, true),
            Self::Standard if number < GREGORIAN_FROM => from_julian(number),
            Self::Standard | Self::ProlepticGregorian => civil_from_days(number),
            Self::Julian => from_julian(number),
        };
        (self.calendar_year(year), month_u8(month), day_u8(day))
    }

    /// Converts from astronomical year numbering.
    fn calendar_year(self, year: i64) -> i64 {
        if year <= 0 && !self.has_year_zero() { year - 1 } else { year }
    }
}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn month_u8(month: i64) -> u8 {
    u8::try_from(month).unwrap_or(0) // 1 to 12
}

fn day_u8(day: i64) -> u8 {
    u8::try_from(day).unwrap_or(0) // 1 to 255, and at most 31 for existing days
}

/// Days of a year before the first of a month.
fn days_before(month: i64, leap: bool) -> i64 {
    let since_march = (month + 9) % 12;
    match month {
        1 => 0,
        2 => 31,
        _ => (153 * since_march + 2) / 5 + 59 + i64::from(leap),
    }
}

fn from_fixed_years(number: i64, len: i64, leap: bool) -> Ymd64 {
    let (year, rest) = (number.div_euclid(len), number.rem_euclid(len));
    let month = (1..=12).rev().find(|month| days_before(*month, leap) <= rest).unwrap_or(1);
    (year, month, rest - days_before(month, leap) + 1)
}

type Ymd64 = (i64, i64, i64);

/// Day of a year that begins in March, so that a leap day comes last.
fn days_since_march(month: i64, day: i64) -> i64 {
    (153 * ((month + 9) % 12) + 2) / 5 + day - 1
}

fn julian(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    year.div_euclid(4) * 1461 + year.rem_euclid(4) * 365 + days_since_march(month, day) - JULIAN_SHIFT
}

/// Date of a day in a year that begins in March.
fn from_march(year: i64, day: i64) -> Ymd64 {
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + i64::from(month <= 2), month, day)
}

fn from_julian(number: i64) -> Ymd64 {
    let number = number + JULIAN_SHIFT;
    let (era, day) = (number.div_euclid(1461), number.rem_euclid(1461));
    let year = (day - day / 1460) / 365;
    from_march(era * 4 + year, day - 365 * year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_round_trip_in_order() {
        for calendar in Calendar::ALL {
            let (from, to) = match calendar.is_real() {
                true => (-2_500_000, 400_000),
                false => (-3_000 * 360, 3_000 * 360),
            };
            let mut last = calendar.date(from - 1);
            for number in from..to {
                let date = calendar.date(number);
                assert_eq!(calendar.day_number(date), Some(number), "{calendar} {date:?}");
                let (year, month, day) = last;
                let next_year = if year == -1 && !calendar.has_year_zero() { 1 } else { year + 1 };
                let follows = date == (year, month, day.wrapping_add(1))
                    || date == (year, month + 1, 1) && day >= 28
                    || date == (next_year, 1, 1) && month == 12
                    || date == (1582, 10, 15) && last == (1582, 10, 4) && calendar == Calendar::Standard;
                assert!(follows, "{calendar} {last:?} {date:?}");
                last = date;
            }
        }
    }

    #[test]
    fn rejects_nonexistent_days() {
        use Calendar::{AllLeap, Day360, Julian, NoLeap, ProlepticGregorian, Standard};
        for (calendar, date, exists) in [
            (Standard, (1582, 10, 4), true),
            (Standard, (1582, 10, 5), false),
            (Standard, (1582, 10, 14), false),
            (Standard, (1582, 10, 15), true),
            (Standard, (0, 1, 1), false),
            (Standard, (1500, 2, 29), true),
            (ProlepticGregorian, (1500, 2, 29), false),
            (ProlepticGregorian, (1582, 10, 10), true),
            (ProlepticGregorian, (0, 2, 29), true),
            (Julian, (0, 1, 1), false),
            (Julian, (1900, 2, 29), true),
            (NoLeap, (2000, 2, 29), false),
            (AllLeap, (1999, 2, 29), true),
            (AllLeap, (1999, 2, 30), false),
            (Day360, (1999, 2, 30), true),
            (Day360, (1999, 1, 31), false),
            (ProlepticGregorian, (2000, 13, 1), false),
            (ProlepticGregorian, (2000, 0, 1), false),
            (ProlepticGregorian, (2000, 1, 0), false),
            (ProlepticGregorian, (2000, 4, 31), false),
            (NoLeap, (1, 1, 255), false),
            (ProlepticGregorian, (i64::MAX, 1, 1), false),
            (Standard, (i64::MIN + 1, 1, 1), false),
        ] {
            assert_eq!(calendar.day_number(date).is_some(), exists, "{calendar} {date:?}");
        }
        assert_eq!(ProlepticGregorian.day_number((1970, 1, 1)), Some(0));
        assert_eq!(ProlepticGregorian.day_number((-4713, 11, 24)), Some(-2_440_588));
        assert_eq!(Julian.day_number((-4713, 1, 1)), Some(-2_440_588));
        assert_eq!(Calendar::from_name("Gregorian").unwrap(), Standard);
        let error = Calendar::from_name("none").unwrap_err().to_string();
        assert!(error.starts_with("unknown calendar \"none\" (known: standard, "), "{error}");
    }
}
