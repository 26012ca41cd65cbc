//! Scans of a collection, and their conditions.

use std::sync::{Arc, Mutex, PoisonError};

use container_core::Error;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyAny, PyBool, PyBytes, PyFloat, PyInt, PyString};
use self_cell::self_cell;
use zdx::{Collection, Documents, Filter, Predicate};

use super::LibraryResult;
use super::json::decode;
use super::located;
use crate::error::Result;

/// Documents that a filter looks at before signals are handled.
const FILTERED_AT_ONCE: usize = 4096;

/// The condition that the member of this name equals the value as Python sees it: 1, 1.0 and `True` are the same, and a missing member equals
/// `None`. `None` if the library has no such condition.
pub(super) fn condition(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<Predicate> {
    let name = name.cast::<PyString>().ok()?.to_str().ok()?;
    // Dots separate the members of a path, and ids are not part of documents.
    if name.contains('.') || name == "_id" {
        return None;
    }
    let equals = |value: serde_json::Value| Predicate::Eq(name.to_owned(), value);
    if value.is_none() {
        return Some(Predicate::Or(vec![Predicate::NotExists(name.to_owned()), equals(serde_json::Value::Null)]));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Some(equals(text.to_str().ok()?.into()));
    }
    let number = if let Ok(value) = value.cast::<PyBool>() {
        i64::from(value.is_true())
    } else if let Ok(value) = value.cast_exact::<PyInt>() {
        value.extract().ok()?
    } else {
        // An integer with 53 bits has one representation as a float.
        let value = value.cast_exact::<PyFloat>().ok()?.value();
        if value.fract() != 0.0 {
            return value.is_finite().then(|| equals(value.into()));
        }
        value.to_string().parse().ok()?
    };
    let float = i32::try_from(number).ok().map(f64::from)?;
    let mut same = vec![equals(number.into()), equals(float.into())];
    if let 0 | 1 = number {
        same.push(equals((number == 1).into()));
    }
    Some(Predicate::Or(same))
}

self_cell!(
    pub(super) struct Cell {
        owner: Arc<Collection>,
        #[not_covariant]
        dependent: Documents,
    }
);

/// What a scan yields.
#[derive(Clone, Copy)]
pub(super) enum Yields {
    Documents,
    /// Pairs of id and document.
    Items,
    /// JSON texts.
    Raw,
}

/// An iterator over the documents of a collection, as it was when the iterator was made.
#[pyclass(module = "wharf_data._native", frozen)]
pub(crate) struct ZdsScan {
    /// `None` if the collection does not exist.
    pub(super) cell: Mutex<Option<Cell>>,
    pub(super) yields: Yields,
    pub(super) fields: Option<Vec<String>>,
    pub(super) filter: Option<Filter>,
}

/// The next document that meets the condition.
fn filtered<'c>(py: Python<'_>, documents: &mut Documents<'c>, filter: &Filter) -> Result<Option<zdx::Document<'c>>> {
    loop {
        let found = py.detach(|| {
            for _ in 0..FILTERED_AT_ONCE {
                let Some(document) = documents.next().transpose()? else { return Ok(Some(None)) };
                match filter.holds(document.bytes()) {
                    Ok(true) => return Ok(Some(Some(document))),
                    Ok(false) => {}
                    Err(error) => {
                        document.value()?;
                        return Err(Error::invalid(error.to_string()).in_key(document.id().to_owned()));
                    }
                }
            }
            LibraryResult::Ok(None)
        })?;
        match found {
            Some(end) => return Ok(end),
            None => py.check_signals()?,
        }
    }
}

impl ZdsScan {
    pub(super) fn advance<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut cell = self.cell.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Some(cell) = cell.as_mut() else { return Ok(None) };
        cell.with_dependent_mut(|_, documents| {
            let document = match &self.filter {
                None => documents.next().transpose()?,
                Some(filter) => filtered(py, documents, filter)?,
            };
            let Some(document) = document else { return Ok(None) };
            if let Yields::Raw = self.yields {
                return Ok(Some(PyBytes::new(py, &document.line()?).into_any()));
            }
            let value =
                decode(py, document.bytes(), self.fields.as_deref()).map_err(|error| located(error, &document))?;
            match self.yields {
                Yields::Items => Ok(Some((document.id(), value).into_pyobject(py)?.into_any())),
                _ => Ok(Some(value)),
            }
        })
    }

    pub(super) fn into_iter(self, py: Python<'_>) -> impl Iterator<Item = Result<Bound<'_, PyAny>>> {
        std::iter::from_fn(move || self.advance(py).transpose())
    }
}

#[pymethods]
impl ZdsScan {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.advance(py)
    }
}
