//! Reads sections again, for those who write record batches.

use std::io::{Read, Seek, SeekFrom};

use container_core::{Error, Result};

use super::{Spool, failed};

impl Spool {
    /// Reads a section sequentially.
    pub(crate) fn reader(&self, section: usize) -> Result<SectionReader<'_>> {
        let section = self.sections.get(section);
        let chunks = section.map_or(Ok(Vec::new()), |section| self.chunks(section))?;
        let tail = section.map_or(&[][..], |section| &section.buffer);
        Ok(SectionReader { spool: self, chunks: chunks.into_iter(), chunk: (0, 0), tail, buffer: Vec::new(), at: 0 })
    }
}

/// Reads the bytes of a section sequentially. Several readers may be interleaved.
pub(crate) struct SectionReader<'s> {
    spool: &'s Spool,
    chunks: std::vec::IntoIter<(u64, u64)>,
    /// Unread part of the current chunk.
    chunk: (u64, u64),
    /// The bytes after the last chunk.
    tail: &'s [u8],
    buffer: Vec<u8>,
    at: usize,
}

impl SectionReader<'_> {
    /// The next byte; `None` at the end.
    pub(crate) fn byte(&mut self) -> Result<Option<u8>> {
        if self.at >= self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(self.buffer.get(self.at - 1).copied())
    }

    /// The next 64-bit number; `None` at the end.
    pub(crate) fn number(&mut self) -> Result<Option<u64>> {
        let mut bytes = [0; 8];
        for byte in &mut bytes {
            match self.byte()? {
                Some(next) => *byte = next,
                None => return Ok(None),
            }
        }
        Ok(Some(u64::from_le_bytes(bytes)))
    }

    fn fill(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.at = 0;
        if self.chunk.1 == 0 {
            self.chunk = self.chunks.next().unwrap_or((0, 0));
        }
        let (at, left) = self.chunk;
        if left == 0 {
            self.buffer.extend_from_slice(std::mem::take(&mut self.tail));
            return Ok(!self.buffer.is_empty());
        }
        let count = left.min(64 << 10);
        if let Some(file) = &self.spool.file {
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            file.take(count).read_to_end(&mut self.buffer).map_err(failed)?;
        }
        self.chunk = (at + count, left - count);
        match self.buffer.len() as u64 == count {
            true => Ok(true),
            false => Err(Error::truncated("temporary file", count, self.buffer.len() as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DIRECT_WRITE;
    use super::*;
    use crate::write::put::Put;

    #[test]
    fn sections_are_read_in_turns() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::beside(&folder.path().join("x"));
        let sections = [spool.section(), spool.section()];
        // Two chunks in the file, and a few bytes in memory.
        let bytes: Vec<u8> = (0..2 * DIRECT_WRITE + 9).map(|at| (at % 251) as u8).collect();
        for part in bytes.chunks(DIRECT_WRITE) {
            sections.iter().for_each(|section| spool.tail(*section).put(part).unwrap());
        }
        spool.complete().unwrap();
        let [mut one, mut two] = sections.map(|section| spool.reader(section).unwrap());
        for byte in bytes {
            assert_eq!((one.byte().unwrap(), two.byte().unwrap()), (Some(byte), Some(byte)));
        }
        assert_eq!(one.byte().unwrap(), None);
    }
}
