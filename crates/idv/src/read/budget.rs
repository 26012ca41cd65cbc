//! Memory budget of an operation, and the memory cost of blocks.
//!
//! Everything decoded and kept during an operation is charged to its [`Budget`] before it is allocated: the current blocks of a scan,
//! blocks decoded ahead, buffers kept for reuse, key labels.

use container_core::{Error, Result};

use super::Reader;
use super::block_request::BlockRequest;
use super::open::Column;
use crate::codec;
use crate::wire::{Compression, LookupEntry, Type};

/// Memory budget of an operation, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    /// Bytes not charged yet.
    pub(crate) const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Charges bytes if they are within the budget; false otherwise.
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
    /// [`Limit`](container_core::ErrorKind::Limit) when they exceed the budget; nothing is charged then.
    pub(crate) fn take(&mut self, what: &'static str, bytes: u64) -> Result<()> {
        if self.try_take(bytes) {
            return Ok(());
        }
        Err(Error::limit(what, self.used.saturating_add(bytes), self.limit))
    }

    /// Returns charged bytes.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// Memory cost of a block in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Once decoded.
    pub(crate) decoded: u64,
    /// Peak while decoding: the values and the bytes they are decoded from.
    pub(crate) peak: u64,
}

impl Cost {
    /// The cost in a reused buffer of `bytes`, which does not shrink.
    pub(crate) fn in_buffer(self, bytes: u64) -> Self {
        let grown = bytes.saturating_sub(self.decoded);
        Self { decoded: self.decoded + grown, peak: self.peak.saturating_add(grown) }
    }
}

/// The prefix of a block to decode.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPrefix {
    /// Number of values.
    pub(super) values: u64,
    /// Number of decompressed bytes.
    pub(super) bytes: u64,
    /// Whether it is the whole block.
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
    /// Cost of the requested rows of a block as [`Values`](crate::Values); zero if its lookup entry is damaged, which reading reports.
    pub(crate) fn block_cost(&self, request: &BlockRequest) -> Cost {
        let Some(column) = self.columns().get(request.column) else { return Cost::default() };
        let (Ok(kind), Ok(rows)) = (column.kind(), self.block_rows(request.column, request.block)) else {
            return Cost::default();
        };
        let Ok(entry) = self.lookup(column, request.block, &mut Vec::new()) else { return Cost::default() };
        match self.prefix(column, kind, &rows, request.rows.end, &entry) {
            Ok(prefix) => self.prefix_cost(column, kind, &prefix, &entry),
            Err(_) => Cost::default(),
        }
    }

    /// Cost of a block prefix.
    pub(super) fn prefix_cost(&self, column: &Column, kind: &Type, prefix: &BlockPrefix, entry: &LookupEntry) -> Cost {
        let decoded = codec::memory_bytes(kind, prefix.values, prefix.bytes);
        let uncompressed = column.compression() == Some(Compression::None);
        let raw = if uncompressed { 0 } else { prefix.bytes };
        let stored = match self.source().as_slice() {
            Some(_) => 0,
            None if uncompressed => prefix.bytes,
            None => entry.len.into(),
        };
        Cost { decoded, peak: decoded.saturating_add(raw).saturating_add(stored) }
    }
}
