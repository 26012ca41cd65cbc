//! The line that an index entry points at, and the check that it is one.

use std::ops::{Deref, Range};

use container_core::{Bytes, Error, Limits, Result, Source};

use crate::wire::json;
use crate::wire::lines::BYTE_ORDER_MARK;

/// Bytes borrowed from a mapped file or memory, or a shared buffer.
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

/// Start and end of a line within its buffer, without the line ending.
type LineBounds = Range<usize>;

/// The line of an index entry.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated) if it reaches past the end of the data, [`Invalid`](container_core::ErrorKind::Invalid)
/// if it is not exactly one line.
#[inline]
pub(crate) fn line(data: &Source, offset: u64, length: u32) -> Result<Raw<'_>> {
    match data.as_slice() {
        Some(bytes) => line_of(bytes, data, offset, length),
        None => read_line(data, offset, length),
    }
}

/// The line of an index entry, in data that are in memory.
///
/// # Errors
/// As [`line`].
#[inline]
pub(crate) fn line_of<'b>(bytes: &'b [u8], data: &Source, offset: u64, length: u32) -> Result<Raw<'b>> {
    let bounds = usize::try_from(offset).ok().and_then(|start| line_bounds(bytes, 0, true, start, length));
    match bounds {
        Some(bounds) => Ok(Raw::Borrowed(bytes.get(bounds).unwrap_or_default())),
        None => document_after_torn(data, offset, length),
    }
}

/// Checks an entry before its line is read into memory: it must lie within the data and the limits.
///
/// # Errors
/// [`Truncated`](container_core::ErrorKind::Truncated) and [`Limit`](container_core::ErrorKind::Limit).
pub(crate) fn check_read(data: &Source, offset: u64, length: u32, limits: &Limits) -> Result<()> {
    if offset.saturating_add(length.into()) > data.len() {
        return Err(invalid_line(data, offset, length));
    }
    limits.check_block("the length of a line", length.into()).map_err(|error| error.at(offset))
}

fn read_line(data: &Source, offset: u64, length: u32) -> Result<Raw<'static>> {
    if offset.saturating_add(length.into()) > data.len() {
        return Err(invalid_line(data, offset, length));
    }
    let range = surroundings(data.len(), offset, length);
    let bytes = data.read(range.clone())?;
    match line_in(&bytes, range.start, range.end == data.len(), offset, length) {
        Some(bounds) => Ok(Raw::Shared(bytes.slice(bounds))),
        None => document_after_torn(data, offset, length),
    }
}

/// The range that [`line_in`] needs for a line in data of `len` bytes: three bytes more before it, for a byte order mark, and two after it.
#[inline]
pub(crate) fn surroundings(len: u64, offset: u64, length: u32) -> Range<u64> {
    let end = offset.saturating_add(length.into()).saturating_add(2).min(len);
    offset.saturating_sub(BYTE_ORDER_MARK.len() as u64).min(end)..end
}

/// The bounds of the line within `part` of the data, which begins at `from` and reaches their end if `is_last`. The part must include the
/// [`surroundings`] of the line.
pub(crate) fn line_in(part: &[u8], from: u64, is_last: bool, offset: u64, length: u32) -> Option<LineBounds> {
    line_bounds(part, from, is_last, usize::try_from(offset.checked_sub(from)?).ok()?, length)
}

/// The bounds of the line at `start`, without its line ending; `None` if it is not a whole line.
#[inline]
fn line_bounds(bytes: &[u8], from: u64, is_last: bool, start: usize, length: u32) -> Option<LineBounds> {
    let length = usize::try_from(length).ok()?;
    let stated = bytes.get(start..start.checked_add(length)?)?;
    // A line begins after a line feed, at offset 0, or after a byte order mark there.
    let before = bytes.get(..start)?;
    if before.last() != Some(&b'\n') && (from > 0 || !before.is_empty() && before != BYTE_ORDER_MARK) {
        return None;
    }
    let end = match memchr::memchr(b'\n', stated) {
        // The length counts the line feed.
        Some(feed) if feed + 1 == length => feed,
        Some(_) => return None,
        // The length does not count the line ending, or the last line has none.
        None => match bytes.get(start + length..)? {
            [b'\n', ..] | [b'\r', b'\n', ..] => length,
            [] if is_last => length,
            _ => return None,
        },
    };
    let line = stated.get(..end)?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let has_mark = from == 0 && start == 0 && line.starts_with(BYTE_ORDER_MARK);
    let mark_len = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
    Some(start + mark_len..start + line.len())
}

/// A document that follows a torn one on the same line: killed while writing a long line, the reference later appends without a line feed. It
/// is distinguished from a fragment by being a whole object with an `_id` that ends the line. (After a nested object, the outer one still has to end.)
#[cold]
fn document_after_torn(data: &Source, offset: u64, length: u32) -> Result<Raw<'static>> {
    let end = offset.saturating_add(length.into());
    if end <= data.len() && offset > 0 {
        let stated = data.read(offset..end)?;
        let object = stated.strip_suffix(b"\n").unwrap_or(&stated);
        let object = object.strip_suffix(b"\r").unwrap_or(object);
        let ends_the_line = stated.ends_with(b"\n")
            || matches!(&*data.read(end..data.len().min(end + 2))?, [] | [b'\n', ..] | [b'\r', b'\n']);
        if ends_the_line && !object.contains(&b'\n') && json::scan(object).is_ok_and(|scanned| scanned.id().is_some()) {
            return Ok(Raw::Shared(stated.slice(..object.len())));
        }
    }
    Err(invalid_line(data, offset, length))
}

/// The error for an entry that does not point at a line.
#[cold]
fn invalid_line(data: &Source, offset: u64, length: u32) -> Error {
    let end = offset.saturating_add(length.into());
    if end > data.len() {
        let available = data.len().saturating_sub(offset);
        return Error::truncated("the line of an index entry", length.into(), available).at(offset);
    }
    let of = |range| data.read(range).unwrap_or_default();
    let begins = offset == 0
        || of(offset - 1..offset).ends_with(b"\n")
        || offset == BYTE_ORDER_MARK.len() as u64 && of(0..offset) == BYTE_ORDER_MARK;
    let line = of(offset..end);
    let problem = if !begins {
        "not the start of a line"
    } else if memchr::memchr(b'\n', &line).is_some_and(|feed| feed + 1 < line.len()) {
        "more than one line"
    } else {
        "not the end of a line"
    };
    Error::invalid(format!("the index entry points at bytes {offset} to {end}: {problem}")).at(offset)
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
    fn accepts_lengths_with_and_without_line_ending() {
        for data in sources() {
            for (offset, length, expected) in [
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
                assert_eq!(String::from_utf8_lossy(&found), expected, "{offset} {length}");
            }
        }
    }

    #[test]
    fn reads_document_after_torn_one() {
        const TORN: &[u8] = b"{\"_id\":\"a\",\"x\":\"ab{\"_id\":\"b\"}\r\n{\"_id\":\"c\",\"d\":{\"_id\":\"e\"}}\n{\"_id\":\"f\"}{\"_id\":\"g\"}";
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, TORN).unwrap();
        for data in [Source::from(TORN), Source::from_file(file).unwrap()] {
            for (offset, length, id) in [(18, 13, "b"), (18, 12, "b"), (18, 11, "b"), (70, 11, "g")] {
                let found = line(&data, offset, length).unwrap();
                assert_eq!(String::from_utf8_lossy(&found), format!("{{\"_id\":\"{id}\"}}"), "{offset} {length}");
            }
            // Rejects fragments, wherever they begin, and objects without an end or an id.
            for (offset, length) in [(46, 11), (46, 12), (46, 13), (59, 11), (33, 25), (16, 15), (8, 3)] {
                assert!(line(&data, offset, length).is_err(), "{offset} {length}");
            }
        }
    }

    #[test]
    fn rejects_ranges_that_are_not_lines() {
        for data in sources() {
            for (offset, length, expected) in [
                (12, 8, "the index entry points at bytes 12 to 20: not the start of a line (byte 12)"),
                (1, 10, "the index entry points at bytes 1 to 11: not the start of a line (byte 1)"),
                (3, 17, "the index entry points at bytes 3 to 20: more than one line (byte 3)"),
                (11, 5, "the index entry points at bytes 11 to 16: not the end of a line (byte 11)"),
                (11, 0, "the index entry points at bytes 11 to 11: not the end of a line (byte 11)"),
                (21, 8, "the line of an index entry: needs 8 bytes, 7 available (byte 21)"),
                (
                    u64::MAX,
                    u32::MAX,
                    "the line of an index entry: needs 4294967295 bytes, 0 available (byte 18446744073709551615)",
                ),
            ] {
                assert_eq!(line(&data, offset, length).unwrap_err().to_string(), expected);
            }
        }
    }
}
