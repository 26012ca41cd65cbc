//! Missing-value masks.

use std::borrow::Cow;

use container_core::{Error, Result};

/// One bit per element in C order, most significant bit first, as in the file. A set bit marks a missing element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask<'a> {
    bits: Cow<'a, [u8]>,
    len: usize,
}

impl<'a> Mask<'a> {
    /// Creates a mask of `len` elements from packed bits. Padding bits after the last element are cleared.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when `bits` is not `len.div_ceil(8)` bytes long.
    pub fn from_bits(bits: impl Into<Cow<'a, [u8]>>, len: usize) -> Result<Self> {
        let mut bits = bits.into();
        if bits.len() != len.div_ceil(8) {
            return Err(Error::usage(format!(
                "expected {} mask bytes for {len} elements, found {}",
                len.div_ceil(8),
                bits.len()
            )));
        }
        let unused = 0xff_u8.checked_shr(u32::try_from(len % 8).unwrap_or(0)).unwrap_or(0);
        if !len.is_multiple_of(8) && bits.last().is_some_and(|last| last & unused != 0) {
            // Copies only a mask whose padding is not zero.
            if let Some(last) = bits.to_mut().last_mut() {
                *last &= !unused;
            }
        }
        Ok(Self { bits, len })
    }

    /// Creates a mask from one flag per element; true means missing.
    pub fn from_bools(missing: impl IntoIterator<Item = bool>) -> Mask<'static> {
        let mut missing = missing.into_iter();
        let (mut bits, mut len) = (Vec::with_capacity(missing.size_hint().0.div_ceil(8)), 0);
        loop {
            let (mut byte, mut count) = (0, 0);
            for missing in missing.by_ref().take(8) {
                byte |= u8::from(missing) << (7 - count);
                count += 1;
            }
            if count > 0 {
                bits.push(byte);
                len += count;
            }
            if count < 8 {
                break;
            }
        }
        Mask { bits: Cow::Owned(bits), len }
    }

    /// Number of elements, missing or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when the mask covers no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True when the element at `index` is missing; false past the end.
    #[inline]
    #[must_use]
    pub fn is_missing(&self, index: usize) -> bool {
        self.bits.get(index / 8).is_some_and(|byte| byte << (index % 8) & 0x80 != 0)
    }

    /// Number of missing elements.
    #[must_use]
    pub fn missing(&self) -> usize {
        let (words, rest) = self.bits.as_chunks::<8>();
        let ones = |all: usize, ones: u32| all + ones as usize;
        let words = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones()).fold(0, ones);
        rest.iter().map(|byte| byte.count_ones()).fold(words, ones)
    }

    /// One flag per element; true means missing.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|index| self.is_missing(index))
    }

    /// The packed bits as stored in a file; padding bits are zero.
    #[must_use]
    pub fn as_bits(&self) -> &[u8] {
        &self.bits
    }

    /// Converts to owned memory.
    #[must_use]
    pub fn into_owned(self) -> Mask<'static> {
        Mask { bits: Cow::Owned(self.bits.into_owned()), len: self.len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_element_is_the_most_significant_bit() {
        for len in 0..40usize {
            let missing: Vec<bool> = (0..len).map(|n| n * n % 3 == 1).collect();
            let mask = Mask::from_bools(missing.clone());
            assert_eq!(mask.iter().collect::<Vec<_>>(), missing);
            assert_eq!(mask.missing(), missing.iter().filter(|missing| **missing).count());
            let mut padded = mask.as_bits().to_vec();
            if len % 8 > 0 {
                *padded.last_mut().unwrap() |= (1 << (8 - len % 8)) - 1;
            }
            assert_eq!(Mask::from_bits(padded, len).unwrap(), mask, "{len}");
            assert!(!mask.is_missing(len) && !mask.is_missing(len + 100));
        }
        assert_eq!(Mask::from_bools([false, true]).as_bits(), [0x40]);
        let error = Mask::from_bits(vec![0], 9).unwrap_err().to_string();
        assert_eq!(error, "expected 2 mask bytes for 9 elements, found 1");
    }
}
