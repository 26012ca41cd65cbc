//! Restores the creation order of attributes, in which the C library lists them.
//!
//! For objects with many attributes, which are in a heap, `hdf5-reader` knows the order. Otherwise they are in the header in arbitrary order,
//! each with a creation index, which that crate ignores: so it is read here.

use std::collections::{HashMap, HashSet};

use byteorder::{ByteOrder, LittleEndian};
use container_core::{Cursor, Error, Result};
use hdf5_reader::Storage;

use super::library_error;
use crate::netcdf::model::Attribute;

const CONTINUATION: u8 = 0x10;
const ATTRIBUTE: u8 = 0x0c;

/// Reads creation indexes from headers.
pub(super) struct Order<'s> {
    storage: &'s dyn Storage,
    /// Bytes of headers that may still be read: as many as the file has. Only hard links to shared headers need more.
    left: u64,
}

impl<'s> Order<'s> {
    pub(super) fn new(storage: &'s dyn Storage) -> Self {
        Self { storage, left: storage.len() }
    }

    /// Sorts the attributes of the object at `address` by creation, if its header has indexes.
    pub(super) fn sort(&mut self, attributes: &mut [Attribute], address: u64) {
        if attributes.len() < 2 {
            return;
        }
        // Unreadable headers are reported by whoever reads the attributes.
        if let Ok(numbers) = numbers(self.storage, address, &mut self.left) {
            attributes.sort_by_key(|attribute| numbers.get(attribute.name.as_bytes()).copied().unwrap_or(u16::MAX));
        }
    }
}

fn read(storage: &dyn Storage, at: u64, len: u64) -> Result<hdf5_reader::StorageBuffer> {
    let len = len.min(storage.len().saturating_sub(at));
    storage.read_range(at, usize::try_from(len).unwrap_or(usize::MAX)).map_err(library_error)
}

/// The creation index of each attribute in the header; empty if there are none.
fn numbers(storage: &dyn Storage, address: u64, left: &mut u64) -> Result<HashMap<Vec<u8>, u16>> {
    /// Maximum length of a header's prefix.
    const HEAD: u64 = 4 + 2 + 16 + 4 + 8;
    let mut found = HashMap::new();
    let head = read(storage, address, HEAD)?;
    let mut cursor = Cursor::new(&head);
    if cursor.take(4, "object header")? != b"OHDR" || cursor.u8("version")? != 2 {
        return Ok(found);
    }
    let flags = cursor.u8("flags")?;
    if flags & 0b100 == 0 {
        return Ok(found);
    }
    cursor.take(if flags & 0x20 == 0 { 0 } else { 16 }, "times")?;
    cursor.take(if flags & 0x10 == 0 { 0 } else { 4 }, "phase change values")?;
    let len = match flags & 0b11 {
        0 => u64::from(cursor.u8("length")?),
        1 => u64::from(cursor.u16_le("length")?),
        2 => u64::from(cursor.u32_le("length")?),
        _ => cursor.u64_le("length")?,
    };
    let begin = address.saturating_add(cursor.offset());
    let mut open = vec![(begin, len)];
    let mut visited = HashSet::new();
    while let Some((begin, len)) = open.pop() {
        *left = left.checked_sub(len).ok_or_else(|| Error::invalid("object header too long"))?;
        if !visited.insert(begin) {
            return Err(Error::invalid("cyclic object header"));
        }
        let bytes = read(storage, begin, len)?;
        let mut cursor = Cursor::new(&bytes);
        // Fewer bytes than a message prefix are a gap.
        while cursor.remaining() >= 6 {
            let kind = cursor.u8("message")?;
            let len = cursor.u16_le("message")?;
            let flags = cursor.u8("message")?;
            let number = cursor.u16_le("message")?;
            let body = cursor.take(len.into(), "message")?;
            match kind {
                CONTINUATION => open.extend(continuation(body)),
                // Shared attributes are stored elsewhere.
                ATTRIBUTE if flags & 0b10 == 0 => {
                    found.extend(name(body).map(|name| (name.to_vec(), number)));
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// The target of a continuation, without its signature and checksum of four bytes each.
fn continuation(body: &[u8]) -> Option<(u64, u64)> {
    let mut cursor = Cursor::new(body);
    let (begin, len) = (cursor.u64_le("offset").ok()?, cursor.u64_le("length").ok()?);
    Some((begin.checked_add(4)?, len.checked_sub(8)?))
}

/// The name in an attribute message, without the trailing NUL.
fn name(body: &[u8]) -> Option<&[u8]> {
    let version = body.first()?;
    let len = usize::from(LittleEndian::read_u16(body.get(2..4)?));
    let begin = if *version >= 3 { 9 } else { 8 };
    body.get(begin..begin + len)?.split(|byte| *byte == 0).next()
}
