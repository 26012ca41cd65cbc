//! A parser of the header for [nom](https://docs.rs/nom) 8 (feature `nom`), over a [`Cursor`], so that errors have offsets.
//!
//! ```
//! use container_core::Cursor;
//! use simplebloom::{BloomFilter, nom::header};
//!
//! let filter = BloomFilter::with_probability(1000, 0.01)?;
//! let file = filter.as_bytes();
//! let (bits, shape) = header(Cursor::new(file)).unwrap();
//! assert_eq!((shape.elements(), shape.bits() / 8), (1000, bits.remaining() as u64));
//! # Ok::<(), simplebloom::Error>(())
//! ```

use ::nom::IResult;
use container_core::nom::parser;
use container_core::{Cursor, Error};

use crate::shape::Shape;
use crate::wire;

/// Parses the header of 32 bytes, which is followed by the bits.
///
/// # Errors
/// [`Truncated`](crate::ErrorKind::Truncated); [`Invalid`](crate::ErrorKind::Invalid) for another magic, and for invalid or
/// inconsistent numbers.
pub fn header(input: Cursor<'_>) -> IResult<Cursor<'_>, Shape, Error> {
    parser(wire::header)(input)
}
