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
            let cells = Cells { text: valid, starts: starts.get(index..).unwrap_or_default(), step: count };
            let mut profile = profiles.get_mut(index);
            if let Some((at, mode)) = *column
                && append_typed(&mut block, (at, mode), cells, profile.as_deref_mut(), (context, task.row))
            {
                continue;
            }
            for (range, row) in cells.zip(0..) {
                let text = cells.text(range);
                context.row = task.row + row as u64;
                // A cell may be profiled again: a column's type does not depend on how often a value occurs.
                let scalar = profile.as_mut().and_then(|profile| profile.observe(text, false, context));
                let Some((at, mode)) = *column else { continue };
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
fn append_typed(
    block: &mut RowBlock<'_>,
    (at, mode): (usize, AppendMode),
    cells: Cells<'_>,
    profile: Option<&mut CellProfile>,
    (context, first_row): (&mut CellContext, u64),
) -> bool {
    let (mut unused, is_profiled) = (CellProfile::default(), profile.is_some());
    let profile = profile.unwrap_or(&mut unused);
    match mode {
        AppendMode::Text => {
            let mut is_text = !is_profiled || profile.is_text();
            let ranges = cells.zip(first_row..).map(|(range, row)| {
                if is_text {
                    profile.add_text(range.len());
                } else {
                    context.row = row;
                    profile.observe(cells.text(range.clone()), false, context);
                    is_text = profile.is_text();
                }
                range
            });
            block.texts(at, cells.text.as_bytes(), ranges)
        }
        AppendMode::Integer => {
            let value = |_: &str, scalar| if let Scalar::Integer(value) = scalar { Some(value) } else { None };
            block.i64s(at, cells.values(profile, value))
        }
        AppendMode::Float => {
            let value = |text: &str, scalar| match scalar {
                Scalar::Float(Some(value)) => Some(value),
                Scalar::Float(None) | Scalar::NonFinite => text.parse().ok(),
                // Others may not be exact.
                Scalar::Integer(value) => i32::try_from(value).ok().map(f64::from),
                _ => None,
            };
            block.f64s(at, cells.values(profile, value))
        }
        AppendMode::Bool => {
            let value = |_: &str, scalar| if let Scalar::Bool(value) = scalar { Some(value) } else { None };
            block.bools(at, cells.values(profile, value))
        }
        AppendMode::Nested | AppendMode::MaybeNested | AppendMode::Other => false,
    }
}

/// The ranges of a column's cells.
#[derive(Clone, Copy)]
struct Cells<'t> {
    text: &'t str,
    /// Where the next cell and all behind it start.
    starts: &'t [u32],
    /// Cells per row.
    step: usize,
}

impl<'t> Cells<'t> {
    #[inline]
    fn text(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    /// Converts and profiles the cells, up to the first that does not fit.
    #[inline]
    fn values<T>(
        self,
        profile: &mut CellProfile,
        convert: impl Fn(&str, Scalar) -> Option<T>,
    ) -> impl Iterator<Item = Option<T>> {
        self.map_while(move |range| {
            let text = self.text(range);
            if text.is_empty() {
                profile.add_null();
                return Some(None);
            }
            let scalar = Scalar::parse(text);
            let value = convert(text, scalar)?;
            profile.add(scalar, text.len());
            Some(Some(value))
        })
    }
}

impl Iterator for Cells<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let (&start, &next) = (self.starts.first()?, self.starts.get(1)?);
        self.starts = self.starts.get(self.step..).unwrap_or_default();
        Some(start as usize..next.saturating_sub(1) as usize)
    }
}
