//! A [`Source`] as the library reads it, and its errors as ours.

use std::io;

use container_core::{Bytes, Error, Result, Source};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

/// Bytes that are fetched at once where the library reads headers byte by byte.
const AHEAD: u64 = 8 << 10;

/// The bytes of a file, for the library.
#[derive(Debug, Clone)]
pub(super) struct Chunks(pub(super) Source);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Chunks {
    type T = Ahead;

    fn get_read(&self, start: u64) -> ParquetResult<Ahead> {
        Ok(Ahead { source: self.0.clone(), at: start, held: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.saturating_add(length as u64);
        self.0.read(start..end).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// Reads on from a place.
pub(super) struct Ahead {
    source: Source,
    at: u64,
    held: Bytes,
}

impl io::Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() && !out.is_empty() {
            let end = self.at.saturating_add(AHEAD.max(out.len() as u64)).min(self.source.len());
            if self.at >= end {
                return Ok(0);
            }
            self.held = self.source.read(self.at..end).map_err(io::Error::other)?;
            self.at = end;
        }
        let count = out.len().min(self.held.len());
        if let (Some(out), Some(held)) = (out.get_mut(..count), self.held.get(..count)) {
            out.copy_from_slice(held);
        }
        self.held = self.held.slice(count..);
        Ok(count)
    }
}

/// The library's error as one of ours; one of ours that went through it comes out whole.
pub(super) fn from_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::General(what) | ParquetError::ArrowError(what) => Error::invalid(plain(&what)),
        ParquetError::EOF(what) => Error::invalid(format!("it ends too early: {}", plain(&what))),
        ParquetError::NYI(what) => Error::unsupported(plain(&what)),
        ParquetError::External(cause) => own(cause),
        other => Error::invalid(other.to_string()),
    }
}

fn own(cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let cause = match cause.downcast::<Error>() {
        Ok(own) => return *own,
        Err(cause) => cause,
    };
    let cause = match cause.downcast::<ParquetError>() {
        Ok(inner) => return from_parquet(*inner),
        Err(cause) => cause,
    };
    match cause.downcast::<io::Error>() {
        Ok(cause) => from_io(*cause),
        Err(cause) => Error::invalid(plain(&cause.to_string())),
    }
}

fn from_io(cause: io::Error) -> Error {
    let kind = cause.kind();
    match cause.into_inner() {
        Some(inner) => own(inner),
        None => Error::invalid(format!("it ends too early or cannot be decompressed: {kind}")),
    }
}

/// Arrow's error, which may have the library's in it.
pub(super) fn from_arrow(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::ExternalError(cause) => own(cause),
        arrow_schema::ArrowError::ParquetError(what) => Error::invalid(plain(&what)),
        other => container_arrow::from_arrow(other),
    }
}

/// What the library says, without its own name, beginning small.
fn plain(what: &str) -> String {
    let what = ["Parquet error: ", "Parquet argument error: ", "Arrow: "]
        .iter()
        .fold(what, |what, prefix| what.strip_prefix(prefix).unwrap_or(what));
    let what = what.trim_end_matches('.');
    let mut letters = what.chars();
    match (letters.next(), letters.clone().next()) {
        // A name in capitals stays one.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => what.to_owned(),
    }
}

/// Runs the library on `what`: errors and panics are ours.
pub(super) fn library<T>(what: &str, work: impl FnOnce() -> ParquetResult<T>) -> Result<T> {
    crate::batches::guarded(what, || work().map_err(from_parquet))
}
