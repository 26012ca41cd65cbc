//! [nom](https://docs.rs/nom) 8 parsers for the wire structures (feature `nom`). Their input is a [`Cursor`], so errors carry file offsets.
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
//! // Type names are parsed from `&str`.
//! let (rest, types) = separated_list1(tag("; "), type_text).parse("Single; Vector<Key<Byte, 3>, 2>; ?").unwrap();
//! assert_eq!((types.len(), rest), (2, "; ?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::nom::{Err, IResult};
use container_core::nom::parser;
use container_core::{Cursor, Error, Limits};

use super::header::HEADER_LEN;
use super::type_text::parse_prefix;
use super::{
    CodecDefinition, Header, LookupEntry, MetadataEntry, TocEntry, Type, Version, parse_metadata_toc, parse_toc,
    parse_toc_entry,
};

/// Parses the header, 256 bytes, of a file of `file_len` bytes.
pub fn header<'a>(file_len: u64) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Header, Error> {
    parser(move |cursor| {
        let start = cursor.offset();
        let bytes = cursor.take_u64(HEADER_LEN, "the header")?;
        Header::parse(bytes, file_len).map_err(|error| error.shifted(start))
    })
}

/// Parses the table of contents: one entry per column of the header.
pub fn toc<'a>(header: &Header) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Vec<TocEntry>, Error> {
    let header = *header;
    parser(move |cursor| parse_toc(cursor, &header))
}

/// Parses one entry of the table of contents.
pub fn toc_entry<'a>(version: Version) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, TocEntry, Error> {
    parser(move |cursor| parse_toc_entry(cursor, version))
}

/// Parses a codec definition: name, parameter length, parameters.
///
/// # Errors
/// As [`CodecDefinition::parse`].
pub fn codec(input: Cursor<'_>) -> IResult<Cursor<'_>, CodecDefinition, Error> {
    parser(CodecDefinition::parse)(input)
}

/// Parses a lookup table entry; `end` is the offset of the tail.
pub fn lookup_entry<'a>(end: u64) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, LookupEntry, Error> {
    parser(move |cursor| LookupEntry::parse(cursor, end))
}

/// Parses the metadata table of a column.
pub fn metadata<'a>(limits: Limits) -> impl FnMut(Cursor<'a>) -> IResult<Cursor<'a>, Vec<MetadataEntry>, Error> {
    parser(move |cursor| parse_metadata_toc(cursor, &limits))
}

/// Parses a type name, such as `Single` or `Vector<Key<Byte, 3>, 2>`, and leaves the rest.
///
/// # Errors
/// As [`FromStr`](std::str::FromStr) of `Type`.
pub fn type_text(input: &str) -> IResult<&str, Type, Error> {
    parse_prefix(input).map_err(Err::Error)
}
