//! Many strings in two vectors.

use std::borrow::Cow;

use container_core::{Error, Result};

/// Strings of bytes one behind the other, and where each ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings<'a> {
    bytes: Cow<'a, [u8]>,
    /// One for each string.
    ends: Vec<usize>,
}

impl<'a> Strings<'a> {
    /// Strings that stand in `bytes` one behind the other, of these lengths.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when together they are not as long as `bytes`.
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
            _ => Err(Error::usage(format!("the strings are not as long together as their {} bytes", bytes.len()))),
        }
    }

    /// Strings that stand in `bytes` one behind the other and end there: `ends` do not fall, and the last is the length of `bytes`.
    pub(crate) fn from_ends(bytes: Cow<'a, [u8]>, ends: Vec<usize>) -> Self {
        Self { bytes, ends }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.bytes.get(start..end)
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// The bytes of all, one behind the other.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends one.
    pub fn push(&mut self, string: &[u8]) {
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string);
        self.ends.push(bytes.len());
    }

    /// The same in memory of their own.
    #[must_use]
    pub fn into_owned(self) -> Strings<'static> {
        Strings { bytes: Cow::Owned(self.bytes.into_owned()), ends: self.ends }
    }

    /// Each is UTF-8 by itself.
    pub(crate) fn check_utf8(&self) -> Result<()> {
        // All at once is quick; where it goes wrong, or could have gone right by chance, each is looked at.
        if self.bytes.is_ascii() {
            return Ok(());
        }
        for (index, string) in self.iter().enumerate() {
            if let Err(error) = std::str::from_utf8(string) {
                let detail = format!("text {index} is not UTF-8 at its byte {}", error.valid_up_to());
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
