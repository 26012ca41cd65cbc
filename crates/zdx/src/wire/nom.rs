//! Index parsers for [nom](https://docs.rs/nom) 8 (feature `nom`), over [`Cursor`]s, so that errors carry file offsets.
//!
//! ```
//! use container_core::Cursor;
//! use nom::multi::length_count;
//! use zdx::wire::index::{Entry, put};
//! use zdx::wire::nom::{entry, header};
//!
//! let mut file = zdx::wire::index::header(1).to_vec();
//! put(&Entry { id: b"tree-1", offset: 0, length: 30 }, &mut file)?;
//! let entries = Cursor::new(&file).parse("index", length_count(header, entry))?;
//! assert_eq!(entries, [Entry { id: b"tree-1", offset: 0, length: 30 }]);
//! # Ok::<(), container_core::Error>(())
//! ```

use ::nom::IResult;
use container_core::nom::parser;
use container_core::{Cursor, Error};

use super::index::{self, Entry};

/// Parses the 16-byte header: the number of entries.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated); [`Invalid`](container_core::ErrorKind::Invalid) for a wrong magic number,
/// [`Unsupported`](container_core::ErrorKind::Unsupported) for another version.
pub fn header(input: Cursor<'_>) -> IResult<Cursor<'_>, u64, Error> {
    parser(index::parse_header)(input)
}

/// Parses an entry.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated).
pub fn entry(input: Cursor<'_>) -> IResult<Cursor<'_>, Entry<'_>, Error> {
    parser(index::entry)(input)
}
