//! Lines that adjoin, as those of nearly all data do, and are checked together: so the bytes are looked at once, many at a time, and a line
//! takes few steps.

use crate::read::places::Place;

/// Bytes of the lines that are checked together. So few stay in the first cache until they are given away, and the next ones are under way before
/// that is done: of 16 KiB at a time a walk takes a third longer.
const BYTES: u64 = 4 << 10;

/// Of fewer lines, each is looked at alone.
const LEAST: usize = 3;

/// The first of the places, at most so many, that are known to be those of whole lines; none where that cannot be told so simply. And for how
/// many it was sought, at least one.
///
/// The first line begins behind a line feed; each one ends with a line feed, behind which the next one begins; and there are as many line feeds
/// as lines: so there is none within a line.
pub(crate) fn run<'p>(bytes: &[u8], places: &'p [Place], most: usize) -> (&'p [Place], usize) {
    let Some(first) = places.first() else { return (&[], 1) };
    let until = first.offset.saturating_add(BYTES);
    let adjoin = |pair: &&[Place]| matches!(pair, [place, next] if next.offset <= until && adjoin(*place, *next));
    // The last line's end is where the next one begins, which is not one of them.
    let count = places.windows(2).take(most).take_while(adjoin).count();
    let are_whole = count >= LEAST && are_whole(bytes, places.get(..=count).unwrap_or_default()).unwrap_or(false);
    (places.get(..if are_whole { count } else { 0 }).unwrap_or_default(), count.max(1))
}

/// Does the next line begin where this one ends? The line feed may have been counted or not.
#[inline]
fn adjoin(place: Place, next: Place) -> bool {
    let behind = next.offset.wrapping_sub(place.offset);
    let length = u64::from(place.length);
    behind > 0 && (behind == length || behind == length + 1)
}

/// Are the lines of these places whole, which adjoin? The last place is the one behind them.
fn are_whole(bytes: &[u8], places: &[Place]) -> Option<bool> {
    let (first, behind) = places.split_first()?;
    let at = |place: &Place| usize::try_from(place.offset).ok();
    let (start, end) = (at(first)?, at(behind.last()?)?);
    // What stands in front of the first line is the end of one, too.
    let lines = bytes.get(start.checked_sub(1)?..end)?;
    if memchr::memchr_iter(b'\n', lines).count() != places.len() {
        return Some(false);
    }
    // No place lies in front of the first one.
    let ends_one = |place: &Place| usize::try_from(place.offset - first.offset).ok().and_then(|at| lines.get(at));
    Some(places.iter().fold(true, |all, place| all & (ends_one(place) == Some(&b'\n'))))
}

/// A line of a [`run`], without its line end.
#[inline]
pub(crate) fn line_in_run(bytes: &[u8], place: Place) -> &[u8] {
    let given = usize::try_from(place.offset).ok().zip(usize::try_from(place.length).ok());
    let given = given.and_then(|(start, length)| bytes.get(start..start.checked_add(length)?)).unwrap_or_default();
    let line = given.strip_suffix(b"\n").unwrap_or(given);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use container_core::{Access, OpenOptions, Source};

    use super::*;
    use crate::read::line::line_of;
    use crate::wire::index::{Entry, head, put};
    use crate::{Document, Store};

    fn place(offset: usize, length: usize) -> Place {
        Place { offset: offset as u64, position: 0, length: u32::try_from(length).unwrap() }
    }

    /// Data of short lines behind a first one, and the places of the others; their entries count the line feed or not.
    fn lines(count: usize) -> (Vec<u8>, Vec<Place>) {
        let (mut data, mut places) = (b"first\n".to_vec(), Vec::new());
        for n in 0..count {
            let line = format!("{{\"n\":{n}}}{}\n", if n % 5 == 0 { "\r" } else { "" });
            places.push(place(data.len(), line.len() - n % 2));
            data.extend(line.bytes());
        }
        (data, places)
    }

    #[test]
    fn adjoining_lines_are_checked_together() {
        let (data, places) = lines(40);
        let (found, tried) = run(&data, &places, usize::MAX);
        assert_eq!((found, tried), (&places[..39], 39));
        for (n, place) in found.iter().enumerate() {
            assert_eq!(line_in_run(&data, *place), format!("{{\"n\":{n}}}").as_bytes());
        }
        assert_eq!(run(&data, &places, 7), (&places[..7], 7));
        assert_eq!(run(&data, &places, LEAST - 1), (&[][..], LEAST - 1));
        assert_eq!(run(&data, &places[..1], 7), (&[][..], 1));
        assert_eq!(run(&data, &[], 7), (&[][..], 1));
        // Behind a line that is not named another run begins.
        let some = [&places[..10], &places[11..]].concat();
        assert_eq!(run(&data, &some, 40), (&some[..9], 9));
        assert_eq!(run(&data, &some[9..], 40), (&[][..], 1));
        let (data, places) = lines(2000);
        let (found, tried) = run(&data, &places, usize::MAX);
        assert!(found.len() == tried && tried > 200 && tried < 2000, "{tried}");
    }

    #[test]
    fn what_is_no_line_is_in_no_run() {
        let (data, places) = lines(40);
        // A line feed more within a line, one instead of the line's last byte, and one less.
        for (at, byte) in [(1, b'\n'), (6, b'\n'), (-1, b' ')] {
            let mut data = data.clone();
            let start = usize::try_from(places[20].offset).unwrap();
            data[start.checked_add_signed(at).unwrap()] = byte;
            assert_eq!(run(&data, &places, usize::MAX), (&[][..], 39), "{at}");
        }
        // The number of line feeds is right, but one has moved.
        let mut moved = data.clone();
        let end = usize::try_from(places[21].offset).unwrap();
        moved.swap(end - 1, end - 3);
        assert!(run(&moved, &places, usize::MAX).0.is_empty());
        let mut first = data.clone();
        first[5] = b' ';
        assert!(run(&first, &places, usize::MAX).0.is_empty());
        assert!(run(&data[..30], &places, usize::MAX).0.is_empty());
        let far = [place(usize::MAX - 3, 9), place(usize::MAX - 1, 1), place(usize::MAX, 1), place(usize::MAX, 0)];
        assert!(run(&data, &far, usize::MAX).0.is_empty());
        let same = [places[3], places[3], places[3], places[3], places[4]];
        assert!(run(&data, &same, usize::MAX).0.is_empty());
    }

    #[test]
    fn every_line_of_a_run_is_one_alone() {
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let mut found = 0;
        for _ in 0..60_000 {
            let data: Vec<u8> = (0..24).map(|_| b"xx\r\n\n"[next(5)]).collect();
            let mut at = next(4);
            let mut places = Vec::new();
            for _ in 0..6 {
                let feed = data.get(at..).and_then(|rest| memchr::memchr(b'\n', rest));
                let length = if next(12) == 0 { next(5) } else { feed.map_or(0, |feed| feed + next(2)) };
                places.push(place(at, length));
                at = if next(12) == 0 { at + next(3) } else { feed.map_or(at, |feed| at + feed + 1) };
            }
            let (run, _) = run(&data, &places, usize::MAX);
            found += run.len();
            let source = Source::from(data.clone());
            let mut end = 0;
            for place in run {
                let alone = line_of(&data, &source, place.offset, place.length).unwrap();
                assert_eq!(&*alone, line_in_run(&data, *place), "{data:?} {run:?}");
                assert!(place.offset >= end);
                end = place.offset + u64::from(place.length).max(1);
            }
        }
        assert!(found > 1000, "{found}");
    }

    /// A walk over data that are not in memory knows nothing of runs.
    #[test]
    fn walks_with_and_without_runs_agree() {
        let folder = tempfile::tempdir().unwrap();
        let meta = folder.path().join("collections/c/meta");
        std::fs::create_dir_all(&meta).unwrap();
        let line = |n: usize| format!("{{\"_id\":\"{n}\"}}\n");
        let walk = |data: &str, entries: &[(usize, usize)], access| {
            let mut index = head(entries.len() as u64).to_vec();
            for (n, (offset, length)) in entries.iter().enumerate() {
                let (offset, length) = (*offset as u64, u32::try_from(*length).unwrap());
                put(&Entry { id: n.to_string().as_bytes(), offset, length }, &mut index).unwrap();
            }
            std::fs::write(meta.join("data.jsonl"), data).unwrap();
            std::fs::write(meta.join("index.bin"), index).unwrap();
            let store = Store::open_with(folder.path(), OpenOptions::default().with_access(access)).unwrap();
            let collection = store.collection("c").unwrap();
            let shown = |document: container_core::Result<Document<'_>>| match document {
                Ok(document) => format!("{} {:?} {}", document.id(), document.offset(), document.text().unwrap()),
                Err(error) => error.to_string(),
            };
            let all: Vec<_> = collection.documents().unwrap().map(shown).collect();
            let some: Vec<_> = collection.documents_in(4..13).unwrap().map(shown).collect();
            (all, some)
        };
        let (mut data, mut good) = (String::new(), Vec::new());
        for n in 0..16 {
            let text = if n % 4 == 3 { "\n".to_owned() } else { line(n) };
            good.push((data.len(), text.len() - n % 2));
            data += &text;
        }
        let mut failed = 0;
        for n in 0..16 {
            let (offset, length) = good[n];
            for lie in [
                (offset, length),
                (offset, length + 1),
                (offset, 0),
                (offset + 1, length),
                (offset.saturating_sub(1), length),
                (offset.saturating_sub(1), 0),
                (good[n.saturating_sub(1)].0, 0),
                good[(n + 1).min(15)],
                (offset, length + 12),
            ] {
                let mut entries = good.clone();
                entries[n] = lie;
                let found = walk(&data, &entries, Access::Auto);
                assert_eq!(found, walk(&data, &entries, Access::Positional), "{n} {lie:?}");
                failed += usize::from(found.0.last().unwrap().starts_with("zds"));
            }
        }
        assert!(failed > 40, "{failed}");
    }
}
