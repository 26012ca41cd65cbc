//! Chooses fill values that no present element has.

use container_core::{Error, Result};

use super::for_each_source_chunk;
use crate::array::Values;
use crate::netcdf::mask::exact_numbers;
use crate::netcdf::model::AttributeValue;
use crate::netcdf::number::Number;
use crate::read::Variable;

/// The fill value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fill {
    pub(crate) value: Values<'static>,
    /// Must be declared by `_FillValue`, replacing an existing one.
    pub(crate) declared: bool,
    /// Some elements are missing.
    pub(crate) missing: bool,
    /// Present elements equal the attribute `missing_value`.
    pub(crate) missing_value_occurs: bool,
}

/// A possible fill value, and whether a present element has it.
struct Candidate<T> {
    value: T,
    occurs: bool,
}

/// Scans the variable and chooses the first value that no present element has: its `_FillValue`, its `missing_value`, NetCDF's default of the
/// type, or another.
pub(crate) fn choose<T: Number>(
    variable: &Variable<'_>,
    fill: Option<&AttributeValue>,
    missing_value: Option<&AttributeValue>,
) -> Result<Fill> {
    let first =
        |value: Option<&AttributeValue>| value.and_then(exact_numbers::<T>).and_then(|all| all.first().copied());
    let (own, other) = (first(fill), first(missing_value));
    let max = T::from_f64(f64::MAX);
    let values =
        [own, other, Some(T::default_fill()), Some(max), Some(T::from_f64(f64::MIN)), Some(T::from_f64(-9999.0))];
    let mut candidates: Vec<Option<Candidate<T>>> =
        values.into_iter().map(|value| value.map(|value| Candidate { value, occurs: false })).collect();
    // An empty variable is written as a missing scalar.
    let mut missing = variable.shape().is_none();
    for_each_source_chunk(variable, |array| {
        let Some(values) = array.values().as_slice::<T>() else { return Ok(()) };
        missing |= array.missing() > 0;
        for candidate in candidates.iter_mut().flatten().filter(|candidate| !candidate.occurs) {
            candidate.occurs = match array.mask() {
                None => values.iter().any(|value| same(value, &candidate.value)),
                Some(mask) => {
                    values.iter().zip(mask.iter()).any(|(value, missing)| !missing && same(value, &candidate.value))
                }
            };
        }
        Ok(())
    })?;
    let missing_value_occurs = candidates.get(1).and_then(Option::as_ref).is_some_and(|candidate| candidate.occurs);
    let default_occurs = candidates.get(2).and_then(Option::as_ref).is_some_and(|candidate| candidate.occurs);
    let fill = |value: T, declared| Ok(Fill { value: T::values(vec![value]), declared, missing, missing_value_occurs });
    let unused_candidate = |index: usize| {
        candidates
            .get(index)
            .and_then(Option::as_ref)
            .filter(|candidate| !candidate.occurs)
            .map(|candidate| candidate.value)
    };
    if let Some(value) = unused_candidate(0) {
        return fill(value, false);
    }
    if own.is_none() && !missing && !default_occurs {
        return fill(T::default_fill(), false);
    }
    if let (None, true, Some(value)) = (own, missing, unused_candidate(1)) {
        return fill(value, default_occurs);
    }
    match (2..candidates.len()).find_map(unused_candidate).or(unused_value::<T>(variable)?) {
        Some(value) => fill(value, true),
        // Every value of the type occurs: fine if nothing is missing.
        None if !missing && own.is_none() => fill(T::default_fill(), false),
        None => Err(Error::usage("no fill value left: present elements have every value of the type")),
    }
}

/// Equality where NaN equals NaN.
fn same<T: Number>(a: &T, b: &T) -> bool {
    a == b || (!T::IS_INTEGER && a.to_f64().is_nan() && b.to_f64().is_nan())
}

/// A value that does not occur, for types of up to 16 bits.
fn unused_value<T: Number>(variable: &Variable<'_>) -> Result<Option<T>> {
    if size_of::<T>() > 2 {
        return Ok(None);
    }
    let index = |value: &T| usize::try_from(value.to_i128() + 0x8000).unwrap_or(0);
    let mut occurs = vec![false; 0x18000];
    for_each_source_chunk(variable, |array| {
        let mask = array.mask();
        for (element, value) in array.values().as_slice::<T>().unwrap_or_default().iter().enumerate() {
            if !mask.is_some_and(|mask| mask.is_missing(element))
                && let Some(occurs) = occurs.get_mut(index(value))
            {
                *occurs = true;
            }
        }
        Ok(())
    })?;
    let value = occurs.iter().enumerate().filter(|(_, occurs)| !**occurs).find_map(|(index, _)| {
        let number = i128::try_from(index).ok()? - 0x8000;
        let value = T::from_i128(number);
        (value.to_i128() == number).then_some(value)
    });
    Ok(value)
}
