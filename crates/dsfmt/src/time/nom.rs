//! Units and dates as parsers of [nom](https://docs.rs/nom) 8 (feature `nom`). Both take all of the text, as a date's end is that of the text.
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

/// What an attribute `units` says, as [`Units::parse`] understands it.
pub fn units<'a>(calendar: Calendar) -> impl FnMut(&'a str) -> IResult<&'a str, Units, Error> {
    whole(move |text| Units::parse(text, calendar))
}

/// A date, as [`Date::from_iso`] reads it.
pub fn date<'a>(calendar: Calendar) -> impl FnMut(&'a str) -> IResult<&'a str, Date, Error> {
    whole(move |text| Date::from_iso(text, calendar))
}

fn whole<'a, T>(read: impl Fn(&'a str) -> Result<T>) -> impl FnMut(&'a str) -> IResult<&'a str, T, Error> {
    move |text| read(text).map(|read| ("", read)).map_err(Err::Error)
}
