//! The ids of a collection while it is written: the index as loaded, unchanged, plus the changes since.
//!
//! Entries of documents put since are kept in index format, so that writing the index copies them. A second, growing hash table maps their ids
//! to them, and ids whose indexed entry is outdated to that entry. Look-ups try the changes first, then the index.

use std::hash::{BuildHasher, Hasher};

use container_core::{Bytes, Error, HugePageVec, Result};
use foldhash::quality::RandomState;

use crate::read::table::{Table, entry_at};
use crate::wire::index::{ENTRY_OVERHEAD, Entry, put};

/// Bits of a position: enough for an index of a terabyte.
const POSITION_BITS: u32 = 40;

/// Binary logarithm of the slots of the smallest table.
const MIN_TABLE_BITS: u32 = 10;

#[derive(Debug)]
pub(crate) struct Ids {
    base: Table,
    /// Entries of documents put since, in data order. Outdated ones have length 0.
    added: Vec<u8>,
    live: u64,
    /// Positions of outdated entries in the index.
    dead: Vec<u64>,
    slots: HugePageVec<u64>,
    bits: u32,
    used: usize,
    hash: RandomState,
    /// Savepoints, the innermost last.
    undo: Vec<Undo>,
}

#[derive(Debug, Default)]
struct Undo {
    added: usize,
    dead: usize,
    live: u64,
    /// Offsets in `added` of length fields set to 0 since, and their previous values.
    zeroed: Vec<(usize, u32)>,
}

impl Ids {
    /// Starts from an index without duplicate ids.
    pub(crate) fn new(base: Table) -> Self {
        Self {
            live: base.stats.ids,
            base,
            added: Vec::new(),
            dead: Vec::new(),
            slots: HugePageVec::zeroed(1 << MIN_TABLE_BITS),
            bits: MIN_TABLE_BITS,
            used: 0,
            hash: RandomState::default(),
            undo: Vec::new(),
        }
    }

    /// Number of documents.
    pub(crate) const fn len(&self) -> u64 {
        self.live
    }

    /// Upper bound for the bytes of the index.
    pub(crate) fn max_index_len(&self) -> usize {
        self.base.bytes().len() + self.added.len()
    }

    /// Whether so many entries are outdated that reloading the index pays off, or the index is not in data order.
    pub(crate) fn needs_reload(&self) -> bool {
        let all = self.base.stats.entries + (self.added.len() / (ENTRY_OVERHEAD + 4)) as u64;
        !self.base.stats.is_in_order || all > 2 * self.live + 1024
    }

    fn base_len(&self) -> u64 {
        self.base.bytes().len() as u64
    }

    fn added_offset(&self, position: u64) -> Option<usize> {
        position.checked_sub(self.base_len()).and_then(|at| usize::try_from(at).ok())
    }

    /// The entry at a position, in the index or in `added`.
    fn entry(&self, position: u64) -> Option<Entry<'_>> {
        match self.added_offset(position) {
            Some(at) => entry_at(&self.added, at as u64),
            None => self.base.entry(position),
        }
    }

    fn hash_of(&self, id: &[u8]) -> u64 {
        let mut hasher = self.hash.build_hasher();
        hasher.write(id);
        hasher.finish()
    }

    /// The slot of an id, or where to insert it, and the position it holds, 0 for none.
    fn slot_of(&self, id: &[u8], hash: u64) -> (usize, u64) {
        let mask = self.slots.len() - 1;
        let mut at = usize::try_from(hash >> (64 - self.bits)).unwrap_or(0);
        loop {
            let slot = self.slots.get(at).copied().unwrap_or(0);
            if slot == 0 {
                return (at, 0);
            }
            let position = slot & ((1 << POSITION_BITS) - 1);
            let same_tag = (slot ^ hash << POSITION_BITS) >> POSITION_BITS == 0;
            if same_tag && self.entry(position).is_some_and(|entry| entry.id == id) {
                return (at, position);
            }
            at = (at + 1) & mask;
        }
    }

    fn set(&mut self, at: usize, hash: u64, position: u64) {
        if let Some(slot) = self.slots.get_mut(at) {
            self.used += usize::from(*slot == 0);
            *slot = hash << POSITION_BITS | position;
        }
    }

    /// The current entry of an id.
    pub(crate) fn find(&self, id: &[u8]) -> Option<Entry<'_>> {
        if self.used > 0 {
            let (_, position) = self.slot_of(id, self.hash_of(id));
            if position != 0 {
                let at = self.added_offset(position)?;
                return entry_at(&self.added, at as u64).filter(|entry| entry.length > 0);
            }
        }
        self.find_in_base(id).map(|(_, entry)| entry)
    }

    fn find_in_base(&self, id: &[u8]) -> Option<(u64, Entry<'_>)> {
        // Usually a new index is written: skip hashing.
        if self.base.stats.ids == 0 { None } else { self.base.find(id) }
    }

    /// Reserves space for more documents, with this many bytes of entries.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) if the index would become too long.
    pub(crate) fn reserve(&mut self, more: usize, bytes: usize) -> Result<()> {
        let len = self.base_len() + (self.added.len() + bytes) as u64;
        if len >= 1 << POSITION_BITS {
            return Err(Error::limit("the length of an index", len, (1 << POSITION_BITS) - 1));
        }
        self.added.reserve(bytes);
        // At most 5 of 8 slots are occupied.
        let slot_count = (self.used + more).saturating_mul(8) / 5 + 1;
        if slot_count > self.slots.len() {
            self.rebuild(slot_count.next_power_of_two().trailing_zeros());
        }
        Ok(())
    }

    /// Rebuilds the hash table.
    fn rebuild(&mut self, bits: u32) {
        self.bits = bits.max(MIN_TABLE_BITS);
        self.slots = HugePageVec::zeroed(1 << self.bits);
        self.used = 0;
        for index in 0..self.dead.len() {
            let Some(position) = self.dead.get(index).copied() else { break };
            if let Some(entry) = self.base.entry(position) {
                let hash = self.hash_of(entry.id);
                let (at, _) = self.slot_of(entry.id, hash);
                self.set(at, hash, position);
            }
        }
        let mut at = 0usize;
        while let Some(entry) = entry_at(&self.added, at as u64) {
            let (position, is_live) = (self.base_len() + at as u64, entry.length > 0);
            at += ENTRY_OVERHEAD + entry.id.len();
            if is_live {
                let hash = self.hash_of(entry.id);
                let (slot, _) = self.slot_of(entry.id, hash);
                self.set(slot, hash, position);
            }
        }
    }

    /// Puts a document. Returns the line that it replaces, if any: offset and length.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub(crate) fn put(&mut self, id: &[u8], offset: u64, length: u32) -> Result<Option<(u64, u32)>> {
        self.reserve(1, ENTRY_OVERHEAD + id.len())?;
        let hash = self.hash_of(id);
        let (at, previous) = self.slot_of(id, hash);
        let replaced = match previous {
            0 => {
                self.find_in_base(id).map(|(position, _)| position).and_then(|position| self.remove_from_base(position))
            }
            previous => self.remove_added(previous),
        };
        let position = self.base_len() + self.added.len() as u64;
        put(&Entry { id, offset, length }, &mut self.added)?;
        self.set(at, hash, position);
        self.live += 1;
        Ok(replaced)
    }

    /// Deletes a document. Returns its line, if there was one: offset and length.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub(crate) fn delete(&mut self, id: &[u8]) -> Result<Option<(u64, u32)>> {
        self.reserve(1, 0)?;
        let hash = self.hash_of(id);
        let (at, position) = self.slot_of(id, hash);
        if position != 0 {
            return Ok(self.remove_added(position));
        }
        let Some((position, _)) = self.find_in_base(id) else { return Ok(None) };
        let deleted = self.remove_from_base(position);
        self.set(at, hash, position);
        Ok(deleted)
    }

    /// Marks an entry of the index as outdated.
    fn remove_from_base(&mut self, position: u64) -> Option<(u64, u32)> {
        let entry = self.base.entry(position)?;
        let line = (entry.offset, entry.length);
        self.dead.push(position);
        self.live -= 1;
        Some(line)
    }

    /// Marks an added entry as outdated. `None` if it is already, or belongs to the index: then it is in the table because it is outdated.
    fn remove_added(&mut self, position: u64) -> Option<(u64, u32)> {
        let at = self.added_offset(position)?;
        let entry = entry_at(&self.added, at as u64).filter(|entry| entry.length > 0)?;
        let line = (entry.offset, entry.length);
        let at = at + ENTRY_OVERHEAD + entry.id.len() - 4;
        self.added.get_mut(at..at + 4)?.fill(0);
        if let Some(undo) = self.undo.last_mut().filter(|undo| at < undo.added) {
            undo.zeroed.push((at, line.1));
        }
        self.live -= 1;
        Some(line)
    }

    /// Sets a savepoint.
    pub(crate) fn begin(&mut self) {
        let (added, dead) = (self.added.len(), self.dead.len());
        self.undo.push(Undo { added, dead, live: self.live, zeroed: Vec::new() });
    }

    /// Releases the innermost savepoint.
    pub(crate) fn commit(&mut self) {
        let ended = self.undo.pop();
        if let (Some(ended), Some(outer)) = (ended, self.undo.last_mut()) {
            outer.zeroed.extend(ended.zeroed.into_iter().filter(|(at, _)| *at < outer.added));
        }
    }

    /// Rolls back to the innermost savepoint.
    pub(crate) fn roll_back(&mut self) {
        let Some(undo) = self.undo.pop() else { return };
        self.added.truncate(undo.added);
        self.dead.truncate(undo.dead);
        self.live = undo.live;
        for (at, length) in undo.zeroed {
            if let Some(bytes) = self.added.get_mut(at..at + 4) {
                bytes.copy_from_slice(&length.to_le_bytes());
            }
        }
        self.rebuild(self.bits);
    }

    /// Calls `take` for each document, in data order.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn for_each(&self, mut take: impl FnMut(Entry<'_>) -> Result<()>) -> Result<()> {
        let mut dead = self.dead.clone();
        dead.sort_unstable();
        let mut dead = dead.into_iter().peekable();
        let live = self.base.entries().filter(|(position, _)| dead.next_if_eq(position).is_none());
        if self.base.stats.is_in_order {
            live.map(|(_, entry)| entry).try_for_each(&mut take)?;
        } else {
            let mut sorted: Vec<(u64, u64)> = live.map(|(position, entry)| (entry.offset, position)).collect();
            sorted.sort_unstable();
            sorted.into_iter().filter_map(|(_, position)| self.base.entry(position)).try_for_each(&mut take)?;
        }
        let mut at = 0usize;
        while let Some(entry) = entry_at(&self.added, at as u64) {
            at += ENTRY_OVERHEAD + entry.id.len();
            if entry.length > 0 {
                take(entry)?;
            }
        }
        Ok(())
    }

    /// The line of the first document: offset and length.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        let mut first = None;
        // An error stops the iteration.
        let _ = self.for_each(|entry| {
            first = Some((entry.offset, entry.length));
            Err(Error::usage("found"))
        });
        first
    }

    /// The document with the last line: id, offset and length.
    pub(crate) fn last(&self) -> Option<(Vec<u8>, u64, u32)> {
        let mut last: Option<(Vec<u8>, u64, u32)> = None;
        let found = self.for_each(|entry| {
            match &mut last {
                Some((id, offset, length)) => {
                    id.clear();
                    id.extend_from_slice(entry.id);
                    (*offset, *length) = (entry.offset, entry.length);
                }
                None => last = Some((entry.id.to_vec(), entry.offset, entry.length)),
            }
            Ok(())
        });
        last.filter(|_| found.is_ok())
    }

    /// The index that the ids were loaded from.
    pub(crate) const fn base_bytes(&self) -> &Bytes {
        self.base.bytes()
    }
}

#[cfg(test)]
mod tests;
