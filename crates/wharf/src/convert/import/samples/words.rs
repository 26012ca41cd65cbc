//! What cells of CSV are, told by all cells of their column.

use std::ops::Range;

use container_core::{Error, Progress, Result};
use datadings::json::to_msgpack;
use datadings::ser::extend;

use super::super::chunk::{Chunk, Cutter, part};
use super::super::number::{Number, is_float_word, is_number, number};
use super::super::place::Place;
use super::super::record::{Look, records};
use super::super::{Options, RECORDS, TextTable, told};

/// What has been seen in a column. Two are put together by "or", so no order of rows matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    texts: bool,
    bools: bool,
    integers: bool,
    /// Integers that no float has exactly.
    inexact: bool,
    /// Integers that do not fit 64 bits.
    wide: bool,
    floats: bool,
    /// Words such as `NaN`, which are floats beside numbers.
    float_words: bool,
    /// Arrays and objects of JSON.
    nested: bool,
}

/// What the cells of a column become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Text,
    Bool,
    Integer,
    Float,
    Nested,
    /// All are empty.
    Nil,
}

impl Seen {
    fn see(&mut self, text: &str, scratch: &mut Vec<u8>) {
        if text.is_empty() || self.texts {
            return;
        }
        if is_number(text) {
            match number(text) {
                Number::Integer { value, exact } => {
                    self.integers = true;
                    self.inexact |= !exact;
                    self.wide |= i64::try_from(value).is_err() && u64::try_from(value).is_err();
                }
                Number::Float => self.floats = true,
                Number::Beyond => self.texts = true,
            }
        } else if is_bool(text) {
            self.bools = true;
        } else if is_float_word(text) {
            self.float_words = true;
        } else {
            scratch.clear();
            let nested = text.starts_with(['[', '{']) && to_msgpack(text.as_bytes(), scratch).is_ok();
            self.nested |= nested;
            self.texts |= !nested;
        }
    }

    fn merge(&mut self, other: Self) {
        self.texts |= other.texts;
        self.bools |= other.bools;
        self.integers |= other.integers;
        self.inexact |= other.inexact;
        self.wide |= other.wide;
        self.floats |= other.floats;
        self.float_words |= other.float_words;
        self.nested |= other.nested;
    }

    fn word(self) -> Word {
        let numbers = self.integers || self.floats;
        match (numbers, self.bools, self.nested) {
            _ if self.texts || (self.float_words && !numbers) => Word::Text,
            (false, false, false) => Word::Nil,
            (true, false, false) if self.floats || self.float_words => {
                if self.inexact {
                    Word::Text
                } else {
                    Word::Float
                }
            }
            (true, false, false) if self.wide => Word::Text,
            (true, false, false) => Word::Integer,
            (false, true, false) => Word::Bool,
            (false, false, true) => Word::Nested,
            _ => Word::Text,
        }
    }
}

impl Word {
    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "str",
            Self::Bool => "bool",
            Self::Integer => "int",
            Self::Float => "float",
            Self::Nested => "JSON",
            Self::Nil => "nil",
        }
    }

    /// Appends a cell.
    pub(super) fn put(self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        let unlike = || Error::invalid(format!("the cell {text:?} was something else when types were found"));
        match self {
            Self::Text => extend(out, text),
            _ if text.is_empty() => extend(out, &()),
            Self::Bool => extend(out, &text.eq_ignore_ascii_case("true")),
            Self::Integer => match (text.parse::<u64>(), text.parse::<i64>()) {
                (Ok(value), _) => extend(out, &value),
                (_, Ok(value)) => extend(out, &value),
                _ => Err(unlike()),
            },
            Self::Float => extend(out, &text.parse::<f64>().map_err(|_| unlike())?),
            Self::Nested => to_msgpack(text.as_bytes(), out),
            Self::Nil => Err(unlike()),
        }
    }
}

fn is_bool(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

/// Looks at the cells of a chunk.
struct Survey {
    columns: Vec<Seen>,
    scratch: Vec<u8>,
}

impl Survey {
    fn of(chunk: &Chunk, options: &Options, cells: usize, wanted: &Range<u64>) -> Result<Vec<Seen>> {
        let mut survey = Self { columns: vec![Seen::default(); cells], scratch: Vec::new() };
        records(chunk, options, cells, wanted, &mut survey)?;
        Ok(survey.columns)
    }
}

impl Look for Survey {
    fn begin(&mut self, _: Place) {}

    fn member(&mut self, _: &str, _: &str, _: Place) -> Result<()> {
        Ok(())
    }

    fn cell(&mut self, index: usize, text: &str, _: bool, _: Place) -> Result<()> {
        if let Some(seen) = self.columns.get_mut(index) {
            seen.see(text, &mut self.scratch);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl TextTable {
    /// Reads all wanted rows and finds what each column's cells are.
    pub(super) fn words(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Vec<Word>> {
        self.begin(progress);
        let mut cutter = Cutter::new(&self.inputs, &self.options, RECORDS);
        let mut all: Vec<Seen> = Vec::new();
        let mut passed = 0;
        while passed < rows.end {
            let (chunks, failure) = self.gather(&mut cutter);
            let cells = cutter.names().map_or(0, <[String]>::len);
            all.resize(cells.max(all.len()), Seen::default());
            let look = |chunk: &Chunk| Survey::of(chunk, &self.options, cells, &part(rows, chunk));
            for (chunk, columns) in chunks.iter().zip(self.side_by_side(&chunks, look)) {
                let columns = columns.map_err(|error| self.name(error, chunk))?;
                all.iter_mut().zip(columns).for_each(|(seen, more)| seen.merge(more));
                passed = chunk.row + chunk.records;
                told(progress, chunk);
            }
            if passed < rows.end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        Ok(all.into_iter().map(Seen::word).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(cells: &[&str]) -> &'static str {
        let mut seen = Seen::default();
        // Each alone, put together: as chunks are.
        for cell in cells {
            let mut one = Seen::default();
            one.see(cell, &mut Vec::new());
            seen.merge(one);
        }
        seen.word().name()
    }

    #[test]
    fn a_column_is_what_all_its_cells_are() {
        assert_eq!(word(&[]), "nil");
        assert_eq!(word(&["", ""]), "nil");
        assert_eq!(word(&["1", "", "-3", "18446744073709551615"]), "int");
        assert_eq!(word(&["18446744073709551616"]), "str");
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
        assert_eq!(word(&["[1,2]", "{\"a\":null}", ""]), "JSON");
        assert_eq!(word(&["[1,2]", "1"]), "str");
        assert_eq!(word(&["[1,2"]), "str");
        assert_eq!(word(&["{\"$bytes\":\"?\"}"]), "str");
        assert_eq!(word(&["x", "1"]), "str");
    }
}
