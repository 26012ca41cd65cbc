//! Which elements are missing: the rules of the Python package `netCDF4`, which ds-format reads through.
//!
//! Missing is what equals one of `missing_value`, equals `_FillValue` (or, without one, the fill value that NetCDF has for the type:
//! bytes, too, unless the variable has filling turned off), lies outside `valid_range`, or else below `valid_min` or above `valid_max`.
//! NaN stands for every NaN. An attribute counts only where its value can be held by the variable's type unchanged.

use super::model::{AttributeValue, Variable};
use super::number::{Number, exact, with_number};
use crate::array::{Mask, Values, each_kind};
use crate::types::DataType;

/// The mask of some values of the variable; `None` where nothing is missing. With `unsigned`, integers count without their sign.
pub(crate) fn mask(variable: &Variable, values: &Values<'_>, unsigned: bool) -> Option<Mask<'static>> {
    let stored = variable.nc_type.data_type()?;
    if let Values::Str(strings) = values {
        // Characters: one that was never written, or fills.
        let fill = match variable.attribute("_FillValue") {
            Some(AttributeValue::Text(text)) => text.as_bytes(),
            _ => &[],
        };
        return some(strings.iter().map(|string| string == fill));
    }
    with_number!(stored, T => {
        let rules = Rules::<T>::of(variable, unsigned);
        if unsigned {
            return match stored {
                DataType::Int8 => rules.reinterpreted::<u8>().apply(values),
                DataType::Int16 => rules.reinterpreted::<u16>().apply(values),
                DataType::Int32 => rules.reinterpreted::<u32>().apply(values),
                DataType::Int64 => rules.reinterpreted::<u64>().apply(values),
                _ => rules.apply(values),
            };
        }
        rules.apply(values)
    }, None)
}

fn some(missing: impl Iterator<Item = bool>) -> Option<Mask<'static>> {
    let mask = Mask::from_bools(missing);
    (mask.missing() > 0).then_some(mask)
}

/// What makes an element missing.
#[derive(Debug, PartialEq)]
struct Rules<T> {
    /// None of them NaN.
    equal: Vec<T>,
    nan: bool,
    least: Option<T>,
    greatest: Option<T>,
}

impl<T: Number> Rules<T> {
    /// NetCDF's own fill value of a type with a sign is below zero, and so equals nothing that is `unsigned`.
    fn of(variable: &Variable, unsigned: bool) -> Self {
        let mut rules = Self { equal: Vec::new(), nan: false, least: None, greatest: None };
        let held = |name| variable.attribute(name).and_then(held::<T>);
        let single = |name| held(name).filter(|all| all.len() == 1).and_then(|all| all.first().copied());
        let fill = held("_FillValue");
        if fill.is_none()
            && !(unsigned && T::default_fill().to_f64() < 0.0)
            && !(variable.no_fill && size_of::<T>() == 1)
        {
            rules.equal.push(T::default_fill());
        }
        for value in held("missing_value").into_iter().chain(fill).flatten() {
            if value.to_f64().is_nan() {
                rules.nan = true;
            } else if !rules.equal.contains(&value) {
                rules.equal.push(value);
            }
        }
        (rules.least, rules.greatest) = match held("valid_range").as_deref() {
            Some([least, greatest]) => (Some(*least), Some(*greatest)),
            _ => (single("valid_min"), single("valid_max")),
        };
        rules
    }

    /// The same of numbers without a sign, bit by bit.
    fn reinterpreted<U: Number>(self) -> Rules<U> {
        let nan = false; // of integers
        let bits = |number: T| U::from_i128(number.to_i128());
        Rules {
            equal: self.equal.into_iter().map(bits).collect(),
            nan,
            least: self.least.map(bits),
            greatest: self.greatest.map(bits),
        }
    }

    fn apply(&self, values: &Values<'_>) -> Option<Mask<'static>> {
        let values = values.as_slice::<T>()?;
        let Self { equal, nan, least, greatest } = self;
        let outside = |value: &T| {
            least.as_ref().is_some_and(|least| value < least)
                || greatest.as_ref().is_some_and(|greatest| value > greatest)
        };
        if let ([only], false, None, None) = (equal.as_slice(), nan, least, greatest) {
            // The usual case, and mostly nothing is found.
            if !values.contains(only) {
                return None;
            }
        }
        let is_nan = |value: &T| *nan && !T::WHOLE && value.to_f64().is_nan();
        some(values.iter().map(|value| equal.contains(value) || is_nan(value) || outside(value)))
    }
}

/// The numbers of an attribute, if this type holds all of them unchanged.
pub(crate) fn held<T: Number>(value: &AttributeValue) -> Option<Vec<T>> {
    fn all<S: Number, T: Number>(numbers: &[S]) -> Option<Vec<T>> {
        numbers.iter().map(|number| exact(*number)).collect()
    }
    let numbers = value.as_numbers()?;
    each_kind!(numbers, numbers => all(numbers), _bools => None, _strings => None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netcdf::model::{Attribute, NcType, Place};

    fn missing(
        values: impl Into<Values<'static>>,
        attributes: &[(&str, Values<'static>)],
        unsigned: bool,
    ) -> Vec<bool> {
        let values = values.into();
        let attribute = |(name, numbers): &(&str, Values<'static>)| Attribute {
            name: (*name).into(),
            value: AttributeValue::Numbers(numbers.clone()),
        };
        let variable = Variable {
            name: "v".into(),
            dimensions: vec![],
            shape: vec![],
            nc_type: NcType::Number(values.data_type()),
            attributes: attributes.iter().map(attribute).collect(),
            chunks: None,
            big_endian: true,
            problem: None,
            no_fill: false,
            place: Place::Fixed { begin: 0 },
        };
        let values = if unsigned { super::super::number::unsigned(values) } else { values };
        mask(&variable, &values, unsigned).map_or_else(|| vec![false; values.len()], |mask| mask.iter().collect())
    }

    #[test]
    fn the_rules_are_those_of_python() {
        let default = f32::default_fill();
        assert_eq!(missing(vec![1.0f32, default, f32::NAN], &[], false), [false, true, false]);
        // A fill value of its own stands in the default's place; a missing value beside it.
        assert_eq!(missing(vec![1.0f32, default], &[("_FillValue", vec![1.0f32].into())], false), [true, false]);
        assert_eq!(missing(vec![1.0f32, default], &[("missing_value", vec![1.0f32].into())], false), [true, true]);
        // 1e20 of 64 bits is no number of 32.
        assert_eq!(missing(vec![1e20f32], &[("missing_value", vec![1e20f64].into())], false), [false]);
        assert_eq!(missing(vec![1.0f64, f64::NAN], &[("_FillValue", vec![f64::NAN].into())], false), [false, true]);
        assert_eq!(missing(vec![-1i16, 5, 11], &[("valid_range", vec![0i16, 10].into())], false), [true, false, true]);
        let range: [(&str, Values<'static>); 2] = [("valid_min", vec![0f64].into()), ("valid_max", vec![4i32].into())];
        assert_eq!(missing(vec![-1i16, 4, 5], &range, false), [true, false, true]);
        assert_eq!(missing(vec![-127i8, 3], &[], false), [true, false]);
        assert_eq!(missing(vec![-1i8, -127, 3], &[("valid_max", vec![3i8].into())], true), [true, true, false]);
        assert_eq!(missing(vec![-127i8, 3], &[], true), [false, false]);
        assert_eq!(missing(vec![255u8, 3], &[], true), [true, false]);
        assert_eq!(missing(vec![-1i8, 3], &[("_FillValue", vec![-1i8].into())], true), [true, false]);
    }
}
