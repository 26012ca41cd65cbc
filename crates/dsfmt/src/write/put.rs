//! Buffered output.

use std::io::Write;
use std::ops::Range;

use container_core::{Error, Result, Source};

use super::step::step;

/// Buffer size; larger writes bypass the buffer.
const BUFFER: usize = 256 << 10;

/// Bytes copied at once from a file that is not in memory.
const STEP: u64 = 1 << 20;

/// A sink for consecutive bytes.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends a range of a file: whole if in memory, otherwise in steps.
    fn copy(&mut self, source: &Source, range: Range<u64>) -> Result<()> {
        let step = if source.as_slice().is_some() { u64::MAX } else { STEP };
        let (mut at, mut buffer) = (range.start, Vec::new());
        while at < range.end {
            let end = range.end.min(at.saturating_add(step));
            self.put(source.view(at..end, &mut buffer)?)?;
            at = end;
        }
        Ok(())
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Combines small writes.
pub(crate) struct Buffered<W> {
    inner: W,
    buffer: Vec<u8>,
    /// Bytes written so far, including buffered ones.
    len: u64,
}

impl<W: Write> Buffered<W> {
    /// `expected` is the total size, which bounds the buffer.
    pub(crate) fn new(inner: W, expected: u64) -> Self {
        let expected = usize::try_from(expected).unwrap_or(BUFFER);
        Self { inner, buffer: Vec::with_capacity(expected.min(BUFFER)), len: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Writes out the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let result = write(&mut self.inner, &self.buffer);
        self.buffer.clear();
        result
    }

    /// Flushes, then lets `write` write `bytes` bytes directly.
    pub(crate) fn write_through(
        &mut self,
        bytes: u64,
        write: impl FnOnce(&mut W) -> std::io::Result<u64>,
    ) -> Result<u64> {
        self.flush()?;
        step()?;
        self.len += bytes;
        write(&mut self.inner).map_err(failed)
    }

    pub(crate) fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Put for Buffered<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        if bytes.len() <= BUFFER - self.buffer.len() {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        write(&mut self.inner, bytes)
    }
}

fn write(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    step()?;
    to.write_all(bytes).map_err(failed)
}

#[cold]
pub(crate) fn failed(cause: std::io::Error) -> Error {
    Error::io("cannot write", cause)
}
