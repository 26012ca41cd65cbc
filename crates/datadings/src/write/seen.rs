//! Which keys were written: for every key a few bytes, and the key itself only where it has to be compared.

use std::hash::{BuildHasher, RandomState};

use container_core::Result;

/// Slots in the beginning.
const FIRST: usize = 1 << 10;

/// No row: the format does not allow so many.
const FREE: u64 = u64::MAX;

/// A set of keys, each kept as 32 bits of its hash and the number of its sample.
///
/// The hash is keyed anew for every set, so that no input can make it slow.
pub(crate) struct SeenKeys {
    hasher: RandomState,
    /// Powers of two in number: the upper half is hash bits, the lower the row.
    slots: Vec<u64>,
    len: usize,
}

impl SeenKeys {
    pub(crate) fn new() -> Self {
        Self { hasher: RandomState::new(), slots: vec![FREE; FIRST], len: 0 }
    }

    fn tag(&self, key: &str) -> u64 {
        self.hasher.hash_one(key) & !u64::from(u32::MAX)
    }

    /// The slot where a search for these hash bits begins: their first bits.
    fn home(&self, tag: u64) -> usize {
        let bits = self.slots.len().trailing_zeros(); // 10 to 33
        usize::try_from(tag.rotate_left(bits) & (self.slots.len() as u64 - 1)).unwrap_or(0)
    }

    /// Adds a key as that of `row`, unless it is there: then its row is given. `is` tells whether a row has the key; it is
    /// asked for the rows with the same hash.
    #[inline]
    pub(crate) fn claim(
        &mut self,
        key: &str,
        row: u32,
        mut is: impl FnMut(u32) -> Result<bool>,
    ) -> Result<Option<u32>> {
        if self.len >= self.slots.len() / 4 * 3 {
            self.grow();
        }
        let tag = self.tag(key);
        let mask = self.slots.len() - 1;
        let mut at = self.home(tag);
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == FREE {
                *slot = tag | u64::from(row);
                self.len += 1;
                break;
            }
            if *slot & !u64::from(u32::MAX) == tag {
                let known = u32::try_from(*slot & u64::from(u32::MAX)).unwrap_or(u32::MAX);
                if is(known)? {
                    return Ok(Some(known));
                }
            }
            at = (at + 1) & mask;
        }
        Ok(None)
    }

    /// The row of this key, if it is there; `is` as for [`claim`](Self::claim).
    pub(crate) fn find(&self, key: &str, mut is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        let tag = self.tag(key);
        let mask = self.slots.len() - 1;
        let mut at = self.home(tag);
        while let Some(slot) = self.slots.get(at).filter(|slot| **slot != FREE) {
            let row = u32::try_from(slot & u64::from(u32::MAX)).unwrap_or(u32::MAX);
            if slot & !u64::from(u32::MAX) == tag && is(row)? {
                return Ok(Some(row));
            }
            at = (at + 1) & mask;
        }
        Ok(None)
    }

    #[cold]
    fn grow(&mut self) {
        let slots = vec![FREE; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, slots) {
            if slot != FREE {
                self.place(slot);
            }
        }
    }

    fn place(&mut self, entry: u64) {
        let mut at = self.home(entry);
        let mask = self.slots.len() - 1;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == FREE {
                *slot = entry;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_and_nothing_else() {
        let mut seen = SeenKeys::new();
        for row in 0..20_000u32 {
            let key = format!("key {row}");
            assert_eq!(seen.claim(&key, row, |other| Ok(format!("key {other}") == key)).unwrap(), None);
        }
        for row in 0..20_000u32 {
            let key = format!("key {row}");
            assert_eq!(seen.find(&key, |other| Ok(other == row)).unwrap(), Some(row));
            assert_eq!(seen.find(&key, |_| Ok(false)).unwrap(), None);
            assert_eq!(seen.claim(&key, 99_999, |other| Ok(other == row)).unwrap(), Some(row));
        }
        assert!(seen.claim("key 7", 1, |_| Err(container_core::Error::usage("no"))).is_err());
        assert!(seen.slots.len() * size_of::<u64>() < 20_000 * 22);
        assert_eq!(seen.claim("key 7", 20_000, |_| Ok(false)).unwrap(), None, "rows that are not it are passed");
        assert_eq!(seen.claim("key 7", 1, |other| Ok(other == 20_000)).unwrap(), Some(20_000));
    }
}
