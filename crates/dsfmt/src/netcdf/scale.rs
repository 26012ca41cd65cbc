//! `scale_factor`, `add_offset` and `_Unsigned`, as the Python package `netCDF4` applies them: in the types that numpy computes with.

use container_core::Result;

use super::model::{AttributeValue, Variable};
use super::number::{Number, convert, promoted, unsigned_type, with_number};
use crate::array::{Array, Values, each_kind};
use crate::types::DataType;

/// What is done to the values of a variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scaling {
    /// Integers lose their sign, bit by bit.
    pub(crate) unsigned: bool,
    steps: Vec<Step>,
    /// The result is converted to this type, and that is all.
    cast: Option<DataType>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Times(Values<'static>),
    Plus(Values<'static>),
}

impl Scaling {
    /// What a variable's attributes ask for. Those that are no single numbers ask for nothing.
    pub(crate) fn of(variable: &Variable) -> Self {
        let unsigned =
            matches!(variable.attribute("_Unsigned").and_then(AttributeValue::as_text), Some("true" | "True"));
        let mut scaling = Self { unsigned, ..Self::default() };
        let is_number = matches!(variable.nc_type, super::model::NcType::Number(_));
        let (factor, offset) = (variable.attribute("scale_factor"), variable.attribute("add_offset"));
        let (Some(factor), Some(offset)) = (single(factor), single(offset)) else { return scaling };
        if !is_number {
            return scaling;
        }
        let is = |number: &Values<'_>, wanted: f64| each_kind!(number, all => all.first().is_some_and(|found| found.to_f64() == wanted), _bools => false, _strings => false);
        match (factor, offset) {
            (Some(factor), Some(offset)) if is(factor, 1.0) && is(offset, 0.0) => {
                scaling.cast = Some(factor.data_type())
            }
            (Some(factor), Some(offset)) => {
                scaling.steps = vec![Step::Times(factor.clone()), Step::Plus(offset.clone())];
            }
            (Some(factor), None) if !is(factor, 1.0) => scaling.steps.push(Step::Times(factor.clone())),
            (None, Some(offset)) if !is(offset, 0.0) => scaling.steps.push(Step::Plus(offset.clone())),
            _ => {}
        }
        scaling
    }

    /// The type that values of this type become.
    pub(crate) fn data_type(&self, stored: DataType) -> DataType {
        let stored = if self.unsigned { unsigned_type(stored) } else { stored };
        let step = |found, step: &Step| match step {
            Step::Times(number) | Step::Plus(number) => promoted(found, number.data_type()),
        };
        self.cast.unwrap_or_else(|| self.steps.iter().fold(stored, step))
    }

    /// The values, computed; missing ones along with the others.
    pub(crate) fn apply(&self, array: Array<'static>) -> Result<Array<'static>> {
        if self.steps.is_empty() && self.cast.is_none() {
            return Ok(array);
        }
        let (shape, mut values, mask) = array.into_parts();
        if let Some(cast) = self.cast {
            values = cast_to(&values, cast);
        }
        for step in &self.steps {
            values = match step {
                Step::Times(factor) => computed(&values, factor, true),
                Step::Plus(offset) => computed(&values, offset, false),
            };
        }
        let array = Array::new(shape, values)?;
        match mask {
            Some(mask) => array.with_mask(mask),
            None => Ok(array),
        }
    }
}

/// The number of an attribute, if it is there; `None` where it is there and is no single number, which is worse.
fn single(value: Option<&AttributeValue>) -> Option<Option<&Values<'static>>> {
    match value {
        None => Some(None),
        Some(value) => value.as_numbers().filter(|all| all.len() == 1).map(Some),
    }
}

fn cast_to(values: &Values<'_>, to: DataType) -> Values<'static> {
    with_number!(to, T => T::values(converted::<T>(values)), values.clone().into_owned())
}

fn converted<T: Number>(values: &Values<'_>) -> Vec<T> {
    each_kind!(values, numbers => convert(numbers), _bools => Vec::new(), _strings => Vec::new())
}

/// The values times the number, or plus it.
fn computed(values: &Values<'_>, number: &Values<'_>, times: bool) -> Values<'static> {
    let to = promoted(values.data_type(), number.data_type());
    with_number!(to, T => {
        let mut all = converted::<T>(values);
        let number = converted::<T>(number).first().copied().unwrap_or_default();
        for value in &mut all {
            *value = if times { T::times(*value, number) } else { T::plus(*value, number) };
        }
        T::values(all)
    }, values.clone().into_owned())
}
