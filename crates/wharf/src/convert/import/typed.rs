//! Text tables into IDV files: types first, then rows.

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::ops::Range;

use container_core::{Progress, Result};
use idv::{ColumnSlice, Schema, Writer};

use super::fill::{Lost, Plan};
use super::infer::Seen;
use super::inferred::Inferred;
use super::survey::Survey;
use super::{Imported, RECORDS, TextTable, told};
use crate::text::records::chunk::{Chunk, Cutter, part};
use crate::text::records::make_unique;
use crate::workers::Workers;

/// Cells that are taken together at most, about: fewer records of wide tables.
const CELLS: u64 = 512 << 10;

/// What is to be written of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Take {
    /// Rows, counted from 0 over all inputs; the default is all.
    pub rows: Range<u64>,
    /// Columns of the input that are left out on purpose: no loss is told of them.
    pub leave_out: HashSet<String>,
}

impl Default for Take {
    fn default() -> Self {
        Self { rows: 0..u64::MAX, leave_out: HashSet::new() }
    }
}

impl Take {
    /// Replaces [`rows`](Self::rows).
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Replaces [`leave_out`](Self::leave_out).
    #[must_use]
    pub fn with_leave_out(mut self, columns: impl IntoIterator<Item = String>) -> Self {
        self.leave_out = columns.into_iter().collect();
        self
    }
}

impl TextTable {
    /// Reads everything and finds out which columns there are, in the order in which they first come, and what they hold.
    /// `progress` hears of bytes.
    ///
    /// # Errors
    /// What keeps the text from being read, with file, line and byte: of all errors the first.
    pub fn infer(&self, progress: Option<&dyn Progress>) -> Result<Inferred> {
        self.survey(progress).map_err(|error| error.in_format(self.options.form.name()))
    }

    fn survey(&self, progress: Option<&dyn Progress>) -> Result<Inferred> {
        self.begin(progress);
        let workers = Workers::new(self.options.threads);
        let mut cutter = Cutter::new(&self.inputs, &self.options, RECORDS);
        let mut all = Survey::default();
        loop {
            let (chunks, failure) = Self::gather(&mut cutter, &workers);
            let names = cutter.names();
            for (chunk, survey) in
                chunks.iter().zip(workers.map(chunks.iter().collect(), |chunk| Survey::of(chunk, &self.options, names)))
            {
                all.merge(survey.map_err(|error| self.name(error, chunk))?)?;
                told(progress, chunk);
            }
            failure?;
            if chunks.is_empty() {
                break;
            }
        }
        // Of a CSV without records the names are known all the same.
        let known: HashSet<String> = all.columns.iter().map(|column| column.name.to_string()).collect();
        let rest: Vec<String> =
            cutter.names().unwrap_or_default().iter().filter(|name| !known.contains(*name)).cloned().collect();
        let (mut names, mut seen) = (Vec::new(), Vec::new());
        for column in all.columns {
            names.push(column.name.into());
            seen.push(column.seen);
        }
        seen.resize(names.len() + rest.len(), Seen::default());
        names.extend(rest);
        Ok(Inferred { names, seen, rows: all.records, form: self.options.form, inputs: self.names() })
    }

    /// Writes the rows that are wanted to a writer whose schema says what columns there are and of which types. Columns of the
    /// schema that an input does not have are missing; columns that only the input has are a loss. `progress` hears of bytes.
    ///
    /// # Errors
    /// What keeps the text from being read; a value that does not fit its column's type, with file, line and column: of all errors the
    /// first. And those of the writer.
    pub fn write_to<W: Write + Seek>(
        &self,
        writer: &mut Writer<W>,
        take: &Take,
        progress: Option<&dyn Progress>,
    ) -> Result<Imported> {
        self.fill(writer, take, progress).map_err(|error| error.in_format(self.options.form.name()))
    }

    fn fill<W: Write + Seek>(
        &self,
        writer: &mut Writer<W>,
        take: &Take,
        progress: Option<&dyn Progress>,
    ) -> Result<Imported> {
        self.begin(progress);
        let names = column_names(writer.schema());
        let mut plan = Plan::new(writer.schema(), &names, take.leave_out.clone());
        let wide = u64::try_from(names.len().max(1)).unwrap_or(u64::MAX);
        let workers = Workers::new(self.options.threads);
        let mut cutter = Cutter::new(&self.inputs, &self.options, (CELLS / wide).clamp(1, RECORDS));
        let mut imported = Imported::default();
        let mut lost = Lost::default();
        let mut cells_known = false;
        while imported.passed < take.rows.end {
            let (chunks, failure) = Self::gather(&mut cutter, &workers);
            if let (false, Some(names)) = (cells_known, cutter.names()) {
                plan.set_cells(names);
                cells_known = true;
            }
            let fill = |chunk: &Chunk| plan.fill(chunk, &self.options, &part(&take.rows, chunk));
            for (chunk, rows) in chunks.iter().zip(workers.map(chunks.iter().collect(), fill)) {
                let rows = rows.map_err(|error| self.name(error, chunk))?;
                let slices: Vec<ColumnSlice<'_>> = rows.columns.iter().map(ColumnSlice::from).collect();
                // The writer counts rows of what it is given.
                writer.append_columns(&slices).map_err(|error| match error.position().row {
                    Some(row) => match usize::try_from(row).ok().and_then(|row| rows.places.get(row)) {
                        Some(place) => place.mark(error, &self.names()),
                        None => error,
                    },
                    None => error,
                })?;
                imported.rows += rows.places.len() as u64;
                imported.passed = chunk.row + chunk.records;
                lost.merge(rows.lost);
                told(progress, chunk);
            }
            if imported.passed < take.rows.end {
                failure?;
            }
            if chunks.is_empty() {
                break;
            }
        }
        imported.losses = lost.losses(&self.names());
        Ok(imported)
    }
}

/// The names by which text tables know a schema's columns: its own, and `#2` and so on behind those that repeat.
#[must_use]
pub fn column_names(schema: &Schema) -> Vec<String> {
    let mut names = schema.columns.iter().map(|column| column.name.clone()).collect();
    make_unique(&mut names);
    names
}
