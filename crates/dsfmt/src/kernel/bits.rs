//! Bits, the most significant of a byte first.

/// The eight truth values of each byte.
const EIGHT: [[bool; 8]; 256] = {
    let mut table = [[false; 8]; 256];
    let mut byte = 0;
    #[expect(clippy::indexing_slicing, reason = "the compiler runs it: an index outside is an error of the build")]
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

/// Fills `out` with the truth values that begin with the first bit of `bytes`. What `bytes` is too short for stays as it was.
pub(crate) fn unpack(bytes: &[u8], out: &mut [bool]) {
    let (eights, rest) = out.as_chunks_mut::<8>();
    let last = bytes.get(eights.len());
    for (out, byte) in eights.iter_mut().zip(bytes) {
        #[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
        let eight = EIGHT[usize::from(*byte)];
        *out = eight;
    }
    if let Some(last) = last {
        for (bit, out) in rest.iter_mut().enumerate() {
            *out = last << bit & 0x80 != 0;
        }
    }
}

/// The `len` bits from bit `first` of `bytes` on, moved to the front; bits behind them are zeros. `first` is less than 8.
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

/// How many of the first `len` bits are set.
pub(crate) fn missing(bytes: &[u8], len: u64) -> u64 {
    let end = usize::try_from(len / 8).unwrap_or(usize::MAX);
    let whole = bytes.get(..end).unwrap_or(bytes);
    let last = bytes.get(end).map_or(0, |last| last & !(0xff >> (len % 8)));
    let (words, rest) = whole.as_chunks::<8>();
    let ones = |all: u64, ones: u32| all + u64::from(ones);
    let words = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones()).fold(0, ones);
    rest.iter().chain(&[last]).map(|byte| byte.count_ones()).fold(words, ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_had_from_any_place() {
        let bytes: Vec<u8> = (0..40u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let all: Vec<bool> = (0..320).map(|n| bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        for len in 0..=312 {
            let mut out = vec![false; len];
            unpack(&bytes, &mut out);
            assert_eq!(out, all[..len]);
            assert_eq!(missing(&bytes, len as u64), out.iter().filter(|bit| **bit).count() as u64);
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
    fn too_few_bytes_leave_the_rest() {
        let mut out = [true; 20];
        unpack(&[0, 0x80], &mut out);
        assert_eq!(out.iter().filter(|bit| **bit).count(), 5);
        assert_eq!(missing(&[0xff], 100), 8);
    }
}
