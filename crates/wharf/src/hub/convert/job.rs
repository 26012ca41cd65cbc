//! What a conversion is asked to do, what it works with, and what it reports.

use std::io::Write;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_arrow::{BatchScan, OnMismatch, Predicate};
use container_core::{Container, Error, ErrorKind, Output, OutputOptions, Overwrite, Result};
use serde_json::Value;

use super::super::env::Opener;
use super::super::inputs::Location;
use super::super::select::{self, Selection};
use super::super::{Bar, Listener, Lost};
use super::columnar::pick::PickedRows;
use super::options::{ColumnMapping, TextInput};
use crate::hub::view::change::Changes;

/// A conversion: the inputs, whose rows follow one another, and which columns and rows are selected.
///
/// Inputs are files, data sets, stores, or folders of files; content and name show their format, or [`TextInput::from`] declares it. Several
/// inputs need the same columns with the same meaning: a difference that cannot be unified is an error that names it. The options of the output
/// belong to its [`Target`](super::Target). The same values get the same types whichever way they come.
///
/// ```no_run
/// use wharf::{Convert, Overwrite, Registry};
///
/// let report = Convert::new(["monday.csv", "tuesday.csv"])
///     .with_columns(["station", "temperature"])
///     .with_rows(0..1_000_000)
///     .write("days.parquet", Overwrite::Refuse, &Registry::builtin())?;
/// println!("{} rows, {} bytes", report.rows, report.bytes);
/// for lost in &report.losses {
///     eprintln!("{lost}");
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Convert {
    /// The inputs.
    pub inputs: Vec<Location>,
    /// Which columns and rows.
    pub selection: Selection,
    /// How text inputs are read.
    pub text: TextInput,
    /// How values are mapped to typed columns.
    pub mapping: ColumnMapping,
    /// What becomes of the columns of the inputs, before `selection` selects some by the names they get.
    pub changes: Changes,
    /// Inputs may have different columns, in any order: those that an input lacks are null.
    pub union: bool,
    /// Some of the rows, in another order; for formats that are read as columns.
    pub(in crate::hub) picked: Option<Arc<PickedRows>>,
    /// Receives progress reports.
    pub(in crate::hub) progress: Listener,
}

/// Where a conversion writes.
#[non_exhaustive]
pub enum To<'a> {
    /// A file, a set of files, or a folder, whole or not at all.
    Path(&'a Path, Overwrite),
    /// A stream; what was written before an error stays there.
    Stream(&'a mut (dyn Write + Send)),
}

impl<'a> To<'a> {
    /// The path of the output, and whether it may replace a file. A stream has the name under which formats refuse it.
    pub(in crate::hub) fn file(&self) -> (&'a Path, bool) {
        match self {
            To::Path(path, overwrite) => (path, *overwrite == Overwrite::Replace),
            To::Stream(_) => (Path::new("-"), false),
        }
    }
}

/// What a conversion did, also when it ended with an error.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Rows written, or samples, or documents.
    pub rows: u64,
    /// Columns written, where the output has columns.
    pub columns: usize,
    /// Variables written, where the output has variables.
    pub variables: usize,
    /// Bytes of the output; 0 for streams.
    pub bytes: u64,
    /// What could not be kept.
    pub losses: Vec<Lost>,
    /// The inferred schema of text that became IDV, as in `wharf info --json`.
    pub schema: Option<Value>,
    /// Columns whose types were inferred, and the types.
    pub inferred: Vec<(String, String)>,
    /// The names of labels that are numbers in the samples.
    pub labels: Option<Vec<String>>,
    /// The collection of documents that was written.
    pub collection: Option<String>,
    /// Documents without an id, whose row number became one.
    pub numbered: u64,
    /// Columns of the last table beyond what the sink shows.
    pub hidden: usize,
    /// Whether the output failed, not an input.
    pub sink_failed: bool,
    /// The number of labels that exceeded the index type of a dictionary in the output.
    pub(super) dictionary: Option<u64>,
}

impl Convert {
    /// Converts files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self { inputs: Location::all(inputs), ..Self::default() }
    }

    /// Converts a container that is open already, such as one of [record batches](crate::BatchContainer). `name` stands for it in messages.
    #[must_use]
    pub fn of(name: impl Into<String>, container: Arc<dyn Container>) -> Self {
        Self { inputs: vec![Location::open_container(name, container)], ..Self::default() }
    }

    /// Selects these columns, in this order.
    #[must_use]
    pub fn with_columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.selection.columns = quoted(names);
        self
    }

    /// Selects the rows for which a condition in [SQL syntax](crate::Predicate) holds. Each input needs the columns that it mentions, by their
    /// names in the file. Row ranges count these rows.
    ///
    /// ```
    /// use wharf::Convert;
    ///
    /// let convert = Convert::new(["people.csv"]).with_filter("age > 30 and name like 'A%'")?;
    /// assert!(Convert::default().with_filter("age >").is_err());
    /// # Ok::<(), wharf::Error>(())
    /// ```
    ///
    /// # Errors
    /// The condition is invalid. Whether it fits the inputs is known when they are read.
    pub fn with_filter(mut self, condition: &str) -> Result<Self> {
        let known = self.selection.filter.take();
        self.selection.filter = Predicate::all(known.into_iter().chain([Predicate::parse(condition)?]));
        Ok(self)
    }

    /// Changes the columns of the inputs, after filters. [`with_columns`](Self::with_columns) selects columns by their new names.
    #[must_use]
    pub fn with_changes(mut self, changes: Changes) -> Self {
        self.changes = changes;
        self
    }

    /// Joins inputs with different columns: those that an input lacks are null.
    #[must_use]
    pub fn with_union(mut self) -> Self {
        self.union = true;
        self
    }

    /// Selects these rows, counted from 0 over all inputs.
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.selection.rows = Some(select::RowRange { rows, one: false });
        self
    }
}

/// Quotes names as [`Selection`] expects them: a name can contain a comma.
pub(in crate::hub) fn quoted<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    names.into_iter().map(|name| format!("\"{}\"", name.into().replace('"', "\"\""))).collect()
}

/// A conversion in progress, as its [`Target`](super::Target) sees it.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub(super) convert: &'a Convert,
    /// `None` for a stream.
    pub(super) path: Option<&'a Path>,
    pub(super) force: bool,
    /// See [`Target::infers_narrow_types`](super::Target::infers_narrow_types).
    pub(super) narrow: bool,
}

impl Deref for Job<'_> {
    type Target = Convert;

    fn deref(&self) -> &Convert {
        self.convert
    }
}

impl<'a> Job<'a> {
    /// The selected rows, counted from 0 over all inputs.
    pub(super) fn rows(&self) -> Range<u64> {
        let rows = self.selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        let end = self.selection.limit.map_or(rows.end, |limit| rows.start.saturating_add(limit).min(rows.end));
        rows.start..end
    }

    /// Fails when the selected rows begin after the last one.
    pub(super) fn check_rows(&self, passed: u64) -> Result<()> {
        match &self.selection.rows {
            Some(range) if passed < self.rows().end => range.check(passed),
            _ => Ok(()),
        }
    }

    /// The selected columns by name, for inputs that do not list their columns.
    pub(super) fn columns(&self) -> Result<Option<Vec<String>>> {
        let mut names: Vec<String> = Vec::new();
        for argument in &self.selection.columns {
            for name in select::split(argument)? {
                if names.contains(&name) {
                    return Err(Error::usage(format!("column {name:?} is selected twice")));
                }
                names.push(name);
            }
        }
        Ok(Some(names).filter(|names| !names.is_empty()))
    }

    /// The path of the output; `None` for a stream.
    #[must_use]
    pub fn path(&self) -> Option<&'a Path> {
        self.path
    }

    /// How the output file is created: whether it may replace an existing one.
    #[must_use]
    pub fn output_options(&self) -> OutputOptions {
        OutputOptions::default().with_overwrite(if self.force { Overwrite::Replace } else { Overwrite::Refuse })
    }

    /// Whether all variables are selected, with all rows.
    pub(super) fn is_whole(&self) -> bool {
        self.selection.columns.is_empty() && !self.is_cut()
    }

    /// Whether rows are selected by a condition.
    pub(super) fn is_filtered(&self) -> bool {
        self.selection.filter.is_some()
    }

    /// Whether only some rows are selected.
    pub(super) fn is_cut(&self) -> bool {
        self.selection.rows.is_some() || self.selection.limit.is_some() || self.is_filtered()
    }

    /// Fails when values that do not fit a declared schema are to become JSON or msgpack: the schema decides the type.
    pub(super) fn check_mismatch(&self) -> Result<()> {
        match self.mapping.on_mismatch {
            Some(OnMismatch::Json | OnMismatch::Msgpack) if self.text.schema.is_some() => Err(Error::usage(
                "declares the types of columns; a value that does not fit can only be an error or null: the type JSON takes anything",
            )
            .in_option("schema")),
            _ => Ok(()),
        }
    }

    /// How record batches are read.
    pub(super) fn scan(&self) -> BatchScan {
        let mapping = self.mapping.plain().with_narrow(self.narrow);
        let scan = BatchScan::from(self.selection.reading.scan()).with_mapping(mapping);
        let scan = scan.with_progress(Arc::clone(&self.progress.0));
        match self.mapping.batch_rows {
            Some(rows) => scan.with_batch_rows(usize::try_from(rows).unwrap_or(usize::MAX)),
            None => scan,
        }
    }
}

/// What a conversion works with.
pub struct Context<'e, 'o> {
    pub(super) opener: &'e mut Opener<'o>,
    pub(super) progress: &'e Arc<Bar>,
    /// The output, when it is a stream.
    pub(super) stream: Option<&'e mut (dyn Write + Send)>,
}

impl Context<'_, '_> {
    pub(super) fn stream(&mut self) -> Result<&mut (dyn Write + Send)> {
        match &mut self.stream {
            Some(stream) => Ok(*stream),
            None => Err(Error::usage("there is no output")),
        }
    }
}

/// Moves a file into place.
pub(super) fn finish(output: Output, report: &mut Report) -> Result<()> {
    report.bytes = output.file().metadata().map_or(0, |metadata| metadata.len());
    output.finish()
}

/// An error that names no input is one of the output.
pub(super) fn of_output(error: Error, name: &str) -> Error {
    match error.kind() {
        // Errors of inputs name their file already.
        ErrorKind::Io => error.in_file(name.to_owned()),
        _ => error,
    }
}
