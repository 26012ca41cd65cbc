//! Unpacks values: applies `scale_factor`, `add_offset` and `_Unsigned` as the Python package `netCDF4` does, in numpy's types.

use container_core::Result;

use super::model::{AttributeValue, Variable};
use super::number::{Number, convert, promoted, unsigned_type, with_number};
use crate::array::{Array, Values, each_kind};
use crate::types::DataType;

/// How a variable's values are unpacked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scaling {
    /// Integers are reinterpreted as unsigned.
    pub(crate) unsigned: bool,
    steps: Vec<Step>,
    /// Only converts to this type.
    cast: Option<DataType>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Multiply(Values<'static>),
    Add(Values<'static>),
}

impl Scaling {
    /// The unpacking that a variable's attributes define. Attributes that are not single numbers are ignored.
    pub(crate) fn new(variable: &Variable) -> Self {
        let mut scaling = Self { unsigned: is_unsigned(variable.attribute("_Unsigned")), ..Self::default() };
        let is_number = matches!(variable.nc_type, super::model::NcType::Number(_));
        let (factor, offset) = (variable.attribute("scale_factor"), variable.attribute("add_offset"));
        let (Some(factor), Some(offset)) = (single(factor), single(offset)) else { return scaling };
        if !is_number {
            return scaling;
        }
        let is = |number: &Values<'_>, expected: f64| each_kind!(number, all => all.first().is_some_and(|first| first.to_f64() == expected), _bools => false, _strings => false);
        match (factor, offset) {
            (Some(factor), Some(offset)) if is(factor, 1.0) && is(offset, 0.0) => {
                scaling.cast = Some(factor.data_type())
            }
            (Some(factor), Some(offset)) => {
                scaling.steps = vec![Step::Multiply(factor.clone()), Step::Add(offset.clone())];
            }
            (Some(factor), None) if !is(factor, 1.0) => scaling.steps.push(Step::Multiply(factor.clone())),
            (None, Some(offset)) if !is(offset, 0.0) => scaling.steps.push(Step::Add(offset.clone())),
            _ => {}
        }
        scaling
    }

    /// The type of unpacked values.
    pub(crate) fn data_type(&self, stored: DataType) -> DataType {
        let stored = if self.unsigned { unsigned_type(stored) } else { stored };
        let step = |data_type, step: &Step| match step {
            Step::Multiply(number) | Step::Add(number) => promoted(data_type, number.data_type()),
        };
        self.cast.unwrap_or_else(|| self.steps.iter().fold(stored, step))
    }

    /// Unpacks values, including those of missing elements.
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
                Step::Multiply(factor) => arithmetic(&values, factor, true),
                Step::Add(offset) => arithmetic(&values, offset, false),
            };
        }
        let array = Array::new(shape, values)?;
        match mask {
            Some(mask) => array.with_mask(mask),
            None => Ok(array),
        }
    }
}

/// Whether signed integers stand for unsigned ones, by the attribute `_Unsigned`.
pub(crate) fn is_unsigned(flag: Option<&AttributeValue>) -> bool {
    matches!(flag.and_then(AttributeValue::as_text), Some("true" | "True"))
}

/// The single number of an attribute: `Some(None)` if absent, `None` if it is anything else.
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

/// Multiplies the values by the number, or adds it.
fn arithmetic(values: &Values<'_>, number: &Values<'_>, multiply: bool) -> Values<'static> {
    let to = promoted(values.data_type(), number.data_type());
    with_number!(to, T => {
        let mut all = converted::<T>(values);
        let number = converted::<T>(number).first().copied().unwrap_or_default();
        for value in &mut all {
            *value = if multiply { T::multiply(*value, number) } else { T::add(*value, number) };
        }
        T::values(all)
    }, values.clone().into_owned())
}
