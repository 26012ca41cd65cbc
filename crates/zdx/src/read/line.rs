//! The line that an entry of the index points at, checked for being one.

use std::ops::Deref;

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::wire::json;
use crate::wire::lines::BYTE_ORDER_MARK;

/// Bytes that lie in a mapped file or in memory, or were read.
#[derive(Debug, Clone)]
pub(crate) enum Raw<'a> {
    Borrowed(&'a [u8]),
    Shared(Bytes),
}

impl Deref for Raw<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Where a line begins and ends in bytes that hold it, without its line end.
type Ends = (usize, usize);

/// The line of an entry.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated) where it lies behind the end of the data, [`Invalid`](container_core::ErrorKind::Invalid)
/// where it is no whole line, or more than one.
#[inline]
pub(crate) fn line(data: &Source, offset: u64, length: u32) -> Result<Raw<'_>> {
    match data.as_slice() {
        Some(bytes) => line_of(bytes, data, offset, length),
        None => read_line(data, offset, length),
    }
}

/// The line of an entry in data that lie in memory.
///
/// # Errors
/// As [`line`].
#[inline]
pub(crate) fn line_of<'b>(bytes: &'b [u8], data: &Source, offset: u64, length: u32) -> Result<Raw<'b>> {
    let found = usize::try_from(offset).ok().and_then(|start| ends(bytes, start, length, start == 0, true));
    match found {
        Some((start, end)) => Ok(Raw::Borrowed(bytes.get(start..end).unwrap_or_default())),
        None => behind_torn(data, offset, length),
    }
}

/// Checks what is to be read into memory, before it is: that it is there, and not longer than is allowed.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated) and [`Limit`](container_core::ErrorKind::Limit).
pub(crate) fn check_read(data: &Source, offset: u64, length: u32, limits: &Limits) -> Result<()> {
    if offset.saturating_add(length.into()) > data.len() {
        return Err(wrong(data, offset, length));
    }
    limits.check_block("the length of a line", length.into()).map_err(|error| error.at(offset))
}

fn read_line(data: &Source, offset: u64, length: u32) -> Result<Raw<'static>> {
    let end = offset.saturating_add(length.into());
    if end > data.len() {
        return Err(wrong(data, offset, length));
    }
    let from = offset.saturating_sub(BYTE_ORDER_MARK.len() as u64);
    let until = data.len().min(end + 2);
    match line_in(&data.read(from..until)?, from, until == data.len(), offset, length) {
        Some(line) => Ok(line),
        None => behind_torn(data, offset, length),
    }
}

/// The line in a part of the data that begins at `from`, and ends with them if `is_last`: at least a byte order mark in front of the line
/// belongs to the part where there is one in the data, and two bytes behind it.
pub(crate) fn line_in(part: &Bytes, from: u64, is_last: bool, offset: u64, length: u32) -> Option<Raw<'static>> {
    let start = usize::try_from(offset.checked_sub(from)?).ok()?;
    let (start, end) = ends(part, start, length, offset == 0, is_last)?;
    Some(Raw::Shared(part.slice(start..end)))
}

/// Where the line begins and ends without its line end; nothing where it is no whole line.
#[inline]
fn ends(bytes: &[u8], start: usize, length: u32, is_first: bool, is_last: bool) -> Option<Ends> {
    let length = usize::try_from(length).ok()?;
    let given = bytes.get(start..start.checked_add(length)?)?;
    // A line begins behind a line feed, at the beginning, and behind the mark that may stand there.
    let before = bytes.get(..start)?;
    if !is_first && before.last() != Some(&b'\n') && before != BYTE_ORDER_MARK {
        return None;
    }
    let end = match memchr::memchr(b'\n', given) {
        // The line feed is the last one of what is given.
        Some(feed) if feed + 1 == length => feed,
        Some(_) => return None,
        // Or it was not counted, or there is none behind the last line.
        None => match bytes.get(start + length..)? {
            [b'\n', ..] | [b'\r', b'\n', ..] => length,
            [] if is_last => length,
            _ => return None,
        },
    };
    let line = given.get(..end)?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let marked = if is_first && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    Some((start + marked, start + line.len()))
}

/// A document that stands behind what was left of another one in the same line: the reference, killed in the middle of a long line, goes on
/// behind it without a line feed. It is told from a part of a document by this: it is a whole object with an `_id`, and the line ends with
/// it. (An object inside of another has the other's end behind it.)
#[cold]
fn behind_torn(data: &Source, offset: u64, length: u32) -> Result<Raw<'static>> {
    let end = offset.saturating_add(length.into());
    if end <= data.len() && offset > 0 {
        let given = data.read(offset..end)?;
        let object = given.strip_suffix(b"\n").unwrap_or(&given);
        let object = object.strip_suffix(b"\r").unwrap_or(object);
        let ends_the_line = given.ends_with(b"\n")
            || matches!(&*data.read(end..data.len().min(end + 2))?, [] | [b'\n', ..] | [b'\r', b'\n']);
        if ends_the_line && !object.contains(&b'\n') && json::scan(object).is_ok_and(|scanned| scanned.id().is_some()) {
            return Ok(Raw::Shared(given.slice(..object.len())));
        }
    }
    Err(wrong(data, offset, length))
}

/// Why it is none.
#[cold]
fn wrong(data: &Source, offset: u64, length: u32) -> Error {
    let end = offset.saturating_add(length.into());
    if end > data.len() {
        let available = data.len().saturating_sub(offset);
        return Error::truncated("the line that the index names", length.into(), available).at(offset);
    }
    let of = |range| data.read(range).unwrap_or_default();
    let begins = offset == 0
        || of(offset - 1..offset).ends_with(b"\n")
        || offset == BYTE_ORDER_MARK.len() as u64 && of(0..offset) == BYTE_ORDER_MARK;
    let line = of(offset..end);
    let problem = if !begins {
        "it does not begin where a line does"
    } else if memchr::memchr(b'\n', &line).is_some_and(|feed| feed + 1 < line.len()) {
        "it holds more than one line"
    } else {
        "it ends within a line"
    };
    Error::invalid(format!("the index names bytes {offset} to {end} of the data: {problem}")).at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"\xef\xbb\xbf{\"a\":1}\n{\"b\":2}\r\n\n{\"c\":3}";

    fn sources() -> [Source; 2] {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, DATA).unwrap();
        [Source::from(DATA), Source::from_file(file).unwrap()]
    }

    #[test]
    fn a_line_is_found_with_and_without_its_end() {
        for data in sources() {
            for (offset, length, wanted) in [
                (3, 8, "{\"a\":1}"),
                (3, 7, "{\"a\":1}"),
                (0, 11, "{\"a\":1}"),
                (0, 10, "{\"a\":1}"),
                (11, 9, "{\"b\":2}"),
                (11, 8, "{\"b\":2}"),
                (11, 7, "{\"b\":2}"),
                (21, 7, "{\"c\":3}"),
                (20, 1, ""),
            ] {
                let found = line(&data, offset, length).unwrap();
                assert_eq!(String::from_utf8_lossy(&found), wanted, "{offset} {length}");
            }
        }
    }

    #[test]
    fn a_document_behind_a_torn_one_is_read() {
        const TORN: &[u8] = b"{\"_id\":\"a\",\"x\":\"ab{\"_id\":\"b\"}\r\n{\"_id\":\"c\",\"d\":{\"_id\":\"e\"}}\n{\"_id\":\"f\"}{\"_id\":\"g\"}";
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, TORN).unwrap();
        for data in [Source::from(TORN), Source::from_file(file).unwrap()] {
            for (offset, length, wanted) in [(18, 13, "b"), (18, 12, "b"), (18, 11, "b"), (70, 11, "g")] {
                let found = line(&data, offset, length).unwrap();
                assert_eq!(String::from_utf8_lossy(&found), format!("{{\"_id\":\"{wanted}\"}}"), "{offset} {length}");
            }
            // A part of a document is none, wherever it begins, and neither is what has no end or no id.
            for (offset, length) in [(46, 11), (46, 12), (46, 13), (59, 11), (33, 25), (16, 15), (8, 3)] {
                assert!(line(&data, offset, length).is_err(), "{offset} {length}");
            }
        }
    }

    #[test]
    fn what_is_no_line_is_told() {
        for data in sources() {
            for (offset, length, wanted) in [
                (12, 8, "the index names bytes 12 to 20 of the data: it does not begin where a line does (byte 12)"),
                (1, 10, "the index names bytes 1 to 11 of the data: it does not begin where a line does (byte 1)"),
                (3, 17, "the index names bytes 3 to 20 of the data: it holds more than one line (byte 3)"),
                (11, 5, "the index names bytes 11 to 16 of the data: it ends within a line (byte 11)"),
                (11, 0, "the index names bytes 11 to 11 of the data: it ends within a line (byte 11)"),
                (21, 8, "the line that the index names: needs 8 bytes, 7 available (byte 21)"),
                (
                    u64::MAX,
                    u32::MAX,
                    "the line that the index names: needs 4294967295 bytes, 0 available (byte 18446744073709551615)",
                ),
            ] {
                assert_eq!(line(&data, offset, length).unwrap_err().to_string(), wanted);
            }
        }
    }
}
