//! Which documents there are while a collection is written: those of the index as it was read, which stays where it lies, and over them
//! what has changed since.
//!
//! The entries of documents that were put lie one behind the other in the form of the index, so that to write it they are copied. A
//! second table, like that of reading but growing, leads from ids to them; an id whose entry in the index holds no more leads to that
//! entry. So an id is looked for among the changes first, and in the index where it is not among them.

use std::hash::{BuildHasher, Hasher};

use container_core::{Bytes, Error, HugePageVec, Result};
use foldhash::quality::RandomState;

use crate::read::table::{Table, entry_at};
use crate::wire::index::{AROUND, Entry, put};

/// Bits of a position: an index of so many bytes is a terabyte.
const POSITION: u32 = 40;

/// Places of the smallest table.
const SMALLEST: u32 = 10;

#[derive(Debug)]
pub(crate) struct Ids {
    base: Table,
    /// Entries of documents that were put since, in the order of the data. One of length 0 holds no more.
    added: Vec<u8>,
    living: u64,
    /// Positions of entries in the index that hold no more.
    dead: Vec<u64>,
    slots: HugePageVec<u64>,
    bits: u32,
    used: usize,
    hash: RandomState,
    /// What is needed to go back, the innermost last.
    undo: Vec<Undo>,
}

#[derive(Debug, Default)]
struct Undo {
    added: usize,
    dead: usize,
    living: u64,
    /// Places in `added` of lengths that were made 0, and what they were.
    killed: Vec<(usize, u32)>,
}

impl Ids {
    /// The documents of an index. It must name each id once.
    pub(crate) fn new(base: Table) -> Self {
        Self {
            living: base.seen.ids,
            base,
            added: Vec::new(),
            dead: Vec::new(),
            slots: HugePageVec::zeroed(1 << SMALLEST),
            bits: SMALLEST,
            used: 0,
            hash: RandomState::default(),
            undo: Vec::new(),
        }
    }

    /// How many documents there are.
    pub(crate) const fn len(&self) -> u64 {
        self.living
    }

    /// Bytes that the entries of all documents take, at most.
    pub(crate) fn room(&self) -> usize {
        self.base.bytes().len() + self.added.len()
    }

    /// Is so much of what is held here dead that a new table is worth it, or is the index in no order?
    pub(crate) fn is_untidy(&self) -> bool {
        let all = self.base.seen.entries + (self.added.len() / (AROUND + 4)) as u64;
        !self.base.seen.is_in_order || all > 2 * self.living + 1024
    }

    fn base_len(&self) -> u64 {
        self.base.bytes().len() as u64
    }

    fn place_in_added(&self, position: u64) -> Option<usize> {
        position.checked_sub(self.base_len()).and_then(|place| usize::try_from(place).ok())
    }

    /// The entry at a position, of either.
    fn entry(&self, position: u64) -> Option<Entry<'_>> {
        match self.place_in_added(position) {
            Some(place) => entry_at(&self.added, place as u64),
            None => self.base.entry(position),
        }
    }

    fn hash_of(&self, id: &[u8]) -> u64 {
        let mut hasher = self.hash.build_hasher();
        hasher.write(id);
        hasher.finish()
    }

    /// The place of an id in the table, or where it would be put, and the position that is there, 0 for none.
    fn place(&self, id: &[u8], hash: u64) -> (usize, u64) {
        let mask = self.slots.len() - 1;
        let mut place = usize::try_from(hash >> (64 - self.bits)).unwrap_or(0);
        loop {
            let slot = self.slots.get(place).copied().unwrap_or(0);
            if slot == 0 {
                return (place, 0);
            }
            let position = slot & ((1 << POSITION) - 1);
            if (slot ^ hash << POSITION) >> POSITION == 0 && self.entry(position).is_some_and(|entry| entry.id == id) {
                return (place, position);
            }
            place = (place + 1) & mask;
        }
    }

    fn set(&mut self, place: usize, hash: u64, position: u64) {
        if let Some(slot) = self.slots.get_mut(place) {
            self.used += usize::from(*slot == 0);
            *slot = hash << POSITION | position;
        }
    }

    /// The entry of a document.
    pub(crate) fn find(&self, id: &[u8]) -> Option<Entry<'_>> {
        if self.used > 0 {
            let (_, position) = self.place(id, self.hash_of(id));
            if position != 0 {
                let place = self.place_in_added(position)?;
                return entry_at(&self.added, place as u64).filter(|entry| entry.length > 0);
            }
        }
        self.find_in_base(id).map(|(_, entry)| entry)
    }

    fn find_in_base(&self, id: &[u8]) -> Option<(u64, Entry<'_>)> {
        // The most usual index of all to write is a new one.
        if self.base.seen.ids == 0 { None } else { self.base.find(id) }
    }

    /// Makes room for so many more.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) where the index would become too long.
    pub(crate) fn reserve(&mut self, more: usize, bytes: usize) -> Result<()> {
        let len = self.base_len() + (self.added.len() + bytes) as u64;
        if len >= 1 << POSITION {
            return Err(Error::limit("the length of an index", len, (1 << POSITION) - 1));
        }
        self.added.reserve(bytes);
        // At most 5 of 8 places are taken.
        let wanted = (self.used + more).saturating_mul(8) / 5 + 1;
        if wanted > self.slots.len() {
            self.rebuild(wanted.next_power_of_two().trailing_zeros());
        }
        Ok(())
    }

    /// A new table, out of what it is about.
    fn rebuild(&mut self, bits: u32) {
        self.bits = bits.max(SMALLEST);
        self.slots = HugePageVec::zeroed(1 << self.bits);
        self.used = 0;
        for nth in 0..self.dead.len() {
            let Some(position) = self.dead.get(nth).copied() else { break };
            if let Some(entry) = self.base.entry(position) {
                let hash = self.hash_of(entry.id);
                let (place, _) = self.place(entry.id, hash);
                self.set(place, hash, position);
            }
        }
        let mut at = 0usize;
        while let Some(entry) = entry_at(&self.added, at as u64) {
            let (position, is_living) = (self.base_len() + at as u64, entry.length > 0);
            at += AROUND + entry.id.len();
            if is_living {
                let hash = self.hash_of(entry.id);
                let (place, _) = self.place(entry.id, hash);
                self.set(place, hash, position);
            }
        }
    }

    /// Puts a document, in the place of the one of this id, whose line is told: offset and length.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub(crate) fn put(&mut self, id: &[u8], offset: u64, length: u32) -> Result<Option<(u64, u32)>> {
        self.reserve(1, AROUND + id.len())?;
        let hash = self.hash_of(id);
        let (place, old) = self.place(id, hash);
        let killed = match old {
            0 => self.find_in_base(id).map(|(position, _)| position).and_then(|position| self.kill_in_base(position)),
            old => self.kill_added(old),
        };
        let position = self.base_len() + self.added.len() as u64;
        put(&Entry { id, offset, length }, &mut self.added)?;
        self.set(place, hash, position);
        self.living += 1;
        Ok(killed)
    }

    /// Deletes a document; where there is one, its line is told: offset and length.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub(crate) fn delete(&mut self, id: &[u8]) -> Result<Option<(u64, u32)>> {
        self.reserve(1, 0)?;
        let hash = self.hash_of(id);
        let (place, position) = self.place(id, hash);
        if position != 0 {
            return Ok(self.kill_added(position));
        }
        let Some((position, _)) = self.find_in_base(id) else { return Ok(None) };
        let killed = self.kill_in_base(position);
        self.set(place, hash, position);
        Ok(killed)
    }

    /// The entry of the index at this position, which held until now, holds no more.
    fn kill_in_base(&mut self, position: u64) -> Option<(u64, u32)> {
        let entry = self.base.entry(position)?;
        let line = (entry.offset, entry.length);
        self.dead.push(position);
        self.living -= 1;
        Some(line)
    }

    /// The entry at this position holds no more, if it did: one of the index that the table leads to does not.
    fn kill_added(&mut self, position: u64) -> Option<(u64, u32)> {
        let place = self.place_in_added(position)?;
        let entry = entry_at(&self.added, place as u64).filter(|entry| entry.length > 0)?;
        let line = (entry.offset, entry.length);
        let place = place + AROUND + entry.id.len() - 4;
        self.added.get_mut(place..place + 4)?.fill(0);
        if let Some(undo) = self.undo.last_mut().filter(|undo| place < undo.added) {
            undo.killed.push((place, line.1));
        }
        self.living -= 1;
        Some(line)
    }

    /// Remembers how it was.
    pub(crate) fn begin(&mut self) {
        let (added, dead) = (self.added.len(), self.dead.len());
        self.undo.push(Undo { added, dead, living: self.living, killed: Vec::new() });
    }

    /// Forgets how it was, but for who began before.
    pub(crate) fn commit(&mut self) {
        let ended = self.undo.pop();
        if let (Some(ended), Some(outer)) = (ended, self.undo.last_mut()) {
            outer.killed.extend(ended.killed.into_iter().filter(|(place, _)| *place < outer.added));
        }
    }

    /// Goes back to how it was.
    pub(crate) fn roll_back(&mut self) {
        let Some(undo) = self.undo.pop() else { return };
        self.added.truncate(undo.added);
        self.dead.truncate(undo.dead);
        self.living = undo.living;
        for (place, length) in undo.killed {
            if let Some(bytes) = self.added.get_mut(place..place + 4) {
                bytes.copy_from_slice(&length.to_le_bytes());
            }
        }
        self.rebuild(self.bits);
    }

    /// All documents, in the order of their lines.
    ///
    /// # Errors
    /// Those of what takes them.
    pub(crate) fn each(&self, mut take: impl FnMut(Entry<'_>) -> Result<()>) -> Result<()> {
        let mut dead = self.dead.clone();
        dead.sort_unstable();
        let mut dead = dead.into_iter().peekable();
        let living = self.base.entries().filter(|(position, _)| dead.next_if_eq(position).is_none());
        if self.base.seen.is_in_order {
            living.map(|(_, entry)| entry).try_for_each(&mut take)?;
        } else {
            let mut places: Vec<(u64, u64)> = living.map(|(position, entry)| (entry.offset, position)).collect();
            places.sort_unstable();
            places.into_iter().filter_map(|(_, position)| self.base.entry(position)).try_for_each(&mut take)?;
        }
        let mut at = 0usize;
        while let Some(entry) = entry_at(&self.added, at as u64) {
            at += AROUND + entry.id.len();
            if entry.length > 0 {
                take(entry)?;
            }
        }
        Ok(())
    }

    /// The line of the first document: offset and length.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        let mut first = None;
        // The error ends the walk.
        let _ = self.each(|entry| {
            first = Some((entry.offset, entry.length));
            Err(Error::usage("found"))
        });
        first
    }

    /// The document whose line is the last one.
    pub(crate) fn last(&self) -> Option<(Vec<u8>, u64, u32)> {
        let mut last: Option<(Vec<u8>, u64, u32)> = None;
        let found = self.each(|entry| {
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

    /// The bytes of the index that this began with.
    pub(crate) const fn base_bytes(&self) -> &Bytes {
        self.base.bytes()
    }
}

#[cfg(test)]
mod tests;
