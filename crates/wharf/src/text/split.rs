//! Rows of CSV, cut into cells.

use container_core::{Error, Result};
use memchr::{memchr_iter, memchr3};

use super::columns::cell_text;
use crate::text::records::csv::{self, Ending, Line, Record};

/// Cuts rows. The memory is reused.
#[derive(Debug)]
pub(super) struct Split {
    delimiter: u8,
    /// Where a row without quotes begins, and where its cells end.
    start: usize,
    ends: Vec<usize>,
    /// The cells of one with quotes.
    line: Option<Line>,
    spare: Line,
}

impl Split {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, ends: Vec::new(), start: 0, line: None, spare: Line::default() }
    }

    /// The next row from a byte on; `None` when only empty lines are left.
    pub(super) fn next(&mut self, bytes: &[u8], mut at: usize) -> Option<Record> {
        if let Some(line) = self.line.take() {
            self.spare = line;
        }
        self.ends.clear();
        while matches!(bytes.get(at), Some(b'\r' | b'\n')) {
            at += 1;
        }
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let stop = memchr3(b'\n', b'\r', b'"', rest);
        let len = stop.unwrap_or(rest.len());
        let (end, ending) = match stop.map(|stop| (rest.get(stop), rest.get(stop + 1))) {
            None => (bytes.len(), Ending::Bytes),
            Some((Some(b'\n'), _)) => (at + len + 1, Ending::Line),
            Some((Some(b'\r'), Some(b'\n'))) => (at + len + 2, Ending::Line),
            Some((Some(b'\r'), None)) => (at + len + 1, Ending::Bytes),
            Some((Some(b'\r'), _)) => (at + len + 1, Ending::Line),
            Some(_) => {
                self.spare.clear();
                let record = csv::record(bytes, at, self.delimiter, &mut self.spare);
                self.line = Some(std::mem::take(&mut self.spare));
                return record;
            }
        };
        self.start = at;
        self.ends.extend(memchr_iter(self.delimiter, rest.get(..len).unwrap_or_default()).map(|end| at + end));
        self.ends.push(at + len);
        Some(Record { start: at, end, ending })
    }

    /// How many cells the row has.
    pub(super) fn len(&self) -> usize {
        self.line.as_ref().map_or(self.ends.len(), Line::len)
    }

    /// Shows each cell of the row, and whether it had quotes.
    pub(super) fn cells<'b>(&'b self, bytes: &'b [u8]) -> Cells<'b> {
        match &self.line {
            Some(line) => Cells::Quoted(Box::new(line.quoted())),
            None => Cells::Plain { bytes, at: self.start, ends: self.ends.iter() },
        }
    }

    /// The same of bytes that are UTF-8.
    #[inline]
    pub(super) fn texts<'b>(&'b self, text: &'b str) -> impl Iterator<Item = (&'b str, bool)> {
        let mut at = self.start;
        let plain = self.ends.iter().map(move |&end| {
            let cell = text.get(at..end).unwrap_or_default();
            at = end + 1;
            (cell, false)
        });
        // A row has either.
        plain.chain(self.line.iter().flat_map(Line::quoted).map(|(cell, quoted)| (cell_text(cell), quoted)))
    }

    /// Fails when it has another number of cells.
    #[inline]
    pub(super) fn check(&self, wanted: usize) -> Result<()> {
        if self.len() == wanted { Ok(()) } else { Err(self.other(wanted)) }
    }

    #[cold]
    fn other(&self, wanted: usize) -> Error {
        let found = if self.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", self.len()) };
        let wanted = if wanted == 1 { "is 1 column".to_owned() } else { format!("are {wanted} columns") };
        Error::invalid(format!("{found} where there {wanted}"))
    }
}

/// The cells of a row.
pub(super) enum Cells<'b> {
    Plain { bytes: &'b [u8], at: usize, ends: std::slice::Iter<'b, usize> },
    Quoted(Box<dyn Iterator<Item = (&'b [u8], bool)> + 'b>),
}

impl<'b> Iterator for Cells<'b> {
    type Item = (&'b [u8], bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Plain { bytes, at, ends } => {
                let end = *ends.next()?;
                let cell = bytes.get(*at..end).unwrap_or_default();
                *at = end + 1;
                Some((cell, false))
            }
            Self::Quoted(cells) => cells.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cells_are_those_of_the_careful_reader(text in "[ab,;\"\r\n]{0,40}", semicolon: bool) {
            let (bytes, delimiter) = (text.as_bytes(), if semicolon { b';' } else { b',' });
            let (mut split, mut at) = (Split::new(delimiter), 0);
            loop {
                let mut line = Line::default();
                let wanted = csv::record(bytes, at, delimiter, &mut line);
                let found = split.next(bytes, at);
                prop_assert_eq!(found, wanted);
                let Some(record) = found else { break };
                prop_assert_eq!(split.len(), line.len());
                let cells: Vec<_> = split.cells(bytes).collect();
                prop_assert_eq!(&cells, &line.quoted().collect::<Vec<_>>());
                let texts = split.texts(&text).map(|(cell, quoted)| (cell.as_bytes(), quoted));
                prop_assert_eq!(texts.collect::<Vec<_>>(), cells);
                at = record.end;
            }
        }
    }
}
