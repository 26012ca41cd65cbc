//! Records of CSV: cells of RFC 4180, line feeds in quotes included.
//!
//! A quote that is not the first of its cell is a character like others, and what follows a closing quote belongs to the
//! cell. Empty lines are no records.

use std::ops::Range;

use container_core::Error;

/// Takes what a record's cells consist of.
pub(crate) trait Cells {
    /// More of the current cell.
    fn more(&mut self, bytes: &[u8]);
    /// The cell ends; whether it began with a quote.
    fn end(&mut self, quoted: bool);
}

/// The text of a record is none from this byte of it on.
#[cold]
pub(crate) fn not_utf8(byte: usize) -> Error {
    Error::invalid("the text is not UTF-8").at(byte as u64)
}

/// A cell of bytes that were found to be UTF-8: it is cut at characters of ASCII.
#[inline]
pub(crate) fn cell_text(cell: &[u8]) -> &str {
    std::str::from_utf8(cell).unwrap_or_default()
}

/// The cells of a record, without quotes. The memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: Vec<u8>,
    /// Where each ends, and whether it had quotes.
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

    /// The cells, and whether each had quotes.
    pub(crate) fn quoted(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.ranges(0, 0).map(|(range, quoted)| (self.text.get(range).unwrap_or_default(), quoted))
    }

    /// All cells, one after the other.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// A cell without quotes ends there, in bytes that are somewhere else.
    #[inline]
    pub(crate) fn end_at(&mut self, end: usize) {
        self.ends.push((end, false));
    }

    /// Where the cells lie in a text in which the first begins at `start`, and `gap` bytes separate two.
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

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its first byte, behind empty lines.
    pub(crate) start: usize,
    /// Behind its line end.
    pub(crate) end: usize,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ends with a line.
    Line,
    /// It ends where the bytes end.
    Bytes,
    /// A quote is not closed.
    Quote,
}

/// The next record from `at` on; `None` when only empty lines are left.
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
            // What follows the last byte may be the line feed.
            (Some(b'\r'), None) => return Some(Record { start, end: end + 1, ending: Ending::Bytes }),
            (Some(b'\r' | b'\n'), _) => return Some(Record { start, end: end + 1, ending: Ending::Line }),
            (Some(_), _) => at = end + 1,
            (None, _) => return Some(Record { start, end, ending: Ending::Bytes }),
        }
    }
}

/// The same for those who want to know only where the record ends.
pub(crate) fn end(bytes: &[u8], at: usize, delimiter: u8) -> Option<Record> {
    let from = |at: usize| bytes.get(at..).unwrap_or_default();
    let start = at + from(at).iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut at = start;
    let record = |end, ending| Some(Record { start, end, ending });
    loop {
        let Some(found) = memchr::memchr3(b'"', b'\n', b'\r', from(at)) else {
            return record(bytes.len(), Ending::Bytes);
        };
        let place = at + found;
        at = place + 1;
        match (bytes.get(place), bytes.get(at)) {
            (Some(b'\r'), Some(b'\n')) => return record(at + 1, Ending::Line),
            (Some(b'\r'), None) => return record(at, Ending::Bytes),
            (Some(b'\r' | b'\n'), _) => return record(at, Ending::Line),
            // A quote that opens a cell: the delimiter in front of it is none in quotes, as those were passed.
            _ if place == start || place.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&delimiter) => {
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

    fn by_csv(bytes: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let mut reader = ::csv::ReaderBuilder::new();
        let mut reader = reader.has_headers(false).flexible(true).delimiter(delimiter).from_reader(bytes);
        reader.byte_records().map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn cells_of_a_record() {
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
    fn endings() {
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
        fn the_csv_crate_reads_the_same(text in "[ab,;\"\r\n]{0,40}", semicolon: bool) {
            let delimiter = if semicolon { b';' } else { b',' };
            prop_assert_eq!(all(text.as_bytes(), delimiter), by_csv(text.as_bytes(), delimiter));
        }
    }
}
