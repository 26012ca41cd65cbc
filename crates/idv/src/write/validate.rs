//! Validation of appended values, before any of them is taken.

use std::io::{Seek, Write};

use container_core::{Error, Result};

use super::writer::Writer;
use crate::check;
use crate::read::ColumnSlice;

impl<W: Write + Seek> Writer<W> {
    /// Checks slices against the schema and returns their number of rows.
    pub(super) fn check_slices(&self, columns: &[ColumnSlice<'_>]) -> Result<usize> {
        if columns.len() != self.columns.len() {
            return Err(Error::usage(format!("expected {} columns, found {}", self.columns.len(), columns.len())));
        }
        let rows = columns.first().map_or(0, |column| column.range.len());
        for (index, slice) in columns.iter().enumerate() {
            self.check_slice(index, slice)?;
            if slice.range.len() != rows {
                let detail = format!("expected {rows} rows as in the first column, found {}", slice.range.len());
                return Err(Error::usage(detail).in_column(self.name(index)));
            }
        }
        Ok(rows)
    }

    pub(super) fn check_slice(&self, index: usize, slice: &ColumnSlice<'_>) -> Result<()> {
        let Some(column) = self.columns.get(index) else {
            return Err(Error::usage(format!("column {index} is out of bounds for {} columns", self.columns.len())));
        };
        let named = |error: Error| error.in_column(self.name(index));
        if !slice.values.matches_type(&column.kind) {
            let detail = format!("expected {} values, found {}", column.kind, slice.values.variant());
            return Err(named(Error::usage(detail)));
        }
        if !slice.values.is_consistent() {
            return Err(named(Error::usage("arrays of the values have different lengths")));
        }
        let (range, len) = (&slice.range, slice.values.len());
        if range.start > range.end || range.end > len {
            return Err(named(Error::usage(format!(
                "values {}..{} are out of bounds for {len}",
                range.start, range.end
            ))));
        }
        Ok(())
    }

    pub(super) fn check_values(&self, columns: &[ColumnSlice<'_>], rows: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let first = self.row_count();
        columns.iter().enumerate().try_for_each(|(index, slice)| self.check_column(index, slice, first))
    }

    pub(super) fn check_column(&self, index: usize, slice: &ColumnSlice<'_>, first_row: u64) -> Result<()> {
        let Some(column) = self.columns.get(index) else { return Ok(()) };
        check::validate_for_writing(&column.kind, slice.values, slice.range.clone()).map_err(|invalid| {
            let row = first_row + (invalid.index - slice.range.start) as u64;
            Error::usage(invalid.detail).in_row(row).in_column(self.name(index))
        })
    }
}
