//! A collection's first look-up: scans the whole index, with several threads if it is large.
//!
//! Entries have variable length, so a boundary is only certain once everything before it has been parsed. Each thread therefore starts at a
//! plausible boundary, which is confirmed when the part before ends exactly there. If any is not, the result is discarded.

use std::thread;

use crate::read::fast_line::{is_ascii, is_same};
use crate::read::table::on_threads;
use crate::wire::index::{Entry, HEADER_LEN, Index};

/// Indexes of fewer bytes are scanned by one thread.
const MIN_PARALLEL: usize = 2 << 20;

/// More threads do not help: the scan is bound by memory bandwidth.
const MAX_THREADS: usize = 8;

/// Consecutive well-formed entries that make a boundary plausible.
const PLAUSIBLE_ENTRIES: usize = 8;

/// Bytes searched for a plausible boundary.
const MAX_PROBE: usize = 4 << 10;

/// Longest id, in bytes, accepted at a plausible boundary.
const MAX_PROBE_ID: usize = 255;

/// Finds the last entry of an id: `Some(None)` if there is none. `None` if a single thread has to scan, because the index is small or unusual.
pub(crate) fn find<'b>(index: &Index<'b>, id: &[u8], threads: usize) -> Option<Option<Entry<'b>>> {
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into).min(MAX_THREADS),
        some => some.min(MAX_THREADS),
    };
    let file = index.file();
    if threads < 2 || file.len() < MIN_PARALLEL {
        return None;
    }
    let boundaries = (1..threads).map(|part| find_boundary(file, file.len() / threads * part));
    let ends = boundaries.chain([Some(file.len())]).collect::<Option<Vec<_>>>()?;
    let starts = [HEADER_LEN].into_iter().chain(ends.iter().copied());
    let parts = starts.zip(&ends).map(|(start, end)| file.get(start..*end)).collect::<Option<Vec<_>>>()?;
    let (mut count, mut last) = (0, None);
    for scanned in on_threads(parts, |part| scan(part, id)) {
        let (entries, hit) = scanned?;
        count += entries;
        last = hit.or(last);
    }
    (count == index.len()).then_some(last)
}

/// Scans the entries of a part: their number, and the last one with the id. `None` if no entry ends where the part does, or an id is not UTF-8.
fn scan<'b>(part: &'b [u8], id: &[u8]) -> Option<(u64, Option<Entry<'b>>)> {
    let (mut rest, mut count, mut last) = (part, 0, None);
    while !rest.is_empty() {
        let (entry, behind) = Entry::split(rest)?;
        if !is_ascii(entry.id) && std::str::from_utf8(entry.id).is_err() {
            return None;
        }
        // Ids often share a prefix: compare the last byte first.
        if entry.id.last() == id.last() && is_same(entry.id, id) {
            last = Some(entry);
        }
        (rest, count) = (behind, count + 1);
    }
    Some((count, last))
}

/// The first plausible entry boundary at or after `from`.
fn find_boundary(file: &[u8], from: usize) -> Option<usize> {
    (from..from + MAX_PROBE).find(|at| file.get(*at..).is_some_and(looks_like_entries))
}

fn looks_like_entries(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    (0..PLAUSIBLE_ENTRIES).all(|_| {
        let Some((entry, behind)) = Entry::split(rest) else { return false };
        rest = behind;
        (1..=MAX_PROBE_ID).contains(&entry.id.len()) && entry.id.iter().all(u8::is_ascii_graphic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::index::{header, put};

    fn file(ids: &[String]) -> Vec<u8> {
        let mut out = header(ids.len() as u64).to_vec();
        for (id, offset) in ids.iter().zip(0..) {
            put(&Entry { id: id.as_bytes(), offset: offset * 205, length: 205 }, &mut out).unwrap();
        }
        out
    }

    fn offset(bytes: &[u8], id: &str, threads: usize) -> Option<Option<u64>> {
        let found = find(&Index::parse(bytes).unwrap(), id.as_bytes(), threads);
        found.map(|found| found.map(|entry| entry.offset / 205))
    }

    #[test]
    fn finds_entries_with_any_number_of_threads() {
        let mut ids: Vec<_> = (0..120_000).map(|n| format!("doc-{n}")).collect();
        ids[110_000] = "doc-7".to_owned();
        ids[50_000] = "\u{e4}".repeat(5);
        let bytes = file(&ids);
        for threads in [2, 3, 4, 8, 100] {
            for (id, expected) in [
                ("doc-0", Some(0)),
                ("doc-7", Some(110_000)),
                (&ids[50_000], Some(50_000)),
                ("doc-59999", Some(59_999)),
                ("doc-60000", Some(60_000)),
                ("doc-119999", Some(119_999)),
                ("doc-120000", None),
                ("", None),
            ] {
                assert_eq!(offset(&bytes, id, threads), Some(expected), "{id} {threads}");
            }
        }
        assert_eq!(offset(&bytes, "doc-0", 1), None);
        assert_eq!(offset(&file(&ids[..1000]), "doc-0", 4), None);
    }

    #[test]
    fn leaves_unusual_indexes_to_one_thread() {
        let ids: Vec<_> = (0..120_000).map(|n| format!("doc-{n}")).collect();
        let good = file(&ids);
        // Too few and too many, no text, and an entry that is too long.
        for (at, byte) in [(8, 0), (8, 0xff), (20, 0xff), (16, 0x60)] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            assert!(Index::parse(&bytes).is_ok());
            assert_eq!(offset(&bytes, "doc-77777", 4), None, "{at}");
        }
        assert_eq!(offset(&[&good[..], b"x"].concat(), "doc-77777", 4), None);
        // No plausible boundary.
        let spaces: Vec<_> = (0..120_000).map(|n| format!("doc {n}")).collect();
        assert_eq!(offset(&file(&spaces), "doc 1", 4), None);
    }

    #[test]
    fn discards_false_boundaries() {
        // An id in the middle looks like entries: a scan that starts there succeeds, but no real entry ends at its start.
        let inner = file(&(0..3000).map(|n| format!("in-{n}")).collect::<Vec<_>>());
        let inner = &inner[HEADER_LEN..];
        let mut out = header(0).to_vec();
        let mut count = 0u64;
        let mut entry = |id: &[u8]| {
            put(&Entry { id, offset: 0, length: 1 }, &mut out).unwrap();
            count += 1;
            out.len()
        };
        while entry(b"doc-1") < 2 << 20 {}
        let begin_of_inner = entry(&inner[..60_000]) - 60_000;
        while entry(b"doc-2") < 2 * begin_of_inner + 60_000 {}
        out[8..16].copy_from_slice(&count.to_le_bytes());
        let middle = out.len() / 2;
        assert!((begin_of_inner..begin_of_inner + 50_000).contains(&middle));
        assert!(Index::parse(&out).unwrap().entries().all(|entry| entry.is_ok()));
        assert!(find_boundary(&out, middle).is_some_and(|at| at < begin_of_inner + 60_000));
        assert_eq!(offset(&out, "in-1500", 2), None);
        assert_eq!(offset(&out, "doc-2", 2), None);
    }
}
