//! A file of which more is read than asked for, where ranges follow each other.

use std::io;
use std::sync::Mutex;

use super::{PositionalFile, ReadAt};

/// Bytes that are read at once.
const WINDOW: usize = 128 << 10;

/// Ranges from this size on are read alone: the call costs little beside them.
const LARGE: usize = WINDOW / 4;

/// Bytes that may lie between a range and the next one that follows it.
const GAP: u64 = 4 << 10;

/// How many ranges have to follow each other before more is read.
const ENOUGH: u32 = 3;

/// Places where ranges follow each other, at most: threads, or columns.
const PLACES: usize = 4;

/// The file, and what was read of it.
pub(super) struct ReadAhead {
    file: PositionalFile,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    all: [Place; PLACES],
    /// Ranges so far.
    clock: u64,
}

#[derive(Default)]
struct Place {
    /// Where the latest range began and ended, and how many followed each other up to it.
    latest: u64,
    next: u64,
    followed: u32,
    /// When that was.
    used: u64,
    /// What was read, from `start` on.
    start: u64,
    window: Vec<u8>,
}

impl Place {
    fn held(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.window.get(at..at.checked_add(len)?)
    }

    /// Ranges that follow each other may overlap, as an offset and the next one do.
    fn is_followed_by(&self, offset: u64) -> bool {
        self.used > 0 && offset >= self.latest && offset <= self.next.saturating_add(GAP)
    }
}

impl ReadAhead {
    pub(super) fn new(file: PositionalFile) -> Self {
        Self { file, places: Mutex::default() }
    }

    /// Fills the buffer with what is there, or has been read for it; whether it did.
    fn by_window(&self, offset: u64, buffer: &mut [u8]) -> bool {
        // Whoever finds it taken reads alone: nobody waits, and a child of `fork` is not stuck.
        let Ok(mut places) = self.places.try_lock() else { return false };
        places.clock += 1;
        let now = places.clock;
        let end = offset.saturating_add(buffer.len() as u64);
        let found = places.all.iter_mut().find(|place| place.held(offset, buffer.len()).is_some());
        let place = match found {
            Some(place) => place,
            None => match places.all.iter_mut().find(|place| place.is_followed_by(offset)) {
                Some(place) => {
                    place.followed += 1;
                    if place.followed >= ENOUGH && self.fill(place, offset).is_err() {
                        // Too short a file is told for the range that was asked for.
                        (place.start, place.followed) = (0, 0);
                        place.window.clear();
                    }
                    place
                }
                None => {
                    let Some(place) = places.all.iter_mut().min_by_key(|place| place.used) else { return false };
                    (place.start, place.followed) = (0, 0);
                    place.window.clear();
                    place
                }
            },
        };
        (place.latest, place.next, place.used) = (offset, end, now);
        match place.held(offset, buffer.len()) {
            Some(held) => {
                buffer.copy_from_slice(held);
                true
            }
            None => false,
        }
    }

    fn fill(&self, place: &mut Place, offset: u64) -> io::Result<()> {
        let left = usize::try_from(self.file.len.saturating_sub(offset)).unwrap_or(WINDOW);
        place.start = offset;
        place.window.resize(WINDOW.min(left), 0);
        self.file.read_exact_at(offset, &mut place.window)
    }
}

impl ReadAt for ReadAhead {
    fn len(&self) -> u64 {
        self.file.len
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if buffer.len() < LARGE && self.by_window(offset, buffer) {
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
        /// Some ranges that follow each other, from any places.
        #[test]
        fn ranges_are_those_of_the_file(walks in prop::collection::vec((0usize..400_000, 0usize..6000, 1usize..60), 1..8)) {
            let (ahead, bytes) = file(400_000);
            for (start, len, count) in walks {
                for number in 0..count {
                    let at = start + number * (len.saturating_sub(len % 2) + number % 3);
                    let Some(wanted) = bytes.get(at..at + len) else { break };
                    let mut found = vec![0; len];
                    ahead.read_exact_at(at as u64, &mut found).unwrap();
                    prop_assert_eq!(found, wanted);
                }
            }
        }
    }

    #[test]
    fn few_calls_read_many_ranges() {
        let (ahead, bytes) = file(300_000);
        let held = || ahead.places.lock().unwrap().all.iter().map(|place| place.window.len()).collect::<Vec<_>>();
        let mut found = [0; 100];
        let mut windows = std::collections::BTreeSet::new();
        for at in (0..300_000).step_by(100) {
            ahead.read_exact_at(at as u64, &mut found).unwrap();
            assert_eq!(found, bytes[at..at + 100]);
            let places = ahead.places.lock().unwrap();
            windows.extend(places.all.iter().filter(|place| !place.window.is_empty()).map(|place| place.start));
        }
        assert_eq!(windows.len(), 300_000_usize.div_ceil(WINDOW));
        // Places that do not follow each other leave nothing behind.
        for at in [200_000, 3, 90_000, 150_000, 40_000, 250_000, 10_000, 120_000] {
            ahead.read_exact_at(at, &mut found).unwrap();
        }
        assert_eq!(held(), [0; PLACES]);
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error_where_bytes_are_gone() {
        let (ahead, bytes) = file(20_000);
        ahead.file.file.set_len(1_000).unwrap();
        let mut found = [0; 100];
        for at in (0..1_000).step_by(100) {
            ahead.read_exact_at(at as u64, &mut found).unwrap();
            assert_eq!(found, bytes[at..at + 100]);
        }
        assert_eq!(ahead.read_exact_at(1_000, &mut found).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
