//! Many keys at once.
//!
//! The indices of sixteen keys form a tile, with a row for each hash, computed with vectors. If the filter exceeds the
//! cache, the bytes of a tile are prefetched before the previous tile is processed, so many loads are in flight.

use crate::digest::group::{Digest, LANES};
use crate::partitioned::{self, PartitionedInserter};
use crate::plan::{Plan, ROWS, Tile, byte_offset, fill_lanes, is_set, set};
use crate::probe::KeyIndices;
use crate::simd;

/// For filters of at most this many bytes, prefetching costs more than it saves.
const MAX_CACHED_BYTES: usize = 512 << 10;

/// Inserts keys with a delay; all are inserted when it is dropped.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not moved")]
pub(crate) enum Inserter<'a> {
    Tiled(TileInserter<'a>),
    Partitioned(PartitionedInserter<'a>),
}

impl<'a> Inserter<'a> {
    /// For about `keys` keys.
    pub(crate) fn new(bits: &'a mut [u8], plan: Plan, keys: usize) -> Self {
        if partitioned::is_worth_it(bits, &plan, keys) {
            Self::Partitioned(PartitionedInserter::new(bits, plan, keys))
        } else {
            Self::Tiled(TileInserter::new(bits, plan))
        }
    }

    /// Inserts up to [`LANES`] digests.
    #[inline]
    pub(crate) fn push(&mut self, digests: &[Digest]) {
        match self {
            _ if digests.is_empty() => {}
            Self::Tiled(inserter) => inserter.push(digests),
            Self::Partitioned(inserter) => inserter.push(digests),
        }
    }
}

/// Inserts keys one tile late.
pub(crate) struct TileInserter<'a> {
    bits: &'a mut [u8],
    plan: Plan,
    prefetch: bool,
    /// The tile being computed, at `next`, and the prefetched one with its number of rows.
    tiles: [Tile; 2],
    next: usize,
    pending_rows: usize,
}

impl<'a> TileInserter<'a> {
    fn new(bits: &'a mut [u8], plan: Plan) -> Self {
        let prefetch = bits.len() > MAX_CACHED_BYTES;
        Self { bits, plan, prefetch, tiles: [[[0; LANES]; ROWS]; 2], next: 0, pending_rows: 0 }
    }

    fn push(&mut self, digests: &[Digest]) {
        let mut indices = self.plan.group_indices(&fill_lanes(digests));
        let mut left = self.plan.hashes;
        while left > 0 {
            let count = left.min(ROWS);
            left -= count;
            let Some(rows) = self.tiles.get_mut(self.next).and_then(|tile| tile.get_mut(..count)) else { return };
            simd::next_rows(&mut indices, rows);
            if self.prefetch {
                for index in rows.as_flattened() {
                    simd::prefetch(self.bits, byte_offset(*index));
                }
                self.flush();
                self.next = 1 - self.next;
                self.pending_rows = count;
            } else {
                for index in rows.as_flattened() {
                    set(self.bits, *index);
                }
            }
        }
    }

    /// Sets the bits of the pending tile.
    fn flush(&mut self) {
        let pending = self.tiles.get(1 - self.next).map_or(&[][..], |tile| tile.as_flattened());
        for index in pending.iter().take(self.pending_rows * LANES) {
            set(self.bits, *index);
        }
        self.pending_rows = 0;
    }
}

impl Drop for TileInserter<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Keys that are looked up together.
pub(crate) const LOOKUP_KEYS: usize = 4 * LANES;

/// Looks up at most [`LOOKUP_KEYS`] keys at a time.
pub(crate) struct TileLookup<'a> {
    bits: &'a [u8],
    plan: Plan,
    prefetch: bool,
    tiles: [Tile; LOOKUP_KEYS / LANES],
}

/// Rows that exclude nearly all absent keys; further rows are prefetched only for keys whose bits are set in these.
const EXCLUDING_ROWS: usize = 3;

impl<'a> TileLookup<'a> {
    pub(crate) fn new(bits: &'a [u8], plan: Plan) -> Self {
        Self { bits, plan, prefetch: bits.len() > MAX_CACHED_BYTES, tiles: [[[0; LANES]; ROWS]; LOOKUP_KEYS / LANES] }
    }

    /// Looks up at most [`LOOKUP_KEYS`] keys.
    pub(crate) fn look_up(&mut self, digests: &[Digest], results: &mut [bool]) {
        let (bits, prefetch) = (self.bits, self.prefetch);
        let count = self.plan.hashes.min(ROWS);
        for (tile, digests) in self.tiles.iter_mut().zip(digests.chunks(LANES)) {
            let Some(rows) = tile.get_mut(..count) else { return };
            simd::next_rows(&mut self.plan.group_indices(&fill_lanes(digests)), rows);
            if prefetch {
                for index in rows.iter().take(EXCLUDING_ROWS).flatten() {
                    simd::prefetch(bits, byte_offset(*index));
                }
            }
        }
        if prefetch {
            for (tile, results) in self.tiles.iter().zip(results.chunks_mut(LANES)) {
                for (lane, present) in results.iter_mut().enumerate() {
                    *present = column(tile, lane, 0..count.min(EXCLUDING_ROWS)).all(|index| is_set(bits, index));
                    if *present {
                        for index in column(tile, lane, EXCLUDING_ROWS..count) {
                            simd::prefetch(bits, byte_offset(index));
                        }
                    }
                }
            }
        } else {
            results.fill(true);
        }
        let begin = if prefetch { EXCLUDING_ROWS } else { 0 };
        for (tile, results) in self.tiles.iter().zip(results.chunks_mut(LANES)) {
            for (lane, present) in results.iter_mut().enumerate() {
                *present = *present && column(tile, lane, begin..count).all(|index| is_set(bits, index));
            }
        }
        // More bits per key than practical filters have.
        if self.plan.hashes > ROWS {
            for (digest, present) in digests.iter().zip(results) {
                let mut rest = KeyIndices::new(self.plan.modulus, *digest).take(self.plan.hashes).skip(ROWS);
                *present = *present && rest.all(|index| is_set(bits, index));
            }
        }
    }
}

/// The indices of one key in a tile.
#[inline(always)]
fn column(tile: &Tile, lane: usize, rows: core::ops::Range<usize>) -> impl Iterator<Item = u64> {
    tile.get(rows).unwrap_or_default().iter().map(move |row| row.get(lane).copied().unwrap_or_default())
}
