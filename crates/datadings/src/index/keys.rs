//! The keys of `.keys` or a legacy `.index`, zero-copy: found by row without allocating strings.

use std::ops::Range;

use container_core::{Bytes, Error, Result};

use crate::wire::keys::{keys_header, next_key, next_key_bytes};
use crate::wire::legacy::{legacy_header, next_entry};
use crate::wire::{Token, Tokens};

/// Every 64th key's position is stored.
pub(crate) const STRIDE: u32 = 64;

/// Keys in sample order, with the position of every 64th.
pub(crate) struct KeyList {
    bytes: Bytes,
    count: u64,
    /// Offsets of keys 0, 64, 128, ...
    marks: Vec<u64>,
    /// Each key is followed by an integer (the offset in a legacy index).
    pairs: bool,
}

impl KeyList {
    /// Indexes a `.keys` file. O(keys).
    ///
    /// # Errors
    /// When it is not exactly one array of str.
    pub(crate) fn parse(bytes: Bytes) -> Result<Self> {
        let (count, mut tokens) = keys_header(&bytes)?;
        check_count(count, &tokens)?;
        let mut marks = Vec::with_capacity(usize::try_from(count / STRIDE).unwrap_or(0) + 1);
        for row in 0..u64::from(count) {
            if row % u64::from(STRIDE) == 0 {
                marks.push(tokens.offset());
            }
            next_key_bytes(&mut tokens).map_err(|error| error.in_row(row))?;
        }
        finish(&tokens, "the array of keys")?;
        Ok(Self { count: count.into(), marks, pairs: false, bytes })
    }

    /// A `.keys` file just written, with the positions recorded while writing.
    pub(crate) fn from_writer(bytes: Bytes, count: u64, marks: Vec<u64>) -> Self {
        Self { bytes, count, marks, pairs: false }
    }

    /// Indexes a legacy `.index` file and returns the offsets too. O(keys).
    ///
    /// # Errors
    /// When it is not exactly one map from str to integers.
    pub(crate) fn parse_legacy(bytes: Bytes) -> Result<(Self, Vec<u64>)> {
        let (count, mut tokens) = legacy_header(&bytes)?;
        check_count(count, &tokens)?;
        let mut marks = Vec::new();
        let mut offsets = Vec::new(); // no capacity: `count` is bounded by the file size only, at eight bytes each
        for row in 0..u64::from(count) {
            if row % u64::from(STRIDE) == 0 {
                marks.push(tokens.offset());
            }
            let (_, offset) = next_entry(&mut tokens).map_err(|error| error.in_row(row))?;
            offsets.push(offset);
        }
        finish(&tokens, "the map of offsets")?;
        Ok((Self { count: count.into(), marks, pairs: true, bytes }, offsets))
    }

    /// The whole file.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// The key of sample `row`; `None` past the end.
    ///
    /// # Errors
    /// When it is not valid UTF-8.
    pub(crate) fn get(&self, row: u64) -> Result<Option<&str>> {
        self.starting(row).next().transpose()
    }

    /// The bytes of the keys of a row range, which need not be UTF-8.
    pub(crate) fn bytes_of(&self, rows: Range<u64>) -> impl Iterator<Item = Result<&[u8]>> {
        let mut keys = self.starting(rows.start);
        keys.left = keys.left.min(rows.end.saturating_sub(rows.start));
        std::iter::from_fn(move || keys.next_with(next_key_bytes))
    }

    /// The keys from `row` on.
    pub(crate) fn starting(&self, row: u64) -> KeyIter<'_> {
        let mark = usize::try_from(row / u64::from(STRIDE)).ok().and_then(|mark| self.marks.get(mark)).copied();
        let start = mark.and_then(|mark| usize::try_from(mark).ok());
        let (Some(start), Some(left)) = (start, self.count.checked_sub(row)) else {
            return KeyIter { tokens: Tokens::at(&[], 0), row, left: 0, pairs: self.pairs };
        };
        let tokens = Tokens::at(self.bytes.get(start..).unwrap_or_default(), start as u64);
        let mut iter = KeyIter { tokens, row, left, pairs: self.pairs };
        for _ in 0..row % u64::from(STRIDE) {
            // Cannot fail: these tokens were parsed when the list was built.
            if iter.skip_one().is_err() {
                iter.left = 0;
            }
        }
        iter
    }
}

/// Iterates over keys. Ends after an error.
#[derive(Clone)]
pub(crate) struct KeyIter<'a> {
    tokens: Tokens<'a>,
    row: u64,
    left: u64,
    pairs: bool,
}

impl<'a> KeyIter<'a> {
    fn skip_one(&mut self) -> Result<()> {
        next_key_bytes(&mut self.tokens)?;
        if self.pairs {
            self.tokens.next()?;
        }
        Ok(())
    }

    #[inline]
    fn next_with<T>(&mut self, read: impl FnOnce(&mut Tokens<'a>) -> Result<T>) -> Option<Result<T>> {
        self.left = self.left.checked_sub(1)?;
        let row = self.row;
        self.row += 1;
        let key = read(&mut self.tokens).and_then(|key| {
            if self.pairs {
                self.tokens.next()?;
            }
            Ok(key)
        });
        Some(key.map_err(|error| {
            self.left = 0;
            error.in_row(row)
        }))
    }
}

impl<'a> Iterator for KeyIter<'a> {
    type Item = Result<&'a str>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(next_key)
    }
}

/// Every key takes at least one byte.
fn check_count(count: u32, tokens: &Tokens<'_>) -> Result<()> {
    let left = tokens.rest().len() as u64;
    if u64::from(count) <= left {
        Ok(())
    } else {
        Err(Error::truncated("the keys", count.into(), left).at(tokens.offset()))
    }
}

fn finish(tokens: &Tokens<'_>, what: &str) -> Result<()> {
    match tokens.rest().len() {
        0 => Ok(()),
        extra => {
            let s = if extra == 1 { "" } else { "s" };
            Err(Error::invalid(format!("{extra} unexpected trailing byte{s} after {what}")).at(tokens.offset()))
        }
    }
}

/// The number of keys that a file declares in its header.
///
/// # Errors
/// When it begins with neither an array nor a map.
pub(crate) fn declared_count(head: &[u8]) -> Result<u64> {
    match Tokens::at(head, 0).next()? {
        Token::Array(count) | Token::Map(count) => Ok(count.into()),
        other => Err(Error::invalid(format!("expected keys, found {}", other.name())).at(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::emit;

    fn list(count: u32) -> Bytes {
        let mut out = Vec::new();
        emit::put_array_header(&mut out, count);
        for row in 0..count {
            emit::put_str(&mut out, &format!("key {row}")).unwrap();
        }
        out.into()
    }

    #[test]
    fn finds_every_key_by_row() {
        for count in [0, 1, 63, 64, 65, 128, 1000] {
            let keys = KeyList::parse(list(count)).unwrap();
            assert_eq!(keys.len(), u64::from(count));
            for row in 0..u64::from(count) {
                assert_eq!(keys.get(row).unwrap(), Some(format!("key {row}").as_str()));
            }
            assert_eq!(keys.get(count.into()).unwrap(), None);
            assert_eq!(keys.get(u64::MAX).unwrap(), None);
            assert_eq!(keys.starting(u64::from(count) / 2).count() as u32, count - count / 2);
        }
    }

    #[test]
    fn legacy_index_has_keys_and_offsets() {
        let mut out = Vec::new();
        emit::put_map_header(&mut out, 100);
        for row in 0..100u64 {
            emit::put_str(&mut out, &format!("key {row}")).unwrap();
            emit::put_uint(&mut out, row * 300);
        }
        let (keys, offsets) = KeyList::parse_legacy(out.into()).unwrap();
        assert_eq!(offsets, (0..100).map(|row| row * 300).collect::<Vec<_>>());
        for row in 0..100 {
            assert_eq!(keys.get(row).unwrap(), Some(format!("key {row}").as_str()));
        }
    }

    #[test]
    fn rejects_damaged_keys() {
        let mut more = list(3).to_vec();
        more.push(0);
        let error = KeyList::parse(more.into()).err().unwrap();
        assert_eq!(error.to_string(), "1 unexpected trailing byte after the array of keys (byte 19)");
        let error = KeyList::parse(vec![0xdd, 0xff, 0xff, 0xff, 0xff, 0xa0].into()).err().unwrap();
        assert_eq!(error.to_string(), "the keys: needs 4294967295 bytes, 1 available (byte 5)");
        let error = KeyList::parse(vec![0x92, 0xa0, 0x05].into()).err().unwrap();
        assert_eq!(error.to_string(), "expected a key (str), found an integer (byte 2, row 1)");
        let keys = KeyList::parse(vec![0x92, 0xa1, 0xff, 0xa0].into()).unwrap();
        assert!(keys.get(0).unwrap_err().to_string().contains("invalid UTF-8"));
        assert_eq!(keys.get(1).unwrap(), Some(""));
    }
}
