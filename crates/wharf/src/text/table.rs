//! The single table of a text container, with lazily inferred columns.

use std::sync::OnceLock;

use container_core::{ColumnInfo, Error, ErrorKind, Result, Watch};

use super::columns::{ColumnInference, Columns};
use super::layout::Text;
use super::profile::ColumnKind;
use super::profile::arrow_types::RowProfile;
use crate::workers::Workers;

/// Up to this many bytes all rows are scanned for columns; beyond, only those of the first chunk.
const MAX_FULL_SCAN: u64 = 16 << 20;

/// The only table of a text container.
#[derive(Debug)]
pub(super) struct RecordsTable {
    pub(super) text: Text,
    /// Columns inferred from the first rows.
    sample_columns: OnceLock<Columns>,
    /// Columns inferred from all rows.
    pub(super) all_columns: OnceLock<Columns>,
    /// Kinds of CSV columns, inferred from all rows.
    pub(super) kinds: OnceLock<Box<[ColumnKind]>>,
    /// Profile of all rows.
    pub(super) observed: OnceLock<RowProfile>,
}

impl RecordsTable {
    pub(super) fn new(text: Text) -> Self {
        Self {
            text,
            sample_columns: OnceLock::new(),
            all_columns: OnceLock::new(),
            kinds: OnceLock::new(),
            observed: OnceLock::new(),
        }
    }

    /// The best columns known so far.
    pub(super) fn known(&self) -> &Columns {
        if let Some(all) = self.all_columns.get() {
            return all;
        }
        self.sample_columns.get_or_init(|| {
            let small = self.text.len() <= MAX_FULL_SCAN;
            let (inference, result) = self.scan_columns(&Workers::new(usize::from(!small)), small, &Watch::default());
            inference.columns(&self.text, result.err())
        })
    }

    /// Infers columns from all rows, or from the first ones.
    pub(super) fn scan_columns(&self, workers: &Workers, all: bool, watch: &Watch) -> (ColumnInference, Result<()>) {
        let (inference, result) = ColumnInference::scan(&self.text, workers, all, watch);
        // Broken rows are ignored.
        let is_partial = |error: &Error| matches!(error.kind(), ErrorKind::Io | ErrorKind::Cancelled);
        if all && !result.as_ref().is_err_and(is_partial) {
            let _ = self.kinds.set(inference.kinds(&self.text)); // ignore: a concurrent caller set the same value
        }
        (inference, result)
    }

    /// Kinds of CSV columns, inferred from all rows that are not broken. Cells become values of their column's kind.
    pub(super) fn kinds(&self, threads: usize) -> Result<&[ColumnKind]> {
        if self.text.is_csv() && self.kinds.get().is_none() {
            match self.scan_columns(&Workers::new(threads), true, &Watch::default()) {
                (inference, Ok(())) => drop(self.all_columns.set(inference.columns(&self.text, None))),
                (_, Err(error)) if error.kind() == ErrorKind::Io => return Err(error),
                _ => {}
            }
        }
        Ok(self.kinds.get().map(AsRef::as_ref).unwrap_or_default())
    }

    /// The column with this index.
    pub(super) fn column(&self, index: usize) -> Result<&ColumnInfo> {
        let missing = || Error::usage(format!("no column {index}")).in_format(self.text.format);
        self.known().infos.get(index).ok_or_else(missing)
    }

    /// Rejects a row range that begins after the last row, if the number of rows is known.
    pub(super) fn check_rows(&self, rows: &std::ops::Range<u64>) -> Result<()> {
        match self.text.index.get() {
            Some(index) if rows.start > index.rows => {
                let (start, count) = (rows.start, index.rows);
                Err(Error::usage(format!("row range begins at {start}, the table has {count} rows"))
                    .in_format(self.text.format))
            }
            _ => Ok(()),
        }
    }
}
