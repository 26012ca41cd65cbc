//! What conversions ask of a text beside its rows: where its records lie, and the types that its columns have with those of others.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Bytes, ErrorKind, Result, Rows as _};

use super::container::TextContainer;
use super::rows::TextRows;
use super::seen::{Kind, Seen};
use super::table::TextTable;
use crate::workers::Workers;

impl TextContainer {
    /// Adds what the cells of CSV are, by column, and says how many rows were looked at: all that are not broken.
    pub(crate) fn add_cells(&self, threads: usize, cells: &mut HashMap<String, Seen>) -> Result<u64> {
        let (columns, rows) = self.table.cells(threads)?;
        for (name, seen) in self.table.text.names.iter().zip(columns) {
            match cells.get_mut(name) {
                Some(known) => known.merge(seen),
                None => drop(cells.insert(name.clone(), seen)),
            }
        }
        Ok(rows)
    }

    /// Where the records begin in the text, and where the last one ends.
    ///
    /// # Errors
    /// What is wrong with the first broken record, with its place.
    pub(crate) fn starts(&self) -> Result<(Vec<u64>, u64)> {
        let mut rows = TextRows::bare(&self.table);
        let (mut starts, mut end) = (Vec::new(), 0);
        while rows.advance()? {
            let span = rows.span()?;
            starts.push(span.start);
            end = span.end;
        }
        Ok((starts, end))
    }

    /// The bytes in front of the rows of CSV, which are its names.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io).
    pub(crate) fn head(&self) -> Result<Bytes> {
        let text = &self.table.text;
        text.read(0..if text.is_csv() { text.begin.byte } else { 0 })
    }

    /// Are the records items of one array?
    pub(crate) const fn is_array(&self) -> bool {
        self.table.text.array
    }

    /// Shows cells of CSV as values of these kinds.
    pub(crate) fn with_kinds(self, kinds: &HashMap<String, Kind>) -> Self {
        self.table.set_kinds(kinds);
        self
    }
}

/// Several texts that are read together.
impl TextTable {
    /// What the cells of CSV are, column by column, in all rows that are not broken, and how many rows these are.
    pub(super) fn cells(&self, threads: usize) -> Result<(Vec<Seen>, u64)> {
        match self.look(&Workers::new(threads), true) {
            (_, Err(error)) if error.kind() == ErrorKind::Io => Err(error),
            (survey, _) => Ok((survey.csv, survey.rows)),
        }
    }

    /// Shows cells as values of these kinds, whatever those of its own rows are. One that is not among them is text.
    pub(super) fn set_kinds(&self, kinds: &HashMap<String, Kind>) {
        let kind = |name: &String| kinds.get(name).copied().unwrap_or(Kind::Text);
        let _ = self.kinds.set(self.text.names.iter().map(kind).collect()); // nobody has looked at a table that was opened just now
    }
}

impl TextRows<'_> {
    /// The bytes of the text that the current record takes.
    pub(super) fn span(&self) -> Result<Range<u64>> {
        let (chunk, span) = self.current()?;
        let at = |place: usize| chunk.start.byte + place as u64;
        Ok(at(span.start)..at(span.end))
    }
}
