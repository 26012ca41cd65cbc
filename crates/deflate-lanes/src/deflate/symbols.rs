//! The alphabets of DEFLATE: the symbols and extra bits of lengths and distances.

/// Symbols of literals, the end of a block, and lengths.
pub(super) const LITLENS: usize = 286;
pub(super) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(super) const END: usize = 256;

pub(super) const MIN_MATCH: usize = 3;
pub(super) const MAX_MATCH: usize = 258;
pub(super) const WINDOW: usize = 1 << 15;

/// A symbol for a range of values.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) least: u16,
    pub(super) extra_bits: u8,
}

/// Lengths, by symbol from 257 on.
#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
#[expect(clippy::cast_possible_truncation, reason = "at most 258 and 5")]
pub(super) static LENGTHS: [Range; 29] = {
    let mut ranges = [Range { least: 0, extra_bits: 0 }; 29];
    let mut i = 0;
    while i < 28 {
        ranges[i] = if i < 8 {
            Range { least: 3 + i as u16, extra_bits: 0 }
        } else {
            Range { least: (3 + ((4 + i % 4) << (i / 4 - 1))) as u16, extra_bits: (i / 4 - 1) as u8 }
        };
        i += 1;
    }
    ranges[28] = Range { least: 258, extra_bits: 0 };
    ranges
};

/// Distances, by symbol.
#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
#[expect(clippy::cast_possible_truncation, reason = "at most 24577 and 13")]
pub(super) static OFFSETS: [Range; DISTANCES] = {
    let mut ranges = [Range { least: 0, extra_bits: 0 }; DISTANCES];
    let mut i = 0;
    while i < DISTANCES {
        ranges[i] = if i < 4 {
            Range { least: 1 + i as u16, extra_bits: 0 }
        } else {
            Range { least: (1 + ((2 + i % 2) << (i / 2 - 1))) as u16, extra_bits: (i / 2 - 1) as u8 }
        };
        i += 1;
    }
    ranges
};

/// The index in `LENGTHS` of each length.
#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static LENGTH_INDEXES: [u8; 512] = {
    let mut indexes = [0; 512];
    let (mut length, mut place) = (3, 0);
    while length < 259 {
        if place < 28 && length >= LENGTHS[place as usize + 1].least as usize {
            place += 1;
        }
        indexes[length] = place;
        length += 1;
    }
    indexes
};

/// The index in `OFFSETS` of each distance minus one, below 256; then of every 128th distance.
#[expect(clippy::indexing_slicing, reason = "const evaluation rejects an index out of bounds")]
static DISTANCE_INDEXES: [u8; 512] = {
    let mut indexes = [0; 512];
    let mut i = 0;
    let mut place = 0;
    while i < 512 {
        let distance = if i < 256 { i + 1 } else { ((i - 256) << 7) + 1 };
        if i == 256 {
            place = 0;
        }
        while place < 29 && distance >= OFFSETS[place as usize + 1].least as usize {
            place += 1;
        }
        indexes[i] = place;
        i += 1;
    }
    indexes
};

/// The index in `LENGTHS` of a length, 3 to 258.
#[inline(always)]
pub(super) fn length_index(length: usize) -> usize {
    LENGTH_INDEXES.get(length & 511).copied().unwrap_or(0).into()
}

/// The index in `OFFSETS` of a distance, 1 to 32768.
#[inline(always)]
pub(super) fn distance_index(distance: usize) -> usize {
    let less = distance.wrapping_sub(1);
    let index = if less < 256 { less } else { 256 + (less >> 7 & 255) };
    DISTANCE_INDEXES.get(index & 511).copied().unwrap_or(0).into()
}
