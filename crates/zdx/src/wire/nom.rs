//! The index as parsers of [nom](https://docs.rs/nom) 8 (feature `nom`), over [`Cursor`]s, whose errors say where in the file something is wrong.
//!
//! ```
//! use container_core::Cursor;
//! use nom::multi::length_count;
//! use zdx::wire::index::{Entry, put};
//! use zdx::wire::nom::{entry, head};
//!
//! let mut file = zdx::wire::index::head(1).to_vec();
//! put(&Entry { id: b"tree-1", offset: 0, length: 30 }, &mut file)?;
//! let entries = Cursor::new(&file).parse("index", length_count(head, entry))?;
//! assert_eq!(entries, [Entry { id: b"tree-1", offset: 0, length: 30 }]);
//! # Ok::<(), container_core::Error>(())
//! ```

use ::nom::IResult;
use container_core::nom::parser;
use container_core::{Cursor, Error};

use super::index::{self, Entry};

/// The head of an index, 16 bytes: the number of its entries.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated); [`Invalid`](container_core::ErrorKind::Invalid) for another magic,
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for another version.
pub fn head(input: Cursor<'_>) -> IResult<Cursor<'_>, u64, Error> {
    parser(index::parse_head)(input)
}

/// One entry.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated).
pub fn entry(input: Cursor<'_>) -> IResult<Cursor<'_>, Entry<'_>, Error> {
    parser(index::entry)(input)
}
