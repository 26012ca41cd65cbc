//! Spools the interleaved bytes of many variables in one unnamed temporary file, to use them variable by variable.

#[cfg(feature = "arrow")]
pub(crate) mod reader;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use container_core::{Error, Output, Result, Source};

use crate::write::put::{Buffered, Put, failed};
use crate::write::step::step;

/// Bytes buffered in memory: of all sections, and of one.
const MAX_BUFFERED: usize = 32 << 20;
const MAX_SECTION_BUFFER: usize = 1 << 20;

/// Writes of at least this many bytes are not buffered.
const DIRECT_WRITE: usize = 256 << 10;

/// Chunks of at least this many bytes are copied from file to file by the system.
const DIRECT_COPY: u64 = 128 << 10;

/// Length of a chunk header: the position of the previous chunk plus 1 (0 for none), and the chunk's length.
const CHUNK_HEADER: u64 = 16;

/// Append-only sections. Each is a linked list of chunks in the file, with the last one in memory.
pub(crate) struct Spool {
    directory: PathBuf,
    file: Option<BufWriter<File>>,
    /// File size.
    len: u64,
    /// Bytes in memory.
    buffered: usize,
    sections: Vec<Section>,
}

#[derive(Debug, Default)]
struct Section {
    buffer: Vec<u8>,
    /// Position of the last chunk plus 1, 0 for none.
    last: u64,
    bytes: u64,
}

/// Appends to a section.
pub(crate) struct Tail<'s> {
    spool: &'s mut Spool,
    section: usize,
}

impl Spool {
    /// A temporary file is created in the directory of `path` when needed.
    pub(crate) fn beside(path: &Path) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new(".")).to_owned();
        Self { directory, file: None, len: 0, buffered: 0, sections: Vec::new() }
    }

    /// Adds a section; returns its index.
    pub(crate) fn section(&mut self) -> usize {
        self.sections.push(Section::default());
        self.sections.len() - 1
    }

    pub(crate) fn bytes(&self, section: usize) -> u64 {
        self.sections.get(section).map_or(0, |section| section.bytes)
    }

    pub(crate) fn tail(&mut self, section: usize) -> Tail<'_> {
        Tail { spool: self, section }
    }

    /// Appends a chunk of a section to the file.
    fn write_chunk(&mut self, section: usize, bytes: &[u8]) -> Result<()> {
        let Some(section) = self.sections.get_mut(section).filter(|_| !bytes.is_empty()) else { return Ok(()) };
        if self.file.is_none() {
            let file = container_core::unnamed_file(&self.directory);
            let file = file.map_err(|cause| Error::io("cannot create a temporary file", cause))?;
            self.file = Some(BufWriter::with_capacity(DIRECT_WRITE, file));
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        step()?;
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(failed);
        put(&section.last.to_le_bytes())?;
        put(&(bytes.len() as u64).to_le_bytes())?;
        put(bytes)?;
        section.last = self.len + 1;
        self.len += CHUNK_HEADER + bytes.len() as u64;
        Ok(())
    }

    /// Moves a section's buffer to the file.
    fn flush(&mut self, index: usize) -> Result<()> {
        let Some(section) = self.sections.get_mut(index) else { return Ok(()) };
        let buffer = std::mem::take(&mut section.buffer);
        self.buffered = self.buffered.saturating_sub(buffer.len());
        self.write_chunk(index, &buffer)
    }

    /// Ends writing; the sections can be read.
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush().map_err(failed))
    }

    /// The chunks of a section in order: file offset of the content, and length.
    fn chunks(&self, section: &Section) -> Result<Vec<(u64, u64)>> {
        let (mut all, mut next) = (Vec::new(), section.last);
        let Some(file) = &self.file else { return Ok(all) };
        while let Some(at) = next.checked_sub(1) {
            let mut head = [[0; 8]; 2];
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            file.read_exact(head.as_flattened_mut()).map_err(failed)?;
            let [previous, len] = head.map(u64::from_le_bytes);
            all.push((at + CHUNK_HEADER, len));
            if previous >= next {
                return Err(Error::truncated("temporary file", next, previous)); // modified by another process
            }
            next = previous;
        }
        all.reverse();
        Ok(all)
    }

    /// Removes a section: passes offset and length of its chunks in the file to `chunk`, and returns the bytes after them.
    pub(crate) fn take(&mut self, section: usize, mut chunk: impl FnMut(u64, u64)) -> Result<Vec<u8>> {
        let section = self.sections.get_mut(section).map(std::mem::take).unwrap_or_default();
        self.chunks(&section)?.into_iter().for_each(|(at, len)| chunk(at, len));
        Ok(section.buffer)
    }

    /// The file, without what is in memory.
    pub(crate) fn into_source(self) -> Result<Source> {
        let Some(file) = self.file else { return Ok(Source::from(Vec::new())) };
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        Source::from_file(file)
    }

    /// Copies a section to the output.
    pub(crate) fn copy(&self, section: usize, out: &mut Buffered<Output>) -> Result<()> {
        let Some(section) = self.sections.get(section) else { return Ok(()) };
        for (at, len) in self.chunks(section)? {
            let Some(file) = &self.file else { continue };
            let mut file = file.get_ref();
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            let mut chunk = file.take(len);
            let copied = if len < DIRECT_COPY {
                let mut content = Vec::new();
                let read = chunk.read_to_end(&mut content).map_err(failed)?;
                out.put(&content)?;
                read as u64
            } else {
                out.write_through(len, |output| io::copy(&mut chunk, &mut output.file()))?
            };
            if copied != len {
                return Err(Error::truncated("temporary file", len, copied));
            }
        }
        out.put(&section.buffer)
    }
}

impl Put for Tail<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let (spool, index) = (&mut *self.spool, self.section);
        let Some(section) = spool.sections.get_mut(index) else { return Ok(()) };
        section.bytes += bytes.len() as u64;
        if bytes.len() >= DIRECT_WRITE {
            spool.flush(index)?;
            return spool.write_chunk(index, bytes);
        }
        section.buffer.extend_from_slice(bytes);
        spool.buffered += bytes.len();
        if section.buffer.len() >= MAX_SECTION_BUFFER {
            spool.flush(index)?;
        }
        if spool.buffered >= MAX_BUFFERED {
            (0..spool.sections.len()).try_for_each(|index| spool.flush(index))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use container_core::OutputOptions;

    #[test]
    fn sections_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut spool = Spool::beside(&path);
        let sections: Vec<usize> = (0..40).map(|_| spool.section()).collect();
        let mut expected = vec![Vec::<u8>::new(); sections.len()];
        for turn in 0..400usize {
            for section in &sections {
                let len = match (turn + section) % 50 {
                    0 => DIRECT_WRITE + section,
                    n => n * 37,
                };
                let bytes = vec![(turn * 7 + section) as u8; len];
                expected[*section].extend(&bytes);
                spool.tail(*section).put(&bytes).unwrap();
                assert!(spool.buffered <= MAX_BUFFERED);
            }
        }
        assert!(spool.len > MAX_BUFFERED as u64 && spool.buffered > 0);
        spool.complete().unwrap();
        let mut out = Buffered::new(Output::create(&path, OutputOptions::default()).unwrap(), 0);
        for section in &sections {
            assert_eq!(spool.bytes(*section), expected[*section].len() as u64);
            spool.copy(*section, &mut out).unwrap();
        }
        out.flush().unwrap();
        out.into_inner().finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == expected.concat());
    }
}
