//! The entries of an index out of the documents themselves.

use std::ops::Range;
use std::thread;

use container_core::{Bytes, Error, Limits, Result, Source, zeroed_vec};

use crate::wire::index::{AROUND, Entry, HEAD, head, put};
use crate::wire::lines::{Line, lines_from};

mod block;

/// What of data that are not in memory is read at once, at least.
const WINDOW: u64 = 32 << 20;

/// Parts of data of fewer bytes are not divided among threads.
const SMALL: usize = 1 << 20;

/// Lines of so many bytes are looked at together, at least.
const BLOCK: usize = 16 << 10;

/// Below so many bytes of an index it does not matter where its memory comes from.
const LARGE: usize = 4 << 20;

/// Of fewer bytes an allocator takes what was used before, if there is such: then one thread writes all the zeros, and gets small pages for them.
/// So that many are asked for, and those that are too much are never touched.
const FRESH: usize = 32 << 20;

/// What a walk over lines found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Entries of an index, one behind the other, in the order of the lines; in front of them room for its head, where there are any.
    index: Vec<u8>,
    /// How many.
    pub(crate) documents: u64,
    /// Lines that are no documents, and the first of them.
    pub(crate) passed_over: u64,
    first: Option<Range<u64>>,
    /// Where the last line begins, if it has no line feed and is not whole.
    pub(crate) torn: Option<u64>,
    /// The first line above the limit.
    too_long: Option<Error>,
}

impl Walked {
    /// What is wrong with the first of the lines that are no documents.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the data.
    pub(crate) fn first_problem(&self, data: &Source, limits: &Limits) -> Result<Option<Error>> {
        let Some(place) = self.first.clone() else { return Ok(None) };
        let before = lines_before(data, place.start)?;
        let bytes = data.read(place.clone())?;
        let line = lines_from(&bytes, place.start, before).next();
        Ok(line.and_then(|line| id_of(&line, limits).err()))
    }

    fn within_limits(mut self) -> Result<Self> {
        self.too_long.take().map_or(Ok(self), Err)
    }

    /// The entries as a whole index.
    pub(crate) fn into_index(mut self) -> Bytes {
        let head = head(self.documents);
        match self.index.first_chunk_mut() {
            Some(room) => *room = head,
            None => self.index.extend_from_slice(&head),
        }
        self.index.into()
    }

    /// The entries alone.
    fn entries(&self) -> &[u8] {
        self.index.get(HEAD..).unwrap_or_default()
    }

    /// Bytes of the index.
    pub(crate) fn index_bytes(&self) -> usize {
        HEAD + self.entries().len()
    }

    /// Adds what was found behind. The entries come from several threads: they are joined by as many.
    fn add(&mut self, mut parts: Vec<Self>) {
        for part in &mut parts {
            self.documents += part.documents;
            self.passed_over += part.passed_over;
            self.first = self.first.take().or(part.first.take());
            self.torn = self.torn.or(part.torn);
            self.too_long = self.too_long.take().or(part.too_long.take());
        }
        parts.retain(|part| !part.entries().is_empty());
        if let [part] = &mut parts[..]
            && self.entries().is_empty()
        {
            self.index = std::mem::take(&mut part.index);
            return;
        }
        let begin = self.index.len().max(HEAD);
        let all = begin + parts.iter().map(|part| part.entries().len()).sum::<usize>();
        if self.index.is_empty() {
            let room = if all < LARGE { all } else { all.max(FRESH) };
            self.index = zeroed_vec(room).unwrap_or_default();
        }
        self.index.resize(all, 0);
        let mut rest = self.index.get_mut(begin..).unwrap_or_default();
        thread::scope(|scope| {
            for part in parts {
                let Some((room, behind)) = std::mem::take(&mut rest).split_at_mut_checked(part.entries().len()) else {
                    break;
                };
                rest = behind;
                let mut copy = move || room.copy_from_slice(part.entries());
                match rest.is_empty() {
                    true => copy(),
                    false => drop(scope.spawn(copy)),
                }
            }
        });
    }

    fn line(&mut self, line: &Line<'_>, limits: &Limits) {
        let put = |id: &[u8], length, out: &mut Vec<u8>| put(&Entry { id, offset: line.offset, length }, out);
        let found = line_bytes(line.end - line.offset, limits).and_then(|length| match line.plain_id() {
            Some(id) if line.is_ended => put(id.as_bytes(), length, &mut self.index),
            _ => id_of(line, limits).and_then(|id| put(id.as_bytes(), length, &mut self.index)),
        });
        match found {
            Ok(()) => self.documents += 1,
            // It may well be a document: it is neither passed over nor cut off as torn.
            Err(error) if line_bytes(line.end - line.offset, limits).is_err() => {
                self.too_long.get_or_insert(error.at(line.offset));
            }
            Err(_) if !line.is_ended => self.torn = Some(line.offset),
            Err(_) => {
                self.passed_over += 1;
                self.first.get_or_insert(line.offset..line.end);
            }
        }
    }
}

/// The length of a line with its line feed, as its entry states it.
///
/// # Errors
/// [`Limit`](container_core::ErrorKind::Limit) for one that readers do not take.
pub(crate) fn line_bytes(length: u64, limits: &Limits) -> Result<u32> {
    const WHAT: &str = "the length of a line";
    limits.check_block(WHAT, length)?;
    u32::try_from(length).map_err(|_| Error::limit(WHAT, length, u32::MAX.into()))
}

/// The id of a line's document, or what is wrong with it, with the byte and the line.
pub(crate) fn id_of<'l>(line: &Line<'l>, limits: &Limits) -> Result<std::borrow::Cow<'l, str>> {
    let placed = |error: Error| error.at(line.offset).in_line(line.number);
    line_bytes(line.end - line.offset, limits).map_err(placed)?;
    let id = line.scan()?.into_id().ok_or_else(|| placed(Error::invalid("the document has no \"_id\"")))?;
    match id.len() {
        0 => Err(placed(Error::invalid("the id is empty"))),
        len if len > u16::MAX.into() => Err(placed(Error::limit("the length of an id", len as u64, u16::MAX.into()))),
        _ => Ok(id),
    }
}

/// Lines in front of a byte, which begins one.
pub(crate) fn lines_before(data: &Source, end: u64) -> Result<u64> {
    let (mut at, mut count, mut buffer) = (0, 0u64, Vec::new());
    while at < end {
        let piece = at..end.min(at + WINDOW);
        at = piece.end;
        count += memchr::memchr_iter(b'\n', data.view(piece, &mut buffer)?).count() as u64;
    }
    Ok(count)
}

/// Walks over all lines from a byte on, with which one begins; with so many threads, 0 for as many as there are.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of the data; [`Limit`](container_core::ErrorKind::Limit) for a line above the limit.
pub(crate) fn walk(data: &Source, from: u64, threads: usize, limits: Limits) -> Result<Walked> {
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let mut walked = Walked::default();
    if let Some(all) = data.as_slice() {
        let rest = usize::try_from(from).ok().and_then(|from| all.get(from..)).unwrap_or_default();
        walked.add(part_by_part(rest, from, threads, &limits));
        return walked.within_limits();
    }
    let mut at = from;
    while at < data.len() {
        let window = whole_lines(data, at, limits)?;
        walked.add(part_by_part(&window, at, threads, &limits));
        at += window.len() as u64;
    }
    walked.within_limits()
}

/// The next lines, as many as a window holds, but at least one.
pub(crate) fn whole_lines(data: &Source, at: u64, limits: Limits) -> Result<Bytes> {
    let mut want = WINDOW;
    loop {
        let end = data.len().min(at.saturating_add(want));
        let window = data.read(at..end)?;
        if end == data.len() {
            return Ok(window);
        }
        if let Some(feed) = memchr::memrchr(b'\n', &window) {
            return Ok(window.slice(..=feed));
        }
        limits.check_block("the length of a line", want).map_err(|error| error.at(at))?;
        // No more than is needed to see that the line is too long.
        want = want.saturating_mul(2).min(limits.block_bytes.saturating_add(1)).max(want.saturating_add(1));
    }
}

/// Divides whole lines among threads.
fn part_by_part(bytes: &[u8], offset: u64, threads: usize, limits: &Limits) -> Vec<Walked> {
    let each = bytes.len().div_ceil(threads.max(1)).max(SMALL);
    let mut parts = Vec::new();
    let (mut rest, mut at) = (bytes, offset);
    while !rest.is_empty() {
        let end = rest
            .get(each..)
            .map_or(rest.len(), |behind| memchr::memchr(b'\n', behind).map_or(rest.len(), |feed| each + feed + 1));
        let (part, others) = rest.split_at(end);
        parts.push((part, at));
        (rest, at) = (others, at + part.len() as u64);
    }
    let last = parts.pop();
    thread::scope(|scope| {
        let others: Vec<_> =
            parts.into_iter().map(|(part, at)| scope.spawn(move || one_part(part, at, limits))).collect();
        let last = last.map(|(part, at)| one_part(part, at, limits));
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        others.chain(last).collect()
    })
}

fn one_part(bytes: &[u8], offset: u64, limits: &Limits) -> Walked {
    // A guess from the first line: of documents alike it is enough.
    let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1).max(64);
    let mut index = zeroed_vec(HEAD + bytes.len() / line * (AROUND + 16)).unwrap_or_default();
    index.truncate(HEAD);
    index.resize(HEAD, 0);
    let mut walked = Walked { index, ..Walked::default() };
    let (mut rest, mut at) = (bytes, offset);
    while !rest.is_empty() {
        let end = rest
            .get(BLOCK..)
            .and_then(|behind| memchr::memchr(b'\n', behind))
            .map_or(rest.len(), |feed| BLOCK + feed + 1);
        let (block, behind) = rest.split_at(end);
        // In a longer block a line may be too long.
        let may_be_plain = block.len() as u64 <= limits.block_bytes;
        match may_be_plain.then(|| block::plain_entries(block, at, &mut walked.index)).flatten() {
            Some(count) => walked.documents += count,
            None => lines_from(block, at, 0).for_each(|line| walked.line(&line, limits)),
        }
        (rest, at) = (behind, at + block.len() as u64);
    }
    walked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::index::{Index, head};

    fn entries(walked: &Walked) -> Vec<(String, u64, u32)> {
        let file = [&head(walked.documents)[..], walked.entries()].concat();
        let index = Index::parse(&file).unwrap();
        let entries = index.entries().map(Result::unwrap);
        entries.map(|entry| (String::from_utf8(entry.id.to_vec()).unwrap(), entry.offset, entry.length)).collect()
    }

    fn walk_all(text: &[u8], threads: usize) -> Walked {
        walk(&Source::from(text.to_vec()), 0, threads, Limits::default()).unwrap()
    }

    #[test]
    fn every_line_gives_its_entry() {
        let text = concat!(
            "\u{feff}{\"_id\":\"a\",\"x\":1}\n",
            "\n",
            "{\"x\":{\"_id\":\"no\"},\"_id\":\"b\"}\r\n",
            "{\"x\":1}\n",
            "not json\n",
            "{\"_id\":\"\"}\n",
            "{\"_id\" : \"\\u0063\"}",
        );
        let walked = walk_all(text.as_bytes(), 1);
        let wanted = [("a".to_owned(), 3, 18), ("b".to_owned(), 22, 30), ("c".to_owned(), 80, 18)];
        assert_eq!(entries(&walked), wanted);
        assert_eq!((walked.passed_over, walked.torn), (3, None));
        let problem =
            walked.first_problem(&Source::from(text.as_bytes().to_vec()), &Limits::default()).unwrap().unwrap();
        assert_eq!(problem.to_string(), "the document has no \"_id\" (byte 52, line 4)");
    }

    #[test]
    fn a_torn_end_is_told_and_a_whole_one_without_line_feed_is_read() {
        for (text, torn) in [
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\",\"x\":", Some(12)),
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\"", Some(12)),
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\"}", None),
            ("{\"_id\":\"a\"}\n  ", None),
        ] {
            let walked = walk_all(text.as_bytes(), 1);
            assert_eq!(walked.torn, torn, "{text}");
            assert_eq!(walked.passed_over, 0);
        }
    }

    #[test]
    fn blocks_of_plain_lines_and_others_agree() {
        let others = [
            r#"{"_id":"b","x":{"_id":"c"}}"#,
            r#"{"_id":"b","_id":"c"}"#,
            r#"{"_id":"b","\u005fid":"c"}"#,
            r#"{"_id":"b","_\u0069d":"c"}"#,
            r#"{"_id":"b","x":"_i"}"#,
            r#"{"_id":"x_id"}"#,
            r#"{"x":1,"_id":"b"}"#,
            r#"{"id":"b"}"#,
            r#"{"_id":""}"#,
            r#"{"_id":"b" }"#,
            "_i",
            "",
        ];
        for other in others {
            for place in [0, 1, 700, 2999] {
                let line = |n| match n == place {
                    true => format!("{other}\n"),
                    false => format!("{{\"_id\":\"d-{n}\",\"x\":1}}\n"),
                };
                let text: String = (0..3000).map(line).collect();
                let mut slow = Walked { index: vec![0; HEAD], ..Walked::default() };
                lines_from(text.as_bytes(), 5, 0).for_each(|line| slow.line(&line, &Limits::default()));
                let fast = one_part(text.as_bytes(), 5, &Limits::default());
                assert!(fast.entries() == slow.entries(), "{other} {place}");
                let known = |walked: &Walked| (walked.documents, walked.passed_over, walked.first.clone(), walked.torn);
                assert_eq!(known(&fast), known(&slow), "{other} {place}");
            }
        }
    }

    #[test]
    fn threads_windows_and_one_pass_agree() {
        let mut text = String::new();
        for n in 0..60_000 {
            text += &format!("{{\"_id\":\"doc-{n}\",\"text\":\"{}\"}}\n", "x".repeat(n % 100));
            if n % 7777 == 0 {
                text += "broken\n";
            }
        }
        let one = walk_all(text.as_bytes(), 1);
        assert_eq!((one.documents, one.passed_over), (60_000, 8));
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let file = Source::from_file(file).unwrap();
        let others = [
            walk_all(text.as_bytes(), 3),
            walk_all(text.as_bytes(), 16),
            walk(&file, 0, 2, Limits::default()).unwrap(),
        ];
        for other in others {
            assert!(one.entries() == other.entries());
            assert_eq!(
                (one.documents, one.passed_over, &one.first),
                (other.documents, other.passed_over, &other.first)
            );
        }
        let tail = walk(&file, one.first.clone().unwrap().end, 1, Limits::default()).unwrap();
        assert_eq!((tail.documents, tail.passed_over), (59_999, 7));
        assert_eq!(lines_before(&file, one.first.unwrap().end).unwrap(), 2);
    }
}
