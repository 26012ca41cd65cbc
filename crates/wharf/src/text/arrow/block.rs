//! Parses blocks of CSV rows without quotes, column by column: faster than row by row, as what a column needs is decided once per block.

use std::ops::Range;

use container_arrow::{Columns, RowBlock};

use super::super::profile::{CellContext, CellProfile};
use super::super::records::split::split_lines;
use super::super::scalar::Scalar;
use super::cells::{AppendMode, Cell, append_cell};
use super::plan::{ChunkTask, ParsePlan, Readers};

/// Cells and rows per block: their text and values should fit into the fast caches.
const MAX_CELLS: usize = 8192;
const MAX_ROWS: usize = 1024;

impl ParsePlan<'_> {
    /// Whether rows of a chunk can be appended in blocks. `valid` is its leading valid UTF-8.
    pub(super) fn has_blocks(&self, task: &ChunkTask, valid: &str, columns: &Columns) -> bool {
        let len = task.chunk.bytes.len();
        let is_selected = task.row >= self.scan.scan.rows.start;
        task.chunk.has_plain_lines && is_selected && valid.len() == len && len <= 1 << 31 && columns.is_strict()
    }

    /// Appends the next rows. False if that fails, with the rows discarded: appending them one by one succeeds, or finds the first error.
    pub(super) fn block(
        &self,
        task: &mut ChunkTask,
        valid: &str,
        columns: &mut Columns,
        readers: &mut Readers,
    ) -> bool {
        let count = self.cells.len();
        let (Ok(at), Some(cells)) = (u32::try_from(task.at), MAX_CELLS.checked_div(count)) else { return false };
        let selected = self.scan.scan.rows.end.saturating_sub(task.row);
        let selected = usize::try_from(selected).unwrap_or(usize::MAX);
        let space = self.scan.batch_rows.saturating_sub(columns.len());
        let max_rows = cells.clamp(1, MAX_ROWS).min(selected).min(space);
        let layout = (self.text.options.delimiter, count, max_rows);
        let rows = split_lines(valid.as_bytes(), at, layout, &mut readers.starts);
        let Some(end) = readers.starts.last().map(|end| *end as usize).filter(|_| rows > 0) else { return false };
        let Some(mut block) = columns.block(task.row, rows, end - task.at) else { return false };
        let Readers { starts, profiles, context, json, .. } = readers;
        for (index, column) in self.cells.iter().enumerate() {
            let starts = starts.get(index..).unwrap_or_default();
            let profile = profiles.get_mut(index);
            let mut cells = Cells { text: valid, starts, step: count, profile, context, row: task.row };
            let Some((at, mode)) = *column else {
                cells.for_each(drop);
                continue;
            };
            if append_typed(&mut block, at, mode, &mut cells) {
                continue;
            }
            // Some cells are profiled again: a column's type does not depend on how often a value occurs.
            (cells.starts, cells.row) = (starts, task.row);
            for (row, CellSlice { text, scalar, .. }) in cells.enumerate() {
                let cell = Cell { text, quoted: false, scalar };
                let appended = block.slot(at, row).map(|slot| append_cell(slot, cell, mode, json));
                if !matches!(appended, Some(Ok(()))) {
                    columns.roll_back();
                    return false;
                }
            }
        }
        block.end();
        task.at = end;
        task.row += rows as u64;
        true
    }
}

/// Appends the cells of a column with a frequent type; false for other types, and if a cell does not fit.
fn append_typed(block: &mut RowBlock<'_>, at: usize, mode: AppendMode, cells: &mut Cells<'_, '_>) -> bool {
    match mode {
        AppendMode::Text => {
            let text = cells.text.as_bytes();
            block.texts(at, text, cells.map(|cell| cell.range))
        }
        AppendMode::Integer => {
            let value = |cell: CellSlice<'_>| match cell.scalar() {
                None => Some(None),
                Some(Scalar::Integer(value)) => Some(Some(value)),
                Some(_) => None,
            };
            block.i64s(at, cells.map_while(value))
        }
        AppendMode::Float => {
            let value = |cell: CellSlice<'_>| match cell.scalar() {
                None => Some(None),
                Some(Scalar::Float(Some(value))) => Some(Some(value)),
                Some(Scalar::Float(None) | Scalar::NonFinite) => cell.text.parse().ok().map(Some),
                // Exact up to 2^53.
                Some(Scalar::Integer(value)) => i32::try_from(value).ok().map(|value| Some(value.into())),
                Some(_) => None,
            };
            block.f64s(at, cells.map_while(value))
        }
        AppendMode::Bool => {
            let value = |cell: CellSlice<'_>| match cell.scalar() {
                None => Some(None),
                Some(Scalar::Bool(value)) => Some(Some(value)),
                Some(_) => None,
            };
            block.bools(at, cells.map_while(value))
        }
        AppendMode::Nested | AppendMode::MaybeNested | AppendMode::Other => false,
    }
}

/// The cells of a column, which are profiled as they are read.
struct Cells<'t, 'p> {
    text: &'t str,
    /// Where the next cell and all behind it start.
    starts: &'t [u32],
    /// Cells per row.
    step: usize,
    profile: Option<&'p mut CellProfile>,
    context: &'p mut CellContext,
    /// The next row's number.
    row: u64,
}

struct CellSlice<'t> {
    range: Range<usize>,
    text: &'t str,
    /// Its scalar, if the profile needed it.
    scalar: Option<Scalar>,
}

impl CellSlice<'_> {
    /// `None` for an empty cell.
    #[inline]
    fn scalar(&self) -> Option<Scalar> {
        if self.text.is_empty() { None } else { Some(self.scalar.unwrap_or_else(|| Scalar::parse(self.text))) }
    }
}

impl<'t> Iterator for Cells<'t, '_> {
    type Item = CellSlice<'t>;

    #[inline]
    fn next(&mut self) -> Option<CellSlice<'t>> {
        let (&start, &next) = (self.starts.first()?, self.starts.get(1)?);
        self.starts = self.starts.get(self.step..).unwrap_or_default();
        let range = start as usize..next.saturating_sub(1) as usize;
        let text = self.text.get(range.clone()).unwrap_or_default();
        self.context.row = self.row;
        self.row += 1;
        let scalar = self.profile.as_mut().and_then(|profile| profile.observe(text, false, self.context));
        Some(CellSlice { range, text, scalar })
    }
}
