//! CF times as Julian dates.

use dsfmt::time::{Calendar, Units};
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::ds::buffer::NewArray;
use crate::error::Result;

/// Julian dates of numbers with CF units in a calendar, as an array of one dimension; NaN where a number is `None`. `None` if the units are no
/// CF time, or the calendar has a date that the Gregorian one has not.
///
/// Numbers are integers or floats; non-finite floats stay.
#[pyfunction]
pub(super) fn julian_dates<'py>(
    py: Python<'py>,
    numbers: Vec<Option<Number>>,
    units: &str,
    calendar: &str,
) -> Result<Option<Bound<'py, PyAny>>> {
    let Ok(calendar) = Calendar::from_name(calendar) else { return Ok(None) };
    let Ok(units) = Units::parse(units, calendar) else { return Ok(None) };
    let convert = |number: &Option<Number>| match number {
        None => Some(f64::NAN),
        Some(Number::Float(number)) if !number.is_finite() => Some(*number),
        Some(Number::Float(number)) => units.date(*number)?.julian_date(),
        Some(Number::Integer(number)) => units.date_of_integer(*number)?.julian_date(),
    };
    let Some(dates) = py.detach(|| numbers.iter().map(convert).collect::<Option<Vec<f64>>>()) else { return Ok(None) };
    let mut array = NewArray::empty(py, &[dates.len() as u64], "f8")?;
    array.fill(|out| {
        out.copy_from_slice(bytemuck::cast_slice(&dates));
        Ok(())
    })?;
    Ok(Some(array.finish()?))
}

/// A number of a time variable.
#[derive(FromPyObject)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}
