//! Missing elements by the rules of the Python package `netCDF4`, which ds-format reads with.
//!
//! An element is missing when it equals one of `missing_value`, equals `_FillValue` (by default NetCDF's fill value of the type, also for bytes
//! unless filling is turned off), or lies outside `valid_range`, or otherwise below `valid_min` or above `valid_max`. NaN matches every NaN. An
//! attribute counts only if the variable's type holds its value exactly. Zarr has no fill values by default, and
//! texts that are missing, too.
//!
//! Among times, the smallest 64-bit integer is missing as well: xarray writes `NaT` so, and reads it without an attribute that says it.

use super::model::{AttributeValue, Variable};
use super::number::{Number, exact, unsigned, with_number};
use super::scale::is_unsigned;
use crate::array::{Mask, Values, each_kind};
use crate::types::DataType;

/// The mask of values of the variable; `None` when nothing is missing. Integers that `_Unsigned` declares are compared as unsigned, whether
/// `values` are reinterpreted already or not.
pub(crate) fn mask(variable: &Variable, values: &Values<'_>) -> Option<Mask<'static>> {
    let stored = variable.nc_type.data_type()?;
    if let (Some(strings), true) = (values.as_strings(), variable.is_zarr()) {
        let fills = ["_FillValue", "missing_value"].into_iter().filter_map(|name| variable.attribute(name));
        let fills: Vec<&String> = fills.flat_map(AttributeValue::texts).collect();
        return mask_if_any(strings.iter().map(|string| fills.iter().any(|fill| fill.as_bytes() == string)));
    }
    if let Values::Str(strings) = values {
        // Characters: unwritten ones and fill values.
        let fill = match variable.attribute("_FillValue") {
            Some(AttributeValue::Text(text)) => text.as_bytes(),
            _ => &[],
        };
        return mask_if_any(strings.iter().map(|string| string == fill));
    }
    with_number!(stored, T => {
        let is_unsigned = is_unsigned(variable.attribute("_Unsigned"));
        // A signed type's default fill value is negative, and matches no value that is read as unsigned.
        let is_signed = is_unsigned && T::default_fill().to_f64() < 0.0;
        let is_unfilled = variable.no_fill && size_of::<T>() == 1;
        let default = (!is_signed && !is_unfilled && !variable.is_zarr()).then(T::default_fill);
        let mut rules = Rules::<T>::new(|name| variable.attribute(name), default);
        if stored == DataType::Int64 && !is_unsigned && is_time(variable) {
            rules.equal.extend(exact::<i64, T>(i64::MIN));
        }
        rules.mask(values, is_unsigned)
    }, None)
}

/// Whether the numbers count from a point in time.
fn is_time(variable: &Variable) -> bool {
    variable.attribute("units").and_then(AttributeValue::as_text).is_some_and(|units| units.contains(" since "))
}

fn mask_if_any(missing: impl Iterator<Item = bool>) -> Option<Mask<'static>> {
    let mask = Mask::from_bools(missing);
    (mask.missing() > 0).then_some(mask)
}

/// The values that mean "missing".
#[derive(Debug, PartialEq)]
pub(crate) struct Rules<T> {
    /// Without NaN.
    equal: Vec<T>,
    nan: bool,
    min: Option<T>,
    max: Option<T>,
}

impl<T: Number> Rules<T> {
    /// The rules of these attributes. `default` is the fill value without a `_FillValue`.
    pub(crate) fn new<'a>(attribute: impl Fn(&str) -> Option<&'a AttributeValue>, default: Option<T>) -> Self {
        let mut rules = Self { equal: Vec::new(), nan: false, min: None, max: None };
        let numbers = |name| attribute(name).and_then(exact_numbers::<T>);
        let single = |name| numbers(name).filter(|all| all.len() == 1).and_then(|all| all.first().copied());
        let fill = numbers("_FillValue");
        if fill.is_none() {
            rules.equal.extend(default);
        }
        for value in numbers("missing_value").into_iter().chain(fill).flatten() {
            if value.to_f64().is_nan() {
                rules.nan = true;
            } else if !rules.equal.contains(&value) {
                rules.equal.push(value);
            }
        }
        (rules.min, rules.max) = match numbers("valid_range").as_deref() {
            Some([min, max]) => (Some(*min), Some(*max)),
            _ => (single("valid_min"), single("valid_max")),
        };
        rules
    }

    /// The mask of values of the type, which integers that stand for unsigned ones are reinterpreted from, or already have been.
    pub(crate) fn mask(&self, values: &Values<'_>, is_unsigned: bool) -> Option<Mask<'static>> {
        if !is_unsigned {
            return self.apply(values);
        }
        let values = if values.as_slice::<T>().is_some() { &unsigned(values.clone()) } else { values };
        match values.data_type() {
            DataType::Uint8 => self.reinterpreted::<u8>().apply(values),
            DataType::Uint16 => self.reinterpreted::<u16>().apply(values),
            DataType::Uint32 => self.reinterpreted::<u32>().apply(values),
            DataType::Uint64 => self.reinterpreted::<u64>().apply(values),
            _ => self.apply(values),
        }
    }

    /// Reinterprets the bits as unsigned.
    fn reinterpreted<U: Number>(&self) -> Rules<U> {
        let nan = false; // integers only
        let bits = |number: T| U::from_i128(number.to_i128());
        Rules {
            equal: self.equal.iter().copied().map(bits).collect(),
            nan,
            min: self.min.map(bits),
            max: self.max.map(bits),
        }
    }

    fn apply(&self, values: &Values<'_>) -> Option<Mask<'static>> {
        let values = values.as_slice::<T>()?;
        let Self { equal, nan, min, max } = self;
        let outside =
            |value: &T| min.as_ref().is_some_and(|min| value < min) || max.as_ref().is_some_and(|max| value > max);
        if let (false, None, None) = (nan, min, max) {
            // Fast path for the usual case that nothing matches.
            if !equal.iter().any(|one| values.contains(one)) {
                return None;
            }
        }
        let is_nan = |value: &T| *nan && !T::IS_INTEGER && value.to_f64().is_nan();
        mask_if_any(values.iter().map(|value| equal.contains(value) || is_nan(value) || outside(value)))
    }
}

/// The numbers of an attribute, if `T` holds all of them exactly.
pub(crate) fn exact_numbers<T: Number>(value: &AttributeValue) -> Option<Vec<T>> {
    fn all<S: Number, T: Number>(numbers: &[S]) -> Option<Vec<T>> {
        numbers.iter().map(|number| exact(*number)).collect()
    }
    let numbers = value.as_numbers()?;
    each_kind!(numbers, numbers => all(numbers), _bools => None, _strings => None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netcdf::model::{Attribute, Location, NcType};

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
        let flag = unsigned.then(|| Attribute { name: "_Unsigned".into(), value: AttributeValue::Text("true".into()) });
        let variable = Variable {
            name: "v".into(),
            dimensions: vec![],
            shape: vec![],
            nc_type: NcType::Number(values.data_type()),
            attributes: attributes.iter().map(attribute).chain(flag).collect(),
            chunks: None,
            big_endian: true,
            problem: None,
            no_fill: false,
            location: Location::Fixed { begin: 0 },
        };
        let flags = |values: &Values<'_>| {
            mask(&variable, values).map_or_else(|| vec![false; values.len()], |mask| mask.iter().collect())
        };
        let found = flags(&values);
        if unsigned {
            assert_eq!(flags(&super::super::number::unsigned(values)), found);
        }
        found
    }

    #[test]
    fn matches_python_rules() {
        let default = f32::default_fill();
        assert_eq!(missing(vec![1.0f32, default, f32::NAN], &[], false), [false, true, false]);
        // A `_FillValue` replaces the default; a `missing_value` is added to it.
        assert_eq!(missing(vec![1.0f32, default], &[("_FillValue", vec![1.0f32].into())], false), [true, false]);
        assert_eq!(missing(vec![1.0f32, default], &[("missing_value", vec![1.0f32].into())], false), [true, true]);
        // 1e20 as f64 is not exact in f32.
        assert_eq!(missing(vec![1e20f32], &[("missing_value", vec![1e20f64].into())], false), [false]);
        assert_eq!(missing(vec![1.0f64, f64::NAN], &[("_FillValue", vec![f64::NAN].into())], false), [false, true]);
        assert_eq!(missing(vec![-1i16, 5, 11], &[("valid_range", vec![0i16, 10].into())], false), [true, false, true]);
        let range: [(&str, Values<'static>); 2] = [("valid_min", vec![0f64].into()), ("valid_max", vec![4i32].into())];
        assert_eq!(missing(vec![-1i16, 4, 5], &range, false), [true, false, true]);
        assert_eq!(missing(vec![-127i8, 3], &[], false), [true, false]);
        assert_eq!(missing(vec![-1i8, -127, 3], &[("valid_max", vec![3i8].into())], true), [true, true, false]);
        assert_eq!(missing(vec![-127i8, 3], &[], true), [false, false]);
        assert_eq!(missing(vec![255u8, 3], &[], true), [true, false]);
        let range: [(&str, Values<'static>); 1] = [("valid_range", vec![0i8, -2].into())];
        assert_eq!(missing(vec![0i8, -56, 127, -2, -1], &range, true), [false, false, false, false, true]);
        assert_eq!(missing(vec![-1i8, 3], &[("_FillValue", vec![-1i8].into())], true), [true, false]);
    }
}
