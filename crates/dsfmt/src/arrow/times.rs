//! Conversions between file times and Arrow timestamps.

use container_arrow::Times;

use crate::array::Values;
use crate::time::{Calendar, Date, Units};

/// Resolution of Arrow timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Micros,
    Nanos,
}

/// A time as an Arrow timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instant {
    /// Converts back to the number.
    Exact(i64),
    /// Finer digits were truncated.
    Truncated(i64),
    /// Not a time, or out of range.
    None,
}

/// Converts numbers in file units to timestamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    units: Units,
    unit: Unit,
}

/// A number of any type.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i128),
    Double(f64),
    Single(f32),
}

fn number(values: &Values<'_>, at: usize) -> Option<Number> {
    Some(match values {
        Values::Float32(numbers) => Number::Single(*numbers.get(at)?),
        Values::Float64(numbers) => Number::Double(*numbers.get(at)?),
        Values::Int8(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Int16(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Int32(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Int64(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Uint8(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Uint16(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Uint32(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Uint64(numbers) => Number::Integer((*numbers.get(at)?).into()),
        Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => return None,
    })
}

impl Clock {
    /// `None` for calendars without real days, and when plain numbers are requested.
    pub(super) fn new(units: Units, times: Times) -> Option<Self> {
        let unit = match times {
            Times::Ticks => return None,
            Times::Nanoseconds => Unit::Nanos,
            _ => Unit::Micros,
        };
        units.calendar().is_real().then_some(Self { units, unit })
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// The timestamp of a value.
    pub(super) fn instant(&self, values: &Values<'_>, at: usize) -> Instant {
        let units = self.units;
        let date = match number(values, at) {
            None => None,
            Some(Number::Integer(number)) => units.date_of_integer(number).map(|date| (date, true)),
            Some(Number::Double(number)) => {
                exact(units, number, f64::EPSILON, |date| units.value(date).map(f64::to_bits) == Some(number.to_bits()))
            }
            Some(Number::Single(number)) => exact(units, number.into(), f32::EPSILON.into(), |date| {
                #[expect(clippy::cast_possible_truncation, reason = "the nearest float is intended")]
                let back = units.value(date).map(|value| (value as f32).to_bits());
                back == Some(number.to_bits())
            }),
        };
        let since = |date: Date| {
            let micros = date.to(Calendar::ProlepticGregorian)?.total();
            let scale = if self.unit == Unit::Nanos { 1000 } else { 1 };
            i64::try_from(micros.checked_mul(scale)?).ok()
        };
        match date.and_then(|(date, exact)| Some((since(date)?, exact))) {
            Some((instant, true)) => Instant::Exact(instant),
            Some((instant, false)) => Instant::Truncated(instant),
            None => Instant::None,
        }
    }
}

/// The time of a number, and whether it converts back: rounded to the number's precision if that does, otherwise to the microsecond.
fn exact(units: Units, number: f64, epsilon: f64, round_trips: impl Fn(Date) -> bool) -> Option<(Date, bool)> {
    let rounded = units.date_with_error(number, number.abs() * epsilon)?;
    if round_trips(rounded) {
        return Some((rounded, true));
    }
    let nearest = units.date(number)?;
    if round_trips(nearest) {
        return Some((nearest, true));
    }
    // Truncate towards the past: the nearest microsecond may lie after the time.
    let after = units.value(nearest).is_some_and(|value| value > number);
    Some((if after { Date::from_micros(nearest.total().checked_sub(1)?, nearest.calendar())? } else { nearest }, false))
}

/// The Julian date of a value; `Err` for a day that the Gregorian calendar does not have. Numbers that are not times stay unchanged.
pub(super) fn julian_date(units: Units, values: &Values<'_>, at: usize) -> Result<f64, ()> {
    let (date, stored) = match number(values, at) {
        None => return Err(()),
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is intended")]
        Some(Number::Integer(number)) => (units.date_of_integer(number), number as f64),
        Some(Number::Double(number)) => (units.date_with_error(number, number.abs() * f64::EPSILON), number),
        Some(Number::Single(single)) => {
            let number = f64::from(single);
            (units.date_with_error(number, number.abs() * f64::from(f32::EPSILON)), number)
        }
    };
    match date {
        // Not a time, such as NaN.
        None => Ok(stored),
        Some(_) if units == Units::JULIAN => Ok(stored),
        Some(date) => date.julian_date().ok_or(()),
    }
}

/// A numeric type that can represent times.
pub(super) trait TimeNumber: Sized {
    /// The number of a time; `None` if it has no exact one.
    fn from_date(units: Units, date: Date) -> Option<Self>;
}

impl TimeNumber for f64 {
    fn from_date(units: Units, date: Date) -> Option<Self> {
        let date = date.to(units.calendar())?;
        let number = units.value(date)?;
        (units.date(number) == Some(date) || units.date_with_error(number, number.abs() * Self::EPSILON) == Some(date))
            .then_some(number)
    }
}

impl TimeNumber for f32 {
    fn from_date(units: Units, date: Date) -> Option<Self> {
        let date = date.to(units.calendar())?;
        #[expect(clippy::cast_possible_truncation, reason = "checked by converting back")]
        let single = units.value(date)? as f32;
        let number = f64::from(single);
        let error = number.abs() * f64::from(Self::EPSILON);
        (units.date(number) == Some(date) || units.date_with_error(number, error) == Some(date)).then_some(single)
    }
}

macro_rules! time_integers {
    ($($integer:ty)*) => {$(
        impl TimeNumber for $integer {
            fn from_date(units: Units, date: Date) -> Option<Self> {
                units.integer_value(date).and_then(|number| Self::try_from(number).ok())
            }
        }
    )*};
}

time_integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
