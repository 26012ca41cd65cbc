//! The bytes of a ds file that is not written: they are read from where they lie.

use std::io::{self, Write as _};

use container_core::{Error, OpenOptions, Output, ReadAt, Result, Source};

use crate::read::Reader;
use crate::write::put::{Buffered, Put};
use crate::write::spool::Spool;

/// Bytes held in memory of those that lie nowhere else, such as the header.
const MAX_MEMORY: usize = 32 << 20;

/// Indexes of the sources that are complete last: the spool's file, and bytes that lie nowhere else.
const SPOOLED: usize = 0;
const OWN: usize = 1;

/// Takes the bytes of a ds file in order.
pub(crate) trait Body: Put {
    /// Appends a section of a complete spool.
    fn section(&mut self, spool: &mut Spool, section: usize) -> Result<()>;
}

impl Body for Buffered<Output> {
    fn section(&mut self, spool: &mut Spool, section: usize) -> Result<()> {
        spool.copy(section, self)
    }
}

/// Consecutive bytes of one source.
struct Run {
    /// Offset in the file of the first byte after the run.
    end: u64,
    source: usize,
    /// Offset in the source.
    at: u64,
}

/// A file made of runs.
pub(crate) struct Assembly {
    runs: Vec<Run>,
    sources: Vec<Source>,
    own: container_core::Spool,
    own_len: u64,
}

impl Assembly {
    pub(crate) fn new() -> Self {
        let sources = vec![Source::from(Vec::new()); 2];
        Self { runs: Vec::new(), sources, own: container_core::Spool::new(MAX_MEMORY), own_len: 0 }
    }

    fn len(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// Appends `len` bytes at offset `at` of a source.
    fn run(&mut self, source: usize, at: u64, len: u64) {
        let start = self.len();
        let before = self.runs.len().checked_sub(2).and_then(|index| self.runs.get(index)).map_or(0, |run| run.end);
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.source == source && last.at + (start - before) == at => last.end += len,
            _ => self.runs.push(Run { end: start + len, source, at }),
        }
    }

    /// Opens the file. `spool` is the one whose sections were appended.
    pub(crate) fn open(mut self, spool: Spool) -> Result<Reader> {
        let last = [(SPOOLED, spool.into_source()?), (OWN, self.own.finish()?)];
        for (index, source) in last {
            if let Some(entry) = self.sources.get_mut(index) {
                *entry = source;
            }
        }
        let source = Source::new(Runs { runs: self.runs, sources: self.sources });
        Reader::from_source(source, OpenOptions::default())
    }
}

impl Put for Assembly {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.own.write_all(bytes).map_err(container_core::Spool::failed)?;
        self.run(OWN, self.own_len, bytes.len() as u64);
        self.own_len += bytes.len() as u64;
        Ok(())
    }

    fn copy(&mut self, source: &Source, range: std::ops::Range<u64>) -> Result<()> {
        if !range.is_empty() {
            self.sources.push(source.clone());
            self.run(self.sources.len() - 1, range.start, range.end - range.start);
        }
        Ok(())
    }
}

impl Body for Assembly {
    fn section(&mut self, spool: &mut Spool, section: usize) -> Result<()> {
        let tail = spool.take(section, |at, len| self.run(SPOOLED, at, len))?;
        let len = tail.len() as u64;
        self.copy(&tail.into(), 0..len)
    }
}

/// The runs, complete.
struct Runs {
    runs: Vec<Run>,
    sources: Vec<Source>,
}

impl ReadAt for Runs {
    fn len(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        let first = self.runs.partition_point(|run| run.end <= offset);
        let mut start = first.checked_sub(1).and_then(|index| self.runs.get(index)).map_or(0, |run| run.end);
        for run in self.runs.iter().skip(first) {
            let len = usize::try_from(run.end - offset).unwrap_or(usize::MAX).min(buffer.len());
            let (head, tail) = buffer.split_at_mut(len);
            let at = run.at + (offset - start);
            let source = self.sources.get(run.source).ok_or(io::ErrorKind::UnexpectedEof)?;
            let bytes = source.read(at..at + len as u64).map_err(into_io)?;
            head.copy_from_slice(bytes.get(..head.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
            (buffer, offset, start) = (tail, offset + len as u64, run.end);
            if buffer.is_empty() {
                return Ok(());
            }
        }
        if buffer.is_empty() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

fn into_io(error: Error) -> io::Error {
    io::Error::other(error)
}
