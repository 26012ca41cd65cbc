//! Bits of the file, the most significant of a byte first, as Arrow's, the least significant first.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::array::Mask;

/// The bits of each byte in the opposite order, and turned over where `flip` is set.
fn turned(bytes: &[u8], flip: bool) -> Buffer {
    let over = if flip { u64::MAX } else { 0 };
    // All bits of a word turned round, then its bytes turned back.
    let turn = |word: [u8; 8]| u64::from_ne_bytes(word).reverse_bits().swap_bytes() ^ over;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut out: Vec<u64> = Vec::with_capacity(words.len() + 1);
    out.extend(words.iter().map(|word| turn(*word)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(byte, from)| *byte = *from);
        out.push(turn(last));
    }
    Buffer::from_vec(out)
}

/// `len` truth values from bit `first` of these bytes on; `None` where there are fewer.
pub(super) fn truths(bytes: &[u8], first: usize, len: usize) -> Option<BooleanBuffer> {
    let enough = bytes.len().checked_mul(8)? >= first.checked_add(len)?;
    enough.then(|| BooleanBuffer::new(turned(bytes, false), first, len))
}

/// Which elements are not missing; `None` where none is.
pub(super) fn validity(mask: &Mask<'_>) -> Option<NullBuffer> {
    // A mask has the bytes that its length takes.
    (mask.missing() > 0).then(|| NullBuffer::new(BooleanBuffer::new(turned(mask.as_bits(), true), 0, mask.len())))
}

/// The elements that are null, as a mask.
pub(super) fn mask(nulls: &NullBuffer) -> Option<Mask<'static>> {
    let len = nulls.len();
    let bits = nulls.inner().sliced();
    let bytes = bits.as_slice().get(..len.div_ceil(8))?;
    let words = turned(bytes, true);
    Mask::from_bits(words.as_slice().get(..len.div_ceil(8))?.to_vec(), len).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_turned_round_and_back() {
        let bytes: Vec<u8> = (0..40u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let all: Vec<bool> = (0..320).map(|n| bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        for len in 0..300usize {
            for first in 0..8 {
                let found = truths(&bytes[..(first + len).div_ceil(8)], first, len).unwrap();
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
        assert!(truths(&[0], 1, 8).is_none());
    }
}
