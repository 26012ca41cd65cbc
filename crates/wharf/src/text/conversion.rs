//! Internals that conversions need: record offsets, and column profiles that can be merged over several inputs.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Bytes, ErrorKind, Result, Rows as _, Watch};

use super::container::TextContainer;
use super::profile::{CellProfile, ColumnKind};
use super::rows::TextRows;
use super::table::RecordsTable;
use crate::workers::Workers;

impl TextContainer {
    /// Merges the profiles of CSV columns into `cells`, by name. Returns the number of rows profiled: all that are not broken.
    pub(crate) fn add_cells(&self, threads: usize, cells: &mut HashMap<String, CellProfile>) -> Result<u64> {
        let (columns, rows) = self.table.cells(threads)?;
        for (name, profile) in self.table.text.names.iter().zip(columns) {
            match cells.get_mut(name) {
                Some(known) => known.merge(profile),
                None => drop(cells.insert(name.clone(), profile)),
            }
        }
        Ok(rows)
    }

    /// Byte offsets at which records begin, and the offset at which the last one ends.
    ///
    /// # Errors
    /// The fault of the first broken record, with its position.
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

    /// The bytes before the first row of CSV: the header.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io).
    pub(crate) fn head(&self) -> Result<Bytes> {
        let text = &self.table.text;
        text.read(0..if text.is_csv() { text.begin.byte } else { 0 })
    }

    /// Whether the records are items of one JSON array.
    pub(crate) const fn is_array(&self) -> bool {
        self.table.text.array
    }

    /// Declares the kinds of CSV columns, by name.
    pub(crate) fn with_kinds(self, kinds: &HashMap<String, ColumnKind>) -> Self {
        self.table.set_kinds(kinds);
        self
    }
}

/// Inputs that are read together.
impl RecordsTable {
    /// Profiles of the CSV columns over all rows that are not broken, and the number of these rows.
    pub(super) fn cells(&self, threads: usize) -> Result<(Vec<CellProfile>, u64)> {
        match self.scan_columns(&Workers::new(threads), true, &Watch::default()) {
            (_, Err(error)) if error.kind() == ErrorKind::Io => Err(error),
            (inference, _) => Ok((inference.csv, inference.rows)),
        }
    }

    /// Declares the kinds of columns, whatever their own rows hold. Columns that are not listed are text.
    pub(super) fn set_kinds(&self, kinds: &HashMap<String, ColumnKind>) {
        let kind = |name: &String| kinds.get(name).copied().unwrap_or(ColumnKind::Text);
        let _ = self.kinds.set(self.text.names.iter().map(kind).collect()); // cannot be set already: the table was opened just now
    }
}

impl TextRows<'_> {
    /// The byte range of the current record.
    pub(super) fn span(&self) -> Result<Range<u64>> {
        let (chunk, span) = self.current()?;
        let at = |offset: usize| chunk.start.byte + offset as u64;
        Ok(at(span.start)..at(span.end))
    }
}
