//! The first look-up of a collection: a walk over the whole index, by several threads where it is large.
//!
//! Where an entry begins is known for certain only when all in front of it were walked over. So each thread begins at a place where entries seem
//! to begin; that they do is known when the part in front of it ends just there. Where one does not, nothing that was found is believed.

use std::thread;

use crate::read::plain::{is_ascii, is_same};
use crate::read::table::on_threads;
use crate::wire::index::{Entry, HEAD, Index};

/// Indexes of fewer bytes are walked over by one thread.
const SMALL: usize = 2 << 20;

/// More threads do not pay: what they wait for is memory.
const MOST: usize = 8;

/// So many entries behind each other are no chance.
const ENTRIES: usize = 8;

/// How far is looked for a place where entries begin.
const FAR: usize = 4 << 10;

/// Bytes of an id in such a place, at most.
const ID: usize = 255;

/// The entry that holds for an id, which may be none. Nothing where one thread has to look: in a small index, and in one that is not as nearly
/// all are.
pub(crate) fn find<'b>(index: &Index<'b>, wanted: &[u8], threads: usize) -> Option<Option<Entry<'b>>> {
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into).min(MOST),
        some => some.min(MOST),
    };
    let file = index.file();
    if threads < 2 || file.len() < SMALL {
        return None;
    }
    let places = (1..threads).map(|part| begin(file, file.len() / threads * part));
    let ends = places.chain([Some(file.len())]).collect::<Option<Vec<_>>>()?;
    let begins = [HEAD].into_iter().chain(ends.iter().copied());
    let parts = begins.zip(&ends).map(|(begin, end)| file.get(begin..*end)).collect::<Option<Vec<_>>>()?;
    let (mut count, mut last) = (0, None);
    for walked in on_threads(parts, |part| walk(part, wanted)) {
        let (entries, found) = walked?;
        count += entries;
        last = found.or(last);
    }
    (count == index.len()).then_some(last)
}

/// Walks over all entries of a part: how many they are, and the last one of the id. Nothing where an entry does not end with the part, or an id
/// is no text.
fn walk<'b>(part: &'b [u8], wanted: &[u8]) -> Option<(u64, Option<Entry<'b>>)> {
    let (mut rest, mut count, mut last) = (part, 0, None);
    while !rest.is_empty() {
        let (entry, behind) = Entry::split(rest)?;
        if !is_ascii(entry.id) && std::str::from_utf8(entry.id).is_err() {
            return None;
        }
        // Ids often differ in nothing but their last letters.
        if entry.id.last() == wanted.last() && is_same(entry.id, wanted) {
            last = Some(entry);
        }
        (rest, count) = (behind, count + 1);
    }
    Some((count, last))
}

/// A place from a byte on where entries seem to begin.
fn begin(file: &[u8], from: usize) -> Option<usize> {
    (from..from + FAR).find(|at| file.get(*at..).is_some_and(seems_to_be_entries))
}

fn seems_to_be_entries(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    (0..ENTRIES).all(|_| {
        let Some((entry, behind)) = Entry::split(rest) else { return false };
        rest = behind;
        (1..=ID).contains(&entry.id.len()) && entry.id.iter().all(u8::is_ascii_graphic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::index::{head, put};

    fn file(ids: &[String]) -> Vec<u8> {
        let mut out = head(ids.len() as u64).to_vec();
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
    fn every_thread_finds() {
        let mut ids: Vec<_> = (0..120_000).map(|n| format!("doc-{n}")).collect();
        ids[110_000] = "doc-7".to_owned();
        ids[50_000] = "\u{e4}".repeat(5);
        let bytes = file(&ids);
        for threads in [2, 3, 4, 8, 100] {
            for (id, wanted) in [
                ("doc-0", Some(0)),
                ("doc-7", Some(110_000)),
                (&ids[50_000], Some(50_000)),
                ("doc-59999", Some(59_999)),
                ("doc-60000", Some(60_000)),
                ("doc-119999", Some(119_999)),
                ("doc-120000", None),
                ("", None),
            ] {
                assert_eq!(offset(&bytes, id, threads), Some(wanted), "{id} {threads}");
            }
        }
        assert_eq!(offset(&bytes, "doc-0", 1), None);
        assert_eq!(offset(&file(&ids[..1000]), "doc-0", 4), None);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_left_to_one_thread() {
        let ids: Vec<_> = (0..120_000).map(|n| format!("doc-{n}")).collect();
        let good = file(&ids);
        // Too few and too many, no text, and an entry that is too long.
        for (place, byte) in [(8, 0), (8, 0xff), (20, 0xff), (16, 0x60)] {
            let mut bytes = good.clone();
            bytes[place] = byte;
            assert!(Index::parse(&bytes).is_ok());
            assert_eq!(offset(&bytes, "doc-77777", 4), None, "{place}");
        }
        assert_eq!(offset(&[&good[..], b"x"].concat(), "doc-77777", 4), None);
        // No place to begin.
        let spaces: Vec<_> = (0..120_000).map(|n| format!("doc {n}")).collect();
        assert_eq!(offset(&file(&spaces), "doc 1", 4), None);
    }

    #[test]
    fn what_only_seems_to_be_entries_is_not_believed() {
        // In the middle stands an id that holds entries itself: whoever begins there finds an end within it, but no entry ends where it begins.
        let inner = file(&(0..3000).map(|n| format!("in-{n}")).collect::<Vec<_>>());
        let inner = &inner[HEAD..];
        let mut out = head(0).to_vec();
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
        assert!(begin(&out, middle).is_some_and(|at| at < begin_of_inner + 60_000));
        assert_eq!(offset(&out, "in-1500", 2), None);
        assert_eq!(offset(&out, "doc-2", 2), None);
    }
}
