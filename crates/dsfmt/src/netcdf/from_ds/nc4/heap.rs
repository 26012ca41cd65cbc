//! Global heaps: strings and lists of references, stored outside of the elements that refer to them.

use byteorder::{ByteOrder, LittleEndian};
use container_core::{Error, Result};

use super::Out;
use super::wire::Bytes;

/// Minimum size of a collection.
const MIN_COLLECTION: usize = 4096;

/// A collection is written when it reaches this size.
const MAX_COLLECTION: usize = 256 << 10;

/// Length of the header of a collection, and of an object.
const HEADER_LEN: usize = 16;

/// References per collection of the minimum size.
const REFERENCES: usize = (MIN_COLLECTION - HEADER_LEN) / (HEADER_LEN + 8);

/// Objects waiting to be written at the end of the file: nothing else may be written in between.
#[derive(Debug, Default)]
pub(super) struct Heap {
    bytes: Bytes,
    count: u16,
}

impl Heap {
    /// Adds an object; returns the element that refers to it. An empty string needs an object too: to C, an element without one is a null string.
    pub(super) fn put(&mut self, object: &[u8], out: &mut Out) -> Result<[u8; 16]> {
        if self.count == u16::MAX || (self.count > 0 && self.bytes.0.len() + object.len() > MAX_COLLECTION) {
            self.flush(out)?;
        }
        if self.count == 0 {
            out.align()?;
        }
        self.count += 1;
        append(&mut self.bytes, self.count, object);
        let len = u32::try_from(object.len())
            .map_err(|_| Error::usage(format!("NetCDF-4 cannot hold a string of {} bytes", object.len())))?;
        Ok(element(len, out.at, self.count))
    }

    /// Writes the waiting objects.
    pub(super) fn flush(&mut self, out: &mut Out) -> Result<()> {
        if self.count > 0 {
            out.write(&collection(&self.bytes.0))?;
        }
        self.bytes.0.clear();
        self.count = 0;
        Ok(())
    }
}

/// The element that refers to an object.
fn element(len: u32, collection: u64, index: u16) -> [u8; 16] {
    let mut out = [0; 16];
    LittleEndian::write_u32(&mut out[..4], len);
    LittleEndian::write_u64(&mut out[4..12], collection);
    LittleEndian::write_u32(&mut out[12..], index.into());
    out
}

fn append(bytes: &mut Bytes, index: u16, object: &[u8]) {
    bytes.u16(index).u16(0).u32(0).u64(object.len() as u64).raw(object);
    bytes.0.resize(bytes.0.len().next_multiple_of(8), 0);
}

/// A collection of objects, with a free-space object for the rest.
fn collection(objects: &[u8]) -> Vec<u8> {
    let used = HEADER_LEN + objects.len();
    // Free space is empty, or at least a header long.
    let size = if used == MIN_COLLECTION { used } else { MIN_COLLECTION.max(used + HEADER_LEN) };
    let mut out = Bytes::default();
    out.raw(b"GCOL").raw(&[1, 0, 0, 0]).u64(size as u64).raw(objects);
    if size > used {
        out.u64(0).u64((size - used) as u64);
    }
    out.0.resize(size, 0);
    out.0
}

/// Bytes that `count` references take in the heap.
pub(super) fn references_len(count: usize) -> u64 {
    (count.div_ceil(REFERENCES) * MIN_COLLECTION) as u64
}

/// Encodes references, one object each, in consecutive collections.
pub(super) fn references(addresses: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for all in addresses.chunks(REFERENCES) {
        let mut bytes = Bytes::default();
        for (index, address) in (1u16..).zip(all) {
            append(&mut bytes, index, &address.to_le_bytes());
        }
        out.extend_from_slice(&collection(&bytes.0));
    }
    out
}

/// The element that refers to reference `index` in collections at `base`.
pub(super) fn reference(base: u64, index: usize) -> [u8; 16] {
    let (number, object) = (index / REFERENCES, index % REFERENCES);
    element(1, base + (number * MIN_COLLECTION) as u64, u16::try_from(object + 1).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_fits_a_header_or_is_empty() {
        assert_eq!(REFERENCES, 170);
        for count in [1, 169, 170, 171, 340, 341] {
            let all = references(&vec![7; count]);
            assert_eq!(all.len() as u64, references_len(count));
        }
        for len in (0..8200).step_by(8) {
            let all = collection(&vec![1; len]);
            let left = all.len() - HEADER_LEN - len;
            assert!(all.len() >= MIN_COLLECTION && (left == 0 || left >= HEADER_LEN), "{len} {left}");
            assert_eq!(all[8..16], (all.len() as u64).to_le_bytes());
            if left > 0 {
                assert_eq!(all[HEADER_LEN + len + 8..HEADER_LEN + len + 16], (left as u64).to_le_bytes());
            }
        }
        assert_eq!(reference(4096, 170)[4..12], 8192u64.to_le_bytes());
    }
}
