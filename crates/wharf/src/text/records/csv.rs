//! CSV records: cells of RFC 4180, including line breaks in quotes.
//!
//! A quote that is not the first byte of its cell is literal, and bytes after a closing quote belong to the cell. Empty lines are
//! skipped.

use std::ops::Range;

use container_core::Error;

/// Receives the content of a record's cells.
pub(crate) trait Cells {
    /// More bytes of the current cell.
    fn more(&mut self, bytes: &[u8]);
    /// The cell ends; `quoted` if it began with a quote.
    fn end(&mut self, quoted: bool);
}

/// A record that is not valid UTF-8, from this offset in it.
#[cold]
pub(crate) fn not_utf8(byte: usize) -> Error {
    Error::invalid("invalid UTF-8").at(byte as u64)
}

/// A cell of a record that is valid UTF-8: cells end at ASCII characters, so they are valid too.
#[inline]
pub(crate) fn cell_text(cell: &[u8]) -> &str {
    std::str::from_utf8(cell).unwrap_or_default()
}

/// The unquoted cells of a record, in reused buffers.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: Vec<u8>,
    /// Where each cell ends, and whether it was quoted.
    ends: Vec<(usize, bool)>,
    has_quotes: bool,
}

impl Line {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.has_quotes = false;
    }

    pub(crate) fn has_quotes(&self) -> bool {
        self.has_quotes
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.quoted().map(|(cell, _)| cell)
    }

    /// The cells, and whether each was quoted.
    pub(crate) fn quoted(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.ranges(0, 0).map(|(range, quoted)| (self.text.get(range).unwrap_or_default(), quoted))
    }

    /// All cells, concatenated.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Ends an unquoted cell at an offset in the input.
    #[inline]
    pub(crate) fn end_at(&mut self, end: usize) {
        self.ends.push((end, false));
    }

    /// The ranges of cells in text where the first begins at `start` and `gap` bytes separate two.
    #[inline]
    pub(crate) fn ranges(&self, mut start: usize, gap: usize) -> impl Iterator<Item = (Range<usize>, bool)> {
        self.ends.iter().map(move |&(end, quoted)| (std::mem::replace(&mut start, end + gap)..end, quoted))
    }
}

impl Cells for Line {
    fn more(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    fn end(&mut self, quoted: bool) {
        self.ends.push((self.text.len(), quoted));
        self.has_quotes |= quoted;
    }
}

/// The extent of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Offset of its first byte, after empty lines.
    pub(crate) start: usize,
    /// Offset after its line break.
    pub(crate) end: usize,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a line break.
    Line,
    /// With the last byte.
    Bytes,
    /// In an unclosed quote.
    Quote,
}

/// Parses the next record at or after `at`; `None` if only empty lines are left.
pub(crate) fn record(bytes: &[u8], at: usize, delimiter: u8, cells: &mut impl Cells) -> Option<Record> {
    let from = |at: usize| bytes.get(at..).unwrap_or_default();
    let start = at + from(at).iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut at = start;
    loop {
        let quoted = bytes.get(at) == Some(&b'"');
        if quoted {
            at += 1;
            loop {
                let Some(quote) = from(at).iter().position(|&byte| byte == b'"') else {
                    cells.more(from(at));
                    cells.end(quoted);
                    return Some(Record { start, end: bytes.len(), ending: Ending::Quote });
                };
                cells.more(bytes.get(at..at + quote).unwrap_or_default());
                at += quote + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                cells.more(b"\"");
                at += 1;
            }
        }
        let plain = from(at).iter().position(|&byte| byte == delimiter || byte == b'\n' || byte == b'\r');
        let end = plain.map_or(bytes.len(), |plain| at + plain);
        cells.more(bytes.get(at..end).unwrap_or_default());
        cells.end(quoted);
        match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => return Some(Record { start, end: end + 2, ending: Ending::Line }),
            // A line feed may follow in the next chunk.
            (Some(b'\r'), None) => return Some(Record { start, end: end + 1, ending: Ending::Bytes }),
            (Some(b'\r' | b'\n'), _) => return Some(Record { start, end: end + 1, ending: Ending::Line }),
            (Some(_), _) => at = end + 1,
            (None, _) => return Some(Record { start, end, ending: Ending::Bytes }),
        }
    }
}

/// Finds the extent of the next record without parsing its cells.
pub(crate) fn end(bytes: &[u8], at: usize, delimiter: u8) -> Option<Record> {
    let from = |at: usize| bytes.get(at..).unwrap_or_default();
    let start = at + from(at).iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut at = start;
    let record = |end, ending| Some(Record { start, end, ending });
    loop {
        let Some(found) = memchr::memchr3(b'"', b'\n', b'\r', from(at)) else {
            return record(bytes.len(), Ending::Bytes);
        };
        let at_mark = at + found;
        at = at_mark + 1;
        match (bytes.get(at_mark), bytes.get(at)) {
            (Some(b'\r'), Some(b'\n')) => return record(at + 1, Ending::Line),
            (Some(b'\r'), None) => return record(at, Ending::Bytes),
            (Some(b'\r' | b'\n'), _) => return record(at, Ending::Line),
            // A quote that opens a cell. The delimiter before it is not quoted: quoted cells were skipped.
            _ if at_mark == start
                || at_mark.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&delimiter) =>
            {
                loop {
                    match memchr::memchr(b'"', from(at)) {
                        None => return record(bytes.len(), Ending::Quote),
                        Some(quote) => at += quote + 1,
                    }
                    if bytes.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let (mut records, mut line, mut at) = (Vec::new(), Line::default(), 0);
        while let Some(found) = record(bytes, at, delimiter, &mut line) {
            assert_eq!(end(bytes, at, delimiter), Some(found));
            assert!(found.start < found.end && found.end <= bytes.len());
            records.push(line.iter().map(<[u8]>::to_vec).collect());
            line.clear();
            at = found.end;
        }
        records
    }

    fn by_csv_crate(bytes: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let mut reader = ::csv::ReaderBuilder::new();
        let mut reader = reader.has_headers(false).flexible(true).delimiter(delimiter).from_reader(bytes);
        reader.byte_records().map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn parses_cells() {
        let cells = |text: &str| {
            let records = all(text.as_bytes(), b',');
            let text = |cell: Vec<u8>| String::from_utf8(cell).unwrap();
            records.into_iter().map(|record| record.into_iter().map(text).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(cells("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(cells("a,b\r\n\r\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(cells("\"a\n,\"\"b\"\"\",\r\"\""), [vec!["a\n,\"b\"", ""], vec![""]]);
        assert_eq!(cells("a\"b,\"c\"d\"\n,"), [["a\"b", "cd\""], ["", ""]]);
        assert_eq!(cells("\n\r\n"), Vec::<Vec<String>>::new());
    }

    #[test]
    fn reports_endings() {
        let ending = |text: &str| end(text.as_bytes(), 0, b',').unwrap().ending;
        assert_eq!(ending("a\n"), Ending::Line);
        assert_eq!(ending("a\r\n"), Ending::Line);
        assert_eq!(ending("a\rb"), Ending::Line);
        assert_eq!(ending("a\r"), Ending::Bytes);
        assert_eq!(ending("a"), Ending::Bytes);
        assert_eq!(ending("\"a\n"), Ending::Quote);
        assert_eq!(ending("\"a\""), Ending::Bytes);
    }

    proptest! {
        #[test]
        fn agrees_with_the_csv_crate(text in "[ab,;\"\r\n]{0,40}", semicolon: bool) {
            let delimiter = if semicolon { b';' } else { b',' };
            prop_assert_eq!(all(text.as_bytes(), delimiter), by_csv_crate(text.as_bytes(), delimiter));
        }
    }
}
