use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::Result;
use crate::{Output, OutputOptions, Overwrite, SyncPolicy};

/// A seekable sink.
pub trait Sink: Write + Seek {}

impl<W: Write + Seek> Sink for W {}

/// A sink that fails after a number of writes and seeks, and accepts a limited number of bytes per write.
#[derive(Debug)]
pub struct FailingSink<W> {
    inner: W,
    calls_left: usize,
    max_write: usize,
    /// Only one call fails.
    fails_once: bool,
}

impl<W: Write> FailingSink<W> {
    /// Passes the first `calls` writes (of at most `max_write` bytes) and seeks to `inner`; later calls fail.
    pub fn new(inner: W, calls: usize, max_write: usize) -> Self {
        Self { inner, calls_left: calls, max_write, fails_once: false }
    }

    /// Fails one call only, to catch writers that ignore an error.
    #[must_use]
    pub fn failing_once(mut self) -> Self {
        self.fails_once = true;
        self
    }

    /// Returns the inner sink.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// The number of calls that will still succeed.
    #[must_use]
    pub fn calls_left(&self) -> usize {
        self.calls_left
    }
}

impl<W> FailingSink<W> {
    fn count(&mut self) -> io::Result<()> {
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => {
                if self.fails_once {
                    self.calls_left = usize::MAX;
                }
                return Err(io::Error::new(io::ErrorKind::StorageFull, "the sink is full (injected)"));
            }
        }
        Ok(())
    }
}

impl<W: Write> Write for FailingSink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count()?;
        self.inner.write(&bytes[..bytes.len().min(self.max_write)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Seek> Seek for FailingSink<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.count()?;
        self.inner.seek(to)
    }
}

/// Runs `write_all` on an output that replaces an existing file, failing the first write or seek, then the second, and so on until it succeeds.
/// Each call fails permanently in one run and temporarily in another. After each failure the old file must be unchanged and no other file left;
/// the final content must equal what `write_all` writes to memory. Returns the number of writes and seeks.
///
/// # Panics
/// If a failure is not reported, changes the old file, or leaves a file behind.
pub fn every_write_may_fail(write_all: impl Fn(&mut dyn Sink) -> Result<()>) -> usize {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot create a temporary directory: {error}"));
    let path = directory.path().join("target");
    std::fs::write(&path, b"old").unwrap_or_else(|error| panic!("cannot write: {error}"));
    let mut expected = Cursor::new(Vec::new());
    write_all(&mut expected).unwrap_or_else(|error| panic!("writing to memory failed: {error}"));
    let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
    for (calls, once) in (0..).flat_map(|calls| [(calls, false), (calls, true)]) {
        let output = Output::create(&path, options).unwrap_or_else(|error| panic!("cannot create: {error}"));
        let mut sink = FailingSink::new(output, calls, usize::MAX);
        sink.fails_once = once;
        let outcome = write_all(&mut sink);
        let finished = match &outcome {
            Ok(()) => sink.into_inner().finish().is_ok(),
            Err(_) => {
                drop(sink);
                false
            }
        };
        if finished {
            assert_eq!(content(&path), *expected.get_ref(), "the finished file differs from the one in memory");
            return calls;
        }
        assert!(outcome.is_err(), "call {calls} failed and the writer did not report it");
        assert_eq!(content(&path), b"old", "the old file changed although call {calls} failed");
        let entries = std::fs::read_dir(directory.path()).map_or(0, Iterator::count);
        assert_eq!(entries, 1, "a file was left behind after call {calls} failed");
    }
    0
}

fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("cannot read back: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn correct_writer_passes() {
        let writes = every_write_may_fail(|out| {
            for part in [&b"one"[..], b"two", b"three"] {
                out.write_all(part).map_err(|cause| Error::io("cannot write", cause))?;
            }
            Ok(())
        });
        assert_eq!(writes, 3);
    }

    #[test]
    #[should_panic(expected = "the finished file differs")]
    fn detects_writer_that_continues_after_failure() {
        every_write_may_fail(|out| {
            let cannot = |cause| Error::io("cannot write", cause);
            out.write_all(b"one").map_err(cannot)?;
            let _ = out.write_all(b"two");
            out.write_all(b"three").map_err(cannot)
        });
    }

    #[test]
    fn fails_seeks() {
        let calls = every_write_may_fail(|out| {
            let cannot = |cause| Error::io("cannot write", cause);
            out.write_all(b"___two").map_err(cannot)?;
            out.rewind().map_err(cannot)?;
            out.write_all(b"one").map_err(cannot)
        });
        assert_eq!(calls, 3);
    }

    #[test]
    #[should_panic(expected = "the finished file differs")]
    fn detects_ignored_seek_failure() {
        every_write_may_fail(|out| {
            let cannot = |cause| Error::io("cannot write", cause);
            out.write_all(b"___two").map_err(cannot)?;
            match out.rewind() {
                Ok(()) => out.write_all(b"one").map_err(cannot),
                Err(_) => Ok(()),
            }
        });
    }

    #[test]
    #[should_panic(expected = "the finished file differs")]
    fn detects_ignored_write_failure() {
        every_write_may_fail(|out| {
            let _ = out.write_all(b"one");
            Ok(())
        });
    }

    #[test]
    fn short_writes_are_completed() {
        let mut sink = FailingSink::new(Vec::new(), 100, 2);
        sink.write_all(b"seven b").unwrap();
        assert_eq!(sink.calls_left(), 96);
        assert_eq!(sink.into_inner(), b"seven b");
    }
}
