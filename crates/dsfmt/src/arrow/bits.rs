//! Converts packed bits from the file's order (most significant first) to Arrow's (least significant first).

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::array::Mask;

/// Reverses the bits of each byte, and inverts them when `invert` is set.
fn reversed(bytes: &[u8], invert: bool) -> Buffer {
    let inversion = if invert { u64::MAX } else { 0 };
    // Reverse all bits of a word, then restore the order of its bytes.
    let reverse = |word: [u8; 8]| u64::from_ne_bytes(word).reverse_bits().swap_bytes() ^ inversion;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut out: Vec<u64> = Vec::with_capacity(words.len() + 1);
    out.extend(words.iter().map(|word| reverse(*word)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(byte, from)| *byte = *from);
        out.push(reverse(last));
    }
    Buffer::from_vec(out)
}

/// `len` booleans from bit `first` on; `None` when there are fewer bits.
pub(super) fn booleans(bytes: &[u8], first: usize, len: usize) -> Option<BooleanBuffer> {
    let enough = bytes.len().checked_mul(8)? >= first.checked_add(len)?;
    enough.then(|| BooleanBuffer::new(reversed(bytes, false), first, len))
}

/// The validity buffer of a mask; `None` when nothing is missing.
pub(super) fn validity(mask: &Mask<'_>) -> Option<NullBuffer> {
    (mask.missing() > 0).then(|| NullBuffer::new(BooleanBuffer::new(reversed(mask.as_bits(), true), 0, mask.len())))
}

/// The mask of null elements.
pub(super) fn mask(nulls: &NullBuffer) -> Option<Mask<'static>> {
    let len = nulls.len();
    let bits = nulls.inner().sliced();
    let bytes = bits.as_slice().get(..len.div_ceil(8))?;
    let words = reversed(bytes, true);
    Mask::from_bits(words.as_slice().get(..len.div_ceil(8))?.to_vec(), len).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        let bytes: Vec<u8> = (0..40u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let all: Vec<bool> = (0..320).map(|n| bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        for len in 0..300usize {
            for first in 0..8 {
                let found = booleans(&bytes[..(first + len).div_ceil(8)], first, len).unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), all[first..first + len], "{first} {len}");
            }
            let missing = Mask::from_bools(all[..len].iter().copied());
            match validity(&missing) {
                None => assert_eq!(missing.missing(), 0),
                Some(nulls) => {
                    assert_eq!((nulls.len(), nulls.null_count()), (len, missing.missing()));
                    assert!((0..len).all(|n| nulls.is_null(n) == all[n]));
                    assert_eq!(mask(&nulls).unwrap(), missing);
                    for first in 0..9.min(len) {
                        let part = mask(&nulls.slice(first, len - first)).unwrap();
                        assert_eq!(part, Mask::from_bools(all[first..len].iter().copied()), "{first} {len}");
                    }
                }
            }
        }
        assert!(booleans(&[0], 1, 8).is_none());
    }
}
