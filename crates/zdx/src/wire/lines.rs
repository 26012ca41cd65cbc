//! `data.jsonl`: one document per line.

use std::sync::LazyLock;

use container_core::Result;
use memchr::memmem::Finder;

use super::{id, json};

/// UTF-8 byte order mark, which some editors write at the start of a file.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Matches the end of a member name that may be `_id`. Static, because building the searcher takes longer than searching a line.
pub(crate) static ID_NAME_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_id\""));

/// Matches the start of an escape that may be a letter of `_id`.
pub(crate) static ESCAPE_START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// A non-empty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line<'b> {
    /// Contents, without LF or CR LF, and without a byte order mark.
    pub bytes: &'b [u8],
    /// File offset of `bytes`.
    pub offset: u64,
    /// File offset of the next line.
    pub end: u64,
    /// Line number, from 1, counting empty lines.
    pub number: u64,
    /// Whether a line feed ends it. The last line may have none, because it is torn or was written that way.
    pub is_ended: bool,
}

/// Iterator over the lines of a file. Skips empty lines and those of white space only.
#[derive(Debug, Clone)]
pub struct Lines<'b> {
    rest: &'b [u8],
    at: u64,
    number: u64,
}

/// Iterates over the lines of a file.
#[must_use]
pub const fn lines(bytes: &[u8]) -> Lines<'_> {
    lines_from(bytes, 0, 0)
}

/// Iterates over the lines of part of a file, which starts at a line's offset, after `before` lines.
#[must_use]
pub const fn lines_from(bytes: &[u8], offset: u64, before: u64) -> Lines<'_> {
    Lines { rest: bytes, at: offset, number: before }
}

impl<'b> Iterator for Lines<'b> {
    type Item = Line<'b>;

    fn next(&mut self) -> Option<Line<'b>> {
        while !self.rest.is_empty() {
            let feed = memchr::memchr(b'\n', self.rest);
            let (whole, rest) = self.rest.split_at(feed.map_or(self.rest.len(), |feed| feed + 1));
            let start = self.at;
            self.rest = rest;
            self.at += whole.len() as u64;
            self.number += 1;
            let bytes = whole.strip_suffix(b"\n").unwrap_or(whole);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let marked = bytes.strip_prefix(BYTE_ORDER_MARK).filter(|_| start == 0);
            let offset = start + marked.map_or(0, |_| BYTE_ORDER_MARK.len() as u64);
            let bytes = marked.unwrap_or(bytes);
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Some(Line { bytes, offset, end: self.at, number: self.number, is_ended: feed.is_some() });
        }
        None
    }
}

impl std::iter::FusedIterator for Lines<'_> {}

impl<'b> Line<'b> {
    /// The document's id, if it can be determined without scanning all tokens: the line begins with a plain `_id`, as the reference writes it or
    /// with a space after the colon, and cannot contain another one. The rest of the line may still be invalid JSON.
    #[must_use]
    pub fn plain_id(&self) -> Option<&'b str> {
        let (id, rest) = self.split_id()?;
        if ID_NAME_END.find(rest).is_some() || may_spell_id(rest) {
            return None;
        }
        std::str::from_utf8(id).ok()
    }

    /// The plain `_id` at the start of the line, without examining the rest.
    #[inline]
    pub(crate) fn begins_with_id(&self) -> Option<&'b [u8]> {
        self.split_id().map(|(id, _)| id)
    }

    /// The plain `_id` at the start of the line, and what follows its closing quote.
    #[inline]
    fn split_id(&self) -> Option<(&'b [u8], &'b [u8])> {
        let rest = self.bytes.strip_prefix(b"{\"_id\":")?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| !id::is_allowed(*byte))?;
        let (id, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix(b"\"").filter(|rest| matches!(rest.first(), Some(b',' | b'}')))?;
        (!id.is_empty()).then_some((id, rest))
    }

    /// Scans the line's tokens.
    ///
    /// # Errors
    /// As [`json::scan`], with file offset and line number.
    pub fn scan(&self) -> Result<json::Scanned<'b>> {
        json::scan(self.bytes).map_err(|error| error.shifted(self.offset).in_line(self.number))
    }
}

/// Whether an escape may be a letter of `_id`.
fn may_spell_id(bytes: &[u8]) -> bool {
    let letters = |at: usize| bytes.get(at + 4..at + 6).map(<[u8]>::to_ascii_lowercase);
    ESCAPE_START.find_iter(bytes).any(|at| matches!(letters(at).as_deref(), Some(b"5f" | b"69" | b"64")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_lines_with_offsets() {
        let file = b"\xef\xbb\xbf{\"a\":1}\r\n\n  \r\n{}\n{\"torn\":";
        let all: Vec<Line<'_>> = lines(file).collect();
        let line = |bytes, offset, end, number, is_ended| Line { bytes, offset, end, number, is_ended };
        let expected = [
            line(b"{\"a\":1}".as_slice(), 3, 12, 1, true),
            line(b"{}", 17, 20, 4, true),
            line(b"{\"torn\":", 20, 28, 5, false),
        ];
        assert_eq!(all, expected);
        let error = all[2].scan().unwrap_err().to_string();
        assert_eq!(error, "a value: needs 1 byte, 0 available (byte 28, line 5)");
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\xef\xbb\xbf").count(), 0);
        // Elsewhere it is not a mark, and not JSON.
        let error = lines(b"{}\n\xef\xbb\xbf{}").find_map(|line| line.scan().err()).unwrap();
        assert!(error.to_string().starts_with("expected an object (\"{\"), found"), "{error}");
        assert!(error.to_string().ends_with("(byte 3, line 2)"), "{error}");
    }

    #[test]
    fn plain_ids_agree_with_scan() {
        for (line, expected) in [
            (r#"{"_id":"a.b-c_1"}"#, Some("a.b-c_1")),
            (r#"{"_id":"a","x":"\u00e9"}"#, Some("a")),
            (r#"{"_id":"a","x":{"_id":"b"}}"#, None),
            (r#"{"_id":"a","\u005Fid":"b"}"#, None),
            (r#"{"_id":"a","_\u0069d":"b"}"#, None),
            (r#"{"_id":"a","x_id":"b"}"#, None),
            (r#"{"_id":"\u0061"}"#, None),
            (r#"{"_id":""}"#, None),
            (r#"{"_id":"a" }"#, None),
            (r#"{ "_id":"a"}"#, None),
            (r#"{"_id": "a", "x": 1}"#, Some("a")),
            (r#"{"_id":  "a"}"#, None),
        ] {
            let line = lines(line.as_bytes()).next().unwrap();
            assert_eq!(line.plain_id(), expected, "{line:?}");
            if let Some(id) = expected {
                assert_eq!(line.scan().unwrap().id(), Some(id));
            }
        }
    }
}
