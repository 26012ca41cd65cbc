//! What an operation holds decoded at a time, and what a block adds to it.
//!
//! Everything that is decoded and kept while an operation goes on is charged to its [`Budget`] before memory is set aside: the current
//! blocks of a walk, those decoded ahead, the buffers kept for the next ones, labels of keys.

use container_core::{Error, Result};

use super::Reader;
use super::open::Column;
use super::block_request::BlockRequest;
use crate::codec;
use crate::wire::{Compression, LookupEntry, Type};

/// Decoded bytes of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    /// The bytes that are not charged yet.
    pub(crate) const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
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
        Err(Error::limit(what, self.used.saturating_add(bytes), self.limit))
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
    pub(crate) decoded: u64,
    /// The limit while it is decoded: its values and the bytes they are decoded from.
    pub(crate) peak: u64,
}

impl Cost {
    /// The same in a buffer that has `bytes` already, which it keeps.
    pub(crate) fn in_buffer(self, bytes: u64) -> Self {
        let grown = bytes.saturating_sub(self.decoded);
        Self { decoded: self.decoded + grown, peak: self.peak.saturating_add(grown) }
    }
}

/// The prefix of a block that is decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPrefix {
    /// Values, from the first on.
    pub(super) values: u64,
    /// Decompressed bytes, from the first on.
    pub(super) bytes: u64,
    /// Whether that is the whole block.
    pub(super) whole: bool,
}

impl BlockPrefix {
    /// The prefix to decode for the first `requested` of `count` values: only these when values have a fixed width and the rest is at
    /// least half of the block.
    pub(super) fn of(kind: &Type, count: u64, requested: u64, entry: &LookupEntry) -> Self {
        let raw = u64::from(entry.raw_len);
        let whole = Self { values: count, bytes: raw, whole: true };
        let Type::Item(item) = kind else { return whole };
        match codec::prefix_len(*item, requested) {
            // A block whose length does not match its values is read whole, so that decoding reports why.
            Some(bytes) if bytes <= raw / 2 && codec::min_len(*item, count) == Some(raw) => {
                Self { values: requested, bytes, whole: false }
            }
            _ => whole,
        }
    }
}

impl Reader {
    /// What the count rows of a block take as [`Values`](crate::Values); nothing where its entry is damaged, which is found when it
    /// is read.
    pub(crate) fn block_cost(&self, place: &BlockRequest) -> Cost {
        let Some(column) = self.columns().get(place.column) else { return Cost::default() };
        let (Ok(kind), Ok(rows)) = (column.kind(), self.block_rows(place.column, place.block)) else {
            return Cost::default();
        };
        let Ok(entry) = self.lookup(column, place.block, &mut Vec::new()) else { return Cost::default() };
        match self.prefix(column, kind, &rows, place.rows.end, &entry) {
            Ok(prefix) => self.prefix_cost(column, kind, &prefix, &entry),
            Err(_) => Cost::default(),
        }
    }

    /// What a prefix of a block takes.
    pub(super) fn prefix_cost(&self, column: &Column, kind: &Type, prefix: &BlockPrefix, entry: &LookupEntry) -> Cost {
        let decoded = codec::memory_bytes(kind, prefix.values, prefix.bytes);
        let plain = column.compression() == Some(Compression::None);
        let raw = if plain { 0 } else { prefix.bytes };
        let stored = match self.source().as_slice() {
            Some(_) => 0,
            None if plain => prefix.bytes,
            None => entry.len.into(),
        };
        Cost { decoded, peak: decoded.saturating_add(raw).saturating_add(stored) }
    }
}
