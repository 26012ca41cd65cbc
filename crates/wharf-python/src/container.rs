//! Containers: a format, and its tables.

use std::path::Path;
use std::sync::Arc;

use container_core::{Access, Container as LibraryContainer, Error, Input, OpenOptions, Severity, VerifyOptions};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule, PyDict, PyList};
use wharf::Registry;
use wharf::convert::{Convert, Selection};
use wharf::hub::select;

use crate::convert::OpenFiles;
use crate::error::{Result, exception};
use crate::interrupt::interruptible;
use crate::json::to_python;
use crate::query::opener;
use crate::region::Part;
use crate::table::{self, Table};
use crate::{convert, map, process, query, source};

/// Opens a file, a folder, bytes, or a binary file object of any supported format. Formats that are known by their names, such as CSV, need a path.
#[pyfunction]
#[pyo3(signature = (source, *, access="mapped"))]
pub(crate) fn open(py: Python<'_>, source: &Bound<'_, PyAny>, access: &str) -> Result<Container> {
    process::remember();
    let mapped = match access {
        "mapped" => true,
        "positional" => false,
        other => {
            let detail = format!("must be mapped or positional, found {other:?}");
            return Err(Error::usage(detail).in_option("access").into());
        }
    };
    let options = OpenOptions::default().with_access(map::access(mapped));
    let input = source::input(source, options.access)?;
    let container = py.detach(|| Registry::builtin().open_with(&input, &options))?;
    let name = match input.path() {
        Some(path) => path.display().to_string(),
        None => source::name(source),
    };
    Ok(Container { container: Arc::from(container), name, input, access: options.access, part: Part::default() })
}

/// An open container: its format, its tables, and checks of its integrity.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Container {
    pub(crate) container: Arc<dyn LibraryContainer>,
    pub(crate) name: String,
    pub(crate) input: Input,
    access: Access,
    /// The part of the variables that it shows.
    pub(crate) part: Part,
}

impl Container {
    /// The path of a file of variables, which are selected while it is opened; `None` for other formats.
    pub(crate) fn variables_path(&self) -> Option<&Path> {
        let has_variables = [dsfmt::FORMAT_NAME, dsfmt::netcdf::FORMAT_NAME].contains(&self.container.format());
        self.input.path().filter(|_| has_variables)
    }

    /// What it shows as the input of a query.
    pub(crate) fn as_input(&self) -> Convert {
        let mut convert = Convert::of(self.name.clone(), Arc::clone(&self.container));
        convert.selection.reading.threads = process::threads(0);
        convert
    }

    fn only(&self) -> Result<Table> {
        Ok(self.named(select::table(self.container.as_ref(), None)?.name().to_owned()))
    }

    fn named(&self, name: String) -> Table {
        Table::new(Arc::clone(&self.container), name, self.name.clone())
    }
}

#[pymethods]
impl Container {
    /// The format in lower case, such as `idv`.
    #[getter]
    fn format(&self) -> &'static str {
        self.container.format()
    }

    /// The version of the format that the file states.
    #[getter]
    fn version(&self) -> String {
        self.container.version()
    }

    /// The path, or what else was opened.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The tables, in the order of the file.
    #[getter]
    fn tables(&self) -> Vec<Table> {
        self.container.tables().iter().map(|table| self.named(table.name().to_owned())).collect()
    }

    /// The table of this name; without a name, the only one.
    #[pyo3(signature = (name=None))]
    fn table(&self, name: Option<&str>) -> Result<Table> {
        Ok(self.named(select::table(self.container.as_ref(), name)?.name().to_owned()))
    }

    /// The same file with a part of its variables, for ds and NetCDF. Nothing but coordinates is read until tables are.
    ///
    /// * `sel`: a dict from dimensions to an index, a slice, or a list of indices.
    /// * `at`: a dict from coordinate variables to a value, which drops the dimension, or to a list of values. Values are numbers, texts, or times:
    ///   of `datetime`, numpy or pandas, or text such as `"2000-01"`.
    /// * `between`: a dict from coordinate variables to a pair or a slice of values, both included; `None` is no bound. A day or a text such as
    ///   `"2000-01"` stands for all of it. Longitudes may cross the end of the axis.
    /// * `tolerance`: how far the nearest value may be from that of `at`, which must be equal otherwise: a number, for times a duration such as
    ///   `"6h"`; `math.inf` for any. A dict has one for each coordinate.
    /// * `tidy`: long rows, one for each combination of the dimensions: `True` for all variables, or a list of some.
    /// * `packed`: packed numbers of NetCDF as they are stored, not the values that they mean.
    /// * `time`: times as text (`"iso"`) or Julian dates (`"jd"`), instead of the stored numbers.
    ///
    /// Selections apply in this order, each to what the former left.
    #[pyo3(signature = (**part), text_signature = "($self, *, sel=None, at=None, between=None, tolerance=None, tidy=False, packed=False, time=None)")]
    fn select(&self, py: Python<'_>, part: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let part = Part::new(part)?;
        if !self.part.is_whole() {
            return Err(Error::usage("the container shows a part already: select all of it at once").into());
        }
        let mut selection = Selection::default();
        part.apply(&mut selection);
        let container = py.detach(|| {
            let mut opener = opener(OpenFiles::new());
            opener.access = self.access;
            opener.apply(&selection)?;
            opener.container(&self.input)
        });
        let container = container.map_err(|error| error.in_file(self.name.clone()))?;
        let (name, input) = (self.name.clone(), self.input.clone());
        Ok(Self { container: Arc::from(container), name, input, access: self.access, part })
    }

    /// Statistics of the columns of all rows, or of all variables of a ds or NetCDF file, as `wharf stats --json` has them: a list of dicts.
    /// `columns` are names, `top` is the maximum number of frequent values.
    #[pyo3(signature = (columns=None, *, top=5))]
    fn stats<'py>(this: &Bound<'py, Self>, columns: Option<Vec<String>>, top: usize) -> Result<Bound<'py, PyAny>> {
        let mut files = OpenFiles::new();
        let inputs = convert::inputs(this.as_any(), None, &mut files)?;
        query::stats(this.py(), (convert::select(inputs, columns, None, None)?, files), top)
    }

    fn __getitem__(&self, name: &str) -> Result<Table> {
        match self.container.tables().iter().any(|table| table.name() == name) {
            true => Ok(self.named(name.to_owned())),
            false => Err(PyKeyError::new_err(name.to_owned()).into()),
        }
    }

    fn __contains__(&self, name: &str) -> bool {
        self.container.tables().iter().any(|table| table.name() == name)
    }

    fn __len__(&self) -> usize {
        self.container.tables().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.tables())?.try_iter()?.into_any())
    }

    /// Format, version, properties, tables and columns, as `wharf info --json` shows them.
    fn info<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let info = PyDict::new(py);
        info.set_item("format", self.container.format())?;
        info.set_item("version", self.container.version())?;
        for (name, value) in self.container.details() {
            info.set_item(name, to_python(py, &value)?)?;
        }
        let tables = PyList::empty(py);
        for table in self.container.tables() {
            let entry = PyDict::new(py);
            entry.set_item("name", table.name())?;
            entry.set_item("rows", table.len())?;
            entry.set_item("columns", table::columns(py, table)?)?;
            tables.append(entry)?;
        }
        info.set_item("tables", tables)?;
        Ok(info.into_any())
    }

    /// Checks the whole container. Returns what is wrong, as exceptions with an attribute `severity`: `error` or `warning`.
    #[pyo3(signature = (*, threads=0))]
    fn verify<'py>(&self, py: Python<'py>, threads: usize) -> Result<Bound<'py, PyList>> {
        let options = VerifyOptions::default().with_threads(process::threads(threads));
        let found = interruptible(py, |cancel| {
            let mut found = Vec::new();
            self.container.verify(&options.with_progress(cancel), &mut |finding| found.push(finding)).map(|()| found)
        })?;
        let list = PyList::empty(py);
        for finding in found {
            let value = exception(py, &finding.error.in_file(self.name.clone())).into_value(py);
            let severity = if finding.severity == Severity::Warning { "warning" } else { "error" };
            value.bind(py).setattr("severity", severity)?;
            list.append(value)?;
        }
        Ok(list)
    }

    fn __repr__(&self) -> String {
        let tables: Vec<String> = self.container.tables().iter().map(|table| table.name().to_owned()).collect();
        format!("<Container {} ({}), tables: {}>", self.name, self.container.format(), tables.join(", "))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        self.only()?.__arrow_c_stream__(py, requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        self.only()?.__arrow_c_schema__(py)
    }
}
