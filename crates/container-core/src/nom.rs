//! Parsers of [nom](https://docs.rs/nom) 8 over cursors (feature `nom`).
//!
//! A [`Cursor`] is a nom input that keeps its offset in the file through all combinators, and [`Error`] is a nom error, so that failures have a
//! position. [`parser`] turns a function that reads from a cursor into a parser; [`Cursor::parse`] runs a parser on a cursor.
//!
//! ```
//! # #[cfg(feature = "alloc")] {
//! use container_core::nom::parser;
//! use container_core::{Cursor, Error};
//! use nom::bytes::complete::tag;
//! use nom::error::context;
//! use nom::multi::length_count;
//! use nom::sequence::preceded;
//! use nom::{IResult, Parser};
//!
//! /// `PTS1`, a one-byte count, and that many 16-bit numbers.
//! fn points(input: Cursor<'_>) -> IResult<Cursor<'_>, Vec<u16>, Error> {
//!     let count = parser(|cursor| cursor.u8("count"));
//!     let point = parser(|cursor| cursor.u16_le("point"));
//!     preceded(context("signature", tag(&b"PTS1"[..])), length_count(count, point)).parse(input)
//! }
//!
//! let mut cursor = Cursor::at(b"PTS1\x02\x07\0\x08\0rest", 100);
//! assert_eq!(cursor.parse("points", points)?, [7, 8]);
//! assert_eq!(cursor.offset(), 109);
//!
//! let error = Cursor::at(b"PTS1\x02\x07\0\x08", 100).parse("points", points).unwrap_err();
//! assert_eq!(error.to_string(), "point: needs 2 bytes, 1 available (byte 107)");
//! let error = Cursor::at(b"PTS2", 100).parse("points", points).unwrap_err();
//! assert_eq!(error.to_string(), "signature: unexpected bytes (byte 100)");
//! # }
//! # Ok::<(), container_core::Error>(())
//! ```

use core::iter::{Copied, Enumerate};
use core::slice::Iter;

use ::nom::error::{ContextError, ErrorKind as Kind, FromExternalError, ParseError};
use ::nom::{AsBytes, Compare, CompareResult, Err, FindSubstring, IResult, Input, Needed, Offset, Parser};

use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::heap::within;

/// Turns a reading function into a parser. Its errors are recoverable: [`alt`](::nom::branch::alt) tries the next alternative.
///
/// ```
/// use container_core::{Cursor, Error, nom::parser};
/// use nom::{Parser, branch::alt};
///
/// let version = |expected| {
///     parser(move |cursor: &mut Cursor<'_>| match cursor.u8("version")? {
///         actual if actual == expected => Ok(actual),
///         _ => Err(Error::unsupported("unknown version")),
///     })
/// };
/// let (rest, actual) = alt((version(1), version(2))).parse(Cursor::new(&[2, 9]))?;
/// assert_eq!((rest.offset(), actual), (1, 2));
/// # Ok::<(), nom::Err<Error>>(())
/// ```
pub fn parser<'a, T>(
    mut read: impl FnMut(&mut Cursor<'a>) -> Result<T>,
) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, T, Error> {
    move |mut cursor| match read(&mut cursor) {
        Ok(value) => Ok((cursor, value)),
        Err(error) => Err(Err::Error(error)),
    }
}

impl<'a> Cursor<'a> {
    /// Runs a nom parser. A failed parse does not move the cursor.
    ///
    /// # Errors
    /// Errors of the parser. `Incomplete` becomes [`Truncated`](ErrorKind::Truncated) naming `what`.
    pub fn parse<P: Parser<Self, Error = Error>>(&mut self, what: &'static str, mut parser: P) -> Result<P::Output> {
        match parser.parse(*self) {
            Ok((rest, value)) => {
                *self = rest;
                Ok(value)
            }
            Err(Err::Error(error) | Err::Failure(error)) => Err(error),
            Err(Err::Incomplete(needed)) => {
                let more = match needed {
                    Needed::Unknown => 1,
                    Needed::Size(more) => more.get() as u64,
                };
                let left = self.remaining() as u64;
                Err(Error::truncated(what, left.saturating_add(more), left).at(self.offset()))
            }
        }
    }
}

impl<'a> Input for Cursor<'a> {
    type Item = u8;
    type Iter = Copied<Iter<'a, u8>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.remaining()
    }

    fn take(&self, index: usize) -> Self {
        self.take_split(index).1
    }

    fn take_from(&self, index: usize) -> Self {
        self.take_split(index).0
    }

    /// Clamps `index` to the length, which nom never exceeds.
    fn take_split(&self, index: usize) -> (Self, Self) {
        let (head, tail) = self.rest().split_at(index.min(self.remaining()));
        (Self::at(tail, self.offset() + head.len() as u64), Self::at(head, self.offset()))
    }

    fn position<P: Fn(u8) -> bool>(&self, predicate: P) -> Option<usize> {
        self.rest().iter().position(|byte| predicate(*byte))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.rest().iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        self.rest().slice_index(count)
    }
}

impl Offset for Cursor<'_> {
    fn offset(&self, second: &Self) -> usize {
        self.remaining().saturating_sub(second.remaining())
    }
}

impl AsBytes for Cursor<'_> {
    fn as_bytes(&self) -> &[u8] {
        self.rest()
    }
}

impl<'a, T> Compare<T> for Cursor<'a>
where
    &'a [u8]: Compare<T>,
{
    fn compare(&self, other: T) -> CompareResult {
        self.rest().compare(other)
    }

    fn compare_no_case(&self, other: T) -> CompareResult {
        self.rest().compare_no_case(other)
    }
}

impl<'a, T> FindSubstring<T> for Cursor<'a>
where
    &'a [u8]: FindSubstring<T>,
{
    fn find_substring(&self, pattern: T) -> Option<usize> {
        self.rest().find_substring(pattern)
    }
}

impl<'a> ParseError<Cursor<'a>> for Error {
    fn from_error_kind(input: Cursor<'a>, kind: Kind) -> Self {
        let left = input.remaining() as u64;
        let error = match kind {
            Kind::Eof | Kind::Complete if left == 0 => Self::truncated("a field", 1, 0),
            // Either too few bytes or trailing bytes: nom does not distinguish.
            Kind::Eof => Self::invalid("unexpected end of input"),
            Kind::Verify | Kind::MapOpt | Kind::MapRes => Self::invalid("invalid value"),
            Kind::TooLarge | Kind::LengthValue => Self::invalid("number too large"),
            _ => Self::invalid("unexpected bytes"),
        };
        error.at(input.offset())
    }

    /// Keeps the innermost error.
    fn append(_: Cursor<'a>, _: Kind, other: Self) -> Self {
        other
    }
}

/// For grammars of user-written text: [`Usage`](ErrorKind::Usage) without a position.
impl<'a> ParseError<&'a str> for Error {
    fn from_error_kind(_: &'a str, _: Kind) -> Self {
        Self::usage("unexpected text")
    }

    fn append(_: &'a str, _: Kind, other: Self) -> Self {
        other
    }
}

impl<'a> ContextError<Cursor<'a>> for Error {
    /// Prefixes the message with the field.
    fn add_context(_: Cursor<'a>, field: &'static str, mut other: Self) -> Self {
        // Truncated errors name their field already.
        if !matches!(other.kind(), ErrorKind::Truncated { .. }) {
            other.0.detail = within(field, &other.0.detail);
        }
        other
    }
}

impl<'a> FromExternalError<Cursor<'a>, Self> for Error {
    /// For [`map_res`](::nom::combinator::map_res) with functions that return [`Result`].
    fn from_external_error(input: Cursor<'a>, _: Kind, error: Self) -> Self {
        error.at(input.offset())
    }
}

#[cfg(test)]
mod tests {
    use ::nom::branch::alt;
    use ::nom::bytes::{complete, streaming};
    use ::nom::combinator::{all_consuming, map_res, recognize};
    use ::nom::multi::fold_many0;
    use ::nom::number::complete::be_u16;
    use ::nom::sequence::pair;

    use super::*;
    use crate::heap::CAN_FORMAT;

    const BYTES: &[u8] = b"ab\0\x01\0\x02--end";

    #[test]
    fn offsets_are_relative_to_the_file() {
        let cursor = Cursor::at(BYTES, 1000);
        let (rest, name) = complete::take_while::<_, _, Error>(|byte| byte != 0).parse(cursor).unwrap();
        assert_eq!((name.rest(), name.offset()), (&b"ab"[..], 1000));
        assert_eq!((rest.offset(), rest.remaining()), (1002, BYTES.len() - 2));
        let digit = map_res(be_u16::<_, Error>, |number: u16| match number {
            0..10 => Ok(number),
            _ => Err(Error::invalid("too many")),
        });
        let (rest, number) = fold_many0(digit, || 0, |number, digit| 10 * number + digit).parse(rest).unwrap();
        assert_eq!((number, rest.rest()), (12, &b"--end"[..]));
        let (rest, marks) =
            recognize(pair(complete::tag("-"), complete::tag(&b"-"[..]))).parse(rest).map_err(into_error).unwrap();
        assert_eq!((marks.rest(), marks.offset(), rest.offset()), (&b"--"[..], 1006, 1008));
        let (rest, before) = complete::take_until::<_, _, Error>("d").parse(rest).unwrap();
        assert_eq!((before.rest(), rest.rest()), (&b"en"[..], &b"d"[..]));
    }

    fn into_error(error: Err<Error>) -> Error {
        match error {
            Err::Error(error) | Err::Failure(error) => error,
            Err::Incomplete(_) => Error::usage("incomplete"),
        }
    }

    #[test]
    fn errors_have_positions_and_keep_the_cursor() {
        let mut cursor = Cursor::at(BYTES, 1000);
        let error = cursor.parse("names", streaming::take::<_, _, Error>(99_usize)).unwrap_err();
        assert_eq!(error.to_string(), "names: needs 99 bytes, 11 available (byte 1000)");
        let number = map_res(be_u16::<_, Error>, |_| Err::<(), _>(Error::invalid("a bad number")));
        let error = cursor.parse("number", ::nom::error::context("number", number)).unwrap_err();
        // Without an allocator, the field replaces the message.
        let detail = if CAN_FORMAT { "number: a bad number" } else { "number" };
        assert_eq!(error.to_string(), format!("{detail} (byte 1000)"));
        let error = cursor.parse("all", all_consuming(complete::take::<_, _, Error>(2_usize))).unwrap_err();
        assert_eq!((error.position().byte, error.kind()), (Some(1002), ErrorKind::Invalid));
        assert_eq!(cursor.offset(), 1000);
        let either =
            alt((parser(|cursor| cursor.array::<99>("a lot")), parser(|cursor| Ok([cursor.u8("a byte")?; 99]))));
        assert_eq!(cursor.parse("either", either).unwrap(), [b'a'; 99]);
        assert_eq!(cursor.offset(), 1001);
    }
}
