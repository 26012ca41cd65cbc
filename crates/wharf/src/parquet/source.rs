//! Adapts a [`Source`] to the parquet crate, and its errors to ours.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

/// Bytes fetched at once: the library reads page headers byte by byte.
const READ_AHEAD: u64 = 8 << 10;

thread_local! {
    /// Why the last read on this thread failed. The library turns errors of columns into text.
    static CAUSE: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Reads a range, and remembers the error for [`failed`].
fn read(source: &Source, range: Range<u64>) -> ParquetResult<Bytes> {
    let (bytes, cause) = match source.read(range) {
        Ok(bytes) => (Ok(bytes), None),
        Err(error) => (Err(ParquetError::General(error.to_string())), Some(error)),
    };
    CAUSE.set(cause);
    bytes
}

/// The error for what the library says: why the source cannot be read, if the last read failed.
fn failed(what: &str) -> Error {
    CAUSE.take().unwrap_or_else(|| Error::invalid(normalized(what)))
}

/// A source for the library.
#[derive(Debug, Clone)]
pub(super) struct SourceReader(pub(super) Source);

impl Length for SourceReader {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for SourceReader {
    type T = BufferedRange;

    fn get_read(&self, start: u64) -> ParquetResult<BufferedRange> {
        Ok(BufferedRange { source: self.0.clone(), at: start, buffer: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.saturating_add(length as u64);
        read(&self.0, start..end)
    }
}

/// Sequential reads from an offset.
pub(super) struct BufferedRange {
    source: Source,
    at: u64,
    buffer: Bytes,
}

impl io::Read for BufferedRange {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.buffer.is_empty() && !out.is_empty() {
            let end = self.at.saturating_add(READ_AHEAD.max(out.len() as u64)).min(self.source.len());
            if self.at >= end {
                return Ok(0);
            }
            self.buffer = read(&self.source, self.at..end).map_err(io::Error::other)?;
            self.at = end;
        }
        let count = out.len().min(self.buffer.len());
        if let (Some(out), Some(buffer)) = (out.get_mut(..count), self.buffer.get(..count)) {
            out.copy_from_slice(buffer);
        }
        self.buffer = self.buffer.slice(count..);
        Ok(count)
    }
}

/// Converts an error of the library. Errors of ours that passed through it are unwrapped.
pub(super) fn from_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::General(what) | ParquetError::ArrowError(what) => failed(&what),
        ParquetError::EOF(what) => Error::invalid(format!("unexpected end: {}", normalized(&what))),
        ParquetError::NYI(what) => Error::unsupported(normalized(&what)),
        ParquetError::External(cause) => unwrap_cause(cause),
        other => Error::invalid(other.to_string()),
    }
}

fn unwrap_cause(cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let cause = match cause.downcast::<Error>() {
        Ok(error) => return *error,
        Err(cause) => cause,
    };
    let cause = match cause.downcast::<ParquetError>() {
        Ok(inner) => return from_parquet(*inner),
        Err(cause) => cause,
    };
    match cause.downcast::<io::Error>() {
        Ok(cause) => from_io(*cause),
        Err(cause) => Error::invalid(normalized(&cause.to_string())),
    }
}

fn from_io(cause: io::Error) -> Error {
    let kind = cause.kind();
    match cause.into_inner() {
        Some(inner) => unwrap_cause(inner),
        None => Error::invalid(format!("truncated or not decompressible: {kind}")),
    }
}

/// Converts an Arrow error, which may wrap one of the library.
pub(super) fn from_arrow(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::ExternalError(cause) => unwrap_cause(cause),
        arrow_schema::ArrowError::ParquetError(what) => failed(&what),
        other => container_arrow::from_arrow(other),
    }
}

/// The library's message without its prefix, in lower case.
fn normalized(what: &str) -> String {
    let what = ["Parquet error: ", "Parquet argument error: ", "Arrow: "]
        .iter()
        .fold(what, |what, prefix| what.strip_prefix(prefix).unwrap_or(what));
    // A message of the library has the placeholders of its numbers.
    let what = what.split_once(" - expected {").map_or(what, |(what, _)| what).trim_end_matches('.');
    let mut letters = what.chars();
    match (letters.next(), letters.clone().next()) {
        // Keep acronyms.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => what.to_owned(),
    }
}

/// Runs the library on `what`, converting errors and panics.
pub(super) fn library<T>(what: &str, work: impl FnOnce() -> ParquetResult<T>) -> Result<T> {
    crate::batches::guarded(what, || work().map_err(from_parquet))
}
