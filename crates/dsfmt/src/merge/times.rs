//! Times that are counted in the units of the first dataset.

use std::borrow::Cow;

use container_core::{Error, Result};

use super::pieces::rows_at_once;
use crate::array::{Array, Values};
use crate::edit::widest;
use crate::read::Variable;
use crate::time::{Date, Units};
use crate::types::DataType;

/// Numbers in some units, as numbers in others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rebase {
    pub(super) from: Units,
    pub(super) to: Units,
}

/// Integers, and the most that they may be.
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

/// The type that holds numbers of the type `so_far` and those from `least` to `most`.
pub(super) fn holding(so_far: DataType, (least, most): (i128, i128)) -> Option<DataType> {
    if is_float(so_far) {
        return Some(DataType::Float64);
    }
    let fitting = INTEGERS.into_iter().filter(|(_, from, to)| *from <= least && most <= *to);
    fitting.map(|(wider, ..)| wider).find(|wider| widest(so_far, *wider) == Some(*wider))
}

const fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

impl Rebase {
    /// The least and the greatest of a variable's integers in the new units; `None` without any.
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
                range = Some(range.map_or((number, number), |(least, most)| (least.min(number), most.max(number))));
            }
            at = end;
        }
        Ok(range)
    }

    /// The same times, as numbers of a type. What is missing, and what is no number, stays that.
    pub(super) fn array<'a>(&self, array: Array<'a>, to: DataType) -> Result<Array<'a>> {
        if is_float(to) {
            let values = Values::Float64(Cow::Owned(self.floats(&array)?));
            let (shape, _, mask) = array.into_parts();
            return Ok(Array::checked(shape, values, mask));
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
        Ok(Array::checked(shape, values, mask))
    }

    /// Integers in the new units; `None` for those that are missing.
    fn integers(&self, array: &Array<'_>) -> Result<Vec<Option<i128>>> {
        let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
        let one = |(index, number): (usize, i128)| match missing(index) {
            true => Ok(None),
            false => {
                let date = self.from.date_of_integer(number);
                let whole = date.and_then(|date| self.to.whole(date));
                whole.map(Some).ok_or_else(|| self.inexact(&number, "integer"))
            }
        };
        whole_numbers(array.values())?.into_iter().enumerate().map(one).collect()
    }

    /// Floats in the new units; 0 for those that are missing.
    fn floats(&self, array: &Array<'_>) -> Result<Vec<f64>> {
        let missing = |index| array.mask().is_some_and(|mask| mask.is_missing(index));
        let moved = |index, date: Option<Date>, number: &dyn std::fmt::Display| match date {
            _ if missing(index) => Ok(0.0),
            date => date.and_then(|date| self.float(date)).ok_or_else(|| self.inexact(number, "float")),
        };
        let float = |index, number: f64, epsilon: f64| match number.is_finite() {
            true => moved(index, self.date(number, epsilon), &number),
            false => Ok(number),
        };
        match array.values() {
            Values::Float64(all) => all.iter().enumerate().map(|(n, number)| float(n, *number, f64::EPSILON)).collect(),
            Values::Float32(all) => {
                all.iter().enumerate().map(|(n, number)| float(n, (*number).into(), f32::EPSILON.into())).collect()
            }
            others => {
                let numbers = whole_numbers(others)?.into_iter().enumerate();
                numbers.map(|(n, number)| moved(n, self.from.date_of_integer(number), &number)).collect()
            }
        }
    }

    /// The time of a float: rounded to what it can tell where that is the same number, else to the microsecond.
    fn date(&self, number: f64, epsilon: f64) -> Option<Date> {
        let error = number.abs() * epsilon;
        let rounded = self.from.date_to(number, error)?;
        let back = self.from.value(rounded)?;
        if (back - number).abs() <= error { Some(rounded) } else { self.from.date(number) }
    }

    /// The float of a time that leads back to it.
    fn float(&self, date: Date) -> Option<f64> {
        let date = date.to(self.to.calendar())?;
        let number = self.to.value(date)?;
        let error = number.abs() * f64::EPSILON;
        (self.to.date(number) == Some(date) || self.to.date_to(number, error) == Some(date)).then_some(number)
    }

    fn inexact(&self, number: &dyn std::fmt::Display, kind: &str) -> Error {
        let Self { from, to } = self;
        Error::invalid(format!("{number} {from} ({}) is no exact {kind} in {to} ({})", from.calendar(), to.calendar()))
    }
}

fn whole_numbers(values: &Values<'_>) -> Result<Vec<i128>> {
    macro_rules! each {
        ($($name:ident)*) => {
            match values {
                $(Values::$name(found) => Ok(found.iter().map(|number| i128::from(*number)).collect()),)*
                other => Err(Error::usage(format!("values of the type {} are no times", other.data_type()))),
            }
        };
    }
    each!(Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64)
}
