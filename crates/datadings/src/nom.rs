//! [nom](https://docs.rs/nom) 8 parsers of the index files (feature `nom`), over [`Cursor`]s, whose errors carry file offsets: `.offsets`
//! is many [`offset`]s, `.keys` is [`keys`], `.key_hashes` an 8-byte salt and many [`hash`]es, `.md5` many [`md5_line`]s. Parsers of the
//! filter are in crate `simplebloom`.
//!
//! ```
//! use container_core::Cursor;
//! use datadings::nom::{keys, md5_line, offset};
//! use nom::combinator::all_consuming;
//! use nom::multi::many1;
//!
//! let offsets = Cursor::new(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26]).parse("offsets", all_consuming(many1(offset)))?;
//! assert_eq!(offsets, [0, 26]);
//! assert_eq!(Cursor::new(b"\x92\xa3oak\xa4pine").parse("keys", all_consuming(keys))?, ["oak", "pine"]);
//!
//! let line = b"d41d8cd98f00b204e9800998ecf8427e  trees.msgpack\n";
//! assert_eq!(Cursor::new(line).parse("sums", md5_line)?.1, "trees.msgpack");
//! # Ok::<(), datadings::Error>(())
//! ```

use ::nom::IResult;
use container_core::nom::parser;
use container_core::{Cursor, Error, Result};

use crate::wire::{Tokens, keys as wire_keys, md5_file};

/// The start of a sample, or the end of the last one: a big-endian u64.
///
/// # Errors
/// [`Truncated`](crate::ErrorKind::Truncated).
pub fn offset(input: Cursor<'_>) -> IResult<Cursor<'_>, u64, Error> {
    parser(|cursor| cursor.u64_be("an offset"))(input)
}

/// A key hash: a big-endian u64.
///
/// # Errors
/// [`Truncated`](crate::ErrorKind::Truncated).
pub fn hash(input: Cursor<'_>) -> IResult<Cursor<'_>, u64, Error> {
    parser(|cursor| cursor.u64_be("a key hash"))(input)
}

/// The keys of all samples: a msgpack array of str.
///
/// # Errors
/// [`Truncated`](crate::ErrorKind::Truncated), [`Invalid`](crate::ErrorKind::Invalid) for other values.
pub fn keys(input: Cursor<'_>) -> IResult<Cursor<'_>, Vec<&str>, Error> {
    parser(|cursor| {
        let (count, mut tokens) = wire_keys::keys_header_at(cursor.rest(), cursor.offset())?;
        let keys = (0..count).map(|_| wire_keys::next_key(&mut tokens)).collect::<Result<Vec<_>>>()?;
        advance_to(cursor, &tokens)?;
        Ok(keys)
    })(input)
}

/// A line of `.md5` with its line feed, if it has one: the MD5 sum and the file name.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for an invalid line, [`Truncated`](crate::ErrorKind::Truncated) at the end.
pub fn md5_line(input: Cursor<'_>) -> IResult<Cursor<'_>, ([u8; 16], &str), Error> {
    parser(|cursor| {
        let at = cursor.offset();
        let rest = cursor.rest();
        if rest.is_empty() {
            return Err(Error::truncated("a line", 1, 0).at(at));
        }
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = cursor.take(end.unwrap_or(rest.len()), "a line")?;
        if end.is_some() {
            cursor.u8("a line feed")?;
        }
        md5_file::sum_and_name(line).map_err(|error| error.at(at))
    })(input)
}

/// Advances the cursor to the position of `tokens`.
fn advance_to(cursor: &mut Cursor<'_>, tokens: &Tokens<'_>) -> Result<()> {
    let len = tokens.offset() - cursor.offset();
    cursor.take_u64(len, "keys").map(|_| ())
}
