//! Bytes of many columns that come in turns, kept in one temporary file until they are written column by column.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use container_core::{Error, Output, Result};

use crate::write::put::{Buffered, Put, failed};

/// Bytes that are held in memory before they go to the file: of all sections, and of one.
const HELD: usize = 32 << 20;
const HELD_OF_ONE: usize = 1 << 20;

/// As many bytes at once are not held.
const LARGE: usize = 256 << 10;

/// Pieces of at least this many bytes are handed from file to file by the system.
const PAST: u64 = 128 << 10;

/// What is in front of a piece: where the piece before it begins and one more, 0 for none; its length.
const HEAD: u64 = 16;

/// Sections that grow in turns. Each is a chain of pieces, of which the last is in memory.
pub(super) struct Spool {
    directory: PathBuf,
    file: Option<BufWriter<File>>,
    /// Bytes of the file.
    len: u64,
    /// Bytes in memory.
    held: usize,
    sections: Vec<Section>,
}

#[derive(Debug, Default)]
struct Section {
    held: Vec<u8>,
    /// Where its last piece begins and one more, 0 for none.
    last: u64,
    bytes: u64,
}

/// A section, to put bytes to.
pub(super) struct Tail<'s> {
    spool: &'s mut Spool,
    section: usize,
}

impl Spool {
    /// A temporary file will be made beside this file, when it is needed.
    pub(super) fn beside(path: &Path) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new(".")).to_owned();
        Self { directory, file: None, len: 0, held: 0, sections: Vec::new() }
    }

    /// One more section; its number.
    pub(super) fn section(&mut self) -> usize {
        self.sections.push(Section::default());
        self.sections.len() - 1
    }

    pub(super) fn bytes(&self, section: usize) -> u64 {
        self.sections.get(section).map_or(0, |section| section.bytes)
    }

    pub(super) fn tail(&mut self, section: usize) -> Tail<'_> {
        Tail { spool: self, section }
    }

    /// Writes bytes as the next piece of a section.
    fn piece(&mut self, section: usize, bytes: &[u8]) -> Result<()> {
        let Some(section) = self.sections.get_mut(section).filter(|_| !bytes.is_empty()) else { return Ok(()) };
        if self.file.is_none() {
            let file = tempfile::tempfile_in(&self.directory);
            let file = file.map_err(|cause| Error::io("cannot create a temporary file", cause))?;
            self.file = Some(BufWriter::with_capacity(LARGE, file));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(failed);
        put(&section.last.to_le_bytes())?;
        put(&(bytes.len() as u64).to_le_bytes())?;
        put(bytes)?;
        section.last = self.len + 1;
        self.len += HEAD + bytes.len() as u64;
        Ok(())
    }

    /// Sends what is held of a section to the file.
    fn flush(&mut self, index: usize) -> Result<()> {
        let Some(section) = self.sections.get_mut(index) else { return Ok(()) };
        let held = std::mem::take(&mut section.held);
        self.held = self.held.saturating_sub(held.len());
        self.piece(index, &held)
    }

    /// All has come: it can be read.
    pub(super) fn complete(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush().map_err(failed))
    }

    /// The pieces of a section in order: where their bytes begin in the file, and how many there are.
    fn pieces(&self, section: &Section) -> Result<Vec<(u64, u64)>> {
        let (mut all, mut next) = (Vec::new(), section.last);
        let Some(file) = &self.file else { return Ok(all) };
        while let Some(at) = next.checked_sub(1) {
            let mut head = [[0; 8]; 2];
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            file.read_exact(head.as_flattened_mut()).map_err(failed)?;
            let [before, len] = head.map(u64::from_le_bytes);
            all.push((at + HEAD, len));
            if before >= next {
                return Err(Error::truncated("a temporary file", next, before)); // somebody else has written to it
            }
            next = before;
        }
        all.reverse();
        Ok(all)
    }

    /// Writes a section.
    pub(super) fn copy(&self, section: usize, out: &mut Buffered<Output>) -> Result<()> {
        let Some(section) = self.sections.get(section) else { return Ok(()) };
        for (at, len) in self.pieces(section)? {
            let Some(file) = &self.file else { continue };
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            let mut piece = file.take(len);
            let copied = if len < PAST {
                let mut held = Vec::new();
                let read = piece.read_to_end(&mut held).map_err(failed)?;
                out.put(&held)?;
                read as u64
            } else {
                out.past(len, |output| io::copy(&mut piece, &mut output.file()))?
            };
            if copied != len {
                return Err(Error::truncated("a temporary file", len, copied));
            }
        }
        out.put(&section.held)
    }

    /// A section to be read byte by byte.
    pub(super) fn reader(&self, section: usize) -> Result<SectionReader<'_>> {
        let section = self.sections.get(section);
        let pieces = section.map_or(Ok(Vec::new()), |section| self.pieces(section))?;
        let held = section.map_or(&[][..], |section| &section.held);
        Ok(SectionReader { spool: self, pieces: pieces.into_iter(), piece: (0, 0), held, buffer: Vec::new(), at: 0 })
    }
}

impl Put for Tail<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let (spool, index) = (&mut *self.spool, self.section);
        let Some(section) = spool.sections.get_mut(index) else { return Ok(()) };
        section.bytes += bytes.len() as u64;
        if bytes.len() >= LARGE {
            spool.flush(index)?;
            return spool.piece(index, bytes);
        }
        section.held.extend_from_slice(bytes);
        spool.held += bytes.len();
        if section.held.len() >= HELD_OF_ONE {
            spool.flush(index)?;
        }
        if spool.held >= HELD {
            (0..spool.sections.len()).try_for_each(|index| spool.flush(index))?;
        }
        Ok(())
    }
}

/// The bytes of a section, one after the other. Other sections may be read meanwhile.
pub(super) struct SectionReader<'s> {
    spool: &'s Spool,
    pieces: std::vec::IntoIter<(u64, u64)>,
    /// What is left of the piece that is read.
    piece: (u64, u64),
    /// What comes behind the pieces.
    held: &'s [u8],
    buffer: Vec<u8>,
    at: usize,
}

impl SectionReader<'_> {
    /// The next byte; `None` at the end.
    pub(super) fn byte(&mut self) -> Result<Option<u8>> {
        if self.at >= self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(self.buffer.get(self.at - 1).copied())
    }

    /// The next number of 64 bits; `None` at the end.
    pub(super) fn number(&mut self) -> Result<Option<u64>> {
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
        if self.piece.1 == 0 {
            self.piece = self.pieces.next().unwrap_or((0, 0));
        }
        let (at, left) = self.piece;
        if left == 0 {
            self.buffer.extend_from_slice(std::mem::take(&mut self.held));
            return Ok(!self.buffer.is_empty());
        }
        let some = left.min(64 << 10);
        if let Some(file) = &self.spool.file {
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            file.take(some).read_to_end(&mut self.buffer).map_err(failed)?;
        }
        self.piece = (at + some, left - some);
        match self.buffer.len() as u64 == some {
            true => Ok(true),
            false => Err(Error::truncated("a temporary file", some, self.buffer.len() as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use container_core::OutputOptions;

    #[test]
    fn sections_come_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut spool = Spool::beside(&path);
        let sections: Vec<usize> = (0..40).map(|_| spool.section()).collect();
        let mut wanted = vec![Vec::new(); sections.len()];
        for turn in 0..400usize {
            for section in &sections {
                let len = match (turn + section) % 50 {
                    0 => LARGE + section,
                    n => n * 37,
                };
                let bytes = vec![(turn * 7 + section) as u8; len];
                wanted[*section].extend(&bytes);
                spool.tail(*section).put(&bytes).unwrap();
                assert!(spool.held <= HELD);
            }
        }
        assert!(spool.len > HELD as u64 && spool.held > 0);
        spool.complete().unwrap();
        let mut out = Buffered::new(Output::create(&path, OutputOptions::default()).unwrap(), 0);
        for section in &sections {
            assert_eq!(spool.bytes(*section), wanted[*section].len() as u64);
            spool.copy(*section, &mut out).unwrap();
        }
        out.flush().unwrap();
        out.into_inner().finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == wanted.concat());
        let (mut one, mut two) = (spool.reader(3).unwrap(), spool.reader(9).unwrap());
        for (first, second) in wanted[3].iter().zip(&wanted[9]) {
            assert_eq!((one.byte().unwrap(), two.byte().unwrap()), (Some(*first), Some(*second)));
        }
    }
}
