//! Documents as Python dicts, and dicts as lines.

use std::cell::RefCell;
use std::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};

use crate::error::Result;
use crate::gc;

/// The member that holds a document's id.
const ID: &str = "_id";

/// Values may be nested this deep, as readers of the library require.
const MAX_DEPTH: u32 = 128;

/// Names of members that are kept as Python strings, each in a slot that its hash selects.
const SLOTS: usize = 1024;

/// Longer names are not kept.
const MAX_NAME: usize = 64;

/// From here on a number may be an integer that `f64` does not represent.
const MAX_EXACT: f64 = 9_223_372_036_854_775_808.0;

thread_local! {
    /// Names repeat from document to document: a string that exists needs no allocation, and knows its hash.
    static NAMES: RefCell<Vec<Option<Py<PyString>>>> = const { RefCell::new(Vec::new()) };
}

fn interned<'py>(py: Python<'py>, name: &str) -> Bound<'py, PyString> {
    if name.len() > MAX_NAME {
        return PyString::new(py, name);
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    NAMES.with(|names| {
        // Allocating may run other Python code, which may get here, too.
        let Ok(mut names) = names.try_borrow_mut() else { return PyString::new(py, name) };
        if names.is_empty() {
            names.resize_with(SLOTS, || None);
        }
        let Some(slot) = names.get_mut(hash as usize % SLOTS) else { return PyString::new(py, name) };
        match slot {
            Some(kept) if kept.bind(py).to_str().is_ok_and(|kept| kept == name) => kept.bind(py).clone(),
            _ => slot.insert(PyString::new(py, name).unbind()).bind(py).clone(),
        }
    })
}

/// The document as a dict, without its `_id`; only these members, if `fields` are given.
///
/// # Errors
/// `ValueError` if it is not an object in JSON.
pub(super) fn decode<'py>(py: Python<'py>, json: &[u8], fields: Option<&[String]>) -> PyResult<Bound<'py, PyAny>> {
    let mut input = serde_json::Deserializer::from_slice(json);
    let members = || Members { py, fields }.deserialize(&mut input).and_then(|dict| input.end().map(|()| dict));
    let decoded = gc::paused(py, members);
    // Large integers, lone surrogates and deep nesting are left to Python.
    decoded.or_else(|_| decode_in_python(py, json, fields))
}

fn decode_in_python<'py>(py: Python<'py>, json: &[u8], fields: Option<&[String]>) -> PyResult<Bound<'py, PyAny>> {
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

/// The members of a document.
struct Members<'py, 'f> {
    py: Python<'py>,
    fields: Option<&'f [String]>,
}

impl<'de, 'py> DeserializeSeed<'de> for Members<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<Self::Value, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de, 'py> Visitor<'de> for Members<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.py);
        while let Some(name) = members.next_key_seed(Name { py: self.py, fields: self.fields, is_root: true })? {
            match name {
                Some(name) => {
                    dict.set_item(name, members.next_value_seed(Value(self.py))?).map_err(A::Error::custom)?;
                }
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(dict.into_any())
    }
}

/// The name of a member; `None` if it is not selected.
struct Name<'py, 'f> {
    py: Python<'py>,
    fields: Option<&'f [String]>,
    is_root: bool,
}

impl<'de, 'py> DeserializeSeed<'de> for Name<'py, '_> {
    type Value = Option<Bound<'py, PyString>>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<Self::Value, D::Error> {
        input.deserialize_str(self)
    }
}

impl<'py> Visitor<'_> for Name<'py, '_> {
    type Value = Option<Bound<'py, PyString>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> std::result::Result<Self::Value, E> {
        let is_selected = self.fields.is_none_or(|fields| fields.iter().any(|field| field == name));
        Ok((is_selected && !(self.is_root && name == ID)).then(|| interned(self.py, name)))
    }
}

/// A value.
#[derive(Clone, Copy)]
struct Value<'py>(Python<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Value<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<Self::Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for Value<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Self::Value, E> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Self::Value, E> {
        // The parser does not say whether these are integers.
        if value.abs() >= MAX_EXACT || value == 0.0 && value.is_sign_negative() {
            return Err(E::custom("a number that may be an integer"));
        }
        Ok(PyFloat::new(self.0, value).into_any())
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(element) = elements.next_element_seed(self)? {
            list.append(element).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        let name = || Name { py: self.0, fields: None, is_root: false };
        while let Some(name) = members.next_key_seed(name())? {
            dict.set_item(name, members.next_value_seed(self)?).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
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
