//! Infers the types that CSV columns get in samples.

use std::ops::Range;

use container_core::{Error, ErrorKind, Limits, Progress, Result};
use datadings::json::to_msgpack;
use datadings::ser::extend;

use super::super::TextTable;
use crate::text::profile::{CellContext, CellProfile, ColumnKind};
use crate::text::records::Options;
use crate::text::records::chunk::{Chunk, rows_in_chunk};
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, visit_records};
use crate::text::scalar::may_be_nested;

/// The profile of a column. The same as for record batches, so that samples and batches have the same types.
#[derive(Debug, Clone, Default)]
struct ColumnState {
    profile: CellProfile,
    /// Some cell is JSON that has no msgpack form.
    is_rejected: bool,
}

/// The type of a column's cells in samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleType {
    Text,
    /// Text without inference: an empty cell is an empty string.
    Verbatim,
    Bool,
    Integer,
    Float,
    Nested,
    /// All cells are empty.
    Nil,
}

impl ColumnState {
    fn observe(&mut self, text: &str, quoted: bool, rows: &mut CellContext, scratch: &mut Vec<u8>) {
        self.profile.observe(text, quoted, rows);
        if !self.is_rejected && may_be_nested(text) {
            scratch.clear();
            self.is_rejected = to_msgpack(text.as_bytes(), scratch).is_err();
        }
    }

    fn merge(&mut self, other: Self) {
        self.profile.merge(other.profile);
        self.is_rejected |= other.is_rejected;
    }

    fn sample_type(&self) -> SampleType {
        match self.profile.row_kind() {
            ColumnKind::Null => SampleType::Nil,
            ColumnKind::Bool => SampleType::Bool,
            ColumnKind::Integer | ColumnKind::Unsigned => SampleType::Integer,
            ColumnKind::Float => SampleType::Float,
            ColumnKind::Nested if !self.is_rejected => SampleType::Nested,
            ColumnKind::Nested | ColumnKind::Date | ColumnKind::Time(_) | ColumnKind::Stamp(..) | ColumnKind::Text => {
                SampleType::Text
            }
        }
    }
}

impl SampleType {
    /// The name in reports.
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
    pub(super) fn write(self, text: &str, quoted: bool, out: &mut Vec<u8>) -> Result<()> {
        let changed = || Error::invalid(format!("the cell {text:?} changed since types were inferred"));
        match self {
            Self::Verbatim => extend(out, text),
            Self::Text if quoted || !text.is_empty() => extend(out, text),
            _ if text.is_empty() => extend(out, &()),
            Self::Bool => extend(out, &text.eq_ignore_ascii_case("true")),
            Self::Integer => match (text.parse::<u64>(), text.parse::<i64>()) {
                (Ok(value), _) => extend(out, &value),
                (_, Ok(value)) => extend(out, &value),
                _ => Err(changed()),
            },
            Self::Float => extend(out, &text.parse::<f64>().map_err(|_| changed())?),
            Self::Nested => to_msgpack(text.as_bytes(), out),
            Self::Nil | Self::Text => Err(changed()),
        }
    }
}

/// Profiles the cells of a chunk.
struct TypeScan {
    columns: Vec<ColumnState>,
    rows: CellContext,
    scratch: Vec<u8>,
}

impl TypeScan {
    fn of(chunk: &Chunk, options: &Options, cells: usize, selected: &Range<u64>) -> Result<Vec<ColumnState>> {
        let rows = CellContext::new(&Limits::default());
        let mut scan = Self { columns: vec![ColumnState::default(); cells], rows, scratch: Vec::new() };
        visit_records(chunk, options, cells, selected, &mut scan)?;
        Ok(scan.columns)
    }
}

impl RecordVisitor for TypeScan {
    fn cell(&mut self, index: usize, text: &str, quoted: bool, _: Location) -> Result<()> {
        if let Some(column) = self.columns.get_mut(index) {
            column.observe(text, quoted, &mut self.rows, &mut self.scratch);
        }
        Ok(())
    }
}

impl TextTable {
    /// Infers column types from all rows; if some are broken, from the selected ones.
    pub(super) fn infer_types(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Vec<SampleType>> {
        match self.infer_types_in(&(0..u64::MAX), progress) {
            Err(error) if error.kind() != ErrorKind::Io && *rows != (0..u64::MAX) => {
                self.infer_types_in(rows, progress)
            }
            types => types,
        }
    }

    fn infer_types_in(&self, rows: &Range<u64>, progress: Option<&dyn Progress>) -> Result<Vec<SampleType>> {
        let mut all: Vec<ColumnState> = Vec::new();
        let scan_chunk = |chunk: &Chunk, names: &[String]| {
            TypeScan::of(chunk, &self.options, names.len(), &rows_in_chunk(rows, chunk))
        };
        let (_, cells) = self.each_chunk(rows.end, progress, scan_chunk, |chunk, columns| {
            let columns = columns.map_err(|error| self.with_input_name(error, chunk))?;
            all.resize(columns.len().max(all.len()), ColumnState::default());
            all.iter_mut().zip(columns).for_each(|(column, more)| column.merge(more));
            Ok(())
        })?;
        // Without rows, there can be a header.
        all.resize(cells.max(all.len()), ColumnState::default());
        Ok(all.iter().map(ColumnState::sample_type).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_type(cells: &[&str]) -> &'static str {
        let (mut all, mut rows) = (ColumnState::default(), CellContext::new(&Limits::default()));
        // Profile each cell alone and merge, as with chunks.
        for cell in cells {
            let mut one = ColumnState::default();
            one.observe(cell, false, &mut rows, &mut Vec::new());
            all.merge(one);
        }
        all.sample_type().name()
    }

    #[test]
    fn infers_types_from_all_cells() {
        assert_eq!(sample_type(&[]), "nil");
        assert_eq!(sample_type(&["", ""]), "nil");
        assert_eq!(sample_type(&["1", "", "18446744073709551615"]), "int");
        assert_eq!(sample_type(&["-3", "18446744073709551615"]), "str");
        assert_eq!(sample_type(&["18446744073709551616"]), "float");
        assert_eq!(sample_type(&["18446744073709551617"]), "str");
        assert_eq!(sample_type(&["-9223372036854775809"]), "str");
        assert_eq!(sample_type(&["1", "2.5", "NaN"]), "float");
        assert_eq!(sample_type(&["9007199254740993", "2.5"]), "str");
        assert_eq!(sample_type(&["9007199254740993", "NaN"]), "str");
        assert_eq!(sample_type(&["9007199254740993", "2"]), "int");
        assert_eq!(sample_type(&["NaN", "Infinity"]), "str");
        assert_eq!(sample_type(&["1e400"]), "str");
        assert_eq!(sample_type(&["-0", "1"]), "float");
        assert_eq!(sample_type(&["true", "FALSE", ""]), "bool");
        assert_eq!(sample_type(&["true", "1"]), "str");
        assert_eq!(sample_type(&["007", "1"]), "str");
        assert_eq!(sample_type(&["[1,2]", "[]", ""]), "JSON");
        assert_eq!(sample_type(&["2024-05-01", "2024-05-02"]), "str");
        assert_eq!(sample_type(&["[1,2]", "1"]), "str");
        assert_eq!(sample_type(&["[1,2"]), "str");
        assert_eq!(sample_type(&["{\"$bytes\":\"?\"}"]), "str");
        assert_eq!(sample_type(&["x", "1"]), "str");
    }
}
