//! Buffers a stream until it is complete.

use std::fs::File;
use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::with_std::map;
use crate::with_std::temporary::unnamed_file;

use super::Source;

/// Collects written bytes into a [`Source`]: in memory up to a limit, then in a temporary file, which is removed with the source.
#[derive(Debug)]
pub struct Spool {
    head: Vec<u8>,
    max_memory: usize,
    /// A file that no longer has a name.
    file: Option<File>,
}

impl Spool {
    /// Keeps up to `max_memory` bytes in memory.
    #[must_use]
    pub const fn new(max_memory: usize) -> Self {
        Self { head: Vec::new(), max_memory, file: None }
    }

    /// Returns the written bytes. A temporary file is mapped if possible.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) errors of the temporary file.
    #[allow(unsafe_code, reason = "no other process can open the file")]
    pub fn finish(self) -> Result<Source> {
        let Some(file) = self.file else { return Ok(Source::from(self.head)) };
        // SAFETY: the file was private to this user and lost its name before anything was written; its only handle is consumed here.
        match unsafe { map::map(&file) } {
            Ok(bytes) => Ok(Source::from(bytes)),
            Err(_) => Source::from_file(file),
        }
    }

    /// Converts an error of [`write`](Write::write), which only the temporary file can cause.
    #[must_use]
    pub fn failed(cause: io::Error) -> Error {
        Error::io("cannot buffer the stream in a temporary file", cause)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.write(bytes);
        }
        if bytes.len() <= self.max_memory.saturating_sub(self.head.len()) {
            self.head.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let mut file = unnamed_file(&std::env::temp_dir())?;
        file.write_all(&std::mem::take(&mut self.head))?;
        self.file.insert(file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_written_bytes() {
        for max_memory in [0, 3, 1000] {
            let mut spool = Spool::new(max_memory);
            for bytes in [&b"ab"[..], b"", b"cde", b"f"] {
                spool.write_all(bytes).unwrap();
            }
            assert_eq!(spool.file.is_some(), max_memory < 6);
            assert_eq!(spool.finish().unwrap().read(0..6).unwrap(), b"abcdef"[..]);
        }
        assert!(Spool::new(0).finish().unwrap().is_empty());
    }
}
