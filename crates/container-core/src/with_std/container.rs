use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::position::Position;
use crate::with_std::progress::{Progress, Watch};

/// An open dataset container: metadata, one or more [tables](Table), and integrity checks.
///
/// Returned by [`Format::open`](crate::Format::open), which does not read all data.
pub trait Container: Send + Sync {
    /// The format's name in lower case, such as `idv`.
    fn format(&self) -> &'static str;

    /// The format version stated in the file, such as `1.1.1.6`.
    fn version(&self) -> String;

    /// Format-specific properties of the whole container, as JSON members for display.
    fn details(&self) -> Map<String, Value>;

    /// The tables, in the format's order.
    fn tables(&self) -> Vec<&dyn Table>;

    /// Checks the whole container and passes every problem to `report`. Reads all data: O(file size).
    ///
    /// # Errors
    /// Only failures that prevent checking, such as I/O errors. Problems of the file go to `report`.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()>;
}

/// Shows the format: containers can be large.
impl fmt::Debug for dyn Container + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container").field("format", &self.format()).finish_non_exhaustive()
    }
}

impl<C: Container + ?Sized> Container for Arc<C> {
    fn format(&self) -> &'static str {
        (**self).format()
    }

    fn version(&self) -> String {
        (**self).version()
    }

    fn details(&self) -> Map<String, Value> {
        (**self).details()
    }

    fn tables(&self) -> Vec<&dyn Table> {
        (**self).tables()
    }

    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        (**self).verify(options, report)
    }
}

/// A table of a container: named, typed columns, and rows numbered from 0.
///
/// Columns are addressed by their index into [`columns`](Self::columns).
pub trait Table: Send + Sync {
    /// The table's name.
    fn name(&self) -> &str;

    /// The columns, in the format's order. Names are unique.
    ///
    /// In formats without a schema they are inferred from a sample of the rows until [`infer_columns`](Self::infer_columns) is called, which
    /// may append columns but never moves one.
    fn columns(&self) -> &[ColumnInfo];

    /// The error that ended the sampling of rows for [`columns`](Self::columns), if any. Columns may be missing then.
    fn columns_error(&self) -> Option<Error> {
        None
    }

    /// Completes [`columns`](Self::columns). Call it before reporting a column as unknown, and before laying out all columns.
    ///
    /// Free for formats with a schema and on later calls; otherwise it scans all rows.
    ///
    /// # Errors
    /// Errors of the rows, and [`Limit`](crate::ErrorKind::Limit) for too many columns. `columns` is unchanged then.
    fn infer_columns(&self) -> Result<()> {
        Ok(()) // with a schema
    }

    /// As [`infer_columns`](Self::infer_columns), while `watch` is told how far a scan is, and can end it.
    ///
    /// # Errors
    /// Those of `infer_columns`, and [`Cancelled`](crate::ErrorKind::Cancelled).
    fn infer_columns_with(&self, watch: &Watch) -> Result<()> {
        let _ = watch; // without a scan
        self.infer_columns()
    }

    /// Whether the file declares the types of its columns. Without a schema they are inferred from rows, and several inputs get common types.
    fn has_schema(&self) -> bool {
        true
    }

    /// Properties of a column that are known without reading, such as its codec or shape, as JSON members for display. Shown after
    /// [`ColumnInfo::details`]. Built on each call, since a table may have a million columns. Empty for an unknown column.
    fn column_summary(&self, _index: usize) -> Map<String, Value> {
        Map::new()
    }

    /// Properties of a column that need some reading, such as metadata and sizes, as JSON members for display. Shown after
    /// [`column_summary`](Self::column_summary).
    ///
    /// # Errors
    /// Errors of the metadata; [`Usage`](crate::ErrorKind::Usage) for an unknown column.
    fn column_details(&self, index: usize) -> Result<Map<String, Value>>;

    /// The number of rows, or `None` if counting them would require a scan.
    fn len(&self) -> Option<u64>;

    /// Returns true if the table is known to have no rows.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The number of rows that are read together, where a [scan](Self::rows) that starts later need not read the rows before: skipping fewer than
    /// that saves nothing. `None` where a scan reads all rows from the first one on.
    fn block_rows(&self) -> Option<u64> {
        None
    }

    /// The first rows of the parts that can be damaged one by one, such as row groups, in order. Empty if the format has none, or does not know them.
    fn block_starts(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Reads the rows and columns selected by `scan`. Other rows and columns are skipped without reading where the format allows.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for an unknown or unreadable column, and for a range that starts past the end.
    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>>;

    /// The column that holds the keys of [`find`](Self::find), which are unique in a valid file. `None` if rows have no keys, or the column may differ
    /// from them.
    fn key_column(&self) -> Option<&str> {
        None
    }

    /// Returns the number of the row with this key, or `None`.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if rows of this format have no keys.
    fn find(&self, key: &str) -> Result<Option<u64>>;

    /// The columnar interface to this table, or `None` if its format has no Arrow mapping or was built without feature `arrow`.
    #[cfg(feature = "arrow")]
    #[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
    fn arrow(&self) -> Option<&dyn crate::arrow::ArrowTable> {
        None
    }
}

/// A forward-only iterator over rows: call [`advance`](Self::advance), then read the current row.
///
/// All methods but `advance` and [`losses`](Self::losses) refer to the current row, and need a call of `advance` that returned true.
pub trait Rows: Send {
    /// Moves to the next row, at first to the first one. Returns false at the end, and on every call after an error.
    ///
    /// # Errors
    /// Errors of the row or of its block.
    fn advance(&mut self) -> Result<bool>;

    /// The number of the current row in its table, from 0.
    fn index(&self) -> u64;

    /// Adds the position of the current row to an error: its number or, in text formats, its line.
    fn locate(&self, error: Error) -> Error {
        error.in_row(self.index())
    }

    /// The current row, serialized as a map from column name to value.
    fn row(&self) -> &dyn erased_serde::Serialize;

    /// Appends the current row to `out` as one JSON object on one line, without the line feed.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a value without a JSON form. `out` may hold part of the row then.
    fn json(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Values so far that could not be represented exactly, and columns skipped because they are unreadable.
    fn losses(&self) -> Vec<Loss>;
}

/// Selects rows and columns for [`Table::rows`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// Projection: indexes into [`Table::columns`], in output order. `None` selects all readable columns.
    pub columns: Option<Vec<usize>>,
    /// Row range, from 0. An end past the last row is clamped. Default: all rows.
    pub rows: Range<u64>,
    /// Maximum number of threads; 0 uses all cores. Without the format's feature `parallel`, one.
    pub threads: usize,
    /// Read sentinel values for "missing" (NaN, and the minimum of an integer type in old IDV files) as null.
    pub missing_as_null: bool,
}

impl Default for Scan {
    fn default() -> Self {
        Self { columns: None, rows: 0..u64::MAX, threads: 0, missing_as_null: false }
    }
}

impl Scan {
    /// Replaces [`columns`](Self::columns).
    #[must_use]
    pub fn with_columns(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns = Some(columns.into());
        self
    }

    /// Replaces [`rows`](Self::rows).
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`missing_as_null`](Self::missing_as_null).
    #[must_use]
    pub fn with_missing_as_null(mut self, yes: bool) -> Self {
        self.missing_as_null = yes;
        self
    }
}

/// The description of a column.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The name, unique in the table: duplicates get `#2`, `#3`... appended.
    pub name: String,
    /// The type, in the format's own terms.
    pub kind: String,
    /// The reason the column cannot be read, if any.
    pub unreadable: Option<String>,
    /// Properties only few columns have, such as the original of a deduplicated name, as JSON members for display. Properties of every
    /// column belong into [`Table::column_summary`], which takes no memory.
    pub details: Vec<(String, Value)>,
}

impl ColumnInfo {
    /// Creates a readable column without details.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), unreadable: None, details: Vec::new() }
    }

    /// The loss if the column is left out because it cannot be read.
    #[must_use]
    pub fn left_out(&self) -> Option<Loss> {
        let why = self.unreadable.as_ref()?;
        Some(Loss::new(format!("column left out ({why})"), 1, Position::of_column(self.name.clone())))
    }
}

/// Values of one kind that a conversion could not preserve.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// What was lost, such as `key above its count shown as null`.
    pub what: String,
    /// Number of occurrences; 0 for a notice that is not a loss.
    pub count: u64,
    /// Position of the first occurrence.
    pub first: Position,
}

impl Loss {
    /// Creates a loss that occurred `count` times, first at `first`.
    #[must_use]
    pub fn new(what: impl Into<String>, count: u64, first: Position) -> Self {
        Self { what: what.into(), count, first }
    }
}

/// `NaN shown as null (5 times, first row 3)`
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, count, first } = self;
        match (count, first.is_unknown()) {
            (0, _) => f.write_str(what),
            (1, true) => write!(f, "{what} (once)"),
            (1, false) => write!(f, "{what} ({first})"),
            (count, true) => write!(f, "{what} ({count} times)"),
            (count, false) => write!(f, "{what} ({count} times, first {first})"),
        }
    }
}

/// The severity of a [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The file violates its format: data is lost or cannot be trusted.
    Error,
    /// All data is readable, but the file differs from what the format's writers produce.
    Warning,
}

/// A problem reported by [`Container::verify`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The problem and its position.
    pub error: Error,
}

impl Finding {
    /// Creates a finding of [`Severity::Error`].
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self { severity: Severity::Error, error }
    }

    /// Creates a finding of [`Severity::Warning`].
    #[must_use]
    pub fn warning(error: Error) -> Self {
        Self { severity: Severity::Warning, error }
    }
}

/// Options for [`Container::verify`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Maximum number of threads; 0 uses all cores.
    pub threads: usize,
    /// Receives progress reports.
    pub progress: Option<Arc<dyn Progress>>,
}

impl VerifyOptions {
    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl fmt::Debug for VerifyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyOptions")
            .field("threads", &self.threads)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_displays_count_and_first_position() {
        let first = Position { row: Some(3), ..Position::default() };
        assert_eq!(Loss::new("NaN shown as null", 1, first.clone()).to_string(), "NaN shown as null (row 3)");
        assert_eq!(Loss::new("NaN shown as null", 5, first).to_string(), "NaN shown as null (5 times, first row 3)");
        assert_eq!(Loss::new("order", 1, Position::default()).to_string(), "order (once)");
        assert_eq!(Loss::new("no order", 0, Position::default()).to_string(), "no order");
    }
}
