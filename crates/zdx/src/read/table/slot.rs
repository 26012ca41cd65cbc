//! The layout of a table slot.

/// Minimum bits of the hash in a slot.
const MIN_TAG_BITS: u32 = 12;

/// Binary logarithm of the bytes of a cache line: the most precise unit for the line's offset.
const CACHE_LINE_BITS: u32 = 6;

/// Binary logarithm of the bytes of a page: the least precise unit for the line's offset.
const PAGE_BITS: u32 = 12;

/// Layout of a slot, from its low bits on: the position of an entry in the index, the approximate offset of its line, and bits of the id's
/// hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// Bits of the position.
    position: u32,
    /// Bits of the line's offset; 0 if there would be too few.
    line: u32,
    /// The line's offset counts units of two to this power bytes.
    unit: u32,
}

impl Slot {
    /// The layout for an index and data of these lengths.
    pub(super) const fn new(index: u64, data: u64) -> Self {
        let position = u64::BITS - index.leading_zeros();
        let available = u64::BITS.saturating_sub(position + MIN_TAG_BITS);
        let needed = (u64::BITS - data.leading_zeros()).saturating_sub(CACHE_LINE_BITS);
        let line = if needed < available { needed } else { available };
        let unit = CACHE_LINE_BITS + needed - line;
        if unit > PAGE_BITS { Self { position, line: 0, unit } } else { Self { position, line, unit } }
    }

    #[inline]
    pub(super) const fn pack(self, hash: u64, position: u64, offset: u64) -> u64 {
        // A wrong entry may not fit: the offset is only a hint.
        let line = (offset >> self.unit) & ((1 << self.line) - 1);
        // Positions are past the header and never 0, and so is the slot.
        self.tag(hash) | line << self.position | position
    }

    /// The hash's bits of a slot.
    #[inline]
    pub(super) const fn tag(self, hash: u64) -> u64 {
        hash << (self.position + self.line)
    }

    #[inline]
    pub(super) const fn same_tag(self, one: u64, other: u64) -> bool {
        (one ^ other) >> (self.position + self.line) == 0
    }

    #[inline]
    pub(super) const fn position(self, slot: u64) -> u64 {
        slot & ((1 << self.position) - 1)
    }

    /// Approximate offset of the line, at most one unit before it.
    #[inline]
    pub(super) const fn line(self, slot: u64) -> Option<u64> {
        match self.line {
            0 => None,
            bits => Some((slot >> self.position & ((1 << bits) - 1)) << self.unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximates_line_offset() {
        for (index, data, line, unit) in [
            (1, 0, 0, 6),
            (24 << 20, 200 << 20, 22, 6),
            (24 << 30, 1 << 40, 17, 24),
            (1 << 30, 1 << 30, 21, 10),
            ((1 << 40) - 1, 1 << 23, 12, 12),
            ((1 << 40) - 1, 1 << 24, 0, 13),
            ((1 << 40) - 1, u64::MAX, 0, 52),
            (1 << 20, u64::MAX, 0, 33),
        ] {
            let slot = Slot::new(index, data);
            assert_eq!((slot.line, slot.unit), (if unit > PAGE_BITS { 0 } else { line }, unit), "{index} {data}");
            assert!(slot.position + slot.line + MIN_TAG_BITS <= 64 && index < 1 << slot.position);
            for (offset, hash) in [(0, 0), (data / 3, 0x1234_5678_9abc_def0), (data.saturating_sub(1), u64::MAX)] {
                let packed = slot.pack(hash, index, offset);
                assert_eq!(slot.position(packed), index);
                assert!(slot.same_tag(packed, slot.tag(hash)) && !slot.same_tag(packed, slot.tag(hash ^ 1)));
                match slot.line(packed) {
                    Some(near) => assert!(near <= offset && offset - near < 1 << unit, "{near} {offset}"),

                    None => assert_eq!(slot.line, 0),
                }
            }
        }
    }
}
