//! Loads numbers of either byte order from unaligned bytes.
//!
//! Not with `byteorder`: its bulk functions are per type, and panic unless both lengths agree; this is generic and accepts short input.

use crate::types::Element;

/// Fills `out` from `bytes`, byte-swapped when `swap` is set. Elements beyond the end of `bytes` keep their value.
pub(crate) fn load<T: Element>(bytes: &[u8], out: &mut [T], swap: bool) {
    if !swap || size_of::<T>() == 1 {
        let out: &mut [u8] = bytemuck::cast_slice_mut(out);
        let len = out.len().min(bytes.len() - bytes.len() % size_of::<T>());
        if let (Some(out), Some(bytes)) = (out.get_mut(..len), bytes.get(..len)) {
            out.copy_from_slice(bytes);
        }
        return;
    }
    // By width rather than type: three loops instead of ten, over integers with a byte-swap instruction.
    macro_rules! swapped {
        ($word:ty) => {
            if let Ok(out) = bytemuck::try_cast_slice_mut::<T, $word>(out) {
                for (out, raw) in out.iter_mut().zip(bytes.as_chunks().0) {
                    *out = <$word>::from_ne_bytes(*raw).swap_bytes();
                }
            }
        };
    }
    match size_of::<T>() {
        2 => swapped!(u16),
        4 => swapped!(u32),
        _ => swapped!(u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Endian;

    #[test]
    fn loads_unaligned_in_both_orders() {
        for count in 0..70usize {
            let numbers: Vec<u64> = (0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let mut bytes = vec![0];
            numbers.iter().for_each(|n| bytes.extend(n.to_be_bytes()));
            let mut out = vec![0u64; count];
            load(&bytes[1..], &mut out, Endian::NATIVE == Endian::Little);
            assert_eq!(out, numbers);
            let mut out = vec![0u16; count * 4];
            load(&bytes[1..], &mut out, Endian::NATIVE == Endian::Little);
            let expected: Vec<u16> = bytes[1..].as_chunks().0.iter().map(|raw| u16::from_be_bytes(*raw)).collect();
            assert_eq!(out, expected);
            let mut out = vec![0.0f32; count * 2];
            load(&bytes[1..], &mut out, false);
            assert_eq!(bytemuck::cast_slice::<f32, u8>(&out), &bytes[1..]);
            let mut out = vec![0i8; count * 8];
            load(&bytes[1..], &mut out, true);
            assert_eq!(bytemuck::cast_slice::<i8, u8>(&out), &bytes[1..]);
        }
    }

    #[test]
    fn short_input_leaves_the_rest() {
        let mut out = [7u32; 3];
        load(&[0, 0, 0, 1, 9, 9], &mut out, Endian::NATIVE == Endian::Little);
        assert_eq!(out, [1, 7, 7]);
        let mut out = [7u16; 2];
        load(&[1, 1, 9], &mut out, false);
        assert_eq!(out, [0x0101, 7]);
    }
}
