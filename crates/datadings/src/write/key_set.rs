//! The set of written keys: a few bytes per key; the key itself is read only to compare it.

use std::hash::BuildHasher;

use container_core::{HugePageVec, Result};
use foldhash::quality::RandomState;

/// Initial number of slots.
const INITIAL_SLOTS: usize = 1 << 10;

/// An empty slot: stored rows count from 1.
const EMPTY: u64 = 0;

/// Presence bits per slot.
const BITS_PER_SLOT: usize = 4;

/// Maximum number of keys to make room for at once: 32 MiB of slots.
const MAX_ROOM: usize = 1 << 21;

/// Entries collected before they are inserted into their slots.
const MAX_PENDING: usize = 32;

/// A set of keys, each stored as 32 bits of its hash and its row number.
///
/// The hash is keyed randomly, so that no input can make it slow. Nearly every key is new and its slot not in the cache; a smaller bit map
/// shows that it is new, and slots are then filled in batches, so that cache misses overlap.
pub(crate) struct KeySet {
    hasher: RandomState,
    /// Upper half: hash bits; lower half: row, from 1. The length is a power of two.
    slots: HugePageVec<u64>,
    /// A bit per hash prefix: zero if no key has it.
    presence: HugePageVec<u64>,
    /// Entries recorded in `presence` that have no slot yet.
    pending: Vec<u64>,
    len: usize,
}

impl KeySet {
    pub(crate) fn new() -> Self {
        let (slots, presence) =
            (HugePageVec::zeroed(INITIAL_SLOTS), HugePageVec::zeroed(INITIAL_SLOTS * BITS_PER_SLOT / 64));
        let hasher = RandomState::default();
        Self { hasher, slots, presence, pending: Vec::with_capacity(MAX_PENDING), len: 0 }
    }

    /// The hash bits of a key.
    #[inline]
    fn tag(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key) & !u64::from(u32::MAX)
    }

    /// The slot where the search for a tag begins.
    fn first_slot(&self, tag: u64) -> usize {
        first_bits(tag, self.slots.len())
    }

    /// Sets the presence bit of a tag; returns whether it was set already.
    fn set_present(&mut self, tag: u64) -> bool {
        let index = first_bits(tag, self.slots.len() * BITS_PER_SLOT);
        let bit = 1 << (index % 64);
        let Some(word) = self.presence.get_mut(index / 64) else { return true };
        let was_set = *word & bit != 0;
        *word |= bit;
        was_set
    }

    /// Adds the key of `row`; if the key exists already, returns its row instead. `is` tests whether a row has this key; it is called for
    /// rows with the same hash bits.
    #[inline]
    pub(crate) fn claim(&mut self, key: &[u8], row: u32, is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        let tag = self.tag(key);
        if self.set_present(tag)
            && let Some(known) = self.search(tag, is)?
        {
            return Ok(Some(known));
        }
        self.pending.push(tag | (u64::from(row) + 1)); // a row is below 2^32 - 1
        if self.pending.len() >= MAX_PENDING {
            self.insert_pending();
        }
        Ok(None)
    }

    /// The row of this key, if it exists; `is` as for [`claim`](Self::claim).
    pub(crate) fn find(&self, key: &[u8], is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        self.search(self.tag(key), is)
    }

    fn search(&self, tag: u64, mut is: impl FnMut(u32) -> Result<bool>) -> Result<Option<u32>> {
        let mut same = |entry: u64| -> Result<Option<u32>> {
            let row = u32::try_from((entry & u64::from(u32::MAX)).saturating_sub(1)).unwrap_or(u32::MAX);
            Ok((entry & !u64::from(u32::MAX) == tag && is(row)?).then_some(row))
        };
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(tag);
        while let Some(slot) = self.slots.get(at).filter(|slot| **slot != EMPTY) {
            if let Some(row) = same(*slot)? {
                return Ok(Some(row));
            }
            at = (at + 1) & mask;
        }
        for entry in &self.pending {
            if let Some(row) = same(*entry)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Makes room for `additional` keys: otherwise the set grows in steps, and each one inserts all keys again.
    /// At most [`MAX_ROOM`] at once: a batch without values can declare any number of rows.
    pub(crate) fn reserve(&mut self, additional: usize) {
        let entries = self.len + self.pending.len() + additional.min(MAX_ROOM);
        if entries > self.slots.len() / 4 * 3 {
            self.grow_to(entries.saturating_add(entries / 3).next_power_of_two());
        }
    }

    /// Inserts the pending entries into their slots.
    fn insert_pending(&mut self) {
        if self.len + self.pending.len() > self.slots.len() / 4 * 3 {
            self.grow_to(self.slots.len() * 2);
        }
        self.len += self.pending.len();
        let pending = std::mem::take(&mut self.pending);
        // Load the first slot of each, so that the cache misses overlap: every search ends with a branch that waits for its slots.
        let loaded =
            pending.iter().fold(0, |loaded, entry| loaded ^ self.slots.get(self.first_slot(*entry)).unwrap_or(&EMPTY));
        std::hint::black_box(loaded);
        pending.iter().for_each(|entry| self.insert(*entry));
        self.pending = pending;
        self.pending.clear();
    }

    #[cold]
    fn grow_to(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.slots, HugePageVec::zeroed(len));
        self.presence = HugePageVec::zeroed(len * BITS_PER_SLOT / 64);
        for &entry in old.iter().filter(|slot| **slot != EMPTY) {
            self.set_present(entry);
            self.insert(entry);
        }
        for at in 0..self.pending.len() {
            let entry = self.pending.get(at).copied().unwrap_or(EMPTY);
            self.set_present(entry);
        }
    }

    fn insert(&mut self, entry: u64) {
        let mut at = self.first_slot(entry);
        let mask = self.slots.len() - 1;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == EMPTY {
                *slot = entry;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

/// The leading bits of a hash as an index below `len`, a power of two.
fn first_bits(hash: u64, len: usize) -> usize {
    usize::try_from(hash >> (64 - len.trailing_zeros())).unwrap_or(0) // `len` is at least 2^10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_inserted_keys_only() {
        let mut keys = KeySet::new();
        for row in 0..20_000u32 {
            let key = format!("key {row}");
            assert_eq!(keys.claim(key.as_bytes(), row, |other| Ok(format!("key {other}") == key)).unwrap(), None);
        }
        for row in 0..20_000u32 {
            let key = format!("key {row}");
            assert_eq!(keys.find(key.as_bytes(), |other| Ok(other == row)).unwrap(), Some(row));
            assert_eq!(keys.find(key.as_bytes(), |_| Ok(false)).unwrap(), None);
            assert_eq!(keys.claim(key.as_bytes(), 99_999, |other| Ok(other == row)).unwrap(), Some(row));
        }
        assert!(keys.claim(b"key 7", 1, |_| Err(container_core::Error::usage("no"))).is_err());
        assert!(keys.slots.len() * size_of::<u64>() + keys.presence.len() * size_of::<u64>() < 20_000 * 23);
        assert_eq!(keys.claim(b"key 7", 20_000, |_| Ok(false)).unwrap(), None, "rows with other keys are skipped");
        assert_eq!(keys.claim(b"key 7", 1, |other| Ok(other == 20_000)).unwrap(), Some(20_000));
    }

    #[test]
    fn room_is_bounded() {
        let mut keys = KeySet::new();
        keys.reserve(usize::MAX);
        assert_eq!(keys.slots.len(), 2 * MAX_ROOM);
        assert_eq!(keys.claim(b"a", 0, |_| Ok(true)).unwrap(), None);
        assert_eq!(keys.claim(b"a", 1, |row| Ok(row == 0)).unwrap(), Some(0));
    }
}
