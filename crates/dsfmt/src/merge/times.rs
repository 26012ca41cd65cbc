//! Converts times to the units of the first dataset.

use std::borrow::Cow;

use container_core::{Error, Result};

use crate::array::{Array, Values};
use crate::edit::widest;
use crate::read::{Variable, rows_at_once};
use crate::time::{Date, Units};
use crate::types::DataType;

/// A conversion between time units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rebase {
    pub(super) from: Units,
    pub(super) to: Units,
}

/// Integer types with their ranges.
const INTEGERS: [(DataType, i128, i128); 8] = [
    (DataType::Int8, i8::MIN as i128, i8::MAX as i128),
    (DataType::Uint8, 0, u8::MAX as i128),
    (DataType::Int16, i16::MIN as i128, i16::MAX as i128),
    (DataType::Uint16, 0, u16::MAX as i128),
    (DataType::Int32, i32::MIN as i128, i32::MAX as i128),
    (DataType::Uint32, 0, u32::MAX as i128),
    (DataType::Int64, i64::MIN as i128, i64::MAX as i128),
    (DataType::Uint64, 0, u64::MAX as i128),
];

/// The smallest type that holds all values of type `so_far` and the range `min..=max`.
pub(super) fn holding(so_far: DataType, (min, max): (i128, i128)) -> Option<DataType> {
    if is_float(so_far) {
        return Some(DataType::Float64);
    }
    let fitting = INTEGERS.into_iter().filter(|(_, from, to)| *from <= min && max <= *to);
    fitting.map(|(wider, ..)| wider).find(|wider| widest(so_far, *wider) == Some(*wider))
}

const fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

impl Rebase {
    /// Minimum and maximum of a variable's integers after conversion; `None` without any.
    pub(super) fn range(&self, variable: &Variable<'_>) -> Result<Option<(i128, i128)>> {
        let Some(shape) = variable.shape().filter(|shape| !shape.contains(&0)) else { return Ok(None) };
        let all = shape.first().copied().unwrap_or(1);
        let step = rows_at_once(shape);
        let mut range: Option<(i128, i128)> = None;
        let mut at = 0;
        while at < all {
            let end = all.min(at.saturating_add(step));
            let array = variable.read_rows(at..end)?;
            for number in self.integers(&array)?.into_iter().flatten() {
                range = Some(range.map_or((number, number), |(min, max)| (min.min(number), max.max(number))));
            }
            at = end;
        }
        Ok(range)
    }

    /// Converts an array to the target type. Missing and non-finite values stay.
    pub(super) fn array<'a>(&self, array: Array<'a>, to: DataType) -> Result<Array<'a>> {
        if is_float(to) {
            let values = Values::Float64(Cow::Owned(self.floats(&array)?));
            let (shape, _, mask) = array.into_parts();
            return Ok(Array::new_unchecked(shape, values, mask));
        }
        let numbers = self.integers(&array)?;
        macro_rules! each {
            ($($name:ident $number:ty),*) => {
                match to {
                    $(DataType::$name => numbers
                        .into_iter()
                        .map(|number| <$number>::try_from(number.unwrap_or_default()).ok())
                        .collect::<Option<Vec<_>>>()
                        .map(Values::from),)*
                    _ => None,
                }
            };
        }
        let values = each!(Int8 i8, Uint8 u8, Int16 i16, Uint16 u16, Int32 i32, Uint32 u32, Int64 i64, Uint64 u64);
        let values = values.ok_or_else(|| Error::invalid(format!("a time exceeds the range of {to}")))?;
        let (shape, _, mask) = array.into_parts();
        Ok(Array::new_unchecked(shape, values, mask))
    }

    /// Converted integers; `None` for missing ones.
    fn integers(&self, array: &Array<'_>) -> Result<Vec<Option<i128>>> {
        let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
        let one = |(index, number): (usize, i128)| match missing(index) {
            true => Ok(None),
            false => {
                let date = self.from.date_of_integer(number);
                let converted = date.and_then(|date| self.to.integer_value(date));
                converted.map(Some).ok_or_else(|| self.inexact(&number, "integer"))
            }
        };
        to_integers(array.values())?.into_iter().enumerate().map(one).collect()
    }

    /// Converted floats; 0 for missing ones.
    fn floats(&self, array: &Array<'_>) -> Result<Vec<f64>> {
        let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
        let convert = |index, date: Option<Date>, number: &dyn std::fmt::Display| match date {
            _ if missing(index) => Ok(0.0),
            date => date.and_then(|date| self.float(date)).ok_or_else(|| self.inexact(number, "float")),
        };
        let float = |index, number: f64, epsilon: f64| match number.is_finite() {
            true => convert(index, self.date(number, epsilon), &number),
            false => Ok(number),
        };
        match array.values() {
            Values::Float64(all) => all.iter().enumerate().map(|(n, number)| float(n, *number, f64::EPSILON)).collect(),
            Values::Float32(all) => {
                all.iter().enumerate().map(|(n, number)| float(n, (*number).into(), f32::EPSILON.into())).collect()
            }
            others => {
                let numbers = to_integers(others)?.into_iter().enumerate();
                numbers.map(|(n, number)| convert(n, self.from.date_of_integer(number), &number)).collect()
            }
        }
    }

    /// The time of a float, rounded to its precision if that round-trips, otherwise to the microsecond.
    fn date(&self, number: f64, epsilon: f64) -> Option<Date> {
        let error = number.abs() * epsilon;
        let rounded = self.from.date_with_error(number, error)?;
        let back = self.from.value(rounded)?;
        if (back - number).abs() <= error { Some(rounded) } else { self.from.date(number) }
    }

    /// The float of a time, if it converts back to the same time.
    fn float(&self, date: Date) -> Option<f64> {
        let date = date.to(self.to.calendar())?;
        let number = self.to.value(date)?;
        let error = number.abs() * f64::EPSILON;
        (self.to.date(number) == Some(date) || self.to.date_with_error(number, error) == Some(date)).then_some(number)
    }

    fn inexact(&self, number: &dyn std::fmt::Display, kind: &str) -> Error {
        let Self { from, to } = self;
        Error::invalid(format!("{number} {from} ({}) has no exact {kind} in {to} ({})", from.calendar(), to.calendar()))
    }
}

fn to_integers(values: &Values<'_>) -> Result<Vec<i128>> {
    macro_rules! each {
        ($($name:ident)*) => {
            match values {
                $(Values::$name(numbers) => Ok(numbers.iter().map(|number| i128::from(*number)).collect()),)*
                other => Err(Error::usage(format!("expected numbers as times, found {}", other.data_type()))),
            }
        };
    }
    each!(Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64)
}
