//! The text index of older stores: one line per document, `id TAB offset TAB length`.

use container_core::{Error, Result};

use super::index::Entry;

/// Iterator over the entries of a text index. Skips empty lines, and ends after an error.
#[derive(Debug, Clone)]
pub struct Lines<'b> {
    rest: &'b [u8],
    /// Number of the next line, from 1, and its offset.
    line: u64,
    at: u64,
}

/// Iterates over the entries of a text index.
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
        return Err(Error::invalid(format!("index line: expected id, offset and length, found {found} fields")));
    };
    Ok(Entry { id, offset: number(offset, "offset")?, length: number(length, "length")? })
}

fn number<T: std::str::FromStr>(text: &[u8], what: &str) -> Result<T> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        let found = String::from_utf8_lossy(text.get(..text.len().min(32)).unwrap_or_default()).into_owned();
        Error::invalid(format!("{what}: expected an unsigned {}-bit integer, found {found:?}", 8 * size_of::<T>()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lines() {
        let found: Vec<_> = lines(b"a\t0\t12\n\nb.c\t12\t4294967295\r\nlast\t7\t1").map(Result::unwrap).collect();
        let entry = |id, offset, length| Entry { id, offset, length };
        assert_eq!(found, [entry(b"a".as_slice(), 0, 12), entry(b"b.c", 12, u32::MAX), entry(b"last", 7, 1)]);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn rejects_malformed_lines() {
        for (text, expected) in [
            ("a\t0\t1\nb\t1", "index line: expected id, offset and length, found 2 fields (byte 6, line 2)"),
            ("a\t-1\t1", "offset: expected an unsigned 64-bit integer, found \"-1\" (byte 0, line 1)"),
            ("a\t+1\t1", "offset: expected an unsigned 64-bit integer, found \"+1\" (byte 0, line 1)"),
            ("a\t1\t4294967296", "length: expected an unsigned 32-bit integer, found \"4294967296\" (byte 0, line 1)"),
        ] {
            let mut all = lines(text.as_bytes());
            let error = all.find_map(Result::err).unwrap();
            assert_eq!(error.to_string(), expected);
            assert!(all.next().is_none());
        }
    }
}
