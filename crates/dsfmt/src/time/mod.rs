//! CF time coordinates: conversions between numbers, dates and calendars.
//!
//! Variables with [`.time`](crate::Variable::is_time) hold Julian dates; others declare the CF attributes `units` and `calendar`. [`of`] returns
//! the units of a variable; [`Units`] converts between numbers and [`Date`]s exactly, in whole microseconds; a date converts to ISO 8601, to
//! its Julian date, and to other calendars.

mod calendar;
mod date;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
mod parse;
mod units;

#[cfg(test)]
mod tests;

use container_core::{Error, Result};

use crate::read::Variable;
use crate::read::packing::Packing;

/// Attributes that define time units.
pub(crate) const UNITS: &str = "units";
pub(crate) const CALENDAR: &str = "calendar";

pub use calendar::Calendar;
pub use date::{Date, Fields};
pub use units::Units;

/// The time units of a numeric variable; `None` if it does not declare any. Bounds of times, which the attribute `bounds` or `climatology` of these
/// names, have their units and their calendar, unless they declare their own.
///
/// # Errors
/// Those of [`Units::parse`] and [`Calendar::from_name`], if `units` has the form of a time unit.
pub fn of(variable: &Variable<'_>) -> Result<Option<Units>> {
    let Some(times) = bounded(variable) else { return own(variable, Calendar::Standard) };
    if variable.attributes().get(UNITS).is_none() {
        return own(&times, Calendar::Standard);
    }
    own(variable, own(&times, Calendar::Standard)?.map_or(Calendar::Standard, Units::calendar))
}

/// The variable whose bounds a numeric variable contains.
fn bounded<'r>(variable: &Variable<'r>) -> Option<Variable<'r>> {
    let is_number = variable.data_type().is_some_and(|data_type| data_type.width().is_some());
    let index = variable.reader.bounds().get(variable.name()).filter(|_| is_number && !variable.is_time())?;
    variable.reader.variable_at(*index)
}

/// The attributes of time units that a variable of bounds does not declare itself.
#[cfg(feature = "arrow")]
pub(crate) fn inherited<'r>(variable: &Variable<'r>) -> Vec<(&'static str, crate::Json<'r>)> {
    let are_times = || of(variable).is_ok_and(|units| units.is_some());
    let Some(times) = bounded(variable).filter(|_| are_times()) else { return Vec::new() };
    let attributes = variable.attributes();
    let lacking = [UNITS, CALENDAR].into_iter().filter(|name| attributes.get(name).is_none());
    lacking.filter_map(|name| Some((name, times.attributes().get(name)?))).collect()
}

/// The time units that a variable declares, in this calendar unless it declares one.
fn own(variable: &Variable<'_>, calendar: Calendar) -> Result<Option<Units>> {
    if variable.data_type().is_none_or(|data_type| data_type.width().is_none()) {
        return Ok(None);
    }
    if variable.is_time() {
        return Ok(Some(Units::JULIAN));
    }
    let attributes = variable.attributes();
    let Some(units) = attributes.get(UNITS).and_then(|units| units.as_str()) else { return Ok(None) };
    if !units.split_ascii_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since")) {
        return Ok(None);
    }
    let calendar = match attributes.get(CALENDAR).and_then(|calendar| calendar.as_str()) {
        Some(name) => Calendar::from_name(&name),
        None => Ok(calendar),
    };
    let units = calendar.and_then(|calendar| Units::parse(&units, calendar));
    units.map(Some).map_err(|error| variable.in_variable(error))
}

/// As [`of`], for numbers that are converted as they are stored.
///
/// # Errors
/// As [`of`], and for packed times, whose stored numbers are in other units.
pub(crate) fn of_stored(variable: &Variable<'_>) -> Result<Option<Units>> {
    match of(variable)? {
        Some(_) if Packing::of(variable).is_some() => {
            let detail = "the numbers are packed with scale_factor, add_offset or _Unsigned";
            Err(variable.in_variable(Error::unsupported(detail)))
        }
        units => Ok(units),
    }
}
