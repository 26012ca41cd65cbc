//! Which keys were written: for every key a few bytes, and the key itself only where it has to be compared.

use std::hash::{BuildHasher, RandomState};

use container_core::{HugePageVec, Result};

/// Slots in the beginning.
const FIRST: usize = 1 << 10;

/// No entry: rows are counted from 1 here.
const FREE: u64 = 0;

/// Marks for each slot.
const MARKS: usize = 4;

/// So many keys wait to be put into their slots.
const WAITING: usize = 32;

/// A set of keys, each kept as 32 bits of its hash and the number of its sample.
///
/// The hash is keyed anew for every set, so that no input can make it slow. Nearly every key is new, and its slot is not in the cache:
/// a bit that is tells so, and the slots of many keys are then filled at once, so that the processor waits for all of them together.
pub(crate) struct SeenKeys {
    hasher: RandomState,
    /// Powers of two in number: the upper half is hash bits, the lower the row, from 1.
    slots: HugePageVec<u64>,
    /// A bit for the first bits of a hash: not set where no key begins so.
    marks: HugePageVec<u64>,
    /// Entries that are marked and have no slot yet.
    waiting: Vec<u64>,
    len: usize,
}

impl SeenKeys {
    pub(crate) fn new() -> Self {
        let (slots, marks) = (HugePageVec::zeroed(FIRST), HugePageVec::zeroed(FIRST * MARKS / 64));
        Self { hasher: RandomState::new(), slots, marks, waiting: Vec::with_capacity(WAITING), len: 0 }
    }

    fn tag(&self, key: &str) -> u64 {
        self.hasher.hash_one(key) & !u64::from(u32::MAX)
    }

    /// The slot where a search for these hash bits begins: their first bits.
    fn home(&self, tag: u64) -> usize {
        first_bits(tag, self.slots.len())
    }

    /// Sets the mark of these hash bits; true when it was set already.
    fn mark(&mut self, tag: u64) -> bool {
        let place = first_bits(tag, self.slots.len() * MARKS);
        let bit = 1 << (place % 64);
        let Some(word) = self.marks.get_mut(place / 64) else { return true };
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    /// Adds a key as that of `row`, unless it is there: then its row is given. `is` tells whether a row has the key; it is
    /// asked for the rows with the same hash.
    #[inline]
    pub(crate) fn claim(&mut self, key: &str, row: u32, is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        let tag = self.tag(key);
        if self.mark(tag)
            && let Some(known) = self.search(tag, is)?
        {
            return Ok(Some(known));
        }
        self.waiting.push(tag | (u64::from(row) + 1)); // a row is below 2^32 - 1
        if self.waiting.len() >= WAITING {
            self.settle();
        }
        Ok(None)
    }

    /// The row of this key, if it is there; `is` as for [`claim`](Self::claim).
    pub(crate) fn find(&self, key: &str, is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        self.search(self.tag(key), is)
    }

    fn search(&self, tag: u64, mut is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        let mut same = |entry: u64| -> Result<Option<u32>> {
            let row = u32::try_from((entry & u64::from(u32::MAX)).saturating_sub(1)).unwrap_or(u32::MAX);
            Ok((entry & !u64::from(u32::MAX) == tag && is(row)?).then_some(row))
        };
        let mask = self.slots.len() - 1;
        let mut at = self.home(tag);
        while let Some(slot) = self.slots.get(at).filter(|slot| **slot != FREE) {
            if let Some(row) = same(*slot)? {
                return Ok(Some(row));
            }
            at = (at + 1) & mask;
        }
        for entry in &self.waiting {
            if let Some(row) = same(*entry)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Puts those that wait into their slots.
    fn settle(&mut self) {
        if self.len + self.waiting.len() > self.slots.len() / 4 * 3 {
            self.grow();
        }
        self.len += self.waiting.len();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.iter().for_each(|entry| self.place(*entry));
        self.waiting = waiting;
        self.waiting.clear();
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, HugePageVec::zeroed(len));
        self.marks = HugePageVec::zeroed(len * MARKS / 64);
        for &entry in old.iter().filter(|slot| **slot != FREE) {
            self.mark(entry);
            self.place(entry);
        }
        for at in 0..self.waiting.len() {
            let entry = self.waiting.get(at).copied().unwrap_or(FREE);
            self.mark(entry);
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

/// A place among so many, a power of two, that the first bits of a hash say.
fn first_bits(hash: u64, places: usize) -> usize {
    usize::try_from(hash >> (64 - places.trailing_zeros())).unwrap_or(0) // 2^10 places at least
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
        assert!(seen.slots.len() * size_of::<u64>() + seen.marks.len() * size_of::<u64>() < 20_000 * 23);
        assert_eq!(seen.claim("key 7", 20_000, |_| Ok(false)).unwrap(), None, "rows that are not it are passed");
        assert_eq!(seen.claim("key 7", 1, |other| Ok(other == 20_000)).unwrap(), Some(20_000));
    }
}
