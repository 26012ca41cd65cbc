//! Parsers for [nom](https://docs.rs/nom) 8 (feature `nom`). Both consume all input, because a date extends to the end of its text.
//!
//! ```
//! use dsfmt::Error;
//! use dsfmt::time::{Calendar, Date, nom::{date, units}};
//! use nom::{Parser, bytes::complete::tag, sequence::preceded};
//!
//! let (rest, units) = preceded(tag("units = "), units(Calendar::Standard)).parse("units = hours since 2000-01-01").unwrap();
//! assert_eq!(rest, "");
//! assert_eq!(units.date(12.0), Some(Date::from_iso("2000-01-01 12:00", Calendar::Standard)?));
//! # Ok::<(), Error>(())
//! ```

use ::nom::{Err, IResult};
use container_core::{Error, Result};

use super::{Calendar, Date, Units};

/// Parses a `units` attribute, see [`Units::parse`].
pub fn units<'a>(calendar: Calendar) -> impl FnMut(&'a str) -> IResult<&'a str, Units, Error> {
    whole_input(move |text| Units::parse(text, calendar))
}

/// Parses a date, see [`Date::from_iso`].
pub fn date<'a>(calendar: Calendar) -> impl FnMut(&'a str) -> IResult<&'a str, Date, Error> {
    whole_input(move |text| Date::from_iso(text, calendar))
}

fn whole_input<'a, T>(parse: impl Fn(&'a str) -> Result<T>) -> impl FnMut(&'a str) -> IResult<&'a str, T, Error> {
    move |text| parse(text).map(|value| ("", value)).map_err(Err::Error)
}
