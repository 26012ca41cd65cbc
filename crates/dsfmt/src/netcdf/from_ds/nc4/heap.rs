//! The global heap: texts, and lists of references, which lie outside of the elements that they belong to.

use container_core::{Error, Result};

use super::Out;
use super::wire::Bytes;

/// The least bytes of a collection.
const LEAST: usize = 4096;

/// A collection is written when it has grown to this.
const FULL: usize = 256 << 10;

/// Bytes of the beginning of a collection, and of an object.
const HEAD: usize = 16;

/// References that fit into a collection of the least size.
const REFERENCES: usize = (LEAST - HEAD) / (HEAD + 8);

/// Objects that are waiting to be written. They will lie where the file now ends: nothing else may be written in between.
#[derive(Debug, Default)]
pub(super) struct Heap {
    bytes: Bytes,
    count: u16,
}

impl Heap {
    /// Puts an object into the heap; gives the element that refers to it. An empty text has an object, too: an
    /// element without one is no text at all to C.
    pub(super) fn put(&mut self, object: &[u8], out: &mut Out) -> Result<[u8; 16]> {
        if self.count == u16::MAX || (self.count > 0 && self.bytes.0.len() + object.len() > FULL) {
            self.flush(out)?;
        }
        if self.count == 0 {
            out.align()?;
        }
        self.count += 1;
        append(&mut self.bytes, self.count, object);
        let len = u32::try_from(object.len())
            .map_err(|_| Error::usage(format!("NetCDF-4 cannot hold a text of {} bytes", object.len())))?;
        Ok(element(len, out.at, self.count))
    }

    /// Writes what is waiting.
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
    let (head, tail) = out.split_at_mut(4);
    head.copy_from_slice(&len.to_le_bytes());
    let (address, number) = tail.split_at_mut(8);
    address.copy_from_slice(&collection.to_le_bytes());
    number.copy_from_slice(&u32::from(index).to_le_bytes());
    out
}

fn append(bytes: &mut Bytes, index: u16, object: &[u8]) {
    bytes.u16(index).u16(0).u32(0).u64(object.len() as u64).raw(object);
    bytes.0.resize(bytes.0.len().next_multiple_of(8), 0);
}

/// A collection of these objects, and an object of nothing for the rest.
fn collection(objects: &[u8]) -> Vec<u8> {
    let used = HEAD + objects.len();
    // What is left over is nothing, or enough for the beginning of an object.
    let size = if used == LEAST { used } else { LEAST.max(used + HEAD) };
    let mut out = Bytes::default();
    out.raw(b"GCOL").raw(&[1, 0, 0, 0]).u64(size as u64).raw(objects);
    if size > used {
        out.u64(0).u64((size - used) as u64);
    }
    out.0.resize(size, 0);
    out.0
}

/// Bytes that so many references take in the heap.
pub(super) fn references_len(count: usize) -> u64 {
    (count.div_ceil(REFERENCES) * LEAST) as u64
}

/// References, each an object of its own, in collections that begin at the file's end.
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

/// The element that refers to one of the references in collections from `base` on.
pub(super) fn reference(base: u64, place: usize) -> [u8; 16] {
    let (number, index) = (place / REFERENCES, place % REFERENCES);
    element(1, base + (number * LEAST) as u64, u16::try_from(index + 1).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_leave_room_for_an_object_or_none() {
        assert_eq!(REFERENCES, 170);
        for count in [1, 169, 170, 171, 340, 341] {
            let all = references(&vec![7; count]);
            assert_eq!(all.len() as u64, references_len(count));
        }
        for len in (0..8200).step_by(8) {
            let all = collection(&vec![1; len]);
            let left = all.len() - HEAD - len;
            assert!(all.len() >= LEAST && (left == 0 || left >= HEAD), "{len} {left}");
            assert_eq!(all[8..16], (all.len() as u64).to_le_bytes());
            if left > 0 {
                assert_eq!(all[HEAD + len + 8..HEAD + len + 16], (left as u64).to_le_bytes());
            }
        }
        assert_eq!(reference(4096, 170)[4..12], 8192u64.to_le_bytes());
    }
}
