//! The on-disk structures: pure functions over bytes, no I/O. For tools that work below [`Reader`](crate::Reader); with feature `nom` also
//! as nom parsers.
//!
//! A file has a [`Header`] of 256 bytes, blocks, and tables reached from the header: a [`TocEntry`] per column, its lookup table of
//! [`LookupEntry`]s, one per block, and its [`MetadataEntry`]s. Numbers are little-endian or LEB128, offsets count from the start of the file.

mod codec;
mod emit;
mod header;
mod metadata;
#[cfg(feature = "nom")]
#[cfg_attr(docsrs, doc(cfg(feature = "nom")))]
pub mod nom;
mod toc;
mod type_text;

pub use codec::{ItemType, KeyType, KeyWidth, Type, parse_type};
pub(crate) use emit::{put_leb, put_string};
pub(crate) use header::{HEADER_LEN, SIGNATURE, TAIL_LEN};
pub use header::{Header, Version};
pub use metadata::{MetadataEntry, parse_metadata_toc, parse_slot_names};
pub use toc::{
    CodecDefinition, Compression, LOOKUP_ENTRY_LEN, LookupEntry, SlotNamesLocation, TocEntry, parse_toc,
    parse_toc_entry,
};

use std::borrow::Cow;

use container_core::{Cursor, Result};
use leb128_codec::Leb128;

/// Reads an unsigned LEB128 number of at most 64 bits.
pub(crate) fn leb(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u64> {
    cursor.read::<Leb128<u64>>(what).map(|Leb128(number)| number)
}

/// Reads a string: byte length, then UTF-8. Invalid UTF-8 becomes U+FFFD, as in .NET.
pub(crate) fn string<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<Cow<'a, str>> {
    let len = leb(cursor, what)?;
    cursor.take_u64(len, what).map(String::from_utf8_lossy)
}
