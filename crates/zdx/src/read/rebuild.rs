//! Rebuilds index entries by scanning the documents.

use std::ops::Range;
use std::thread;

use container_core::{Bytes, Error, Limits, Result, Source, zeroed_vec};

use crate::wire::index::{ENTRY_OVERHEAD, Entry, HEADER_LEN, header, put};
use crate::wire::lines::{Line, lines_from};

mod block;

/// Bytes read at once, at least, from data that are not in memory.
const WINDOW: u64 = 32 << 20;

/// Minimum bytes per thread.
const MIN_PART: usize = 1 << 20;

/// Minimum bytes of a block of lines, which are parsed together if all are plain.
const MIN_BLOCK: usize = 16 << 10;

/// For indexes of fewer bytes, allocation does not matter.
const MIN_FRESH: usize = 4 << 20;

/// Allocations of fewer bytes may reuse freed memory, which one thread would have to zero, in small pages. Larger ones are fresh from the
/// system, and pages that are never touched cost nothing.
const FRESH_ALLOCATION: usize = 32 << 20;

/// Result of scanning lines.
#[derive(Debug, Default)]
pub(crate) struct ScannedLines {
    /// Index entries in the order of the lines, preceded by space for the header; empty if nothing was scanned.
    index: Vec<u8>,
    /// Number of entries.
    pub(crate) documents: u64,
    /// Lines that are not documents, and the first of them.
    pub(crate) skipped_lines: u64,
    first: Option<Range<u64>>,
    /// Offset of the last line if it has no line feed and is not a whole document.
    pub(crate) torn: Option<u64>,
    /// Error of the first line above the limit.
    too_long: Option<Error>,
}

impl ScannedLines {
    /// Why the first skipped line is not a document.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the data.
    pub(crate) fn first_problem(&self, data: &Source, limits: &Limits) -> Result<Option<Error>> {
        let Some(range) = self.first.clone() else { return Ok(None) };
        let before = lines_before(data, range.start)?;
        let bytes = data.read(range.clone())?;
        let line = lines_from(&bytes, range.start, before).next();
        Ok(line.and_then(|line| document_id(&line, limits).err()))
    }

    fn within_limits(mut self) -> Result<Self> {
        self.too_long.take().map_or(Ok(self), Err)
    }

    /// The entries as an index file.
    pub(crate) fn into_index(mut self) -> Bytes {
        let header = header(self.documents);
        match self.index.first_chunk_mut() {
            Some(space) => *space = header,
            None => self.index.extend_from_slice(&header),
        }
        self.index.into()
    }

    /// The entries without the header.
    fn entries(&self) -> &[u8] {
        self.index.get(HEADER_LEN..).unwrap_or_default()
    }

    /// Length of the index in bytes.
    pub(crate) fn index_bytes(&self) -> usize {
        HEADER_LEN + self.entries().len()
    }

    /// Appends the results of the following lines, scanned in parts. Each part is copied by a thread of its own.
    fn add(&mut self, mut parts: Vec<Self>) {
        for part in &mut parts {
            self.documents += part.documents;
            self.skipped_lines += part.skipped_lines;
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
        let begin = self.index.len().max(HEADER_LEN);
        let all = begin + parts.iter().map(|part| part.entries().len()).sum::<usize>();
        if self.index.is_empty() {
            let capacity = if all < MIN_FRESH { all } else { all.max(FRESH_ALLOCATION) };
            self.index = zeroed_vec(capacity).unwrap_or_default();
        }
        self.index.resize(all, 0);
        let mut rest = self.index.get_mut(begin..).unwrap_or_default();
        thread::scope(|scope| {
            for part in parts {
                let Some((space, behind)) = std::mem::take(&mut rest).split_at_mut_checked(part.entries().len()) else {
                    break;
                };
                rest = behind;
                let mut copy = move || space.copy_from_slice(part.entries());
                match rest.is_empty() {
                    true => copy(),
                    false => drop(scope.spawn(copy)),
                }
            }
        });
    }

    fn line(&mut self, line: &Line<'_>, limits: &Limits) {
        let put = |id: &[u8], length, out: &mut Vec<u8>| put(&Entry { id, offset: line.offset, length }, out);
        let added = checked_line_length(line.end - line.offset, limits).and_then(|length| match line.plain_id() {
            Some(id) if line.is_ended => put(id.as_bytes(), length, &mut self.index),
            _ => document_id(line, limits).and_then(|id| put(id.as_bytes(), length, &mut self.index)),
        });
        match added {
            Ok(()) => self.documents += 1,
            // It may be a valid document, so it is neither skipped nor cut off as torn.
            Err(error) if checked_line_length(line.end - line.offset, limits).is_err() => {
                self.too_long.get_or_insert(error.at(line.offset));
            }
            Err(_) if !line.is_ended => self.torn = Some(line.offset),
            Err(_) => {
                self.skipped_lines += 1;
                self.first.get_or_insert(line.offset..line.end);
            }
        }
    }
}

/// Checks the length of a line, including its line feed, as stored in its index entry.
///
/// # Errors
/// [`Limit`](container_core::ErrorKind::Limit) above the limit for readers.
pub(crate) fn checked_line_length(length: u64, limits: &Limits) -> Result<u32> {
    const WHAT: &str = "the length of a line";
    limits.check_block(WHAT, length)?;
    u32::try_from(length).map_err(|_| Error::limit(WHAT, length, u32::MAX.into()))
}

/// The id of the document in a line; errors have byte and line.
pub(crate) fn document_id<'l>(line: &Line<'l>, limits: &Limits) -> Result<std::borrow::Cow<'l, str>> {
    let placed = |error: Error| error.at(line.offset).in_line(line.number);
    checked_line_length(line.end - line.offset, limits).map_err(placed)?;
    let id = line.scan()?.into_id().ok_or_else(|| placed(Error::invalid("the document has no \"_id\"")))?;
    match id.len() {
        0 => Err(placed(Error::invalid("the id is empty"))),
        len if len > u16::MAX.into() => Err(placed(Error::limit("the length of an id", len as u64, u16::MAX.into()))),
        _ => Ok(id),
    }
}

/// Number of lines before an offset at which a line begins.
pub(crate) fn lines_before(data: &Source, end: u64) -> Result<u64> {
    let (mut at, mut count, mut buffer) = (0, 0u64, Vec::new());
    while at < end {
        let window = at..end.min(at + WINDOW);
        at = window.end;
        count += memchr::memchr_iter(b'\n', data.view(window, &mut buffer)?).count() as u64;
    }
    Ok(count)
}

/// Scans all lines from an offset at which a line begins. Uses all available threads if `threads` is 0.
///
/// # Errors
/// [`Io`](container_core::ErrorKind::Io) of the data; [`Limit`](container_core::ErrorKind::Limit) for a line above the limit.
pub(crate) fn scan_lines(data: &Source, from: u64, threads: usize, limits: Limits) -> Result<ScannedLines> {
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let mut scanned = ScannedLines::default();
    if let Some(all) = data.as_slice() {
        let rest = usize::try_from(from).ok().and_then(|from| all.get(from..)).unwrap_or_default();
        scanned.add(scan_parts(rest, from, threads, &limits));
        return scanned.within_limits();
    }
    let mut at = from;
    while at < data.len() {
        let window = read_lines(data, at, limits)?;
        scanned.add(scan_parts(&window, at, threads, &limits));
        at += window.len() as u64;
    }
    scanned.within_limits()
}

/// Reads the next whole lines: as many as fit into a window, at least one.
pub(crate) fn read_lines(data: &Source, at: u64, limits: Limits) -> Result<Bytes> {
    let mut wanted_len = WINDOW;
    loop {
        let end = data.len().min(at.saturating_add(wanted_len));
        let window = data.read(at..end)?;
        if end == data.len() {
            return Ok(window);
        }
        if let Some(feed) = memchr::memrchr(b'\n', &window) {
            return Ok(window.slice(..=feed));
        }
        limits.check_block("the length of a line", wanted_len).map_err(|error| error.at(at))?;
        // Just enough to find out that the line is too long.
        wanted_len =
            wanted_len.saturating_mul(2).min(limits.block_bytes.saturating_add(1)).max(wanted_len.saturating_add(1));
    }
}

/// Scans lines in parts, one per thread.
fn scan_parts(bytes: &[u8], offset: u64, threads: usize, limits: &Limits) -> Vec<ScannedLines> {
    let each = bytes.len().div_ceil(threads.max(1)).max(MIN_PART);
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
            parts.into_iter().map(|(part, at)| scope.spawn(move || scan_part(part, at, limits))).collect();
        let last = last.map(|(part, at)| scan_part(part, at, limits));
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        others.chain(last).collect()
    })
}

fn scan_part(bytes: &[u8], offset: u64, limits: &Limits) -> ScannedLines {
    // Capacity estimated from the length of the first line.
    let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1).max(64);
    let mut index = zeroed_vec(HEADER_LEN + bytes.len() / line * (ENTRY_OVERHEAD + 16)).unwrap_or_default();
    index.truncate(HEADER_LEN);
    index.resize(HEADER_LEN, 0);
    let mut scanned = ScannedLines { index, ..ScannedLines::default() };
    let (mut rest, mut at) = (bytes, offset);
    while !rest.is_empty() {
        let end = rest
            .get(MIN_BLOCK..)
            .and_then(|behind| memchr::memchr(b'\n', behind))
            .map_or(rest.len(), |feed| MIN_BLOCK + feed + 1);
        let (block, behind) = rest.split_at(end);
        // A longer block may contain a line above the limit.
        let may_be_plain = block.len() as u64 <= limits.block_bytes;
        match may_be_plain.then(|| block::plain_entries(block, at, &mut scanned.index)).flatten() {
            Some(count) => scanned.documents += count,
            None => lines_from(block, at, 0).for_each(|line| scanned.line(&line, limits)),
        }
        (rest, at) = (behind, at + block.len() as u64);
    }
    scanned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::index::{Index, header};

    fn entries(scanned: &ScannedLines) -> Vec<(String, u64, u32)> {
        let file = [&header(scanned.documents)[..], scanned.entries()].concat();
        let index = Index::parse(&file).unwrap();
        let entries = index.entries().map(Result::unwrap);
        entries.map(|entry| (String::from_utf8(entry.id.to_vec()).unwrap(), entry.offset, entry.length)).collect()
    }

    fn scan_all(text: &[u8], threads: usize) -> ScannedLines {
        scan_lines(&Source::from(text.to_vec()), 0, threads, Limits::default()).unwrap()
    }

    #[test]
    fn yields_an_entry_per_document() {
        let text = concat!(
            "\u{feff}{\"_id\":\"a\",\"x\":1}\n",
            "\n",
            "{\"x\":{\"_id\":\"no\"},\"_id\":\"b\"}\r\n",
            "{\"x\":1}\n",
            "not json\n",
            "{\"_id\":\"\"}\n",
            "{\"_id\" : \"\\u0063\"}",
        );
        let scanned = scan_all(text.as_bytes(), 1);
        let expected = [("a".to_owned(), 3, 18), ("b".to_owned(), 22, 30), ("c".to_owned(), 80, 18)];
        assert_eq!(entries(&scanned), expected);
        assert_eq!((scanned.skipped_lines, scanned.torn), (3, None));
        let problem =
            scanned.first_problem(&Source::from(text.as_bytes().to_vec()), &Limits::default()).unwrap().unwrap();
        assert_eq!(problem.to_string(), "the document has no \"_id\" (byte 52, line 4)");
    }

    #[test]
    fn reports_torn_end_but_reads_last_line_without_line_feed() {
        for (text, torn) in [
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\",\"x\":", Some(12)),
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\"", Some(12)),
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\"}", None),
            ("{\"_id\":\"a\"}\n  ", None),
        ] {
            let scanned = scan_all(text.as_bytes(), 1);
            assert_eq!(scanned.torn, torn, "{text}");
            assert_eq!(scanned.skipped_lines, 0);
        }
    }

    #[test]
    fn fast_and_slow_parsing_agree() {
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
            for at in [0, 1, 700, 2999] {
                let line = |n| match n == at {
                    true => format!("{other}\n"),
                    false => format!("{{\"_id\":\"d-{n}\",\"x\":1}}\n"),
                };
                let text: String = (0..3000).map(line).collect();
                let mut slow = ScannedLines { index: vec![0; HEADER_LEN], ..ScannedLines::default() };
                lines_from(text.as_bytes(), 5, 0).for_each(|line| slow.line(&line, &Limits::default()));
                let fast = scan_part(text.as_bytes(), 5, &Limits::default());
                assert!(fast.entries() == slow.entries(), "{other} {at}");
                let summary = |scanned: &ScannedLines| {
                    (scanned.documents, scanned.skipped_lines, scanned.first.clone(), scanned.torn)
                };
                assert_eq!(summary(&fast), summary(&slow), "{other} {at}");
            }
        }
    }

    #[test]
    fn result_does_not_depend_on_threads_or_windows() {
        let mut text = String::new();
        for n in 0..60_000 {
            text += &format!("{{\"_id\":\"doc-{n}\",\"text\":\"{}\"}}\n", "x".repeat(n % 100));
            if n % 7777 == 0 {
                text += "broken\n";
            }
        }
        let one = scan_all(text.as_bytes(), 1);
        assert_eq!((one.documents, one.skipped_lines), (60_000, 8));
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let file = Source::from_file(file).unwrap();
        let others = [
            scan_all(text.as_bytes(), 3),
            scan_all(text.as_bytes(), 16),
            scan_lines(&file, 0, 2, Limits::default()).unwrap(),
        ];
        for other in others {
            assert!(one.entries() == other.entries());
            assert_eq!(
                (one.documents, one.skipped_lines, &one.first),
                (other.documents, other.skipped_lines, &other.first)
            );
        }
        let tail = scan_lines(&file, one.first.clone().unwrap().end, 1, Limits::default()).unwrap();
        assert_eq!((tail.documents, tail.skipped_lines), (59_999, 7));
        assert_eq!(lines_before(&file, one.first.unwrap().end).unwrap(), 2);
    }
}
