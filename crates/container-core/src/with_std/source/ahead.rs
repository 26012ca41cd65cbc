//! Read-ahead for sequential access to a file.

use std::io;
use std::sync::Mutex;

use super::{PositionalFile, ReadAt};

/// Bytes per read-ahead.
const WINDOW: usize = 128 << 10;

/// Ranges of at least this many bytes bypass the window, since the system call is cheap in comparison.
const DIRECT_READ_LEN: usize = WINDOW / 4;

/// Maximum gap in bytes between ranges that count as sequential.
const MAX_GAP: u64 = 4 << 10;

/// Number of sequential ranges that starts read-ahead.
const MIN_SEQUENTIAL: u32 = 3;

/// Maximum number of concurrent sequential streams, such as threads or columns.
const MAX_STREAMS: usize = 4;

/// A file with read-ahead windows.
pub(super) struct ReadAhead {
    file: PositionalFile,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    all: [Stream; MAX_STREAMS],
    /// Number of ranges so far.
    clock: u64,
}

/// A sequence of ranges that follow each other.
#[derive(Default)]
struct Stream {
    /// Start and end of the latest range.
    latest: u64,
    next: u64,
    /// Number of ranges that followed another one.
    sequential: u32,
    /// [`Streams::clock`] at the latest range.
    last_used: u64,
    /// Offset of the window.
    start: u64,
    window: Vec<u8>,
}

impl Stream {
    fn buffered(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.window.get(at..at.checked_add(len)?)
    }

    /// Returns true if a range at `offset` continues the stream. Sequential ranges may overlap.
    fn is_followed_by(&self, offset: u64) -> bool {
        self.last_used > 0 && offset >= self.latest && offset <= self.next.saturating_add(MAX_GAP)
    }
}

impl ReadAhead {
    pub(super) fn new(file: PositionalFile) -> Self {
        Self { file, streams: Mutex::default() }
    }

    /// Fills the buffer from a window, reading ahead if the access is sequential. Returns false if the range has to be read directly.
    fn read_buffered(&self, offset: u64, buffer: &mut [u8]) -> bool {
        // On contention read directly: no thread waits, and a child of `fork` cannot deadlock.
        let Ok(mut streams) = self.streams.try_lock() else { return false };
        streams.clock += 1;
        let now = streams.clock;
        let end = offset.saturating_add(buffer.len() as u64);
        let buffered = streams.all.iter_mut().find(|stream| stream.buffered(offset, buffer.len()).is_some());
        let stream = match buffered {
            Some(stream) => stream,
            None => match streams.all.iter_mut().find(|stream| stream.is_followed_by(offset)) {
                Some(stream) => {
                    stream.sequential += 1;
                    if stream.sequential >= MIN_SEQUENTIAL && self.fill(stream, offset).is_err() {
                        // The direct read reports a file that is too short.
                        (stream.start, stream.sequential) = (0, 0);
                        stream.window.clear();
                    }
                    stream
                }
                None => {
                    let Some(stream) = streams.all.iter_mut().min_by_key(|stream| stream.last_used) else {
                        return false;
                    };
                    (stream.start, stream.sequential) = (0, 0);
                    stream.window.clear();
                    stream
                }
            },
        };
        (stream.latest, stream.next, stream.last_used) = (offset, end, now);
        match stream.buffered(offset, buffer.len()) {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }

    fn fill(&self, stream: &mut Stream, offset: u64) -> io::Result<()> {
        let left = usize::try_from(self.file.len.saturating_sub(offset)).unwrap_or(WINDOW);
        stream.start = offset;
        stream.window.resize(WINDOW.min(left), 0);
        self.file.read_exact_at(offset, &mut stream.window)
    }
}

impl ReadAt for ReadAhead {
    fn len(&self) -> u64 {
        self.file.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if buffer.len() < DIRECT_READ_LEN && self.read_buffered(offset, buffer) {
            return Ok(());
        }
        self.file.read_exact_at(offset, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn file(len: usize) -> (ReadAhead, Vec<u8>) {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..=250).cycle().step_by(7).take(len).collect();
        file.write_all(&bytes).unwrap();
        (ReadAhead::new(PositionalFile { file, len: len as u64 }), bytes)
    }

    proptest! {
        /// Sequences of ranges from arbitrary offsets.
        #[test]
        fn reads_match_the_file(sequences in prop::collection::vec((0usize..400_000, 0usize..6000, 1usize..60), 1..8)) {
            let (ahead, bytes) = file(400_000);
            for (start, len, count) in sequences {
                for number in 0..count {
                    let at = start + number * (len.saturating_sub(len % 2) + number % 3);
                    let Some(expected) = bytes.get(at..at + len) else { break };
                    let mut actual = vec![0; len];
                    ahead.read_exact_at(at as u64, &mut actual).unwrap();
                    prop_assert_eq!(actual, expected);
                }
            }
        }
    }

    #[test]
    fn sequential_ranges_share_reads() {
        let (ahead, bytes) = file(300_000);
        let window_lens =
            || ahead.streams.lock().unwrap().all.iter().map(|stream| stream.window.len()).collect::<Vec<_>>();
        let mut actual = [0; 100];
        let mut windows = std::collections::BTreeSet::new();
        for at in (0..300_000).step_by(100) {
            ahead.read_exact_at(at as u64, &mut actual).unwrap();
            assert_eq!(actual, bytes[at..at + 100]);
            let streams = ahead.streams.lock().unwrap();
            windows.extend(streams.all.iter().filter(|stream| !stream.window.is_empty()).map(|stream| stream.start));
        }
        assert_eq!(windows.len(), 300_000_usize.div_ceil(WINDOW));
        // Random access keeps no windows.
        for at in [200_000, 3, 90_000, 150_000, 40_000, 250_000, 10_000, 120_000] {
            ahead.read_exact_at(at, &mut actual).unwrap();
        }
        assert_eq!(window_lens(), [0; MAX_STREAMS]);
    }

    #[test]
    fn shrunk_file_fails_only_past_its_end() {
        let (ahead, bytes) = file(20_000);
        ahead.file.file.set_len(1_000).unwrap();
        let mut actual = [0; 100];
        for at in (0..1_000).step_by(100) {
            ahead.read_exact_at(at as u64, &mut actual).unwrap();
            assert_eq!(actual, bytes[at..at + 100]);
        }
        assert_eq!(ahead.read_exact_at(1_000, &mut actual).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
