//! Rows as dicts.

use std::sync::{Arc, Mutex, PoisonError};

use container_core::{Container, Rows as LibraryRows, Scan};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyAny;
use self_cell::self_cell;
use wharf::hub::select;

use crate::convert::losses;
use crate::error::{Failure, Result};
use crate::json::to_python;

type Reader<'a> = Box<dyn LibraryRows + 'a>;

self_cell!(
    struct Cell {
        owner: Arc<dyn Container>,
        #[not_covariant]
        dependent: Reader,
    }
);

/// An iterator over rows as dicts from column names to values.
///
/// Values are those of `wharf cat`: times are text in ISO 8601, bytes are `bytes` where the format has them. For values with the exact types,
/// use record batches.
#[pyclass(module = "wharf_data", frozen)]
pub(crate) struct Rows(Mutex<Cell>);

impl Rows {
    pub(crate) fn new(py: Python<'_>, container: Arc<dyn Container>, table: &str, scan: &Scan) -> Result<Self> {
        let cell =
            py.detach(|| Cell::try_new(container, |container| select::table(container, Some(table))?.rows(scan)))?;
        Ok(Self(Mutex::new(cell)))
    }

    /// The next row.
    pub(crate) fn advance<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut cell = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        cell.with_dependent_mut(|_, rows| {
            if !py.detach(|| rows.advance())? {
                return Ok(None);
            }
            to_python(py, rows.row()).map(Some).map_err(|failure| match failure {
                Failure::Library(error) => rows.locate(error).into(),
                other => other,
            })
        })
    }
}

#[pymethods]
impl Rows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.advance(py)
    }

    /// What could not be represented exactly in the rows so far.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let cell = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let found = cell.with_dependent(|_, rows| rows.losses());
        Ok(losses(py, found.iter().map(|loss| (None, loss)))?)
    }
}
