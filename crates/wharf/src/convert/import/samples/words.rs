//! What cells of CSV are, told by all cells of their column.

use std::ops::Range;

use container_core::{Error, ErrorKind, Limits, Progress, Result};
use datadings::json::to_msgpack;
use datadings::ser::extend;

use super::super::{RECORDS, TextTable};
use crate::text::records::Options;
use crate::text::records::chunk::{Chunk, part};
use crate::text::records::place::Place;
use crate::text::records::record::{Look, records};
use crate::text::seen::{Kind, Rows, Seen};
use crate::text::words::may_be_nested;
use crate::workers::Workers;

/// What has been seen in a column: as in record batches, so that samples hold the same as these.
#[derive(Debug, Clone, Default)]
struct Column {
    seen: Seen,
    /// A cell looks like JSON that no sample holds.
    is_refused: bool,
}

/// What the cells of a column become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Text,
    /// The same, where nobody looked: an empty cell is an empty text.
    Verbatim,
    Bool,
    Integer,
    Float,
    Nested,
    /// All are empty.
    Nil,
}

impl Column {
    fn see(&mut self, text: &str, quoted: bool, rows: &mut Rows, scratch: &mut Vec<u8>) {
        self.seen.see(text, quoted, rows);
        if !self.is_refused && may_be_nested(text) {
            scratch.clear();
            self.is_refused = to_msgpack(text.as_bytes(), scratch).is_err();
        }
    }

    fn merge(&mut self, other: Self) {
        self.seen.merge(other.seen);
        self.is_refused |= other.is_refused;
    }

    fn word(&self) -> Word {
        match self.seen.row_kind() {
            Kind::Null => Word::Nil,
            Kind::Bool => Word::Bool,
            Kind::Integer | Kind::Unsigned => Word::Integer,
            Kind::Float => Word::Float,
            Kind::Nested if !self.is_refused => Word::Nested,
            Kind::Nested | Kind::Date | Kind::Time(_) | Kind::Stamp(..) | Kind::Text => Word::Text,
        }
    }
}

impl Word {
    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Verbatim => "str",
            Self::Bool => "bool",
            Self::Integer => "int",
            Self::Float => "float",
            Self::Nested => "JSON",
            Self::Nil => "nil",
        }
    }

    /// Appends a cell.
    pub(super) fn put(self, text: &str, quoted: bool, out: &mut Vec<u8>) -> Result<()> {
        let unlike = || Error::invalid(format!("the cell {text:?} was something else when types were found"));
        match self {
            Self::Verbatim => extend(out, text),
            Self::Text if quoted || !text.is_empty() => extend(out, text),
            _ if text.is_empty() => extend(out, &()),
            Self::Bool => extend(out, &text.eq_ignore_ascii_case("true")),
            Self::Integer => match (text.parse::<u64>(), text.parse::<i64>()) {
                (Ok(value), _) => extend(out, &value),
                (_, Ok(value)) => extend(out, &value),
                _ => Err(unlike()),
            },
            Self::Float => extend(out, &text.parse::<f64>().map_err(|_| unlike())?),
            Self::Nested => to_msgpack(text.as_bytes(), out),
            Self::Nil | Self::Text => Err(unlike()),
        }
    }
}

/// Looks at the cells of a chunk.
struct Survey {
    columns: Vec<Column>,
    rows: Rows,
    scratch: Vec<u8>,
}

impl Survey {
    fn of(chunk: &Chunk, options: &Options, cells: usize, wanted: &Range<u64>) -> Result<Vec<Column>> {
        let rows = Rows::new(&Limits::default());
        let mut survey = Self { columns: vec![Column::default(); cells], rows, scratch: Vec::new() };
        records(chunk, options, cells, wanted, &mut survey)?;
        Ok(survey.columns)
    }
}

impl Look for Survey {
    fn begin(&mut self, _: Place) {}

    fn member(&mut self, _: &str, _: &str, _: Place) -> Result<()> {
        Ok(())
    }

    fn cell(&mut self, index: usize, text: &str, quoted: bool, _: Place) -> Result<()> {
        if let Some(column) = self.columns.get_mut(index) {
            column.see(text, quoted, &mut self.rows, &mut self.scratch);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl TextTable {
    /// Finds what each column's cells are in all rows; where some are broken, in the wanted ones.
    pub(super) fn words(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Vec<Word>> {
        match self.words_of(&(0..u64::MAX), progress) {
            Err(error) if error.kind() != ErrorKind::Io && *rows != (0..u64::MAX) => self.words_of(rows, progress),
            words => words,
        }
    }

    fn words_of(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Vec<Word>> {
        self.begin(progress);
        let workers = Workers::new(self.options.threads);
        let mut cutter = self.chunks(RECORDS);
        let mut all: Vec<Column> = Vec::new();
        let mut passed = 0;
        while passed < rows.end {
            let (chunks, failure) = Self::gather(cutter.as_mut(), &workers);
            let cells = cutter.names().map_or(0, <[String]>::len);
            all.resize(cells.max(all.len()), Column::default());
            let look = |chunk: &Chunk| Survey::of(chunk, &self.options, cells, &part(rows, chunk));
            for (chunk, columns) in chunks.iter().zip(workers.map(chunks.iter().collect(), look)) {
                let columns = columns.map_err(|error| self.name(error, chunk))?;
                all.iter_mut().zip(columns).for_each(|(seen, more)| seen.merge(more));
                passed = chunk.row + chunk.records;
                self.told(progress, chunk);
            }
            if passed < rows.end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        Ok(all.iter().map(Column::word).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(cells: &[&str]) -> &'static str {
        let (mut all, mut rows) = (Column::default(), Rows::new(&Limits::default()));
        // Each alone, put together: as chunks are.
        for cell in cells {
            let mut one = Column::default();
            one.see(cell, false, &mut rows, &mut Vec::new());
            all.merge(one);
        }
        all.word().name()
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        assert_eq!(word(&[]), "nil");
        assert_eq!(word(&["", ""]), "nil");
        assert_eq!(word(&["1", "", "18446744073709551615"]), "int");
        assert_eq!(word(&["-3", "18446744073709551615"]), "str");
        assert_eq!(word(&["18446744073709551616"]), "float");
        assert_eq!(word(&["18446744073709551617"]), "str");
        assert_eq!(word(&["-9223372036854775809"]), "str");
        assert_eq!(word(&["1", "2.5", "NaN"]), "float");
        assert_eq!(word(&["9007199254740993", "2.5"]), "str");
        assert_eq!(word(&["9007199254740993", "NaN"]), "str");
        assert_eq!(word(&["9007199254740993", "2"]), "int");
        assert_eq!(word(&["NaN", "Infinity"]), "str");
        assert_eq!(word(&["1e400"]), "str");
        assert_eq!(word(&["-0", "1"]), "float");
        assert_eq!(word(&["true", "FALSE", ""]), "bool");
        assert_eq!(word(&["true", "1"]), "str");
        assert_eq!(word(&["007", "1"]), "str");
        assert_eq!(word(&["[1,2]", "[]", ""]), "JSON");
        assert_eq!(word(&["2024-05-01", "2024-05-02"]), "str");
        assert_eq!(word(&["[1,2]", "1"]), "str");
        assert_eq!(word(&["[1,2"]), "str");
        assert_eq!(word(&["{\"$bytes\":\"?\"}"]), "str");
        assert_eq!(word(&["x", "1"]), "str");
    }
}
