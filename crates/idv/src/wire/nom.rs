//! The structures of the format as parsers of [nom](https://docs.rs/nom) 8 (feature `nom`), over [`Cursor`]s, whose errors say where in the file
//! something is wrong.
//!
//! ```
//! use idv::wire::{nom::{header, lookup_entry, toc, type_text}, parse_type};
//! use container_core::Cursor;
//! use nom::{Parser, bytes::complete::tag, multi::count, multi::separated_list1};
//!
//! let file = std::fs::read("examples/data/scalar-mixed-none.idv")?;
//! let from = |offset: u64| Cursor::at(&file[usize::try_from(offset).unwrap()..], offset);
//! let header = from(0).parse("header", header(file.len() as u64))?;
//! let columns = from(header.toc_offset).parse("table of contents", toc(&header))?;
//! for column in &columns {
//!     let blocks = header.rows.div_ceil(column.rows_per_block);
//!     let table = count(lookup_entry(header.tail_offset), usize::try_from(blocks)?);
//!     let blocks = from(column.lookup_offset).parse("lookup table", table)?;
//!     println!("{}: {}, {} blocks", column.name, parse_type(&column.codec)?, blocks.len());
//! }
//!
//! // Texts of types, too, wherever they stand.
//! let (rest, types) = separated_list1(tag("; "), type_text).parse("Single; Vector<Key<Byte, 3>, 2>; ?").unwrap();
//! assert_eq!((types.len(), rest), (2, "; ?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::nom::{Err, IResult};
use container_core::nom::parser;
use container_core::{Cursor, Error, Limits};

use super::header::HEADER_LEN;
use super::type_text::type_of_text;
use super::{
    CodecDefinition, Header, LookupEntry, MetadataEntry, TocEntry, Type, Version, parse_metadata_toc, parse_toc,
    parse_toc_entry,
};

/// The header of a file of `file_len` bytes: takes 256 bytes.
pub fn header<'a>(file_len: u64) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Header, Error> {
    parser(move |cursor| {
        let start = cursor.offset();
        let bytes = cursor.take_u64(HEADER_LEN, "the header")?;
        Header::parse(bytes, file_len).map_err(|error| error.shifted(start))
    })
}

/// The table of contents: an entry for each column that the header declares.
pub fn toc<'a>(header: &Header) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Vec<TocEntry>, Error> {
    let header = *header;
    parser(move |cursor| parse_toc(cursor, &header))
}

/// One entry of the table of contents.
pub fn toc_entry<'a>(version: Version) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, TocEntry, Error> {
    parser(move |cursor| parse_toc_entry(cursor, version))
}

/// A codec: its name, the length of its parameters, these.
///
/// # Errors
/// As [`CodecDefinition::parse`].
pub fn codec(input: Cursor<'_>) -> IResult<Cursor<'_>, CodecDefinition, Error> {
    parser(CodecDefinition::parse)(input)
}

/// An entry of a column's lookup table; `end` is where the tail of the file begins.
pub fn lookup_entry<'a>(end: u64) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, LookupEntry, Error> {
    parser(move |cursor| LookupEntry::parse(cursor, end))
}

/// The table of a column's metadata.
pub fn metadata<'a>(limits: Limits) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Vec<MetadataEntry>, Error> {
    parser(move |cursor| parse_metadata_toc(cursor, &limits))
}

/// The text of a type, as [`Type`] prints it and people write it: `Single`, `Vector<Key<Byte, 3>, 2>`. Takes what belongs to it and no more.
///
/// # Errors
/// As `Type`'s [`FromStr`](std::str::FromStr) says.
pub fn type_text(input: &str) -> IResult<&str, Type, Error> {
    type_of_text(input).map_err(Err::Error)
}
