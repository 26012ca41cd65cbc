//! The order in which attributes were made: what the C library lists them by.
//!
//! An object with many attributes keeps them in a heap, of which `hdf5-reader` knows the order. One with few has them in its header, in
//! whatever order there was room for them, each with a number, which that crate passes over: so it is read here.

use std::collections::{HashMap, HashSet};

use container_core::{Cursor, Error, Result};
use hdf5_reader::Storage;

use super::library;
use crate::netcdf::model::Attribute;

const CONTINUED: u8 = 0x10;
const ATTRIBUTE: u8 = 0x0c;

/// Reads the order out of headers.
pub(super) struct Order<'s> {
    storage: &'s dyn Storage,
    /// Bytes of headers that may still be looked at: as many as the file has. Only one in which names share a header needs more.
    left: u64,
}

impl<'s> Order<'s> {
    pub(super) fn new(storage: &'s dyn Storage) -> Self {
        Self { storage, left: storage.len() }
    }

    /// Sorts attributes by when they were made, where the header of their object says it.
    pub(super) fn sort(&mut self, attributes: &mut [Attribute], address: u64) {
        if attributes.len() < 2 {
            return;
        }
        // A header that cannot be read has no order, and whoever reads the attributes has seen that.
        if let Ok(numbers) = numbers(self.storage, address, &mut self.left) {
            attributes.sort_by_key(|attribute| numbers.get(attribute.name.as_bytes()).copied().unwrap_or(u16::MAX));
        }
    }
}

fn read(storage: &dyn Storage, at: u64, len: u64) -> Result<hdf5_reader::StorageBuffer> {
    let len = len.min(storage.len().saturating_sub(at));
    storage.read_range(at, usize::try_from(len).unwrap_or(usize::MAX)).map_err(library)
}

/// The number of each attribute in the header; none where they have none.
fn numbers(storage: &dyn Storage, address: u64, left: &mut u64) -> Result<HashMap<Vec<u8>, u16>> {
    /// Bytes of what stands before the first message, at most.
    const HEAD: u64 = 4 + 2 + 16 + 4 + 8;
    let mut found = HashMap::new();
    let head = read(storage, address, HEAD)?;
    let mut cursor = Cursor::new(&head);
    if cursor.take(4, "an object header")? != b"OHDR" || cursor.u8("its version")? != 2 {
        return Ok(found);
    }
    let flags = cursor.u8("its flags")?;
    if flags & 0b100 == 0 {
        return Ok(found);
    }
    cursor.take(if flags & 0x20 == 0 { 0 } else { 16 }, "its times")?;
    cursor.take(if flags & 0x10 == 0 { 0 } else { 4 }, "its limits")?;
    let len = match flags & 0b11 {
        0 => u64::from(cursor.u8("its length")?),
        1 => u64::from(cursor.u16_le("its length")?),
        2 => u64::from(cursor.u32_le("its length")?),
        _ => cursor.u64_le("its length")?,
    };
    let begin = address.saturating_add(cursor.offset());
    let mut open = vec![(begin, len)];
    let mut seen = HashSet::new();
    while let Some((begin, len)) = open.pop() {
        *left = left.checked_sub(len).ok_or_else(|| Error::invalid("an object header is too long"))?;
        if !seen.insert(begin) {
            return Err(Error::invalid("an object header goes in a circle"));
        }
        let bytes = read(storage, begin, len)?;
        let mut cursor = Cursor::new(&bytes);
        // What is shorter than the beginning of a message is a gap.
        while cursor.remaining() >= 6 {
            let kind = cursor.u8("a message")?;
            let len = cursor.u16_le("a message")?;
            let flags = cursor.u8("a message")?;
            let number = cursor.u16_le("a message")?;
            let body = cursor.take(len.into(), "a message")?;
            match kind {
                CONTINUED => open.extend(continued(body)),
                // One that is shared lies elsewhere.
                ATTRIBUTE if flags & 0b10 == 0 => {
                    found.extend(name(body).map(|name| (name.to_vec(), number)));
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Where a header goes on: behind a signature and before a checksum, of four bytes each.
fn continued(body: &[u8]) -> Option<(u64, u64)> {
    let mut cursor = Cursor::new(body);
    let (begin, len) = (cursor.u64_le("a place").ok()?, cursor.u64_le("a length").ok()?);
    Some((begin.checked_add(4)?, len.checked_sub(8)?))
}

/// The name in an attribute's message, without the NUL at its end.
fn name(body: &[u8]) -> Option<&[u8]> {
    let version = body.first()?;
    let len = usize::from(u16::from_le_bytes([*body.get(2)?, *body.get(3)?]));
    let begin = if *version >= 3 { 9 } else { 8 };
    body.get(begin..begin + len)?.split(|byte| *byte == 0).next()
}
