use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::position::Position;
use crate::with_std::progress::Progress;

/// A dataset container, opened: a format and version, one or more tables, and the means to check itself.
pub trait Container: Send + Sync {
    /// The format's name in lower case, such as `idv`.
    fn format(&self) -> &'static str;

    /// The version of the format that the file states, such as `1.1.1.6`.
    fn version(&self) -> String;

    /// What else there is to say of the container as a whole, for `info`: format-specific, JSON members as they are printed.
    fn details(&self) -> Map<String, Value>;

    /// Its tables, in the format's order.
    fn tables(&self) -> Vec<&dyn Table>;

    /// Checks everything that can be checked and reports every problem, not the first one only.
    ///
    /// # Errors
    /// Only when checking itself cannot go on (the source fails); what is wrong with the file goes to `report`.
    fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()>;
}

/// A table of a container: named, typed columns and rows.
pub trait Table: Send + Sync {
    /// The table's name.
    fn name(&self) -> &str;

    /// The columns, in the format's order. Names are unique.
    ///
    /// In formats without a schema these are the ones that a look at some rows has found, as long as [`infer_columns`](Self::infer_columns) was not
    /// called: a column behind the last one may exist all the same. Those that are there keep their places.
    fn columns(&self) -> &[ColumnInfo];

    /// What is wrong with a row that was read for [`columns`](Self::columns), which then may not have all of them.
    fn columns_error(&self) -> Option<Error> {
        None
    }

    /// Reads whatever it takes until [`columns`](Self::columns) is complete: to be called before it is said that a column does not
    /// exist, and before all columns are laid out. Costs nothing where the format has a schema, and the second time.
    ///
    /// # Errors
    /// What is wrong with the rows; more columns than the limits allow. `columns` is then as it was.
    fn infer_columns(&self) -> Result<()>;

    /// What `info` shows of a column behind [`ColumnInfo::details`] and costs nothing to know, such as its codec or its shape: JSON members
    /// as they are printed. Made for each call, since a table may have a million columns. Empty where there is nothing, and for a column
    /// that does not exist.
    fn column_summary(&self, _index: usize) -> Map<String, Value> {
        Map::new()
    }

    /// What `info` shows of a column behind [`column_summary`](Self::column_summary), because it takes some reading: metadata, sizes.
    /// JSON members as they are printed. Empty where there is nothing.
    ///
    /// # Errors
    /// What is wrong with the metadata; [`Usage`](crate::ErrorKind::Usage) for a column that does not exist.
    fn column_details(&self, index: usize) -> Result<Map<String, Value>>;

    /// The number of rows, where the format knows it without reading the data.
    fn len(&self) -> Option<u64>;

    /// True when there are certainly no rows.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// A walk over rows; earlier rows and other columns are not read where the format allows.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a column that does not exist or cannot be read, or a range past the end.
    fn rows<'a>(&'a self, scan: &Scan) -> Result<Box<dyn Rows + 'a>>;

    /// The row that has this key, `None` where there is none.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) where rows of this format have no keys.
    fn find(&self, key: &str) -> Result<Option<u64>>;

    /// The same table by columns, as Arrow record batches; `None` where its format has no mapping to Arrow, or was built without feature
    /// `arrow`.
    #[cfg(feature = "arrow")]
    #[cfg_attr(docsrs, doc(cfg(feature = "arrow")))]
    fn arrow(&self) -> Option<&dyn crate::arrow::ArrowTable> {
        None
    }
}

/// A walk over rows: [`advance`](Self::advance) to each, then look at it.
pub trait Rows {
    /// Goes to the next row (at first: to the first one). False at the end, and after an error from then on.
    ///
    /// # Errors
    /// What is wrong with the row or the block it is in.
    fn advance(&mut self) -> Result<bool>;

    /// The current row's number in the table, from 0.
    fn index(&self) -> u64;

    /// Says of an error where the current row is: its number, or in a text the line.
    fn locate(&self, error: Error) -> Error {
        error.in_row(self.index())
    }

    /// The current row, a map from column name to value.
    fn row(&self) -> &dyn erased_serde::Serialize;

    /// Appends the current row as one line of JSON, without the line feed.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) where a value has no JSON form.
    fn json(&self, out: &mut Vec<u8>) -> Result<()>;

    /// What could not be shown as it is in the file, so far; also columns that a walk over all of them left out.
    fn losses(&self) -> Vec<Loss>;
}

/// Which rows and columns to walk over, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// Columns by index into [`Table::columns`], in the order wanted; `None` for all readable ones.
    pub columns: Option<Vec<usize>>,
    /// Rows, from 0; the default is all. An end past the table's means its end.
    pub rows: Range<u64>,
    /// Threads that may work at once; 0 for as many as the machine has. Without feature `parallel` of the format: one.
    pub threads: usize,
    /// Show numbers that stand for "missing" (NaN, an integer's minimum in old IDV files) as null.
    pub missing_as_null: bool,
}

impl Default for Scan {
    fn default() -> Self {
        Self { columns: None, rows: 0..u64::MAX, threads: 0, missing_as_null: false }
    }
}

impl Scan {
    /// Only these columns, in this order.
    #[must_use]
    pub fn with_columns(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns = Some(columns.into());
        self
    }

    /// Only these rows.
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// At most so many threads; 0 for as many as the machine has.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Show numbers that stand for "missing" as null.
    #[must_use]
    pub fn with_missing_as_null(mut self, yes: bool) -> Self {
        self.missing_as_null = yes;
        self
    }
}

/// A column, described.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The name, unique in the table: a repeated one has `#2`, `#3`... appended.
    pub name: String,
    /// The type in the format's own words.
    pub kind: String,
    /// Why the column cannot be read, if so. It is listed all the same.
    pub unreadable: Option<String>,
    /// What sets few columns apart, such as a name in the file that another column has too, for `info`: JSON members as they are printed.
    /// What every column has is for [`Table::column_summary`], which takes no memory.
    pub details: Vec<(String, Value)>,
}

impl ColumnInfo {
    /// A readable column without further details.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), unreadable: None, details: Vec::new() }
    }
}

/// Something that a conversion could not keep, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// What was lost, such as `key above its count shown as null`.
    pub what: String,
    /// How many times; 0 for what is no loss and should be known all the same, such as how the rows were found.
    pub count: u64,
    /// Where it was first.
    pub first: Position,
}

impl Loss {
    /// A loss that was seen `count` times, first at `first`.
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

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The file contradicts its format; data is lost or cannot be trusted.
    Error,
    /// The file can be read whole, but is not as its format's writers leave it.
    Warning,
}

/// One problem that [`Container::verify`] found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, and where.
    pub error: Error,
}

impl Finding {
    /// A finding that makes data untrustworthy.
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self { severity: Severity::Error, error }
    }

    /// A finding that leaves all data readable.
    #[must_use]
    pub fn warning(error: Error) -> Self {
        Self { severity: Severity::Warning, error }
    }
}

/// How to verify.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Threads that may work at once; 0 for as many as the machine has.
    pub threads: usize,
    /// Who listens to the progress.
    pub progress: Option<Arc<dyn Progress>>,
}

impl VerifyOptions {
    /// At most so many threads; 0 for as many as the machine has.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Tells `progress` how far the work is.
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
    fn a_loss_says_how_often_and_where_first() {
        let first = Position { row: Some(3), ..Position::default() };
        assert_eq!(Loss::new("NaN shown as null", 1, first.clone()).to_string(), "NaN shown as null (row 3)");
        assert_eq!(Loss::new("NaN shown as null", 5, first).to_string(), "NaN shown as null (5 times, first row 3)");
        assert_eq!(Loss::new("order", 1, Position::default()).to_string(), "order (once)");
        assert_eq!(Loss::new("no order", 0, Position::default()).to_string(), "no order");
    }
}
