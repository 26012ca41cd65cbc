//! Calendars: which days there are, and the number of each.

use std::fmt;

use container_core::calendar::{civil_from_days, days_from_civil};
use container_core::{Error, Result};

/// A calendar of the CF conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Calendar {
    /// Julian up to 4 October 1582, Gregorian from 15 October on. No year 0: -1 is the year before 1. `standard`, `gregorian`.
    Standard,
    /// Gregorian at all times, with a year 0.
    ProlepticGregorian,
    /// Julian at all times, without a year 0.
    Julian,
    /// No leap years. `noleap`, `365_day`.
    NoLeap,
    /// Leap years only. `all_leap`, `366_day`.
    AllLeap,
    /// Twelve months of 30 days.
    Day360,
}

/// 15 October 1582, the first Gregorian day of [`Calendar::Standard`], counted from 1970-01-01.
const GREGORIAN_FROM: i64 = -141_427;

/// Days between 1 March of the year 0 and 1 January 1970, in the Julian calendar.
const JULIAN_SHIFT: i64 = 719_470;

/// Years beyond this, to both sides, are not counted with.
pub(super) const MOST_YEARS: i64 = 100_000_000;

/// Year, month from 1, day from 1.
pub(super) type Ymd = (i64, u8, u8);

impl Calendar {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Standard, Self::ProlepticGregorian, Self::Julian, Self::NoLeap, Self::AllLeap, Self::Day360];

    /// Its name in an attribute `calendar`.
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

    /// The calendar of this name, in whatever case.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for another name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gregorian" => Ok(Self::Standard),
            "365_day" => Ok(Self::NoLeap),
            "366_day" => Ok(Self::AllLeap),
            lower => Self::ALL.into_iter().find(|calendar| calendar.name() == lower).ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                Error::unsupported(format!("the calendar {name:?} is none of {known}, gregorian, 365_day, 366_day"))
            }),
        }
    }

    /// True where the year 0 exists.
    #[must_use]
    pub const fn has_year_zero(self) -> bool {
        !matches!(self, Self::Standard | Self::Julian)
    }

    /// True where a day is a real day, which has a Julian date; the others are those of models.
    #[must_use]
    pub const fn is_real(self) -> bool {
        matches!(self, Self::Standard | Self::ProlepticGregorian | Self::Julian)
    }

    /// The number of a day; `None` when the calendar has no such day. Of real calendars days count from 1970-01-01 in the Gregorian
    /// calendar, of others from their own year 0.
    pub(super) fn day_of(self, (year, month, day): Ymd) -> Option<i64> {
        if !(1..=12).contains(&month) || day == 0 || year.abs() > MOST_YEARS || (year == 0 && !self.has_year_zero()) {
            return None;
        }
        // The year before 1 is 0 in what follows.
        let year = if year < 0 && !self.has_year_zero() { year + 1 } else { year };
        let (month, day) = (i64::from(month), i64::from(day));
        let number = match self {
            Self::Day360 => year * 360 + (month - 1) * 30 + day - 1,
            Self::NoLeap => year * 365 + before(month, false) + day - 1,
            Self::AllLeap => year * 366 + before(month, true) + day - 1,
            Self::ProlepticGregorian => days_from_civil(year, month, day),
            Self::Julian => julian(year, month, day),
            Self::Standard => match days_from_civil(year, month, day) {
                number if number >= GREGORIAN_FROM => number,
                // The days that were skipped have Julian numbers of later days, and do not lead back.
                _ => julian(year, month, day),
            },
        };
        (self.date_of(number) == (self.year(year), month_u8(month), day_u8(day))).then_some(number)
    }

    /// The day of a number.
    pub(super) fn date_of(self, number: i64) -> Ymd {
        let (year, month, day) = match self {
            Self::Day360 => {
                let (year, rest) = (number.div_euclid(360), number.rem_euclid(360));
                (year, rest / 30 + 1, rest % 30 + 1)
            }
            Self::NoLeap => of_equal_years(number, 365, false),
            Self::AllLeap => of_equal_years(number, 366, true),
            Self::Standard if number < GREGORIAN_FROM => from_julian(number),
            Self::Standard | Self::ProlepticGregorian => civil_from_days(number),
            Self::Julian => from_julian(number),
        };
        (self.year(year), month_u8(month), day_u8(day))
    }

    /// A year as it is called, of one that is counted through 0.
    fn year(self, year: i64) -> i64 {
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
    u8::try_from(day).unwrap_or(0) // 1 to 255: of those that exist, to 31
}

/// Days of a year before a month.
fn before(month: i64, leap: bool) -> i64 {
    let since_march = (month + 9) % 12;
    match month {
        1 => 0,
        2 => 31,
        _ => (153 * since_march + 2) / 5 + 59 + i64::from(leap),
    }
}

fn of_equal_years(number: i64, len: i64, leap: bool) -> Ymd64 {
    let (year, rest) = (number.div_euclid(len), number.rem_euclid(len));
    let month = (1..=12).rev().find(|month| before(*month, leap) <= rest).unwrap_or(1);
    (year, month, rest - before(month, leap) + 1)
}

type Ymd64 = (i64, i64, i64);

/// Years begin with March here, so that a leap day is the last of its year.
fn days_since_march(month: i64, day: i64) -> i64 {
    (153 * ((month + 9) % 12) + 2) / 5 + day - 1
}

fn julian(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    year.div_euclid(4) * 1461 + year.rem_euclid(4) * 365 + days_since_march(month, day) - JULIAN_SHIFT
}

/// Year, month and day of a year that begins with March and a day of it.
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
    fn every_day_leads_back_and_the_next_follows() {
        for calendar in Calendar::ALL {
            let (from, to) = match calendar.is_real() {
                true => (-2_500_000, 400_000),
                false => (-3_000 * 360, 3_000 * 360),
            };
            let mut last = calendar.date_of(from - 1);
            for number in from..to {
                let date = calendar.date_of(number);
                assert_eq!(calendar.day_of(date), Some(number), "{calendar} {date:?}");
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
    fn days_that_are_not_there() {
        use Calendar::{AllLeap, Day360, Julian, NoLeap, ProlepticGregorian, Standard};
        for (calendar, date, there) in [
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
            assert_eq!(calendar.day_of(date).is_some(), there, "{calendar} {date:?}");
        }
        assert_eq!(ProlepticGregorian.day_of((1970, 1, 1)), Some(0));
        assert_eq!(ProlepticGregorian.day_of((-4713, 11, 24)), Some(-2_440_588));
        assert_eq!(Julian.day_of((-4713, 1, 1)), Some(-2_440_588));
        assert_eq!(Calendar::from_name("Gregorian").unwrap(), Standard);
        let error = Calendar::from_name("none").unwrap_err().to_string();
        assert!(error.starts_with("the calendar \"none\" is none of standard, "), "{error}");
    }
}
