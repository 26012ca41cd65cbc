//! What a place of the table holds.

/// Bits of the hash in a place of the table, at least.
const TAG: u32 = 12;

/// Memory gives two to this power bytes at once; where a line lies is not told more exactly.
const NEAR: u32 = 6;

/// Two to this power bytes are a page: where a line lies is not told less exactly.
const FAR: u32 = 12;

/// What a place of the table holds, from its low bits on: the position of an entry in the index, about where its line lies, and bits of the
/// hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// Bits of the position.
    position: u32,
    /// Bits of the line's place; 0 where there are too few.
    line: u32,
    /// The line's place is counted in two to this power bytes.
    unit: u32,
}

impl Slot {
    /// For an index of so many bytes, and data of so many.
    pub(super) const fn of(index: u64, data: u64) -> Self {
        let position = u64::BITS - index.leading_zeros();
        let room = u64::BITS.saturating_sub(position + TAG);
        let wanted = (u64::BITS - data.leading_zeros()).saturating_sub(NEAR);
        let line = if wanted < room { wanted } else { room };
        let unit = NEAR + wanted - line;
        if unit > FAR { Self { position, line: 0, unit } } else { Self { position, line, unit } }
    }

    #[inline]
    pub(super) const fn holding(self, hash: u64, position: u64, offset: u64) -> u64 {
        // Of an entry that lies, the place is another one: nothing hangs on it.
        let line = (offset >> self.unit) & ((1 << self.line) - 1);
        // An entry stands behind the head: its position is never 0, and neither is this.
        self.tag(hash) | line << self.position | position
    }

    /// What the hash is among what a place holds.
    #[inline]
    pub(super) const fn tag(self, hash: u64) -> u64 {
        hash << (self.position + self.line)
    }

    #[inline]
    pub(super) const fn have_one_tag(self, one: u64, other: u64) -> bool {
        (one ^ other) >> (self.position + self.line) == 0
    }

    #[inline]
    pub(super) const fn position(self, slot: u64) -> u64 {
        slot & ((1 << self.position) - 1)
    }

    /// A byte of the data close to the line's first one, not behind it.
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
    fn a_place_tells_about_where_the_line_is() {
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
            let slot = Slot::of(index, data);
            assert_eq!((slot.line, slot.unit), (if unit > FAR { 0 } else { line }, unit), "{index} {data}");
            assert!(slot.position + slot.line + TAG <= 64 && index < 1 << slot.position);
            for (offset, hash) in [(0, 0), (data / 3, 0x1234_5678_9abc_def0), (data.saturating_sub(1), u64::MAX)] {
                let place = slot.holding(hash, index, offset);
                assert_eq!(slot.position(place), index);
                assert!(slot.have_one_tag(place, slot.tag(hash)) && !slot.have_one_tag(place, slot.tag(hash ^ 1)));
                match slot.line(place) {
                    Some(near) => assert!(near <= offset && offset - near < 1 << unit, "{near} {offset}"),
                    None => assert_eq!(slot.line, 0),
                }
            }
        }
    }
}
