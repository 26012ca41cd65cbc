//! Tables of containers.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use container_core::{Container as LibraryContainer, Error, Input, Progress, Scan, Table as LibraryTable, Watch};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule, PyDict, PyList, PySlice, PyTuple};
use wharf::convert::{Convert, Reading, Selection};
use wharf::hub::select;
use wharf::{BatchScan, FilteredContainer, OwnedBatches, Predicate};

use crate::batches::{self, Batches, Schema};
use crate::convert::OpenFiles;
use crate::error::Result;
use crate::interrupt::interruptible;
use crate::json::to_python;
use crate::query::opener;
use crate::rows::Rows;
use crate::{convert, process, query};

/// The columns of a table as dicts.
pub(crate) fn columns<'py>(py: Python<'py>, table: &dyn LibraryTable) -> Result<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (index, column) in table.columns().iter().enumerate() {
        let entry = PyDict::new(py);
        entry.set_item("name", &column.name)?;
        entry.set_item("type", &column.kind)?;
        if let Some(why) = &column.unreadable {
            entry.set_item("unreadable", why)?;
        }
        for (name, value) in table.column_summary(index).into_iter().chain(column.details.iter().cloned()) {
            entry.set_item(name, to_python(py, &value)?)?;
        }
        for (name, value) in table.column_details(index)? {
            entry.set_item(name, to_python(py, &value)?)?;
        }
        list.append(entry)?;
    }
    Ok(list)
}

/// A table: typed columns, and rows that count from 0.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Table {
    container: Arc<dyn LibraryContainer>,
    name: String,
    /// The name of the container in messages.
    file: String,
}

impl Table {
    /// `file` is the name of the container in messages.
    pub(crate) fn new(container: Arc<dyn LibraryContainer>, name: String, file: String) -> Self {
        Self { container, name, file }
    }

    fn with<R>(
        &self,
        use_table: impl FnOnce(&dyn LibraryTable) -> container_core::Result<R>,
    ) -> container_core::Result<R> {
        use_table(select::table(self.container.as_ref(), Some(&self.name))?)
    }

    fn scan(&self, py: Python<'_>, columns: Option<Vec<String>>, rows: Range<u64>, threads: usize) -> Result<Scan> {
        let mut scan = Scan::default().with_rows(rows).with_threads(process::threads(threads));
        if let Some(names) = columns {
            let quoted: Vec<String> = names.iter().map(|name| convert::quoted(name)).collect();
            let known = |table: &dyn LibraryTable| select::columns_of(table.columns(), &quoted);
            let indexes = match py.detach(|| self.with(known)) {
                Ok(indexes) => indexes,
                // Without a schema, only reading all rows shows all columns.
                Err(_) => {
                    self.infer(py)?;
                    py.detach(|| self.with(known))?
                }
            };
            scan.columns = Some(indexes.unwrap_or_default());
        }
        Ok(scan)
    }

    /// The rows for which a condition holds; all without one.
    fn filtered(&self, condition: Option<&str>) -> Result<Self> {
        let container = match condition {
            None => Arc::clone(&self.container),
            Some(condition) => {
                let condition = Predicate::parse(condition).map_err(|error| error.in_option("filter"))?;
                Arc::new(FilteredContainer::new(Arc::clone(&self.container), condition))
            }
        };
        Ok(self.shown_by(container))
    }

    /// This table, as another container shows it.
    fn shown_by(&self, container: Arc<dyn LibraryContainer>) -> Self {
        Self { container, name: self.name.clone(), file: self.file.clone() }
    }

    /// The table as the input of a conversion.
    pub(crate) fn as_input(&self) -> Convert {
        let mut convert = Convert::of(self.file.clone(), Arc::clone(&self.container));
        convert.selection.reading = Reading::new(Some(self.name.clone()), process::threads(0), false);
        convert
    }

    /// As [`as_input`](Self::as_input), with selected columns and rows.
    fn selected(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> Result<Convert> {
        let table = self.filtered(filter)?;
        let range = row_range(rows, || table.number_of_rows(py))?;
        let rows = rows.map(|_| (range.start, Some(range.end)));
        convert::select(table.as_input(), columns, None, rows)
    }

    /// The number of rows, which some formats have to count.
    fn number_of_rows(&self, py: Python<'_>) -> Result<u64> {
        if let Some(len) = py.detach(|| self.with(|table| Ok(table.len())))? {
            return Ok(len);
        }
        interruptible(py, |cancel| {
            self.with(|table| {
                let mut rows = table.rows(&Scan::default().with_columns([]))?;
                let mut count = 0;
                while rows.advance()? {
                    count += 1;
                    if count % COUNTED_AT_ONCE == 0 {
                        cancel.advance(COUNTED_AT_ONCE)?;
                    }
                }
                Ok(count)
            })
        })
    }

    /// Infers the columns of a table without a schema from all rows.
    fn infer(&self, py: Python<'_>) -> Result<()> {
        interruptible(py, |cancel| self.with(|table| table.infer_columns_with(&Watch::new(cancel))))
    }
}

/// Rows that are counted before signals are handled.
const COUNTED_AT_ONCE: u64 = 4096;

/// One name, or several.
#[derive(FromPyObject)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl From<Names> for Vec<String> {
    fn from(names: Names) -> Self {
        match names {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }
    }
}

/// A range of rows from a slice with step 1, a range, or a pair.
fn row_range(rows: Option<&Bound<'_, PyAny>>, len: impl FnOnce() -> Result<u64>) -> Result<Range<u64>> {
    let Some(rows) = rows else { return Ok(0..u64::MAX) };
    let invalid = || PyTypeError::new_err("rows must be a slice or range with step 1, or a pair (first, end)");
    if let Ok(pair) = rows.cast::<PyTuple>() {
        let (first, end): (u64, Option<u64>) = pair.extract()?;
        return convert::row_range(first, end);
    }
    let attribute = |name: &str| -> PyResult<Option<i64>> { rows.getattr(name)?.extract() };
    let (start, stop, step) = match (attribute("start"), attribute("stop"), attribute("step")) {
        (Ok(start), Ok(stop), Ok(step)) => (start.unwrap_or(0), stop, step.unwrap_or(1)),
        _ => return Err(invalid().into()),
    };
    if step != 1 {
        return Err(invalid().into());
    }
    let stop = stop.unwrap_or(i64::MAX);
    if start >= 0 && stop >= 0 {
        return Ok(start.unsigned_abs()..stop.unsigned_abs().max(start.unsigned_abs()));
    }
    if !rows.is_instance_of::<PySlice>() {
        return Err(invalid().into());
    }
    // Negative numbers count from the end.
    let len = len()?;
    let from_end = |at: i64| if at < 0 { len.saturating_sub(at.unsigned_abs()) } else { at.unsigned_abs().min(len) };
    let (start, stop) = (from_end(start), from_end(stop));
    Ok(start..stop.max(start))
}

#[pymethods]
impl Table {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Name, type and properties of each column. Without a schema in the file, columns are inferred from all rows.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        self.infer(py)?;
        columns(py, select::table(self.container.as_ref(), Some(&self.name))?)
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self, py: Python<'_>) -> Result<Vec<String>> {
        self.infer(py)?;
        Ok(self.with(|table| Ok(table.columns().iter().map(|column| column.name.clone()).collect()))?)
    }

    /// The Arrow schema of `to_batches()`: an object with `__arrow_c_schema__`.
    #[getter]
    fn schema(&self, py: Python<'_>) -> Result<Schema> {
        let schema = interruptible(py, |cancel| {
            self.with(|table| {
                let arrow =
                    table.arrow().ok_or_else(|| Error::unsupported("this table cannot be read as record batches"))?;
                let scan = BatchScan::from(Scan::default().with_threads(process::threads(0)));
                arrow.schema(&scan.with_progress(cancel))
            })
        })?;
        Ok(Schema(schema))
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        let count = self.number_of_rows(py)?;
        Ok(usize::try_from(count).map_err(|_| Error::limit("number of rows", count, usize::MAX as u64))?)
    }

    /// Reads record batches. `columns` are names, `rows` is a slice, a range, or a pair (first, end), counted from 0. A batch has at most
    /// `batch_rows` rows. `filter` is a condition in SQL syntax, such as `"age > 30"`; `rows` then counts the rows for which it holds.
    #[pyo3(signature = (columns=None, *, filter=None, rows=None, batch_rows=None, threads=0, times=None, sparse=None, on_mismatch=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn to_batches(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
        batch_rows: Option<usize>,
        threads: usize,
        times: Option<&str>,
        sparse: Option<&str>,
        on_mismatch: Option<&str>,
    ) -> Result<Batches> {
        let table = self.filtered(filter)?;
        let rows = row_range(rows, || table.number_of_rows(py))?;
        let scan = table.scan(py, columns, rows, threads)?;
        let mut scan = BatchScan::from(scan).with_mapping(convert::mapping(times, sparse, on_mismatch)?);
        if let Some(rows) = batch_rows {
            scan = scan.with_batch_rows(rows);
        }
        let (reader, cancel) = interruptible(py, |cancel| {
            let scan = scan.with_progress(Arc::clone(&cancel) as Arc<dyn Progress>);
            Ok((OwnedBatches::new(table.container, Some(&table.name), &scan)?, cancel))
        })?;
        Ok(Batches::new(reader, cancel))
    }

    /// Reads the table as a `pyarrow.Table`. The arguments are those of `to_batches()`.
    #[pyo3(signature = (columns=None, **options))]
    fn to_arrow<'py>(
        this: &Bound<'py, Self>,
        columns: Option<Vec<String>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = this.py();
        let pyarrow = py.import("pyarrow")?;
        let batches = this.call_method("to_batches", (columns,), options)?;
        let schema = pyarrow.call_method1("schema", (batches.getattr("schema")?,))?;
        // Batch by batch, so that exceptions are those of this package: pyarrow has only texts of errors in a stream.
        let list = PyList::empty(py);
        for batch in batches.try_iter()? {
            list.append(pyarrow.call_method1("record_batch", (batch?,))?)?;
            py.check_signals()?;
        }
        Ok(pyarrow.getattr("Table")?.call_method1("from_batches", (list, schema))?)
    }

    /// Reads rows as dicts. The arguments are those of `to_batches()`.
    #[pyo3(signature = (columns=None, *, filter=None, rows=None))]
    fn rows(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> Result<Rows> {
        let table = self.filtered(filter)?;
        let rows = row_range(rows, || table.number_of_rows(py))?;
        let scan = table.scan(py, columns, rows, 0)?;
        Rows::new(py, table.container, &table.name, &scan)
    }

    /// The rows for which a condition in SQL syntax holds, such as `"age > 30"`, as a table. Row numbers count these rows.
    fn filter(&self, condition: &str) -> Result<Self> {
        self.filtered(Some(condition))
    }

    /// The table with changed columns: those options of `wharf convert` that change columns, applied in this order. Each has the names that the
    /// one before it leaves.
    ///
    /// * `rename`: a dict from old to new names.
    /// * `drop`: names of columns to leave out.
    /// * `cast`: a dict from names to types, such as `"float32"`, `"int64"`, `"text"`, `"date"`. Values that do not fit are an error, or with
    ///   `on_mismatch="null"` null.
    /// * `floats`: the width of all floats and vectors of floats: `"single"` or `"double"`.
    /// * `expand`: vectors and structs that become a column for each element or member; `expand_limit` is their maximum number.
    /// * `concat`: a dict from names of new vectors to the names of numeric columns, which become their elements.
    #[pyo3(signature = (**changes), text_signature = "($self, *, rename=None, drop=None, cast=None, floats=None, expand=None, expand_limit=None, concat=None, on_mismatch=None)")]
    fn with_changes(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let options = convert::changes(changes)?;
        let mut selection = Selection::default();
        selection.reading = self.as_input().selection.reading;
        let container = py.detach(|| {
            let mut opener = opener(OpenFiles::new());
            opener.apply(&selection)?;
            opener.change(&options, &[], &selection)?;
            opener.container(&Input::Container(Arc::clone(&self.container)))
        });
        Ok(self.shown_by(Arc::from(container.map_err(|error| error.in_file(self.file.clone()))?)))
    }

    /// Statistics of columns, as `wharf stats --json` has them: a list of dicts with `column`, `type`, `count`, `nulls`, `nan`, `distinct`, `min`,
    /// `max`, `mean`, `std`, `median`, percentiles, `lengths` and `top`, the most frequent values. `estimates` is `None` where all is exact. The
    /// other arguments are those of `to_batches()`. Infinities are text, as in JSON.
    #[pyo3(signature = (columns=None, *, top=5, filter=None, rows=None))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
        top: usize,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        query::stats(py, (self.selected(py, columns, filter, rows)?, OpenFiles::new()), top)
    }

    /// The number of rows; with `by`, a column or a list of columns, that of each group of rows with the same values: a list of dicts with `rows`
    /// and `values`, the largest first.
    #[pyo3(signature = (by=None, *, filter=None, rows=None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        by: Option<Names>,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let by = by.map(Vec::from);
        if by.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::usage("names no column").in_option("by").into());
        }
        query::count(py, self.selected(py, by, filter, rows)?)
    }

    /// Writes fields of rows into the files of a folder, or of a tar or ZIP archive. Returns the number of files.
    ///
    /// Bytes and texts become files as they are, other values JSON; nulls have no file, which is a `LossWarning`. `name` is the column that names files, or a
    /// pattern such as `"{label}/{key}.jpg"`; by default the key, otherwise the row number. With several fields, files are called NAME.FIELD, as
    /// in WebDataset. The other arguments are those of `to_batches()`.
    #[pyo3(signature = (output, fields, *, name=None, overwrite=false, filter=None, rows=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn extract(
        &self,
        py: Python<'_>,
        output: PathBuf,
        fields: Names,
        name: Option<String>,
        overwrite: bool,
        filter: Option<&str>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> Result<u64> {
        let inputs = self.selected(py, None, filter, rows)?;
        query::extract(py, inputs, (&output, overwrite), fields.into(), name)
    }

    fn __iter__(&self, py: Python<'_>) -> Result<Rows> {
        self.rows(py, None, None, None)
    }

    /// The row with this key as a dict, or `None`. For formats whose rows have keys.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> Result<Option<Bound<'py, PyAny>>> {
        match py.detach(|| self.with(|table| table.find(key)))? {
            Some(row) => self.row(py, row),
            None => Ok(None),
        }
    }

    /// The row of this number as a dict; negative numbers count from the end.
    fn __getitem__<'py>(&self, py: Python<'py>, row: i64) -> Result<Bound<'py, PyAny>> {
        let missing = || pyo3::exceptions::PyIndexError::new_err(format!("no row {row}"));
        let number = match u64::try_from(row) {
            Ok(row) => row,
            Err(_) => self.number_of_rows(py)?.checked_sub(row.unsigned_abs()).ok_or_else(missing)?,
        };
        if self.with(|table| Ok(table.len()))?.is_some_and(|len| number >= len) {
            return Err(missing().into());
        }
        Ok(self.row(py, number)?.ok_or_else(missing)?)
    }

    fn __repr__(&self) -> String {
        format!("<Table {:?} of {}>", self.name, self.container.format())
    }

    pub(crate) fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        batches::schema_capsule(py, &self.schema(py)?.0)
    }

    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        let scan = BatchScan::from(Scan::default().with_threads(process::threads(0)));
        let (reader, cancel) = interruptible(py, |cancel| {
            let scan = scan.with_progress(Arc::clone(&cancel) as Arc<dyn Progress>);
            Ok((OwnedBatches::new(Arc::clone(&self.container), Some(&self.name), &scan)?, cancel))
        })?;
        batches::stream(py, reader, &cancel, requested_schema)
    }
}

impl Table {
    fn row<'py>(&self, py: Python<'py>, row: u64) -> Result<Option<Bound<'py, PyAny>>> {
        let scan = Scan::default().with_rows(row..row.saturating_add(1)).with_threads(1);
        Rows::new(py, Arc::clone(&self.container), &self.name, &scan)?.advance(py)
    }
}
