//! What an operation holds decoded at a time, and what a block adds to it.
//!
//! Everything that is decoded and kept while an operation goes on is charged to its [`Budget`] before memory is set aside: the current
//! blocks of a walk, those decoded ahead, the buffers kept for the next ones, labels of keys.

use container_core::{Error, Result};

use super::Reader;
use super::open::Column;
use super::place::Place;
use crate::codec;
use crate::wire::{Compression, LookupEntry, Type};

/// Decoded bytes of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    used: u64,
    most: u64,
}

impl Budget {
    pub(crate) const fn new(most: u64) -> Self {
        Self { used: 0, most }
    }

    /// The bytes that are not charged yet.
    pub(crate) const fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }

    /// Charges bytes if they fit.
    pub(crate) const fn try_take(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.left();
        if fits {
            self.used += bytes;
        }
        fits
    }

    /// Charges bytes.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) when they do not fit; nothing is charged then.
    pub(crate) fn take(&mut self, what: &'static str, bytes: u64) -> Result<()> {
        if self.try_take(bytes) {
            return Ok(());
        }
        Err(Error::limit(what, self.used.saturating_add(bytes), self.most))
    }

    /// Gives charged bytes back.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// What a block takes in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Its values.
    pub(crate) held: u64,
    /// The most while it is decoded: its values and the bytes they are decoded from.
    pub(crate) working: u64,
}

impl Cost {
    /// The same in a buffer that has `bytes` already, which it keeps.
    pub(crate) fn in_buffer(self, bytes: u64) -> Self {
        let grown = bytes.saturating_sub(self.held);
        Self { held: self.held + grown, working: self.working.saturating_add(grown) }
    }
}

/// The part of a block that is decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Values, from the first on.
    pub(super) values: u64,
    /// Decompressed bytes, from the first on.
    pub(super) bytes: u64,
    /// Whether that is the whole block.
    pub(super) whole: bool,
}

impl Part {
    /// What of a block of `count` values is decoded for the first `wanted` ones: these alone where values have a fixed width and the rest
    /// is worth leaving out.
    pub(super) fn of(kind: &Type, count: u64, wanted: u64, entry: &LookupEntry) -> Self {
        let raw = u64::from(entry.raw_len);
        let whole = Self { values: count, bytes: raw, whole: true };
        let Type::Item(item) = kind else { return whole };
        match codec::prefix_len(*item, wanted) {
            // What does not have the size of its values is read whole, to find out what is wrong.
            Some(bytes) if bytes <= raw / 2 && codec::least_len(*item, count) == Some(raw) => {
                Self { values: wanted, bytes, whole: false }
            }
            _ => whole,
        }
    }
}

impl Reader {
    /// What the wanted rows of a block take as [`Values`](crate::Values); nothing where its entry is damaged, which is found when it
    /// is read.
    pub(crate) fn block_cost(&self, place: &Place) -> Cost {
        let Some(column) = self.columns().get(place.column) else { return Cost::default() };
        let (Ok(kind), Ok(rows)) = (column.kind(), self.block_rows(place.column, place.block)) else {
            return Cost::default();
        };
        let Ok(entry) = self.lookup(column, place.block, &mut Vec::new()) else { return Cost::default() };
        match self.part(column, kind, &rows, place.rows.end, &entry) {
            Ok(part) => self.part_cost(column, kind, &part, &entry),
            Err(_) => Cost::default(),
        }
    }

    /// What a part of a block takes.
    pub(super) fn part_cost(&self, column: &Column, kind: &Type, part: &Part, entry: &LookupEntry) -> Cost {
        let held = codec::memory(kind, part.values, part.bytes);
        let plain = column.compression() == Some(Compression::None);
        let raw = if plain { 0 } else { part.bytes };
        let stored = match self.source().as_slice() {
            Some(_) => 0,
            None if plain => part.bytes,
            None => entry.len.into(),
        };
        Cost { held, working: held.saturating_add(raw).saturating_add(stored) }
    }
}
