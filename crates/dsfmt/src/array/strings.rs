//! Variable-length strings, concatenated.

use std::borrow::Cow;

use container_core::{Error, Result};

/// Byte strings stored back to back, with the end offset of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings<'a> {
    bytes: Cow<'a, [u8]>,
    /// End offset in `bytes` of each string.
    ends: Vec<usize>,
}

impl<'a> Strings<'a> {
    /// Splits `bytes` into consecutive strings of the given lengths.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when the lengths do not add up to `bytes.len()`.
    pub fn from_lengths(bytes: impl Into<Cow<'a, [u8]>>, lengths: impl IntoIterator<Item = usize>) -> Result<Self> {
        let (bytes, mut end) = (bytes.into(), Some(0usize));
        let ends: Option<Vec<usize>> = lengths
            .into_iter()
            .map(|len| {
                end = end.and_then(|end| end.checked_add(len)).filter(|end| *end <= bytes.len());
                end
            })
            .collect();
        match ends {
            Some(ends) if ends.last().copied().unwrap_or(0) == bytes.len() => Ok(Self { bytes, ends }),
            _ => Err(Error::usage(format!("the string lengths do not add up to {} bytes", bytes.len()))),
        }
    }

    /// Splits `bytes` at `ends`, which must not decrease and must end at `bytes.len()`.
    pub(crate) fn from_ends(bytes: Cow<'a, [u8]>, ends: Vec<usize>) -> Self {
        Self { bytes, ends }
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.bytes.get(start..end)
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// The concatenated bytes of all strings.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string);
        self.ends.push(bytes.len());
    }

    /// Converts to owned memory.
    #[must_use]
    pub fn into_owned(self) -> Strings<'static> {
        Strings { bytes: Cow::Owned(self.bytes.into_owned()), ends: self.ends }
    }

    /// Checks that each string is valid UTF-8 by itself.
    pub(crate) fn check_utf8(&self) -> Result<()> {
        // Fast path only for ASCII: concatenated bytes can be valid UTF-8 while a single string is not.
        if self.bytes.is_ascii() {
            return Ok(());
        }
        for (index, string) in self.iter().enumerate() {
            if let Err(error) = std::str::from_utf8(string) {
                let detail = format!("string {index} is not valid UTF-8 at byte {}", error.valid_up_to());
                return Err(Error::usage(detail));
            }
        }
        Ok(())
    }
}

impl<'t> FromIterator<&'t [u8]> for Strings<'static> {
    fn from_iter<I: IntoIterator<Item = &'t [u8]>>(strings: I) -> Self {
        let mut all = Self::default();
        strings.into_iter().for_each(|string| all.push(string));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_keep_their_bounds() {
        let strings: Strings<'_> = [&b"ab"[..], b"", b"c"].into_iter().collect();
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"ab"[..], b"", b"c"]);
        assert_eq!((strings.get(2), strings.get(3), strings.as_bytes()), (Some(&b"c"[..]), None, &b"abc"[..]));
        assert_eq!(Strings::from_lengths(&b"abc"[..], [2, 0, 1]).unwrap(), strings);
        for lengths in [&[2, 0][..], &[2, 0, 2], &[usize::MAX, 4], &[]] {
            assert!(Strings::from_lengths(&b"abc"[..], lengths.iter().copied()).is_err(), "{lengths:?}");
        }
    }
}
