//! Selections given as Python objects.

use dsfmt::{Select, Selection};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyList, PySlice};

use crate::error::Result;

/// The part of a selection that concerns these dimensions.
pub(super) fn selection<N: AsRef<str>>(dimensions: &[N], parts: Option<&Bound<'_, PyDict>>) -> Result<Selection> {
    let mut selection = Selection::new();
    let Some(parts) = parts else { return Ok(selection) };
    for dimension in dimensions {
        if let Some(part) = parts.get_item(dimension.as_ref())? {
            selection = selection.with(dimension.as_ref(), index_selection(&part)?);
        }
    }
    Ok(selection)
}

/// A selection by index: an index, a slice, or a list of indices.
pub(crate) fn index_selection(part: &Bound<'_, PyAny>) -> Result<Select> {
    // Booleans are integers of Python, but a list of them is meant as a mask.
    let is_bool = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyBool>();
    if let Ok(index) = part.extract::<i64>()
        && !is_bool(part)
    {
        return Ok(Select::Index(index));
    }
    if part.is_instance_of::<PySlice>() {
        let attribute = |name| -> PyResult<Option<i64>> { part.getattr(name)?.extract() };
        return Ok(Select::Range { start: attribute("start")?, stop: attribute("stop")?, step: attribute("step")? });
    }
    let bools = part.cast::<PyList>().is_ok_and(|list| list.iter().any(|value| is_bool(&value)));
    match part.extract::<Vec<i64>>() {
        Ok(list) if !bools => Ok(Select::List(list)),
        _ => {
            let found = if bools { "a list of bools".to_owned() } else { part.get_type().name()?.to_string() };
            Err(PyTypeError::new_err(format!("expected an index, a slice, or a list of indices, found {found}")).into())
        }
    }
}
