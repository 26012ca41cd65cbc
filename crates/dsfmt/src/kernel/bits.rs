//! Packed bits, most significant bit first.

/// The eight booleans of each byte value.
const BYTE_BOOLS: [[bool; 8]; 256] = {
    let mut table = [[false; 8]; 256];
    let mut byte = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte][bit] = byte >> (7 - bit) & 1 == 1;
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Unpacks bits from the start of `bytes` into `out`. Elements beyond the end of `bytes` keep their value.
pub(crate) fn unpack(bytes: &[u8], out: &mut [bool]) {
    let (eights, rest) = out.as_chunks_mut::<8>();
    let last = bytes.get(eights.len());
    for (out, byte) in eights.iter_mut().zip(bytes) {
        #[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
        let eight = BYTE_BOOLS[usize::from(*byte)];
        *out = eight;
    }
    if let Some(last) = last {
        for (bit, out) in rest.iter_mut().enumerate() {
            *out = last << bit & 0x80 != 0;
        }
    }
}

/// Unpacks the first `count` bits, or as many as `bytes` has.
pub(crate) fn unpacked(bytes: &[u8], count: usize) -> Vec<bool> {
    #[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
    let eights: Vec<[bool; 8]> = bytes.iter().map(|byte| BYTE_BOOLS[usize::from(*byte)]).collect();
    let mut out = eights.into_flattened();
    out.truncate(count);
    out
}

/// Copies `len` bits starting at bit `first` (below 8) to the front of a new vector; padding bits are zero.
pub(crate) fn shifted(bytes: &[u8], first: usize, len: usize) -> Vec<u8> {
    let count = len.div_ceil(8);
    let mut out: Vec<u8> = match first {
        0 => bytes.iter().take(count).copied().collect(),
        _ => {
            let next = bytes.iter().skip(1).chain(&[0]);
            bytes.iter().zip(next).take(count).map(|(this, next)| this << first | next >> (8 - first)).collect()
        }
    };
    if let Some(last) = out.last_mut().filter(|_| !len.is_multiple_of(8)) {
        *last &= !(0xff >> (len % 8));
    }
    out
}

/// Counts set bits among the first `len`.
pub(crate) fn count_ones(bytes: &[u8], len: u64) -> u64 {
    let end = usize::try_from(len / 8).unwrap_or(usize::MAX);
    let whole = bytes.get(..end).unwrap_or(bytes);
    let last = bytes.get(end).map_or(0, |last| last & !(0xff >> (len % 8)));
    let (words, rest) = whole.as_chunks::<8>();
    let ones = |all: u64, ones: u32| all + u64::from(ones);
    let words = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones()).fold(0, ones);
    rest.iter().chain(&[last]).map(|byte| byte.count_ones()).fold(words, ones)
}

/// Counts set bits in `first..end`.
pub(crate) fn count_ones_in(bytes: &[u8], first: u64, end: u64) -> u64 {
    let byte = usize::try_from(first / 8).ok();
    let Some(bytes) = byte.and_then(|byte| bytes.get(byte..)) else { return 0 };
    // Counts from the start of the first byte, then subtracts its bits before `first`.
    let before = bytes.first().map_or(0, |byte| byte & !(0xff >> (first % 8)));
    count_ones(bytes, end - first / 8 * 8) - u64::from(before.count_ones())
}

/// Copies `len` bits from bit `first` of `bytes` to bit `to` of `out`, where bits must be zero. Returns how many are set.
pub(crate) fn copy_bits(bytes: &[u8], first: u64, len: u64, out: &mut [u8], to: u64) -> u64 {
    let split = |bit: u64| (usize::try_from(bit / 8).unwrap_or(usize::MAX), bit % 8);
    let ((from, shift), (place, shift_to)) = (split(first), split(to));
    let (Some(bytes), Some(out)) = (bytes.get(from..), out.get_mut(place..)) else { return 0 };
    let (mut left, mut set) = (len, 0);
    // Eight bits per step; they straddle two bytes on both sides.
    let mut out = out.iter_mut();
    let mut target = out.next();
    for (n, byte) in bytes.iter().enumerate() {
        let next = bytes.get(n + 1).copied().unwrap_or(0);
        let pair = u16::from_be_bytes([*byte, next]) << shift;
        let [mut eight, _] = pair.to_be_bytes();
        if left < 8 {
            eight &= !(0xff >> left);
        }
        set += u64::from(eight.count_ones());
        let [now, later] = (u16::from_be_bytes([eight, 0]) >> shift_to).to_be_bytes();
        if let Some(byte) = &mut target {
            **byte |= now;
        }
        target = out.next();
        if let Some(byte) = &mut target {
            **byte |= later;
        }
        left = left.saturating_sub(8);
        if left == 0 {
            break;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks_from_any_offset() {
        let bytes: Vec<u8> = (0..40u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let all: Vec<bool> = (0..320).map(|n| bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        for len in 0..=312 {
            let mut out = vec![false; len];
            unpack(&bytes, &mut out);
            assert_eq!(out, all[..len]);
            assert_eq!(unpacked(&bytes, len), out);
            assert_eq!(count_ones(&bytes, len as u64), out.iter().filter(|bit| **bit).count() as u64);
            for first in 0..8 {
                let bits = shifted(&bytes, first, len);
                assert_eq!(bits.len(), len.div_ceil(8));
                let mut out = vec![false; bits.len() * 8];
                unpack(&bits, &mut out);
                assert_eq!(out[..len], all[first..first + len]);
                assert!(out[len..].iter().all(|bit| !bit), "{first} {len}");
            }
        }
    }

    #[test]
    fn copies_to_any_offset() {
        let bytes: Vec<u8> = (0..12u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let all: Vec<bool> = (0..96).map(|n| bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        for first in 0..24 {
            for to in 0..20 {
                for len in [0, 1, 2, 7, 8, 9, 15, 16, 17, 40, 63, 72] {
                    let mut out = [0u8; 12];
                    let set = copy_bits(&bytes, first as u64, len as u64, &mut out, to as u64);
                    let expected = &all[first..first + len];
                    assert_eq!(set, expected.iter().filter(|bit| **bit).count() as u64);
                    assert_eq!(count_ones_in(&bytes, first as u64, (first + len) as u64), set);
                    let found: Vec<bool> = (0..96).map(|n| out[n / 8] >> (7 - n % 8) & 1 == 1).collect();
                    assert_eq!(found[to..to + len], *expected);
                    assert!(found[..to].iter().chain(&found[to + len..]).all(|bit| !bit));
                }
            }
        }
        assert_eq!((copy_bits(&[], 3, 5, &mut [0], 2), count_ones_in(&[0xff], 9, 20)), (0, 0));
    }

    #[test]
    fn short_input_leaves_the_rest() {
        let mut out = [true; 20];
        unpack(&[0, 0x80], &mut out);
        assert_eq!(out.iter().filter(|bit| **bit).count(), 5);
        assert_eq!(count_ones(&[0xff], 100), 8);
    }
}
