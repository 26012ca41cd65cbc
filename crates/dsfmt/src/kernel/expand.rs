//! Expands stored values to one element per mask bit: missing values are not stored.

use crate::types::Element;

/// Fills `out`: an element whose bit in `mask` is set becomes `fill`, every other one takes the next stored value. When `stored` runs out, the
/// rest becomes `fill`.
pub(crate) fn expand<S: Copy, T: Copy>(mask: &[u8], stored: &[S], out: &mut [T], fill: T, load: impl Fn(S) -> T) {
    let mut stored = stored;
    let (eights, rest) = out.as_chunks_mut::<8>();
    let last = mask.get(eights.len()).copied().unwrap_or(0);
    for (out, bits) in eights.iter_mut().zip(mask) {
        match (bits, stored.split_first_chunk::<8>()) {
            (0xff, _) => *out = [fill; 8],
            (0x00, Some((eight, behind))) => {
                out.iter_mut().zip(eight).for_each(|(out, value)| *out = load(*value));
                stored = behind;
            }
            (_, Some((eight, _))) => {
                let mut next = 0;
                for (bit, out) in out.iter_mut().enumerate() {
                    let missing = bits << bit & 0x80 != 0;
                    // Loaded even when missing, to avoid an unpredictable branch.
                    #[expect(clippy::indexing_slicing, reason = "an index below 8 into 8 values")]
                    let value = load(eight[next & 7]);
                    *out = if missing { fill } else { value };
                    next += usize::from(!missing);
                }
                stored = stored.get(next..).unwrap_or_default();
            }
            (_, None) => stored = one_by_one(*bits, stored, out, fill, &load),
        }
    }
    one_by_one(last, stored, rest, fill, &load);
}

/// Handles up to eight elements when fewer than eight stored values remain; returns the unused values.
fn one_by_one<'s, S: Copy, T: Copy>(
    bits: u8,
    mut stored: &'s [S],
    out: &mut [T],
    fill: T,
    load: &impl Fn(S) -> T,
) -> &'s [S] {
    for (bit, out) in out.iter_mut().enumerate() {
        let missing = bits << bit & 0x80 != 0;
        *out = match stored.split_first().filter(|_| !missing) {
            Some((value, behind)) => {
                stored = behind;
                load(*value)
            }
            None => fill,
        };
    }
    stored
}

/// [`expand`] for numbers stored unaligned, byte-swapped when `swap` is set.
pub(crate) fn expand_numbers<T: Element>(mask: &[u8], stored: &[u8], out: &mut [T], fill: T, swap: bool) {
    macro_rules! by_width {
        ($word:ty) => {
            if let (Ok(out), Ok(fill)) = (bytemuck::try_cast_slice_mut::<T, $word>(out), bytemuck::try_cast(fill)) {
                let stored = stored.as_chunks().0;
                match swap {
                    true => expand(mask, stored, out, fill, |raw| <$word>::from_ne_bytes(raw).swap_bytes()),
                    false => expand(mask, stored, out, fill, <$word>::from_ne_bytes),
                }
            }
        };
    }
    match size_of::<T>() {
        1 => by_width!(u8),
        2 => by_width!(u16),
        4 => by_width!(u32),
        _ => by_width!(u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Endian;

    fn check<T: Element>(masks: &[Vec<bool>], make: impl Fn(u8) -> T, fill: T) {
        for missing in masks {
            let mut bits = vec![0u8; missing.len().div_ceil(8)];
            missing.iter().enumerate().for_each(|(n, bit)| bits[n / 8] |= u8::from(*bit) << (7 - n % 8));
            let (mut stored, mut expected) = (vec![0u8], Vec::new());
            for (n, missing) in missing.iter().enumerate() {
                let value = make(n as u8);
                expected.push(if *missing { fill } else { value });
                if !missing {
                    stored.extend_from_slice(bytemuck::bytes_of(&value.swapped()));
                }
            }
            let mut out = vec![T::default(); missing.len()];
            expand_numbers(&bits, &stored[1..], &mut out, fill, true);
            assert_eq!(out, expected);
            let swapped: Vec<T> =
                expected.iter().map(|value| if *value == fill { fill } else { value.swapped() }).collect();
            expand_numbers(&bits, &stored[1..], &mut out, fill, false);
            assert_eq!(out, swapped);
        }
    }

    #[test]
    fn expands_every_width() {
        let masks: Vec<Vec<bool>> = (0..80usize)
            .flat_map(|len| {
                [
                    vec![true; len],
                    vec![false; len],
                    (0..len).map(|n| n * n % 7 > 2).collect(),
                    (0..len).map(|n| !(17..=40).contains(&n)).collect(),
                    (0..len).map(|n| n / 9 % 2 == 0).collect(),
                ]
            })
            .collect();
        check(&masks, |n| n, 255u8);
        check(&masks, |n| i16::from(n) * 129, -1i16);
        check(&masks, |n| u32::from(n) * 0x0102_0305, u32::MAX);
        check(&masks, |n| f64::from(n) + 0.5, 1e300);
    }

    #[test]
    fn exhausted_input_becomes_fill() {
        let mut out = [9u16; 19];
        expand_numbers(&[0, 0x40, 0], &[1, 0, 2, 0, 3], &mut out, 7, Endian::NATIVE == Endian::Big);
        assert_eq!(out, [1, 2, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
    }
}
