//! Points in time.

use std::fmt;

use container_core::{Error, Result};

use super::Units;
use super::calendar::Calendar;

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

/// Whole days from the Julian date 0 to 1970-01-01.
const JULIAN_OF_1970: i64 = 2_440_587;

/// Farthest day from the epoch that is counted with: some hundred million years.
const MOST_DAYS: i64 = 36_000_000_000;

/// A point in time in a calendar, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Date {
    /// As the calendar counts days.
    day: i64,
    /// Since midnight.
    micros: i64,
    calendar: Calendar,
}

/// A day and a time of it, as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fields {
    /// As the calendar calls it: before 1 comes -1 where there is no year 0.
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

    /// The point in time with these fields.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the calendar has no such day, or a day no such time.
    pub fn new(calendar: Calendar, fields: Fields) -> Result<Self> {
        let Fields { year, month, day, hour, minute, second, microsecond } = fields;
        let number = calendar.day_of((year, month, day)).ok_or_else(|| {
            Error::usage(format!("there is no day {} in the calendar {calendar}", Day(year, month, day)))
        })?;
        if hour > 23 || minute > 59 || second > 59 || microsecond > 999_999 {
            let detail = format!("there is no time {hour:02}:{minute:02}:{second:02}.{microsecond:06} of a day");
            return Err(Error::usage(detail));
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Ok(Self { day: number, micros: seconds * 1_000_000 + i64::from(microsecond), calendar })
    }

    /// The point in time of a Julian date, in the proleptic Gregorian calendar, to the nearest microsecond; `None` for what is not finite
    /// or some hundred million years off. A float of 64 bits holds a Julian date of our time to 40 microseconds.
    #[must_use]
    pub fn from_julian_date(date: f64) -> Option<Self> {
        Units::JULIAN.date(date)
    }

    /// Its Julian date: days since noon UTC of 24 November -4713 in the proleptic Gregorian calendar. A day of a calendar that is not real
    /// is taken for the Gregorian day of the same name, as ds-format does; `None` where there is none, such as 30 February.
    #[must_use]
    pub fn julian_date(self) -> Option<f64> {
        Units::JULIAN.value(self)
    }

    /// The same in another calendar: among real ones the same instant, else the day of the same name; `None` where there is none.
    #[must_use]
    pub fn to(self, calendar: Calendar) -> Option<Self> {
        let day = match self.calendar {
            same if same == calendar => self.day,
            own if own.is_real() && calendar.is_real() => self.day,
            own => calendar.day_of(own.date_of(self.day))?,
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
        let (year, month, day) = self.calendar.date_of(self.day);
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

    /// The nearest multiple of so many microseconds, counted from midnight; halves go to the later one.
    #[must_use]
    pub fn rounded(self, micros: u32) -> Self {
        let step = i64::from(micros.max(1));
        let rounded = (self.micros + step / 2) / step * step;
        Self { day: self.day + rounded / DAY, micros: rounded % DAY, ..self }
    }

    /// Microseconds since the first day of the calendar's count.
    pub(crate) fn total(self) -> i128 {
        i128::from(self.day) * i128::from(DAY) + i128::from(self.micros)
    }

    /// The point in time that lies so many microseconds behind the first day of the calendar's count; `None` some hundred million years off.
    pub(crate) fn from_micros(micros: i128, calendar: Calendar) -> Option<Self> {
        let day = i64::try_from(micros.div_euclid(DAY.into())).ok().filter(|day| day.abs() <= MOST_DAYS)?;
        let micros = i64::try_from(micros.rem_euclid(DAY.into())).ok()?;
        Some(Self { day, micros, calendar })
    }
}

/// ISO 8601 without a zone: `2000-01-31T12:00:00`, with as many digits of the second as it takes.
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

/// `number * unit`, exactly, rounded to the nearest whole number, halves to the even one; `None` for what is far beyond all dates.
pub(super) fn scaled(number: f64, unit: i64) -> Option<i128> {
    // 2^100 microseconds are longer than anything that is counted with, and leave no overflow below.
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
#[allow(clippy::cast_precision_loss, reason = "the nearest float is what is wanted")]
pub(super) fn ratio(micros: i128, unit: i64) -> f64 {
    let (whole, rest) = (micros / i128::from(unit), micros % i128::from(unit));
    whole as f64 + rest as f64 / unit as f64
}
