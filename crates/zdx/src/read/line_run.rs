//! Runs of adjacent lines, which are validated together: one pass over the bytes, and few instructions per line.

use crate::read::offsets::LineRef;

/// Bytes validated together. Small enough to stay in the L1 cache until the lines are returned: with 16 KiB, iteration takes a third longer.
const MAX_BYTES: u64 = 4 << 10;

/// Runs of fewer lines are validated line by line.
const MIN_LINES: usize = 3;

/// Validates the longest run of adjacent lines at the start of `lines` and within `bytes`, the data from offset `start` on, with `max_bytes` at
/// most. Returns the lines of the run, none if it is invalid or too short, and how many lines were considered, at least one.
///
/// A run is valid if a line feed precedes the first line, each line ends with a line feed directly before the next line, and there are exactly
/// as many line feeds as lines, so that none is inside a line.
pub(crate) fn line_run<'l>(bytes: &[u8], start: u64, lines: &'l [LineRef], max_bytes: u64) -> (&'l [LineRef], usize) {
    let Some(first) = lines.first() else { return (&[], 1) };
    let until = first.offset.saturating_add(max_bytes.min(MAX_BYTES)).min(start.saturating_add(bytes.len() as u64));
    let in_run = |pair: &&[LineRef]| matches!(pair, [line, next] if next.offset <= until && are_adjacent(*line, *next));
    // The last line of the run ends where the next line begins, so that one is not part of the run.
    let count = lines.windows(2).take_while(in_run).count();
    let is_valid =
        count >= MIN_LINES && are_whole(bytes, start, lines.get(..=count).unwrap_or_default()).unwrap_or(false);
    (lines.get(..if is_valid { count } else { 0 }).unwrap_or_default(), count.max(1))
}

/// Whether `next` begins where `line` ends. The length may or may not count the line feed.
#[inline]
fn are_adjacent(line: LineRef, next: LineRef) -> bool {
    let distance = next.offset.wrapping_sub(line.offset);
    let length = u64::from(line.length);
    distance > 0 && (distance == length || distance == length + 1)
}

/// Whether these adjacent lines are whole. The last element is the line after the run.
fn are_whole(bytes: &[u8], start: u64, lines: &[LineRef]) -> Option<bool> {
    let (first, rest) = lines.split_first()?;
    let at = |line: &LineRef| usize::try_from(line.offset.checked_sub(start)?).ok();
    // Includes the line feed before the first line.
    let region = bytes.get(at(first)?.checked_sub(1)?..at(rest.last()?)?)?;
    if memchr::memchr_iter(b'\n', region).count() != lines.len() {
        return Some(false);
    }
    // No line precedes the first one: the subtraction cannot overflow.
    let follows_feed =
        |line: &LineRef| usize::try_from(line.offset - first.offset).ok().and_then(|at| region.get(at)) == Some(&b'\n');
    Some(lines.iter().fold(true, |all, line| all & follows_feed(line)))
}

/// A line of a [`line_run`], without its line ending. `bytes` are the data from offset `start` on.
#[inline]
pub(crate) fn line_in_run(bytes: &[u8], start: u64, line: LineRef) -> &[u8] {
    let range = usize::try_from(line.offset.wrapping_sub(start)).ok().zip(usize::try_from(line.length).ok());
    let line = range.and_then(|(start, length)| bytes.get(start..start.checked_add(length)?)).unwrap_or_default();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use container_core::{Access, OpenOptions, Source};

    use super::*;
    use crate::read::line::line_of;
    use crate::wire::index::{Entry, header, put};
    use crate::{Document, Store};

    fn line_ref(offset: usize, length: usize) -> LineRef {
        LineRef { offset: offset as u64, position: 0, length: u32::try_from(length).unwrap() }
    }

    /// All data are in memory.
    fn run<'l>(data: &[u8], lines: &'l [LineRef]) -> (&'l [LineRef], usize) {
        line_run(data, 0, lines, u64::MAX)
    }

    /// Data of a first line and `count` short ones, and references to the short ones; lengths alternately include the line feed.
    fn lines(count: usize) -> (Vec<u8>, Vec<LineRef>) {
        let (mut data, mut lines) = (b"first\n".to_vec(), Vec::new());
        for n in 0..count {
            let line = format!("{{\"n\":{n}}}{}\n", if n % 5 == 0 { "\r" } else { "" });
            lines.push(line_ref(data.len(), line.len() - n % 2));
            data.extend(line.bytes());
        }
        (data, lines)
    }

    #[test]
    fn validates_adjacent_lines_together() {
        let (data, all) = lines(40);
        let (valid, count) = run(&data, &all);
        assert_eq!((valid, count), (&all[..39], 39));
        for (n, line) in valid.iter().enumerate() {
            assert_eq!(line_in_run(&data, 0, *line), format!("{{\"n\":{n}}}").as_bytes());
        }
        assert_eq!(run(&data, &all[..8]), (&all[..7], 7));
        assert_eq!(run(&data, &all[..MIN_LINES]), (&[][..], MIN_LINES - 1));
        assert_eq!(run(&data, &all[..1]), (&[][..], 1));
        assert_eq!(run(&data, &[]), (&[][..], 1));
        // A new run begins after a line that is not indexed.
        let some = [&all[..10], &all[11..]].concat();
        assert_eq!(run(&data, &some), (&some[..9], 9));
        assert_eq!(run(&data, &some[9..]), (&[][..], 1));
        // A maximum of bytes.
        let bytes = all[7].offset - all[0].offset;
        assert_eq!(line_run(&data, 0, &all, bytes), (&all[..7], 7));
        assert_eq!(line_run(&data, 0, &all, bytes - 1), (&all[..6], 6));
        let (data, all) = lines(2000);
        let (valid, count) = run(&data, &all);
        assert!(valid.len() == count && count > 200 && count < 2000, "{count}");
    }

    #[test]
    fn validates_lines_in_part_of_the_data() {
        let (data, all) = lines(40);
        let at = |n: usize| usize::try_from(all[n].offset).unwrap();
        for (from, until, expected) in [
            (at(3) - 1, at(20), 17),
            (at(3) - 3, at(20) + 1, 17),
            (at(3) - 1, at(20) - 1, 16),
            (at(3) - 1, at(3 + MIN_LINES), MIN_LINES),
            (at(3) - 1, at(3 + MIN_LINES) - 1, 0),
            // Without the line feed before.
            (at(3), at(20), 0),
            (at(4), at(20), 0),
        ] {
            let part = &data[from..until];
            let (valid, _) = line_run(part, from as u64, &all[3..], u64::MAX);
            assert_eq!(valid, &all[3..3 + expected], "{from} {until}");
            for (n, line) in (3..).zip(valid) {
                assert_eq!(line_in_run(part, from as u64, *line), format!("{{\"n\":{n}}}").as_bytes());
            }
        }
    }

    #[test]
    fn rejects_runs_with_invalid_lines() {
        let (data, all) = lines(40);
        // A line feed within a line, one in place of the line's last byte, and a missing one.
        for (at, byte) in [(1, b'\n'), (6, b'\n'), (-1, b' ')] {
            let mut data = data.clone();
            let start = usize::try_from(all[20].offset).unwrap();
            data[start.checked_add_signed(at).unwrap()] = byte;
            assert_eq!(run(&data, &all), (&[][..], 39), "{at}");
        }
        // The number of line feeds is right, but one has moved.
        let mut moved = data.clone();
        let end = usize::try_from(all[21].offset).unwrap();
        moved.swap(end - 1, end - 3);
        assert!(run(&moved, &all).0.is_empty());
        let mut first = data.clone();
        first[5] = b' ';
        assert!(run(&first, &all).0.is_empty());
        assert!(run(&data[..30], &all).0.is_empty());
        let far = [
            line_ref(usize::MAX - 3, 9),
            line_ref(usize::MAX - 1, 1),
            line_ref(usize::MAX, 1),
            line_ref(usize::MAX, 0),
        ];
        assert!(run(&data, &far).0.is_empty());
        let same = [all[3], all[3], all[3], all[3], all[4]];
        assert!(run(&data, &same).0.is_empty());
    }

    #[test]
    fn every_line_of_a_run_is_valid_alone() {
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let mut in_runs = 0;
        for _ in 0..60_000 {
            let data: Vec<u8> = (0..24).map(|_| b"xx\r\n\n"[next(5)]).collect();
            let mut at = next(4);
            let mut lines = Vec::new();
            for _ in 0..6 {
                let feed = data.get(at..).and_then(|rest| memchr::memchr(b'\n', rest));
                let length = if next(12) == 0 { next(5) } else { feed.map_or(0, |feed| feed + next(2)) };
                lines.push(line_ref(at, length));
                at = if next(12) == 0 { at + next(3) } else { feed.map_or(at, |feed| at + feed + 1) };
            }
            let (valid, _) = run(&data, &lines);
            in_runs += valid.len();
            let source = Source::from(data.clone());
            let mut end = 0;
            for line in valid {
                let alone = line_of(&data, &source, line.offset, line.length).unwrap();
                assert_eq!(&*alone, line_in_run(&data, 0, *line), "{data:?} {valid:?}");
                assert!(line.offset >= end);
                end = line.offset + u64::from(line.length).max(1);
            }
        }
        assert!(in_runs > 1000, "{in_runs}");
    }

    #[test]
    fn iteration_agrees_with_and_without_runs() {
        let folder = tempfile::tempdir().unwrap();
        let meta = folder.path().join("collections/c/meta");
        std::fs::create_dir_all(&meta).unwrap();
        let json = |n: usize| format!("{{\"_id\":\"{n}\"}}\n");
        let iterate = |data: &str, entries: &[(usize, usize)], access| {
            let mut index = header(entries.len() as u64).to_vec();
            for (n, (offset, length)) in entries.iter().enumerate() {
                let (offset, length) = (*offset as u64, u32::try_from(*length).unwrap());
                put(&Entry { id: n.to_string().as_bytes(), offset, length }, &mut index).unwrap();
            }
            std::fs::write(meta.join("data.jsonl"), data).unwrap();
            std::fs::write(meta.join("index.bin"), index).unwrap();
            let store = Store::open_with(folder.path(), OpenOptions::default().with_access(access)).unwrap();
            let collection = store.collection("c").unwrap();
            let show = |document: container_core::Result<Document<'_>>| match document {
                Ok(document) => format!("{} {:?} {}", document.id(), document.offset(), document.text().unwrap()),
                Err(error) => error.to_string(),
            };
            let iterate = |rows| {
                let documents = collection.documents_in(rows).unwrap();
                let without: Vec<_> = documents.clone().without_runs().map(show).collect();
                assert_eq!(documents.clone().map(show).collect::<Vec<_>>(), without);
                let (mut documents, mut borrowed) = (documents, Vec::new());
                while let Some(document) = documents.try_next().transpose() {
                    borrowed.push(show(document));
                }
                assert_eq!(borrowed, without);
                without
            };
            (iterate(0..u64::MAX), iterate(4..13))
        };
        let (mut data, mut good) = (String::new(), Vec::new());
        for n in 0..16 {
            let text = if n % 4 == 3 { "\n".to_owned() } else { json(n) };
            good.push((data.len(), text.len() - n % 2));
            data += &text;
        }
        let mut failed = 0;
        for n in 0..16 {
            let (offset, length) = good[n];
            for entry in [
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
                entries[n] = entry;
                let in_memory = iterate(&data, &entries, Access::Auto);
                assert_eq!(in_memory, iterate(&data, &entries, Access::Positional), "{n} {entry:?}");
                failed += usize::from(in_memory.0.last().unwrap().starts_with("zds"));
            }
        }
        assert!(failed > 40, "{failed}");
    }
}
