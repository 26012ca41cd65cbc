//! The index of older stores: a line of text for each document, `id TAB offset TAB length`.

use container_core::{Error, Result};

use super::index::Entry;

/// A walk over the lines of a text index. After an error there are no more. Empty lines are passed over.
#[derive(Debug, Clone)]
pub struct Lines<'b> {
    rest: &'b [u8],
    /// Of the next line, counted from 1, and where it begins.
    line: u64,
    at: u64,
}

/// Begins a walk over a whole file.
#[must_use]
pub const fn lines(bytes: &[u8]) -> Lines<'_> {
    Lines { rest: bytes, line: 1, at: 0 }
}

impl<'b> Iterator for Lines<'b> {
    type Item = Result<Entry<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let (line, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
            let (number, at) = (self.line, self.at);
            (self.rest, self.line, self.at) = (rest, self.line + 1, self.at + line.len() as u64);
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let entry = entry(line).map_err(|error| error.at(at).in_line(number));
            if entry.is_err() {
                self.rest = &[];
            }
            return Some(entry);
        }
    }
}

impl std::iter::FusedIterator for Lines<'_> {}

fn entry(line: &[u8]) -> Result<Entry<'_>> {
    let mut parts = line.split(|byte| *byte == b'\t');
    let (Some(id), Some(offset), Some(length), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        let found = line.iter().filter(|byte| **byte == b'\t').count() + 1;
        return Err(Error::invalid(format!(
            "a line of the index has {found} parts, not an id, an offset and a length"
        )));
    };
    Ok(Entry { id, offset: number(offset, "offset")?, length: number(length, "length")? })
}

fn number<T: std::str::FromStr>(text: &[u8], what: &str) -> Result<T> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        let found = String::from_utf8_lossy(text.get(..text.len().min(32)).unwrap_or_default()).into_owned();
        Error::invalid(format!("the {what} is {found:?}, no number that fits"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_entries() {
        let found: Vec<_> = lines(b"a\t0\t12\n\nb.c\t12\t4294967295\r\nlast\t7\t1").map(Result::unwrap).collect();
        let entry = |id, offset, length| Entry { id, offset, length };
        assert_eq!(found, [entry(b"a".as_slice(), 0, 12), entry(b"b.c", 12, u32::MAX), entry(b"last", 7, 1)]);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, wanted) in [
            ("a\t0\t1\nb\t1", "a line of the index has 2 parts, not an id, an offset and a length (byte 6, line 2)"),
            ("a\t-1\t1", "the offset is \"-1\", no number that fits (byte 0, line 1)"),
            ("a\t+1\t1", "the offset is \"+1\", no number that fits (byte 0, line 1)"),
            ("a\t1\t4294967296", "the length is \"4294967296\", no number that fits (byte 0, line 1)"),
        ] {
            let mut all = lines(text.as_bytes());
            let error = all.find_map(Result::err).unwrap();
            assert_eq!(error.to_string(), wanted);
            assert!(all.next().is_none());
        }
    }
}
