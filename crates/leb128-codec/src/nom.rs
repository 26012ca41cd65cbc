//! Parsers for [nom](https://docs.rs/nom) 8 (feature `nom`).
//!
//! ```
//! use leb128_codec::nom::complete::leb128;
//! use nom::{IResult, Parser, multi::length_data};
//!
//! fn text(input: &[u8]) -> IResult<&[u8], &[u8]> {
//!     length_data(leb128::<u32, _>).parse(input)
//! }
//! assert_eq!(text(b"\x02hi!"), Ok((&b"!"[..], &b"hi"[..])));
//! ```
//!
//! The two modules differ as nom's own do: at the end of the input, `complete` fails and `streaming` asks for more. The
//! error has the input from the error's [offset](DecodeError::offset) on, and one of these codes:
//!
//! | code | cause |
//! |---|---|
//! | `Eof` | a truncated value (`complete` only) |
//! | `TooLarge` | a value that does not fit the type |
//! | `Verify` | a padded form (`leb128_strict` only) |

use ::nom::error::{ErrorKind, ParseError};
use ::nom::{Err, IResult, Needed};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::integer::Integer;

fn rest<T: Integer, E>(input: &[u8], (value, len): (T, usize)) -> IResult<&[u8], T, E> {
    Ok((input.split_at(len).1, value))
}

fn reject<'a, E: ParseError<&'a [u8]>>(input: &'a [u8], error: DecodeError) -> Err<E> {
    let code = match error.kind() {
        DecodeErrorKind::Truncated => ErrorKind::Eof,
        DecodeErrorKind::Overflow => ErrorKind::TooLarge,
        DecodeErrorKind::Overlong => ErrorKind::Verify,
    };
    Err::Error(E::from_error_kind(input.split_at(error.offset()).1, code))
}

fn reject_or_wait<'a, E: ParseError<&'a [u8]>>(input: &'a [u8], error: DecodeError) -> Err<E> {
    match error.kind() {
        // Only the next byte shows whether more are needed.
        DecodeErrorKind::Truncated => Err::Incomplete(Needed::new(1)),
        _ => reject(input, error),
    }
}

/// For complete input: a truncated value is an error.
pub mod complete {
    use super::{IResult, Integer, ParseError, reject, rest};

    /// Parses a value.
    ///
    /// # Errors
    /// See [the module](super).
    pub fn leb128<'a, T: Integer, E: ParseError<&'a [u8]>>(input: &'a [u8]) -> IResult<&'a [u8], T, E> {
        T::decode(input).map_err(|error| reject(input, error)).and_then(|decoded| rest(input, decoded))
    }

    /// Parses a value and rejects padded forms.
    ///
    /// # Errors
    /// See [the module](super).
    pub fn leb128_strict<'a, T: Integer, E: ParseError<&'a [u8]>>(input: &'a [u8]) -> IResult<&'a [u8], T, E> {
        T::decode_strict(input).map_err(|error| reject(input, error)).and_then(|decoded| rest(input, decoded))
    }
}

/// For partial input: a truncated value asks for more.
pub mod streaming {
    use super::{IResult, Integer, ParseError, reject_or_wait, rest};

    /// Parses a value.
    ///
    /// # Errors
    /// See [the module](super).
    pub fn leb128<'a, T: Integer, E: ParseError<&'a [u8]>>(input: &'a [u8]) -> IResult<&'a [u8], T, E> {
        T::decode(input).map_err(|error| reject_or_wait(input, error)).and_then(|decoded| rest(input, decoded))
    }

    /// Parses a value and rejects padded forms.
    ///
    /// # Errors
    /// See [the module](super).
    pub fn leb128_strict<'a, T: Integer, E: ParseError<&'a [u8]>>(input: &'a [u8]) -> IResult<&'a [u8], T, E> {
        T::decode_strict(input).map_err(|error| reject_or_wait(input, error)).and_then(|decoded| rest(input, decoded))
    }
}
