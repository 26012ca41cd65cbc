//! Times of the file as Arrow's, and back.

use container_arrow::Times;

use crate::array::Values;
use crate::time::{Calendar, Date, Units};

/// How many of a unit of Arrow's a second has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Micros,
    Nanos,
}

/// A time of the file in one of Arrow's units since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instant {
    /// It leads back to the number.
    Exact(i64),
    /// What is finer was cut off.
    Cut(i64),
    /// There is none.
    None,
}

/// The times that numbers mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    units: Units,
    unit: Unit,
}

/// A number of the file.
#[derive(Debug, Clone, Copy)]
enum Number {
    Whole(i128),
    Double(f64),
    Single(f32),
}

fn number(values: &Values<'_>, at: usize) -> Option<Number> {
    Some(match values {
        Values::Float32(numbers) => Number::Single(*numbers.get(at)?),
        Values::Float64(numbers) => Number::Double(*numbers.get(at)?),
        Values::Int8(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Int16(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Int32(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Int64(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Uint8(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Uint16(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Uint32(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Uint64(numbers) => Number::Whole((*numbers.get(at)?).into()),
        Values::Bool(_) | Values::Str(_) | Values::Unicode(_) => return None,
    })
}

impl Clock {
    /// The times of a real calendar; `None` for another, whose days are no days of Arrow's, and where numbers are asked for.
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

    /// The time that a value means.
    pub(super) fn instant(&self, values: &Values<'_>, at: usize) -> Instant {
        let units = self.units;
        let found = match number(values, at) {
            None => None,
            Some(Number::Whole(number)) => units.date_of_integer(number).map(|date| (date, true)),
            Some(Number::Double(number)) => {
                exact(units, number, f64::EPSILON, |date| units.value(date).map(f64::to_bits) == Some(number.to_bits()))
            }
            Some(Number::Single(number)) => exact(units, number.into(), f32::EPSILON.into(), |date| {
                #[expect(clippy::cast_possible_truncation, reason = "the nearest float is what is asked for")]
                let back = units.value(date).map(|value| (value as f32).to_bits());
                back == Some(number.to_bits())
            }),
        };
        let since = |date: Date| {
            let micros = date.to(Calendar::ProlepticGregorian)?.total();
            let scale = if self.unit == Unit::Nanos { 1000 } else { 1 };
            i64::try_from(micros.checked_mul(scale)?).ok()
        };
        match found.and_then(|(date, exact)| Some((since(date)?, exact))) {
            Some((instant, true)) => Instant::Exact(instant),
            Some((instant, false)) => Instant::Cut(instant),
            None => Instant::None,
        }
    }
}

/// The time of a number, and whether it leads back there: rounded to what the number can tell, if so, else to the microsecond.
fn exact(units: Units, number: f64, epsilon: f64, leads_back: impl Fn(Date) -> bool) -> Option<(Date, bool)> {
    let rounded = units.date_to(number, number.abs() * epsilon)?;
    if leads_back(rounded) {
        return Some((rounded, true));
    }
    let nearest = units.date(number)?;
    if leads_back(nearest) {
        return Some((nearest, true));
    }
    // Towards the past: the nearest may lie behind.
    let behind = units.value(nearest).is_some_and(|value| value > number);
    Some((
        if behind { Date::from_micros(nearest.total().checked_sub(1)?, nearest.calendar())? } else { nearest },
        false,
    ))
}

/// The Julian date of a value: `Ok` of what is shown, `Err` for a day that the Gregorian calendar has not.
pub(super) fn julian(units: Units, values: &Values<'_>, at: usize) -> Result<f64, ()> {
    let (date, stored) = match number(values, at) {
        None => return Err(()),
        #[expect(clippy::cast_precision_loss, reason = "a number that is no time stays the nearest float")]
        Some(Number::Whole(number)) => (units.date_of_integer(number), number as f64),
        Some(Number::Double(number)) => (units.date_to(number, number.abs() * f64::EPSILON), number),
        Some(Number::Single(single)) => {
            let number = f64::from(single);
            (units.date_to(number, number.abs() * f64::from(f32::EPSILON)), number)
        }
    };
    match date {
        // What is no time, such as NaN, stays the number that it is.
        None => Ok(stored),
        Some(_) if units == Units::JULIAN => Ok(stored),
        Some(date) => date.julian_date().ok_or(()),
    }
}

/// The number of a type that means a time, if there is one.
pub(super) trait Counted: Sized {
    fn count(units: Units, date: Date) -> Option<Self>;
}

impl Counted for f64 {
    fn count(units: Units, date: Date) -> Option<Self> {
        let date = date.to(units.calendar())?;
        let number = units.value(date)?;
        (units.date(number) == Some(date) || units.date_to(number, number.abs() * Self::EPSILON) == Some(date))
            .then_some(number)
    }
}

impl Counted for f32 {
    fn count(units: Units, date: Date) -> Option<Self> {
        let date = date.to(units.calendar())?;
        #[expect(clippy::cast_possible_truncation, reason = "whether it leads back is looked at")]
        let single = units.value(date)? as f32;
        let number = f64::from(single);
        let error = number.abs() * f64::from(Self::EPSILON);
        (units.date(number) == Some(date) || units.date_to(number, error) == Some(date)).then_some(single)
    }
}

macro_rules! counted {
    ($($whole:ty)*) => {$(
        impl Counted for $whole {
            fn count(units: Units, date: Date) -> Option<Self> {
                units.whole(date).and_then(|number| Self::try_from(number).ok())
            }
        }
    )*};
}

counted! { i8 i16 i32 i64 u8 u16 u32 u64 }
