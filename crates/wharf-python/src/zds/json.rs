//! Documents as Python dicts, and dicts as lines.

use std::cell::RefCell;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::fast_json;
use crate::error::Result;
use crate::gc;

/// The member that holds a document's id.
pub(super) const ID: &str = "_id";

/// Values may be nested this deep, as readers of the library require.
const MAX_DEPTH: u32 = 128;

/// The document as a dict, without its `_id`; only these members, if `fields` are given.
///
/// # Errors
/// `ValueError` if it is not an object in JSON.
pub(super) fn decode<'py>(py: Python<'py>, json: &[u8], fields: Option<&[String]>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(document) = gc::paused(py, || fast_json::document(py, json, fields)) {
        return Ok(document);
    }
    // Large integers, lone surrogates and deep nesting.
    let value = py.import("json")?.call_method1("loads", (String::from_utf8(json.to_vec())?,))?;
    let Ok(dict) = value.cast::<PyDict>() else {
        // The original stores such values in files.
        return Ok(value);
    };
    if dict.contains(ID)? {
        dict.del_item(ID)?;
    }
    let Some(fields) = fields else { return Ok(value) };
    let selected = PyDict::new(py);
    for field in fields {
        if let Some(value) = dict.get_item(field)? {
            selected.set_item(field, value)?;
        }
    }
    Ok(selected.into_any())
}

/// Appends the line of a document, including its line feed: `_id` first, then the other members in order.
///
/// # Errors
/// An invalid id; a document that JSON does not have. Nothing is appended then.
pub(super) fn encode(id: &str, document: &Bound<'_, PyDict>, lines: &mut Vec<u8>) -> Result<()> {
    zdx::wire::id::check(id).map_err(|error| error.in_key(id.to_owned()).in_format("zds"))?;
    let start = lines.len();
    let error = RefCell::new(None);
    let line = Line { id, document, error: &error };
    if let Err(failed) = serde_json::to_writer(&mut *lines, &line) {
        lines.truncate(start);
        let error = error.take().unwrap_or_else(|| PyValueError::new_err(failed.to_string()));
        let _ = error.value(document.py()).call_method1("add_note", (format!("in document {id:?}"),));
        return Err(error.into());
    }
    lines.push(b'\n');
    Ok(())
}

/// A document with its id.
struct Line<'a, 'py> {
    id: &'a str,
    document: &'a Bound<'py, PyDict>,
    /// Where the exception is left, which an error of serde cannot hold.
    error: &'a RefCell<Option<PyErr>>,
}

impl Serialize for Line<'_, '_> {
    fn serialize<S: Serializer>(&self, output: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = output.serialize_map(None)?;
        map.serialize_entry(ID, self.id)?;
        for (name, object) in self.document.iter() {
            let value = Object { object: &object, depth: 1, error: self.error };
            let name = value.name(&name)?;
            if name.as_ref() as &str != ID {
                map.serialize_entry(name.as_ref() as &str, &value)?;
            } else if !object.extract::<&str>().is_ok_and(|own| own == self.id) {
                return Err(value.fail(PyValueError::new_err("the document has another \"_id\"")));
            }
        }
        map.end()
    }
}

/// A Python object as JSON.
struct Object<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    depth: u32,
    error: &'a RefCell<Option<PyErr>>,
}

impl<'py> Object<'_, 'py> {
    fn fail<E: serde::ser::Error>(&self, error: PyErr) -> E {
        *self.error.borrow_mut() = Some(error);
        E::custom("")
    }

    fn name<E: serde::ser::Error>(
        &self,
        name: &Bound<'py, PyAny>,
    ) -> std::result::Result<impl AsRef<str> + use<'py, E>, E> {
        let name = name.cast::<PyString>().map_err(|_| {
            let kind = name.get_type();
            self.fail(PyTypeError::new_err(format!("keys of a document must be str, found {kind}")))
        })?;
        pyo3::pybacked::PyBackedStr::try_from(name.clone()).map_err(|error| self.fail(error))
    }

    fn sequence<'o, S: Serializer>(
        &self,
        output: S,
        elements: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut sequence = output.serialize_seq(None)?;
        for object in elements {
            sequence.serialize_element(&Object { object: &object, depth: self.depth + 1, error: self.error })?;
        }
        sequence.end()
    }
}

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, output: S) -> std::result::Result<S::Ok, S::Error> {
        let object = self.object;
        if let Ok(text) = object.cast::<PyString>() {
            return output.serialize_str(text.to_str().map_err(|error| self.fail(error))?);
        }
        if object.is_none() {
            return output.serialize_unit();
        }
        if let Ok(value) = object.cast::<PyBool>() {
            return output.serialize_bool(value.is_true());
        }
        if let Ok(value) = object.cast::<PyInt>() {
            return match value.extract::<i64>() {
                Ok(value) => output.serialize_i64(value),
                Err(_) => self.large(output),
            };
        }
        if let Ok(value) = object.cast::<PyFloat>() {
            let value = value.value();
            if !value.is_finite() {
                return Err(self.fail(PyValueError::new_err(format!("JSON has no number {value}"))));
            }
            return output.serialize_f64(value);
        }
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(PyValueError::new_err(format!("nested more than {MAX_DEPTH} levels deep"))));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let mut map = output.serialize_map(None)?;
            for (name, object) in dict.iter() {
                let value = Object { object: &object, depth: self.depth + 1, error: self.error };
                map.serialize_entry(value.name(&name)?.as_ref() as &str, &value)?;
            }
            return map.end();
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.sequence(output, list.iter());
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.sequence(output, tuple.iter());
        }
        let kind = object.get_type();
        Err(self.fail(PyTypeError::new_err(format!("expected a value of JSON, found {kind}"))))
    }
}

impl Object<'_, '_> {
    /// Writes an integer of more than 64 bits: its digits, verbatim.
    fn large<S: Serializer>(&self, output: S) -> std::result::Result<S::Ok, S::Error> {
        let digits = || -> PyResult<Box<serde_json::value::RawValue>> {
            // A subclass may have another `__repr__`.
            let int = self.object.py().get_type::<PyInt>();
            let digits: String = int.call_method1("__repr__", (self.object,))?.extract()?;
            serde_json::value::RawValue::from_string(digits).map_err(|error| PyValueError::new_err(error.to_string()))
        };
        digits().map_err(|error| self.fail(error))?.serialize(output)
    }
}
