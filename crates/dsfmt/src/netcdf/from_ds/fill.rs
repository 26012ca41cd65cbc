//! Chooses fill values that no present element has.

use container_core::{Error, Loss, Result};

use super::for_each_source_chunk;
use crate::array::Values;
use crate::netcdf::mask::{Rules, exact_numbers};
use crate::netcdf::model::{Attribute, AttributeValue};
use crate::netcdf::number::Number;
use crate::netcdf::scale::is_unsigned;
use crate::netcdf::to_ds::loss;
use crate::read::Variable;

/// The fill value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fill {
    pub(crate) value: Values<'static>,
    /// Must be declared by `_FillValue`, replacing an existing one.
    pub(crate) declared: bool,
    /// Some elements are missing.
    pub(crate) missing: bool,
    /// Attributes by which present elements would be read as missing.
    pub(crate) masking: Vec<&'static str>,
}

impl Fill {
    /// The loss of an attribute of a variable that would mask present elements.
    pub(crate) fn masking_losses(&self, variable: &str) -> impl Iterator<Item = Loss> {
        self.masking.iter().map(move |name| {
            loss(format!(
                "attribute {name:?} of variable {variable:?} left out: present elements would be read as missing"
            ))
        })
    }
}

/// Attributes besides `_FillValue` that make elements missing; of each group, one may take the place of another.
pub(crate) const MASKING: [&[&str]; 2] = [&["missing_value"], &["valid_range", "valid_min", "valid_max"]];

/// A possible fill value, and whether a present element has it.
struct Candidate<T> {
    value: T,
    occurs: bool,
}

/// Scans the variable, which has these attributes, and chooses the first value that no present element has: its `_FillValue`, its `missing_value`,
/// NetCDF's default of the type, or another.
pub(crate) fn choose<T: Number>(variable: &Variable<'_>, attributes: &[Attribute]) -> Result<Fill> {
    let find =
        |name: &str| attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value);
    let first =
        |value: Option<&AttributeValue>| value.and_then(exact_numbers::<T>).and_then(|all| all.first().copied());
    let (own, other) = (first(find("_FillValue")), first(find("missing_value")));
    let unsigned = is_unsigned(find("_Unsigned"));
    let rules = MASKING.map(|names| Rules::<T>::new(|name| find(name).filter(|_| names.contains(&name)), None));
    let mut masks = [false; MASKING.len()];
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
        for (rules, masks) in rules.iter().zip(&mut masks).filter(|(_, masks)| !**masks) {
            let Some(mask) = rules.mask(array.values(), unsigned) else { continue };
            *masks = mask
                .iter()
                .enumerate()
                .any(|(index, masked)| masked && array.mask().is_none_or(|missing| !missing.is_missing(index)));
        }
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
    let masking = MASKING.iter().zip(masks).filter(|(_, masks)| *masks).flat_map(|(names, _)| *names).copied();
    let masking: Vec<&str> = masking.filter(|name| find(name).is_some()).collect();
    let keeps_missing_value = !masking.contains(&"missing_value");
    let default_occurs = candidates.get(2).and_then(Option::as_ref).is_some_and(|candidate| candidate.occurs);
    let fill = |value: T, declared| Ok(Fill { value: T::values(vec![value]), declared, missing, masking });
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
        return fill(value, default_occurs || !keeps_missing_value);
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

/// The greatest value that does not occur; for floats, a whole number.
fn unused_value<T: Number>(variable: &Variable<'_>) -> Result<Option<T>> {
    /// Values looked for in one scan. There are rarely more scans: all of these values must occur.
    const WINDOW: i128 = 1 << 24;
    let (min, max) = match (T::IS_INTEGER, size_of::<T>()) {
        (true, _) => (T::from_f64(f64::MIN).to_i128(), T::from_f64(f64::MAX).to_i128()),
        (false, 4) => (-(1 << 24), 1 << 24),
        (false, _) => (-(1 << 53), 1 << 53),
    };
    let mut end = max + 1;
    while end > min {
        // More values than elements cannot all occur.
        let start = min.max(end - WINDOW.min(i128::from(variable.len()) + 1));
        let index = |value: i128| usize::try_from(value.saturating_sub(start)).ok();
        let mut occurs = vec![false; index(end).unwrap_or(0)];
        for_each_source_chunk(variable, |array| {
            let mask = array.mask();
            for (element, value) in array.values().as_slice::<T>().unwrap_or_default().iter().enumerate() {
                if !mask.is_some_and(|mask| mask.is_missing(element))
                    && let Some(occurs) = index(value.to_i128()).and_then(|index| occurs.get_mut(index))
                {
                    *occurs = true;
                }
            }
            Ok(())
        })?;
        let unused = (start..end).zip(&occurs).filter(|(_, occurs)| !**occurs).last();
        if let Some((value, _)) = unused {
            return Ok(Some(T::from_i128(value)));
        }
        end = start;
    }
    Ok(None)
}
