//! `data.jsonl`: a document in each line.

use std::sync::LazyLock;

use container_core::Result;
use memchr::memmem::Finder;

use super::{id, json};

/// What some editors put in front of a file's first line.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The end of a member's name, if it is `_id`. To prepare such a search takes longer than a line does.
pub(crate) static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_id\""));

/// The beginning of an escape that can mean a letter of `_id`.
pub(crate) static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// A line that is not empty, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line<'b> {
    /// Its bytes, without LF or CR LF, and without a byte order mark.
    pub bytes: &'b [u8],
    /// Their first one in the file.
    pub offset: u64,
    /// Where the next line begins.
    pub end: u64,
    /// Counted from 1, empty lines among them.
    pub number: u64,
    /// Does a line feed end it? The last line of a file may have none, because it is torn or because nobody wrote one.
    pub is_ended: bool,
}

/// A walk over the lines of a file; empty ones, and such of white space, are passed over.
#[derive(Debug, Clone)]
pub struct Lines<'b> {
    rest: &'b [u8],
    at: u64,
    number: u64,
}

/// Begins a walk over a whole file.
#[must_use]
pub const fn lines(bytes: &[u8]) -> Lines<'_> {
    lines_from(bytes, 0, 0)
}

/// Begins a walk over a part of a file, from a byte on at which a line begins; so many lines stand in front of it.
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
    /// Its document's own id, where that can be known without looking at every token: the line begins with a plain `_id`, as the reference
    /// writes it or with a space behind the colon, and nothing behind could be another one. The rest of the line may be broken JSON all the same.
    #[must_use]
    pub fn plain_id(&self) -> Option<&'b str> {
        let (id, rest) = self.split_id()?;
        if NAME.find(rest).is_some() || spells_id(rest) {
            return None;
        }
        std::str::from_utf8(id).ok()
    }

    /// The plain `_id` with which the line begins; what follows was not looked at.
    #[inline]
    pub(crate) fn begins_with_id(&self) -> Option<&'b [u8]> {
        self.split_id().map(|(id, _)| id)
    }

    /// The plain `_id` with which the line begins, and what follows its quotation mark.
    #[inline]
    fn split_id(&self) -> Option<(&'b [u8], &'b [u8])> {
        let behind = self.bytes.strip_prefix(b"{\"_id\":")?;
        let behind = behind.strip_prefix(b" ").unwrap_or(behind).strip_prefix(b"\"")?;
        let end = behind.iter().position(|byte| !id::allowed(*byte))?;
        let (id, rest) = behind.split_at_checked(end)?;
        let rest = rest.strip_prefix(b"\"").filter(|rest| matches!(rest.first(), Some(b',' | b'}')))?;
        (!id.is_empty()).then_some((id, rest))
    }

    /// Goes through its tokens.
    ///
    /// # Errors
    /// As [`json::scan`], with the byte in the file, and the line.
    pub fn scan(&self) -> Result<json::Scanned<'b>> {
        json::scan(self.bytes).map_err(|error| error.shifted(self.offset).in_line(self.number))
    }
}

/// Is a letter of `_id` written as an escape?
fn spells_id(bytes: &[u8]) -> bool {
    let letters = |at: usize| bytes.get(at + 4..at + 6).map(<[u8]>::to_ascii_lowercase);
    ESCAPE.find_iter(bytes).any(|at| matches!(letters(at).as_deref(), Some(b"5f" | b"69" | b"64")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_where_they_stand() {
        let file = b"\xef\xbb\xbf{\"a\":1}\r\n\n  \r\n{}\n{\"torn\":";
        let all: Vec<Line<'_>> = lines(file).collect();
        let line = |bytes, offset, end, number, is_ended| Line { bytes, offset, end, number, is_ended };
        let wanted = [
            line(b"{\"a\":1}".as_slice(), 3, 12, 1, true),
            line(b"{}", 17, 20, 4, true),
            line(b"{\"torn\":", 20, 28, 5, false),
        ];
        assert_eq!(all, wanted);
        let error = all[2].scan().unwrap_err().to_string();
        assert_eq!(error, "\"}\": needs 1 byte, 0 available (byte 28, line 5)");
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\xef\xbb\xbf").count(), 0);
        // Elsewhere it is no mark, and no JSON.
        let error = lines(b"{}\n\xef\xbb\xbf{}").find_map(|line| line.scan().err()).unwrap();
        assert!(error.to_string().ends_with("stands where an object (\"{\") is expected (byte 3, line 2)"), "{error}");
    }

    #[test]
    fn plain_ids_are_those_of_the_tokens() {
        for (line, wanted) in [
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
            assert_eq!(line.plain_id(), wanted, "{line:?}");
            if let Some(id) = wanted {
                assert_eq!(line.scan().unwrap().id(), Some(id));
            }
        }
    }
}
