use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::Result;
use crate::{Output, OutputOptions, Overwrite, SyncPolicy};

/// What a writer may want of the place it writes to.
pub trait Sink: Write + Seek {}

impl<W: Write + Seek> Sink for W {}

/// A sink that takes at most a few bytes a call and breaks after a number of calls: of writes and, where it can seek, of seeks.
#[derive(Debug)]
pub struct FailingSink<W> {
    inner: W,
    calls_left: usize,
    piece: usize,
    /// Calls after the failed one pass again.
    once: bool,
}

impl<W: Write> FailingSink<W> {
    /// Passes `calls` writes, of at most `piece` bytes, and seeks on to `inner`; every later one fails.
    pub fn new(inner: W, calls: usize, piece: usize) -> Self {
        Self { inner, calls_left: calls, piece, once: false }
    }

    /// Fails one call only, that after `calls` others: who overlooks it goes on.
    #[must_use]
    pub fn failing_once(mut self) -> Self {
        self.once = true;
        self
    }

    /// What the bytes went to.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Writes and seeks that would still pass.
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
                if self.once {
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
        self.inner.write(&bytes[..bytes.len().min(self.piece)])
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

/// Runs `write_all` into a file that exists, with the sink breaking at the first write or seek, the second, and so on until it
/// goes through; at each once for good, and once for that call alone. Each time before, the old file must be as it was and nothing may be left beside it; in the end the new
/// content must be what `write_all` gives into memory. Returns the number of writes and seeks it took.
///
/// # Panics
/// When a broken write is not reported, changes the old file, or leaves something behind.
pub fn every_write_may_fail(write_all: impl Fn(&mut dyn Sink) -> Result<()>) -> usize {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary directory: {error}"));
    let path = directory.path().join("target");
    std::fs::write(&path, b"old").unwrap_or_else(|error| panic!("cannot write: {error}"));
    let mut expected = Cursor::new(Vec::new());
    write_all(&mut expected).unwrap_or_else(|error| panic!("writing into memory failed: {error}"));
    let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
    for (calls, once) in (0..).flat_map(|calls| [(calls, false), (calls, true)]) {
        let output = Output::create(&path, options).unwrap_or_else(|error| panic!("cannot create: {error}"));
        let mut sink = FailingSink::new(output, calls, usize::MAX);
        sink.once = once;
        let outcome = write_all(&mut sink);
        let finished = match &outcome {
            Ok(()) => sink.into_inner().finish().is_ok(),
            Err(_) => {
                drop(sink);
                false
            }
        };
        if finished {
            assert_eq!(content(&path), *expected.get_ref(), "the finished file differs from what goes into memory");
            return calls;
        }
        assert!(outcome.is_err(), "the sink broke at call {calls} and the writer did not say so");
        assert_eq!(content(&path), b"old", "the old file changed though call {calls} failed");
        let beside = std::fs::read_dir(directory.path()).map_or(0, Iterator::count);
        assert_eq!(beside, 1, "something was left beside the file after call {calls} failed");
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
    fn a_sound_writer_passes() {
        let writes = every_write_may_fail(|out| {
            for piece in [&b"one"[..], b"two", b"three"] {
                out.write_all(piece).map_err(|cause| Error::io("cannot write", cause))?;
            }
            Ok(())
        });
        assert_eq!(writes, 3);
    }

    #[test]
    #[should_panic(expected = "the finished file differs")]
    fn a_writer_that_goes_on_after_a_failure_is_caught() {
        every_write_may_fail(|out| {
            let cannot = |cause| Error::io("cannot write", cause);
            out.write_all(b"one").map_err(cannot)?;
            let _ = out.write_all(b"two");
            out.write_all(b"three").map_err(cannot)
        });
    }

    #[test]
    fn seeks_may_fail_too() {
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
    fn a_seek_that_fails_in_silence_is_caught() {
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
    fn a_writer_that_hides_a_failure_is_caught() {
        every_write_may_fail(|out| {
            let _ = out.write_all(b"one");
            Ok(())
        });
    }

    #[test]
    fn small_pieces_lose_nothing() {
        let mut sink = FailingSink::new(Vec::new(), 100, 2);
        sink.write_all(b"seven b").unwrap();
        assert_eq!(sink.calls_left(), 96);
        assert_eq!(sink.into_inner(), b"seven b");
    }
}
