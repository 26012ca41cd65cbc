//! Points in time.

use std::fmt;

use container_core::{Error, Result};

use super::Units;
use super::calendar::Calendar;

/// Microseconds per day.
pub(super) const DAY: i64 = 86_400_000_000;

/// Whole days from the Julian date 0 to 1970-01-01.
const JULIAN_OF_1970: i64 = 2_440_587;

/// Largest absolute day number that is supported: about a hundred million years.
const MAX_DAYS: i64 = 36_000_000_000;

/// A point in time in a calendar, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Date {
    /// Day number in the calendar.
    day: i64,
    /// Microseconds since midnight.
    micros: i64,
    calendar: Calendar,
}

/// The fields of a date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fields {
    /// In calendars without a year 0, -1 precedes 1.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// From 1.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub microsecond: u32,
}

impl Date {
    /// Noon of 24 November -4713 in the proleptic Gregorian calendar: the Julian date 0.
    pub(super) const JULIAN_EPOCH: Self =
        Self { day: -JULIAN_OF_1970 - 1, micros: DAY / 2, calendar: Calendar::ProlepticGregorian };

    /// Creates a point in time from its fields.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a day that the calendar does not have, and for a time out of range.
    pub fn new(calendar: Calendar, fields: Fields) -> Result<Self> {
        let Fields { year, month, day, hour, minute, second, microsecond } = fields;
        let number = calendar
            .day_number((year, month, day))
            .ok_or_else(|| Error::usage(format!("no day {} in calendar {calendar}", Day(year, month, day))))?;
        if hour > 23 || minute > 59 || second > 59 || microsecond > 999_999 {
            let detail = format!("invalid time {hour:02}:{minute:02}:{second:02}.{microsecond:06}");
            return Err(Error::usage(detail));
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Ok(Self { day: number, micros: seconds * 1_000_000 + i64::from(microsecond), calendar })
    }

    /// The point in time of a Julian date, in the proleptic Gregorian calendar, to the nearest microsecond; `None` for non-finite values and
    /// about a hundred million years from now. An `f64` holds a present-day Julian date to 40 microseconds.
    #[must_use]
    pub fn from_julian_date(date: f64) -> Option<Self> {
        Units::JULIAN.date(date)
    }

    /// Its Julian date: days since noon UTC of 24 November -4713 in the proleptic Gregorian calendar. Days of model calendars stand for the
    /// Gregorian day of the same name, as in ds-format; `None` when there is none, such as for 30 February.
    #[must_use]
    pub fn julian_date(self) -> Option<f64> {
        Units::JULIAN.value(self)
    }

    /// Converts to another calendar: the same instant among real calendars, otherwise the day of the same name; `None` if it does not exist.
    #[must_use]
    pub fn to(self, calendar: Calendar) -> Option<Self> {
        let day = match self.calendar {
            same if same == calendar => self.day,
            own if own.is_real() && calendar.is_real() => self.day,
            own => calendar.day_number(own.date(self.day))?,
        };
        Some(Self { day, calendar, ..self })
    }

    /// The calendar.
    #[must_use]
    pub fn calendar(self) -> Calendar {
        self.calendar
    }

    /// Year, month, day and the rest.
    #[must_use]
    pub fn fields(self) -> Fields {
        let (year, month, day) = self.calendar.date(self.day);
        let seconds = self.micros / 1_000_000;
        let small = |number: i64| u8::try_from(number).unwrap_or(0); // below 60
        Fields {
            year,
            month,
            day,
            hour: small(seconds / 3600),
            minute: small(seconds / 60 % 60),
            second: small(seconds % 60),
            microsecond: u32::try_from(self.micros % 1_000_000).unwrap_or(0), // below a million
        }
    }

    /// Rounds to a multiple of `micros` microseconds since midnight; ties round up.
    #[must_use]
    pub fn rounded(self, micros: u32) -> Self {
        let step = i64::from(micros.max(1));
        let rounded = (self.micros + step / 2) / step * step;
        Self { day: self.day + rounded / DAY, micros: rounded % DAY, ..self }
    }

    /// Microseconds since the calendar's day 0.
    pub(crate) fn total(self) -> i128 {
        i128::from(self.day) * i128::from(DAY) + i128::from(self.micros)
    }

    /// From microseconds since the calendar's day 0; `None` about a hundred million years from now.
    pub(crate) fn from_micros(micros: i128, calendar: Calendar) -> Option<Self> {
        let day = i64::try_from(micros.div_euclid(DAY.into())).ok().filter(|day| day.abs() <= MAX_DAYS)?;
        let micros = i64::try_from(micros.rem_euclid(DAY.into())).ok()?;
        Some(Self { day, micros, calendar })
    }
}

/// ISO 8601 without a zone, such as `2000-01-31T12:00:00`, with as many fractional digits as needed.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { year, month, day, hour, minute, second, microsecond } = self.fields();
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}", Day(year, month, day))?;
        if microsecond == 0 {
            return Ok(());
        }
        let digits = format!("{microsecond:06}");
        write!(f, ".{}", digits.trim_end_matches('0'))
    }
}

struct Day(i64, u8, u8);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{:02}-{:02}", self.0.unsigned_abs(), self.1, self.2)
    }
}

/// `number * unit` computed exactly, then rounded half to even; `None` far beyond all dates.
pub(super) fn scaled(number: f64, unit: i64) -> Option<i128> {
    // 2^90 exceeds all supported dates, and prevents overflow below.
    if !number.is_finite() || number.abs() >= 2f64.powi(90) {
        return None;
    }
    let bits = number.to_bits();
    let exponent = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    // The number is mantissa * 2^(exponent - 1075).
    let product = i128::from(mantissa).checked_mul(i128::from(unit))?;
    let product = match u32::try_from(exponent).ok()?.checked_sub(1075) {
        Some(left) => product.checked_mul(1i128.checked_shl(left)?)?,
        None => {
            let right = 1075 - u32::try_from(exponent).ok()?;
            match right {
                0..=126 => {
                    let (whole, rest, half) = (product >> right, product & ((1 << right) - 1), 1i128 << (right - 1));
                    whole + i128::from(rest > half || (rest == half && whole & 1 == 1))
                }
                _ => 0,
            }
        }
    };
    Some(if number.is_sign_negative() { -product } else { product })
}

/// `micros / unit` as a float.
#[allow(clippy::cast_precision_loss, reason = "the nearest float is intended")]
pub(super) fn ratio(micros: i128, unit: i64) -> f64 {
    let (whole, rest) = (micros / i128::from(unit), micros % i128::from(unit));
    whole as f64 + rest as f64 / unit as f64
}
