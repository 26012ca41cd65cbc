//! A stream that is kept until it is whole.

use std::fs::File;
use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::with_std::map;

use super::Source;

/// Bytes that are written one after another, to become a [`Source`]: in memory, from some size on in a temporary file, which vanishes with the
/// source.
#[derive(Debug)]
pub struct Spool {
    head: Vec<u8>,
    most: usize,
    /// It has no name, and never leaves: so nobody else can write to it.
    file: Option<File>,
}

impl Spool {
    /// Holds up to `most` bytes in memory, and writes the rest to a temporary file.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { head: Vec::new(), most, file: None }
    }

    /// The bytes; of a temporary file it maps them where that can be done.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the temporary file.
    #[allow(unsafe_code, reason = "nobody else has the file")]
    pub fn finish(self) -> Result<Source> {
        let Some(file) = self.file else { return Ok(Source::from(self.head)) };
        // SAFETY: the file has no name, and its only handle goes with this call: nobody writes to it any more.
        match unsafe { map::map(&file) } {
            Ok(bytes) => Ok(Source::from(bytes)),
            Err(_) => Source::from_file(file),
        }
    }

    /// What a failing [`write`](Write::write) means: of a spool only the temporary file can fail.
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
        if bytes.len() <= self.most.saturating_sub(self.head.len()) {
            self.head.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let mut file = tempfile::tempfile()?;
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
    fn what_was_written_is_there() {
        for most in [0, 3, 1000] {
            let mut spool = Spool::new(most);
            for bytes in [&b"ab"[..], b"", b"cde", b"f"] {
                spool.write_all(bytes).unwrap();
            }
            assert_eq!(spool.file.is_some(), most < 6);
            assert_eq!(spool.finish().unwrap().read(0..6).unwrap(), b"abcdef"[..]);
        }
        assert!(Spool::new(0).finish().unwrap().is_empty());
    }
}
