//! Serde values as Python objects.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyDict, PyList, PyString};
use serde::ser::{self, Serialize};

use crate::error::Failure;
use crate::gc;

/// Converts a value: maps to dicts, sequences to lists, bytes to bytes.
///
/// # Errors
/// [`Invalid`](container_core::ErrorKind::Invalid) for a map whose keys cannot be dict keys, and what the value reports.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &(impl Serialize + ?Sized),
) -> crate::error::Result<Bound<'py, PyAny>> {
    gc::paused(py, || value.serialize(ToPython(py))).map_err(|error| error.0)
}

#[derive(Clone, Copy)]
struct ToPython<'py>(Python<'py>);

struct Error(Failure);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Failure::Library(error) => error.fmt(f),
            Failure::Python(error) => error.fmt(f),
        }
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self(error.into())
    }
}

impl ser::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(container_core::Error::invalid(message.to_string()).into())
    }
}

type Object<'py> = Bound<'py, PyAny>;
type Done<'py> = Result<Object<'py>, Error>;

/// Methods for scalars that Python has a type for.
macro_rules! scalars {
    ($($method:ident($type:ty)),+) => {
        $(fn $method(self, value: $type) -> Done<'py> {
            Ok(value.into_pyobject(self.0).map_err(PyErr::from)?.to_owned().into_any())
        })+
    };
}

impl<'py> ser::Serializer for ToPython<'py> {
    type Ok = Object<'py>;
    type Error = Error;
    type SerializeSeq = Sequence<'py>;
    type SerializeTuple = Sequence<'py>;
    type SerializeTupleStruct = Sequence<'py>;
    type SerializeTupleVariant = Variant<Sequence<'py>>;
    type SerializeMap = Mapping<'py>;
    type SerializeStruct = Mapping<'py>;
    type SerializeStructVariant = Variant<Mapping<'py>>;

    scalars! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64), serialize_i128(i128),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_u128(u128), serialize_f64(f64),
        serialize_char(char), serialize_str(&str)
    }

    fn serialize_f32(self, value: f32) -> Done<'py> {
        self.serialize_f64(value.into())
    }

    fn serialize_bytes(self, value: &[u8]) -> Done<'py> {
        Ok(PyBytes::new(self.0, value).into_any())
    }

    fn serialize_none(self) -> Done<'py> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done<'py> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done<'py> {
        let dict = PyDict::new(self.0);
        dict.set_item(variant, value.serialize(self)?)?;
        Ok(dict.into_any())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Sequence<'py>, Error> {
        Ok(Sequence { list: PyList::empty(self.0), to: self })
    }

    fn serialize_tuple(self, len: usize) -> Result<Sequence<'py>, Error> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Sequence<'py>, Error> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Ok(Variant { name, content: self.serialize_seq(Some(len))? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Mapping<'py>, Error> {
        Ok(Mapping { dict: PyDict::new(self.0), key: None, to: self })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Mapping<'py>, Error> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Ok(Variant { name, content: self.serialize_map(Some(len))? })
    }
}

struct Sequence<'py> {
    list: Bound<'py, PyList>,
    to: ToPython<'py>,
}

impl<'py> Sequence<'py> {
    fn push<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), Error> {
        Ok(self.list.append(value.serialize(self.to)?)?)
    }
}

/// The three traits of sequences differ in names only.
macro_rules! sequences {
    ($($name:ident: $method:ident),+) => {
        $(impl<'py> ser::$name for Sequence<'py> {
            type Ok = Object<'py>;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.push(value)
            }

            fn end(self) -> Done<'py> {
                Ok(self.list.into_any())
            }
        })+
    };
}

sequences!(SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field);

struct Mapping<'py> {
    dict: Bound<'py, PyDict>,
    key: Option<Object<'py>>,
    to: ToPython<'py>,
}

impl<'py> ser::SerializeMap for Mapping<'py> {
    type Ok = Object<'py>;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key.serialize(self.to)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().unwrap_or_else(|| PyString::new(self.to.0, "").into_any());
        let value = value.serialize(self.to)?;
        self.dict.set_item(&key, value).map_err(|error| match error.is_instance_of::<PyTypeError>(self.to.0) {
            true => ser::Error::custom(format!("a map has the key {key}, which cannot be one in Python")),
            false => error.into(),
        })
    }

    fn end(self) -> Done<'py> {
        Ok(self.dict.into_any())
    }
}

impl<'py> ser::SerializeStruct for Mapping<'py> {
    type Ok = Object<'py>;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        Ok(self.dict.set_item(key, value.serialize(self.to)?)?)
    }

    fn end(self) -> Done<'py> {
        Ok(self.dict.into_any())
    }
}

/// `{"name": content}`
struct Variant<C> {
    name: &'static str,
    content: C,
}

impl<'py> ser::SerializeTupleVariant for Variant<Sequence<'py>> {
    type Ok = Object<'py>;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.content.push(value)
    }

    fn end(self) -> Done<'py> {
        let dict = PyDict::new(self.content.to.0);
        dict.set_item(self.name, self.content.list)?;
        Ok(dict.into_any())
    }
}

impl<'py> ser::SerializeStructVariant for Variant<Mapping<'py>> {
    type Ok = Object<'py>;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        ser::SerializeStruct::serialize_field(&mut self.content, key, value)
    }

    fn end(self) -> Done<'py> {
        let dict = PyDict::new(self.content.to.0);
        dict.set_item(self.name, self.content.dict)?;
        Ok(dict.into_any())
    }
}
