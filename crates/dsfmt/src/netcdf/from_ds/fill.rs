//! What stands for missing elements, and must not stand for others.

use container_core::{Error, Result};

use super::source_pieces;
use crate::array::Values;
use crate::netcdf::mask::held;
use crate::netcdf::model::AttributeValue;
use crate::netcdf::number::Number;
use crate::read::Variable;

/// What is written for missing elements.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fill {
    pub(super) value: Values<'static>,
    /// It has to be said by an attribute `_FillValue`, in the place of the one there is.
    pub(super) declared: bool,
    /// Elements are missing.
    pub(super) missing: bool,
    /// Elements that are there equal the attribute `missing_value`.
    pub(super) taken: bool,
}

/// What is known of one value that could be the fill.
struct Candidate<T> {
    value: T,
    occurs: bool,
}

/// Reads the variable through, and chooses: its own `_FillValue`, its own `missing_value`, NetCDF's fill value of the type, or another;
/// the first that is not a value of an element.
pub(super) fn choose<T: Number>(
    variable: &Variable<'_>,
    fill: Option<&AttributeValue>,
    missing_value: Option<&AttributeValue>,
) -> Result<Fill> {
    let first = |value: Option<&AttributeValue>| value.and_then(held::<T>).and_then(|all| all.first().copied());
    let (own, other) = (first(fill), first(missing_value));
    let greatest = T::from_f64(f64::MAX);
    let more =
        [own, other, Some(T::default_fill()), Some(greatest), Some(T::from_f64(f64::MIN)), Some(T::from_f64(-9999.0))];
    let mut candidates: Vec<Option<Candidate<T>>> =
        more.into_iter().map(|value| value.map(|value| Candidate { value, occurs: false })).collect();
    // An empty variable is written as a scalar that is missing.
    let mut missing = variable.shape().is_none();
    source_pieces(variable, |array| {
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
    let taken = candidates.get(1).and_then(Option::as_ref).is_some_and(|candidate| candidate.occurs);
    let default_occurs = candidates.get(2).and_then(Option::as_ref).is_some_and(|candidate| candidate.occurs);
    let done = |value: T, declared| Ok(Fill { value: T::values(vec![value]), declared, missing, taken });
    let free = |place: usize| {
        candidates
            .get(place)
            .and_then(Option::as_ref)
            .filter(|candidate| !candidate.occurs)
            .map(|candidate| candidate.value)
    };
    if let Some(value) = free(0) {
        return done(value, false);
    }
    if own.is_none() && !missing && !default_occurs {
        return done(T::default_fill(), false);
    }
    if let (None, true, Some(value)) = (own, missing, free(1)) {
        return done(value, default_occurs);
    }
    match (2..candidates.len()).find_map(free).or(unused::<T>(variable)?) {
        Some(value) => done(value, true),
        // Every byte occurs: then no value says "missing", which is right if nothing is.
        None if !missing && own.is_none() => done(T::default_fill(), false),
        None => Err(Error::usage("every value that could stand for missing elements is one of the others")),
    }
}

/// A NaN is every NaN.
fn same<T: Number>(a: &T, b: &T) -> bool {
    a == b || (!T::WHOLE && a.to_f64().is_nan() && b.to_f64().is_nan())
}

/// A value of at most 16 bits that does not occur.
fn unused<T: Number>(variable: &Variable<'_>) -> Result<Option<T>> {
    if size_of::<T>() > 2 {
        return Ok(None);
    }
    let place = |value: &T| usize::try_from(value.to_i128() + 0x8000).unwrap_or(0);
    let mut occurs = vec![false; 0x18000];
    source_pieces(variable, |array| {
        let mask = array.mask();
        for (index, value) in array.values().as_slice::<T>().unwrap_or_default().iter().enumerate() {
            if !mask.is_some_and(|mask| mask.is_missing(index))
                && let Some(occurs) = occurs.get_mut(place(value))
            {
                *occurs = true;
            }
        }
        Ok(())
    })?;
    let found = occurs.iter().enumerate().filter(|(_, occurs)| !**occurs).find_map(|(place, _)| {
        let wanted = i128::try_from(place).ok()? - 0x8000;
        let value = T::from_i128(wanted);
        (value.to_i128() == wanted).then_some(value)
    });
    Ok(found)
}
