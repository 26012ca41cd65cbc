//! Eight bytes of input in a 64-bit word, the first in the lowest byte.

/// The continuation bit of each byte.
pub(crate) const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// The payload bits of each byte.
pub(crate) const PAYLOAD: u64 = !CONTINUE;

/// A word whose lowest set bit is bit 7 of the first byte that ends a value; 0 if no byte does. Higher bits are
/// unspecified.
///
/// With all payload bits set, adding 1 carries through the continued bytes (`ff`) and stops in the first other one (`7f`).
#[inline(always)]
pub(crate) const fn first_end(word: u64) -> u64 {
    (word | PAYLOAD).wrapping_add(1)
}

/// Joins the payload bits of the bytes: 56 bits.
#[inline(always)]
pub(crate) const fn pack(word: u64) -> u64 {
    let pairs = (word & 0x007f_007f_007f_007f) | ((word >> 1) & 0x3f80_3f80_3f80_3f80);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs >> 2) & 0x0fff_c000_0fff_c000);
    (fours & 0x0fff_ffff) | ((fours >> 4) & 0x00ff_ffff_f000_0000)
}

/// The inverse of [`pack`]: distributes 56 bits to the payload bits of eight bytes.
#[inline(always)]
pub(crate) const fn spread(bits: u64) -> u64 {
    let fours = (bits & 0x0fff_ffff) | ((bits & 0x00ff_ffff_f000_0000) << 4);
    let pairs = (fours & 0x0000_3fff_0000_3fff) | ((fours & 0x0fff_c000_0fff_c000) << 2);
    (pairs & 0x007f_007f_007f_007f) | ((pairs & 0x3f80_3f80_3f80_3f80) << 1)
}

/// The packed payload bits and the length of the first value, if it ends in these eight bytes. Not sign-extended.
#[inline(always)]
pub(crate) const fn first(word: u64) -> Option<(u64, u32)> {
    let end = first_end(word);
    if end == 0 {
        return None;
    }
    let last_bit = end.trailing_zeros();
    let own = word & (u64::MAX >> (63 - last_bit)) & PAYLOAD;
    Some((pack(own), (last_bit >> 3) + 1))
}

/// [`first`] of the first eight bytes, if there are that many.
#[inline(always)]
pub(crate) const fn first_of(bytes: &[u8]) -> Option<(u64, u32)> {
    match bytes.first_chunk() {
        Some(chunk) => first(u64::from_le_bytes(*chunk)),
        None => None,
    }
}

/// As [`first_of`], with a shortcut for runs of large 32-bit values, which take five bytes each.
///
/// A value's offset depends on the length of the one before: a data dependency that only a well-predicted branch breaks.
/// A branch on a length of five alone would be unpredictable among values of mixed lengths, so this one also requires
/// the beginning of a second such value.
#[inline(always)]
pub(crate) const fn first_of_or_of_fives(bytes: &[u8]) -> Option<(u64, u32)> {
    let Some(chunk) = bytes.first_chunk() else { return None };
    let word = u64::from_le_bytes(*chunk);
    if word & CONTINUE == 0x8080_8000_8080_8080 {
        return Some((pack(word & 0x7f_7f7f_7f7f), 5));
    }
    first(word)
}

/// The value at the beginning of ten bytes, at most ten long: 64 payload bits, the length, and the tenth byte if the value
/// has one, else 0. Bits of that byte beyond the 64 are not checked.
#[inline(always)]
pub(crate) const fn first_of_ten(bytes: &[u8; 10]) -> (u64, u32, u8) {
    let [head @ .., ninth, tenth] = bytes;
    let word = u64::from_le_bytes(*head);
    if let Some((payload, len)) = first(word) {
        return (payload, len, 0);
    }
    // Whether a tenth byte follows is unpredictable for large values: computed, not branched on.
    let more = *ninth >> 7;
    let last = *tenth & 0_u8.wrapping_sub(more);
    let payload = pack(word) | ((*ninth & 0x7f) as u64) << 56 | (last as u64) << 63;
    (payload, 9 + more as u32, last)
}

/// Sign-extends a value of `len` bytes, at most nine, from its highest payload bit.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "the same bits, read as two's complement")]
pub(crate) const fn extend(payload: u64, len: u32) -> i64 {
    let unused = 64 - 7 * len;
    (payload << unused) as i64 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_inverts_pack() {
        for bit in 0..56 {
            let word = spread(1 << bit);
            assert_eq!(word, 1 << (bit / 7 * 8 + bit % 7), "bit {bit}");
            assert_eq!(pack(word), 1 << bit, "bit {bit}");
        }
        assert_eq!(spread((1 << 56) - 1), PAYLOAD);
        assert_eq!(pack(PAYLOAD), (1 << 56) - 1);
    }

    #[test]
    fn first_end_finds_each_byte() {
        for len in 1..=8_u32 {
            let continued = CONTINUE & ((1_u64 << (8 * (len - 1))) - 1);
            for noise in [0, PAYLOAD, 0x0101_0101_0101_0101] {
                let above = u64::MAX.checked_shl(8 * len).unwrap_or(0);
                let word = continued | noise | above;
                assert_eq!(first_end(word).trailing_zeros(), 8 * len - 1);
                assert_eq!(first(word), Some((pack(noise & !above), len)));
            }
        }
        assert_eq!(first_end(u64::MAX), 0);
        assert_eq!(first(CONTINUE), None);
    }
}
