//! Many keys at once.
//!
//! Sixteen keys make a tile: a row of indices for each hash, which vectors work out. Where the bits are more than a cache
//! holds, a tile's bytes are asked for before the tile in front of it is worked off, so that many are on their way at the
//! same time.

use crate::digest::group::{Digest, LANES};
use crate::far::{FarInserter, is_far};
use crate::plan::{Plan, ROWS, Tile, filled, is_set, place, set};
use crate::probe::{Steps, Walk};
use crate::simd;

/// Bits of up to so many bytes are near: asking for them ahead costs more than it saves.
const NEAR: usize = 512 << 10;

/// Sets bits, some keys behind what it is told.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it stays where it is")]
pub(crate) enum Inserter<'a> {
    Near(TileInserter<'a>),
    Far(FarInserter<'a>),
}

impl<'a> Inserter<'a> {
    /// For about so many keys.
    pub(crate) fn new(bits: &'a mut [u8], plan: Plan, keys: usize) -> Self {
        if is_far(bits, &plan, keys) {
            Self::Far(FarInserter::new(bits, plan, keys))
        } else {
            Self::Near(TileInserter::new(bits, plan))
        }
    }

    /// Takes up to [`LANES`] digests.
    #[inline]
    pub(crate) fn push(&mut self, digests: &[Digest]) {
        match self {
            _ if digests.is_empty() => {}
            Self::Near(near) => near.push(digests),
            Self::Far(far) => far.push(digests),
        }
    }
}

/// Sets bits, a tile behind what it is told.
pub(crate) struct TileInserter<'a> {
    bits: &'a mut [u8],
    plan: Plan,
    ahead: bool,
    /// The tile that is worked out, and the one that waits, with its rows.
    next: Tile,
    waiting: Tile,
    waiting_rows: usize,
}

impl<'a> TileInserter<'a> {
    fn new(bits: &'a mut [u8], plan: Plan) -> Self {
        let ahead = bits.len() > NEAR;
        Self { bits, plan, ahead, next: [[0; LANES]; ROWS], waiting: [[0; LANES]; ROWS], waiting_rows: 0 }
    }

    fn push(&mut self, digests: &[Digest]) {
        let mut walk = Walk::new(self.plan.modulus, &filled(digests));
        let mut left = self.plan.hashes;
        while left > 0 {
            let count = left.min(ROWS);
            left -= count;
            let Some(rows) = self.next.get_mut(..count) else { return };
            simd::walk(&mut walk, rows);
            if self.ahead {
                for index in rows.as_flattened() {
                    simd::prefetch(self.bits, place(*index));
                }
                self.flush();
                core::mem::swap(&mut self.next, &mut self.waiting);
                self.waiting_rows = count;
            } else {
                for index in rows.as_flattened() {
                    set(self.bits, *index);
                }
            }
        }
    }

    /// Works off what waits.
    fn flush(&mut self) {
        for index in self.waiting.as_flattened().iter().take(self.waiting_rows * LANES) {
            set(self.bits, *index);
        }
        self.waiting_rows = 0;
    }
}

impl Drop for TileInserter<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Keys that are asked for at once.
pub(crate) const ASKED: usize = 4 * LANES;

/// Asks for keys in turns of up to [`ASKED`].
pub(crate) struct Asker<'a> {
    bits: &'a [u8],
    plan: Plan,
    ahead: bool,
    tiles: [Tile; ASKED / LANES],
}

/// Of an absent key so many bits tell, nearly always; the others are asked for where these are set.
const FIRST: usize = 3;

impl<'a> Asker<'a> {
    pub(crate) fn new(bits: &'a [u8], plan: Plan) -> Self {
        Self { bits, plan, ahead: bits.len() > NEAR, tiles: [[[0; LANES]; ROWS]; ASKED / LANES] }
    }

    /// Says of each of up to [`ASKED`] keys whether it is there.
    pub(crate) fn ask(&mut self, digests: &[Digest], found: &mut [bool]) {
        let (bits, ahead) = (self.bits, self.ahead);
        let count = self.plan.hashes.min(ROWS);
        let groups = || digests.chunks(LANES);
        for (tile, digests) in self.tiles.iter_mut().zip(groups()) {
            let Some(rows) = tile.get_mut(..count) else { return };
            simd::walk(&mut Walk::new(self.plan.modulus, &filled(digests)), rows);
            if ahead {
                for index in rows.iter().take(FIRST).flatten() {
                    simd::prefetch(bits, place(*index));
                }
            }
        }
        if ahead {
            for (tile, found) in self.tiles.iter().zip(found.chunks_mut(LANES)) {
                for (lane, found) in found.iter_mut().enumerate() {
                    *found = column(tile, lane, 0..count.min(FIRST)).all(|index| is_set(bits, index));
                    if *found {
                        for index in column(tile, lane, FIRST..count) {
                            simd::prefetch(bits, place(index));
                        }
                    }
                }
            }
        } else {
            found.fill(true);
        }
        let begin = if ahead { FIRST } else { 0 };
        for (tile, found) in self.tiles.iter().zip(found.chunks_mut(LANES)) {
            for (lane, found) in found.iter_mut().enumerate() {
                *found = *found && column(tile, lane, begin..count).all(|index| is_set(bits, index));
            }
        }
        // Far more bits to a key than anybody wants.
        if self.plan.hashes > ROWS {
            for (digest, found) in digests.iter().zip(found) {
                let mut rest = Steps::new(self.plan.modulus, *digest).take(self.plan.hashes).skip(ROWS);
                *found = *found && rest.all(|index| is_set(bits, index));
            }
        }
    }
}

/// One key's indices out of a tile.
#[inline(always)]
fn column(tile: &Tile, lane: usize, rows: core::ops::Range<usize>) -> impl Iterator<Item = u64> {
    tile.get(rows).unwrap_or_default().iter().map(move |row| row.get(lane).copied().unwrap_or_default())
}
