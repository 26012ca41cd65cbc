//! Times: what a time variable's numbers mean.
//!
//! Variables with [`.time`](crate::Variable::is_time) hold Julian dates. Others say in their attributes `units` and `calendar` what they
//! count, by the CF conventions. [`of`] finds out which; [`Units`] goes from numbers to [`Date`]s and back, exactly, in whole microseconds;
//! a date goes to ISO 8601, to its Julian date, and to other calendars.

mod calendar;
mod date;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
mod parse;
mod units;

#[cfg(test)]
mod tests;

use container_core::Result;

use crate::read::Variable;

pub use calendar::Calendar;
pub use date::{Date, Fields};
pub use units::Units;

/// What a variable's numbers count, where they are times: `None` for a variable that does not say so, and for one of texts or truth values.
///
/// # Errors
/// What [`Units::parse`] and [`Calendar::from_name`] say, for a variable whose `units` have the form of a time.
pub fn of(variable: &Variable<'_>) -> Result<Option<Units>> {
    if variable.data_type().is_none_or(|data_type| data_type.width().is_none()) {
        return Ok(None);
    }
    if variable.is_time() {
        return Ok(Some(Units::JULIAN));
    }
    let attributes = variable.attributes();
    let Some(units) = attributes.get("units").and_then(|units| units.as_str()) else { return Ok(None) };
    if !units.split_ascii_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since")) {
        return Ok(None);
    }
    let calendar = match attributes.get("calendar").and_then(|calendar| calendar.as_str()) {
        Some(name) => Calendar::from_name(&name),
        None => Ok(Calendar::Standard),
    };
    let units = calendar.and_then(|calendar| Units::parse(&units, calendar));
    units.map(Some).map_err(|error| variable.place(error))
}
