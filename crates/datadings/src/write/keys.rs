//! `.keys` while it is written; supports look-ups by row.

use std::io::Read;
use std::path::Path;

use container_core::{Error, Result, Source, SyncPolicy};

use crate::index::{KeyList, STRIDE};
use crate::wire::emit;
use crate::wire::{Token, Tokens};
use crate::write::spool::Spool;

/// Room for the longest array header, in bytes.
const MAX_HEADER_LEN: u64 = 5;

/// Up to this many keys, the array header is shorter than five bytes.
const MAX_SHORT_COUNT: u32 = u16::MAX as u32;

/// A growing `.keys` file.
pub(crate) struct KeysFile {
    spool: Spool,
    marks: Vec<u64>,
    len: u32,
    scratch: Vec<u8>,
}

impl KeysFile {
    pub(crate) fn create(path: &Path, sync: SyncPolicy) -> Result<Self> {
        let mut spool = Spool::create(path, sync)?;
        spool.put(&[0; 5])?; // overwritten by the header once the count is known
        Ok(Self { spool, marks: Vec::new(), len: 0, scratch: Vec::new() })
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn push(&mut self, key: &str) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let encoded = emit::put_str(&mut scratch, key).map_err(|len| Error::limit("key length", len, u32::MAX.into()));
        let result = encoded.and_then(|()| self.push_encoded(&scratch));
        self.scratch = scratch;
        result
    }

    /// Adds a key that is a str in its shortest encoding already.
    #[inline]
    pub(crate) fn push_encoded(&mut self, key: &[u8]) -> Result<()> {
        if self.len.is_multiple_of(STRIDE) {
            self.marks.push(self.spool.len());
        }
        self.spool.put(key)?;
        self.len += 1;
        Ok(())
    }

    /// True if sample `row` has this key.
    pub(crate) fn is(&self, row: u32, key: &[u8]) -> Result<bool> {
        let Some(mark) = self.marks.get((row / STRIDE) as usize) else { return Ok(false) };
        let last = self.marks.get((row / STRIDE) as usize + 1).copied().unwrap_or_else(|| self.spool.len());
        let bytes = self.spool.read(*mark, usize::try_from(last - mark).unwrap_or(usize::MAX))?;
        let mut tokens = Tokens::at(&bytes, *mark);
        for _ in 0..row % STRIDE {
            tokens.next()?;
        }
        Ok(matches!(tokens.next()?, Token::Str(bytes) if bytes == key))
    }

    /// Completes the file with its header; returns it and its list of keys.
    pub(crate) fn finish(mut self) -> Result<(Spool, KeyList)> {
        if self.len > MAX_SHORT_COUNT {
            let [a, b, c, d] = self.len.to_be_bytes();
            self.spool.patch(0, &[0xdd, a, b, c, d])?;
        } else {
            // A shorter header moves all keys, but there are few.
            let (path, sync) = (self.spool.path().to_owned(), self.spool.sync());
            let mut header = Vec::new();
            emit::put_array_header(&mut header, self.len);
            let mut moved = Spool::create(&path, sync)?;
            moved.put(&header)?;
            let all = self.spool.read_all()?;
            moved.put_all(&mut SourceReader { source: &all, at: MAX_HEADER_LEN })?;
            self.spool = moved;
            let source = self.spool.read_all()?;
            let list = KeyList::parse(source.read(0..source.len())?)?;
            return Ok((self.spool, list));
        }
        let source = self.spool.read_all()?;
        let list = KeyList::from_writer(source.read(0..source.len())?, self.len.into(), self.marks);
        Ok((self.spool, list))
    }
}

/// Reads a source from an offset to its end.
pub(crate) struct SourceReader<'a> {
    pub(crate) source: &'a Source,
    pub(crate) at: u64,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = self.source.len().min(self.at.saturating_add(buffer.len() as u64));
        let bytes = self.source.read(self.at..end.max(self.at)).map_err(std::io::Error::other)?;
        let Some(target) = buffer.get_mut(..bytes.len()) else { return Ok(0) };
        target.copy_from_slice(&bytes);
        self.at = end.max(self.at);
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_every_length() {
        for count in [0u32, 1, 15, 16, 64, 65, 65_535, 65_536, 70_000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("d.keys");
            let mut keys = KeysFile::create(&path, SyncPolicy::Never).unwrap();
            let mut expected = Vec::new();
            emit::put_array_header(&mut expected, count);
            for row in 0..count {
                keys.push(&format!("k{row}")).unwrap();
                emit::put_str(&mut expected, &format!("k{row}")).unwrap();
            }
            for row in (0..count).step_by(997) {
                assert!(keys.is(row, format!("k{row}").as_bytes()).unwrap(), "{row}");
                assert!(!keys.is(row, format!("k{}", row + 1).as_bytes()).unwrap(), "{row}");
            }
            assert!(!keys.is(count + 64, b"k0").unwrap());
            let (spool, list) = keys.finish().unwrap();
            assert_eq!(list.len(), u64::from(count));
            spool.finish().unwrap();
            assert!(std::fs::read(path).unwrap() == expected, "{count} keys");
        }
    }
}
