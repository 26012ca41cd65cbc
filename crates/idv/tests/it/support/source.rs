//! Sources that record reads, or fail.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use container_core::{ReadAt, Source};

/// What was read of a [`Watched`] source: ranges in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Range<u64>>>>);

impl Log {
    /// What was read since the last call.
    pub fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Bytes at the beginning and end of a file that is as long as one likes, with zeros between.
pub struct Watched {
    head: Vec<u8>,
    tail: Vec<u8>,
    len: u64,
    log: Log,
}

impl Watched {
    pub fn over(bytes: Vec<u8>) -> (Source, Log) {
        let len = bytes.len() as u64;
        Self::sparse(bytes, Vec::new(), len)
    }

    pub fn sparse(head: Vec<u8>, tail: Vec<u8>, len: u64) -> (Source, Log) {
        let log = Log::default();
        (Source::new(Self { head, tail, len, log: log.clone() }), log)
    }
}

impl ReadAt for Watched {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|&end| end <= self.len);
        let end = end.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        self.note(offset..end);
        buffer.fill(0);
        let parts = [(0, &self.head), (self.len - self.tail.len() as u64, &self.tail)];
        for (start, bytes) in parts {
            let (from, to) = (offset.max(start), end.min(start + bytes.len() as u64));
            if from < to {
                let part = &bytes[(from - start) as usize..(to - start) as usize];
                buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    }
}

impl Watched {
    fn note(&self, range: Range<u64>) {
        self.log.0.lock().unwrap().push(range);
    }
}

/// A source that fails when certain bytes are read.
pub struct Broken {
    pub bytes: Vec<u8>,
    pub broken: Range<u64>,
}

impl ReadAt for Broken {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        if offset < self.broken.end && self.broken.start < end {
            return Err(io::Error::other("bad sector"));
        }
        buffer.copy_from_slice(&self.bytes[offset as usize..end as usize]);
        Ok(())
    }
}
