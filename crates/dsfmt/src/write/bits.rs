//! Packs bits into bytes, most significant first, across any number of calls.

use container_core::Result;

use crate::array::Mask;
use crate::write::put::Put;

/// Bytes packed per write.
const CHUNK: usize = 8 << 10;

/// A partially filled byte.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Packer {
    byte: u8,
    /// Number of bits in use, below 8.
    used: u32,
}

impl Packer {
    /// Appends one bit per boolean.
    pub(crate) fn bools(&mut self, bools: &[bool], out: &mut dyn Put) -> Result<()> {
        let mut packed = Vec::with_capacity(CHUNK.min(bools.len() / 8 + 1));
        for chunk in bools.chunks(CHUNK * 8) {
            packed.clear();
            let (groups, rest) = chunk.as_chunks::<8>();
            packed.extend(groups.iter().map(|group| eight(*group)));
            if !rest.is_empty() {
                let mut last = [false; 8];
                last.iter_mut().zip(rest).for_each(|(bit, from)| *bit = *from);
                packed.push(eight(last));
            }
            self.bits(&mut packed, chunk.len(), out)?;
        }
        Ok(())
    }

    /// Appends the bits of a mask.
    pub(crate) fn mask(&mut self, mask: &Mask<'_>, out: &mut dyn Put) -> Result<()> {
        let (mut left, mut packed) = (mask.len(), Vec::new());
        for chunk in mask.as_bits().chunks(CHUNK) {
            let bits = left.min(CHUNK * 8);
            left -= bits;
            packed.clear();
            packed.extend_from_slice(chunk);
            self.bits(&mut packed, bits, out)?;
        }
        Ok(())
    }

    /// Appends `count` zero bits.
    pub(crate) fn zeros(&mut self, mut count: usize, out: &mut dyn Put) -> Result<()> {
        let mut packed = Vec::new();
        while count > 0 {
            let bits = count.min(CHUNK * 8);
            count -= bits;
            packed.clear();
            packed.resize(bits.div_ceil(8), 0);
            self.bits(&mut packed, bits, out)?;
        }
        Ok(())
    }

    /// Appends the first `bits` bits of `packed`; bits after them are zero.
    fn bits(&mut self, packed: &mut Vec<u8>, bits: usize, out: &mut dyn Put) -> Result<()> {
        let used = self.used;
        if used > 0 {
            let mut carried = self.byte;
            for byte in packed.iter_mut() {
                let next = *byte << (8 - used);
                *byte = carried | *byte >> used;
                carried = next;
            }
            packed.push(carried);
        }
        let all = used as usize + bits;
        self.used = if all.is_multiple_of(8) { 0 } else { u32::try_from(all % 8).unwrap_or(0) };
        self.byte = if self.used > 0 { packed.get(all / 8).copied().unwrap_or(0) } else { 0 };
        out.put(packed.get(..all / 8).unwrap_or_default())
    }

    /// Flushes the partial byte, padded with zeros.
    pub(crate) fn end(&mut self, out: &mut dyn Put) -> Result<()> {
        let last = std::mem::take(self);
        if last.used > 0 { out.put(&[last.byte]) } else { Ok(()) }
    }
}

/// Packs eight booleans: the multiplication moves each bit to its own place in the highest byte.
#[inline]
fn eight(group: [bool; 8]) -> u8 {
    let ones = u64::from_le_bytes(group.map(u8::from));
    let [highest, ..] = ones.wrapping_mul(0x8040_2010_0804_0201).to_be_bytes();
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Put for Bytes {
        fn put(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    #[test]
    fn continues_across_calls() {
        let bit = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1;
        for step in [1, 3, 7, 8, 9, 64, 100, 70_001] {
            for len in [0, 1, 8, 9, 200, 140_003] {
                let all: Vec<bool> = (0..len).map(bit).collect();
                let expected = Mask::from_bools(all.iter().copied());
                let (mut as_bools, mut as_mask) = (Bytes(Vec::new()), Bytes(Vec::new()));
                let (mut bools, mut mask) = (Packer::default(), Packer::default());
                for chunk in all.chunks(step) {
                    bools.bools(chunk, &mut as_bools).unwrap();
                    mask.mask(&Mask::from_bools(chunk.iter().copied()), &mut as_mask).unwrap();
                }
                bools.end(&mut as_bools).unwrap();
                mask.end(&mut as_mask).unwrap();
                assert_eq!(as_bools.0, expected.as_bits(), "{step} {len}");
                assert_eq!(as_mask.0, expected.as_bits(), "{step} {len}");
            }
        }
        let mut out = Bytes(Vec::new());
        let mut packer = Packer::default();
        packer.bools(&[true, false, true], &mut out).unwrap();
        packer.zeros(80_000, &mut out).unwrap();
        packer.bools(&[true], &mut out).unwrap();
        packer.end(&mut out).unwrap();
        assert_eq!((out.0.len(), out.0[0], out.0[10_000]), (10_001, 0xa0, 0x10));
    }
}
