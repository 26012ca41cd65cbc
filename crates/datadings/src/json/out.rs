//! Serializes msgpack with serde, value by value, without building a tree.

use std::cell::Cell;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use container_core::{Error, Result};
use serde_core::ser::{Error as _, SerializeMap, SerializeSeq};
use serde_core::{Serialize, Serializer};

use super::{BYTES, COMPLEX, ESCAPE, EXT, NDARRAY, PICKLE, PREFIX};
use crate::numpy::unit::NAT;
use crate::numpy::{Dtype, Element, Item, Kind, NdArray, Numpy, Record, sniff};
use crate::sparse::{SPARSE, Sparse};
use crate::value::RawValue;
use crate::wire::{Token, utf8};

/// A value in a sample. Errors are stored, because serializers reduce them to strings.
#[derive(Clone, Copy)]
pub(super) struct Node<'e, 'a> {
    pub(super) raw: RawValue<'a>,
    pub(super) error: &'e Cell<Option<Error>>,
    /// Number of keys other than str that it is nested in.
    pub(super) keys: u32,
}

/// Maximum nesting of keys that are not str. Each is a string within the string around it, where escaping doubles its length: without a
/// limit, the JSON could be exponentially longer than the msgpack.
const MAX_KEY_NESTING: u32 = 4;

impl<'a> Node<'_, 'a> {
    fn store_error<T, E: serde_core::ser::Error>(&self, result: Result<T>) -> Result<T, E> {
        result.map_err(|error| {
            let custom = E::custom(&error);
            self.error.set(Some(error));
            custom
        })
    }

    fn child(&self, raw: RawValue<'a>) -> Self {
        Self { raw, ..*self }
    }

    fn map<S: Serializer>(&self, count: u32, serializer: S) -> Result<S::Ok, S::Error> {
        if self.needs_escape(count) {
            return serializer.collect_map([(ESCAPE, Pairs { map: *self, count })]);
        }
        Pairs { map: *self, count }.serialize(serializer)
    }

    /// Whether a map could be mistaken for one of this module's own objects.
    fn needs_escape(&self, count: u32) -> bool {
        let mut entries = self.raw.entries().into_iter().flatten();
        let Some(Ok((key, value))) = entries.next() else { return false };
        let is_sparse = |key| key == SPARSE && Sparse::read(value).is_some();
        key.str().is_ok_and(|key| key == ESCAPE || count == 1 && key.starts_with(PREFIX) && !is_sparse(key))
    }
}

impl Serialize for Node<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tokens = self.raw.tokens();
        match self.store_error(tokens.next())? {
            Token::Nil => serializer.serialize_unit(),
            Token::Bool(value) => serializer.serialize_bool(value),
            Token::Unsigned(value) => serializer.serialize_u64(value),
            Token::Negative(value) => serializer.serialize_i64(value),
            Token::F32(value) => F32(value).serialize(serializer),
            Token::F64(value) => F64(value).serialize(serializer),
            Token::Str(bytes) => serializer.serialize_str(self.store_error(utf8(bytes, tokens.offset()))?),
            Token::Bin(bytes) => serializer.collect_map([(BYTES, Base64(bytes))]),
            Token::Ext(kind, bytes) => serializer.collect_map([(EXT, Ext(kind, bytes))]),
            Token::Array(count) => {
                let mut seq = serializer.serialize_seq(Some(count as usize))?;
                for item in self.store_error(self.raw.items())? {
                    seq.serialize_element(&self.child(self.store_error(item)?))?;
                }
                seq.end()
            }
            Token::Map(count) if sniff(tokens, count) => match self.store_error(self.raw.numpy())? {
                Some(value) => {
                    // The whole map was validated, so nothing can fail.
                    NumpyNode(&value).serialize(serializer)
                }
                None => self.map(count, serializer),
            },
            Token::Map(count) => self.map(count, serializer),
        }
    }
}

/// The pairs of a map, without escaping.
struct Pairs<'e, 'a> {
    map: Node<'e, 'a>,
    count: u32,
}

impl Serialize for Pairs<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = &self.map;
        let mut map = serializer.serialize_map(Some(self.count as usize))?;
        for entry in node.store_error(node.raw.entries())? {
            let (key, value) = node.store_error(entry)?;
            match key.str() {
                Ok(key) => map.serialize_key(key)?,
                Err(_) => {
                    let keys = node.keys + 1; // at most MAX_KEY_NESTING
                    if keys > MAX_KEY_NESTING {
                        let error =
                            Error::limit("nesting of keys that are not str", keys.into(), MAX_KEY_NESTING.into());
                        node.store_error(Err(error.at(key.offset())))?;
                    }
                    // JSON is UTF-8.
                    let text = serde_json::to_vec(&Node { keys, ..node.child(key) }).map_err(S::Error::custom)?;
                    map.serialize_key(&String::from_utf8_lossy(&text))?;
                }
            }
            map.serialize_value(&node.child(value))?;
        }
        map.end()
    }
}

struct F32(f32);

impl Serialize for F32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f32(self.0) } else { F64(self.0.into()).serialize(serializer) }
    }
}

struct F64(f64);

impl Serialize for F64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_finite() => serializer.serialize_f64(value),
            value if value.is_nan() => serializer.serialize_str("NaN"),
            value => serializer.serialize_str(if value > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

struct Ext<'a>(i8, &'a [u8]);

impl Serialize for Ext<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", &self.0)?;
        map.serialize_entry("data", &Base64(self.1))?;
        map.end()
    }
}

pub(super) struct NumpyNode<'v, 'a>(pub(super) &'v Numpy<'a>);

impl Serialize for NumpyNode<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Numpy::Array(array) => serializer.collect_map([(NDARRAY, ArrayNode(array))]),
            Numpy::Scalar(scalar) => match scalar.item() {
                Ok(Item::Complex32(parts)) => serializer.collect_map([(COMPLEX, parts.map(F32))]),
                Ok(Item::Complex64(parts)) => serializer.collect_map([(COMPLEX, parts.map(F64))]),
                Ok(Item::Bytes(bytes)) => serializer.collect_map([(BYTES, Base64(bytes))]),
                Ok(Item::Opaque(..) | Item::Record(_)) | Err(_) => {
                    serializer.collect_map([(BYTES, Base64(scalar.data()))])
                }
                Ok(Item::Datetime(NAT, _) | Item::Timedelta(NAT, _)) => serializer.serialize_str("NaT"),
                Ok(Item::Datetime(steps, unit)) => TimeNode(steps, unit.datetime_text(steps)).serialize(serializer),
                Ok(Item::Timedelta(steps, unit)) => TimeNode(steps, unit.timedelta_text(steps)).serialize(serializer),
                Ok(item) => ItemNode(&item).serialize(serializer),
            },
            Numpy::Complex(number) => serializer.collect_map([(COMPLEX, [number.re, number.im].map(F64))]),
            Numpy::Pickle(pickle) => serializer.collect_map([(PICKLE, Base64(pickle.as_bytes()))]),
        }
    }
}

/// A datetime or timedelta: its text, or the number of its steps if it has none.
struct TimeNode(i64, Option<String>);

impl Serialize for TimeNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.1 {
            Some(text) => serializer.serialize_str(text),
            None => serializer.serialize_i64(self.0),
        }
    }
}

/// An element that is a number, a bool or a string.
struct ItemNode<'v, 'a>(&'v Item<'a>);

impl Serialize for ItemNode<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Item::Bool(value) => serializer.serialize_bool(*value),
            Item::Int(value) | Item::Datetime(value, _) | Item::Timedelta(value, _) => serializer.serialize_i64(*value),
            Item::Uint(value) => serializer.serialize_u64(*value),
            Item::F16(value) => F32(value.to_f32()).serialize(serializer),
            Item::F32(value) => F32(*value).serialize(serializer),
            Item::F64(value) => F64(*value).serialize(serializer),
            Item::Complex32(parts) => parts.map(F32).serialize(serializer),
            Item::Complex64(parts) => parts.map(F64).serialize(serializer),
            Item::Text(text) => serializer.serialize_str(text),
            Item::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => serializer.serialize_str(text),
                Err(_) => Base64(bytes).serialize(serializer),
            },
            Item::Opaque(_, bytes) => Base64(bytes).serialize(serializer),
            Item::Record(record) => reject_record(record, serializer),
        }
    }
}

/// Structured elements are written as bytes, all together.
fn reject_record<S: Serializer>(_: &Record<'_>, _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("a structured element cannot be written alone"))
}

struct ArrayNode<'v, 'a>(&'v NdArray<'a>);

impl ArrayNode<'_, '_> {
    /// Whether every element can be represented in JSON without loss.
    fn has_elements(&self) -> bool {
        let array = self.0;
        match array.dtype() {
            Dtype::Structured(_) => false,
            Dtype::Primitive(of) => match (of.kind(), of.size()) {
                (Kind::Void | Kind::Object, _) => false,
                (Kind::Float, size) => size <= 8,
                (Kind::Complex, size) => size <= 16,
                (Kind::Bool, _) => array.data().iter().all(|&byte| byte <= 1),
                (Kind::Text | Kind::Bytes, _) => array.items().all(|item| match item {
                    Ok(Item::Bytes(bytes)) => str::from_utf8(bytes).is_ok(),
                    Ok(_) => true,
                    Err(_) => false,
                }),
                _ => true,
            },
        }
    }
}

impl Serialize for ArrayNode<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("dtype", self.0.dtype())?;
        map.serialize_entry("shape", self.0.shape())?;
        match self.has_elements() {
            true => map.serialize_entry("data", &Elements(self.0))?,
            false => map.serialize_entry("data", &Base64(self.0.data()))?,
        }
        map.end()
    }
}

struct Elements<'v, 'a>(&'v NdArray<'a>);

impl Serialize for Elements<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Fast path for common types, without inspecting every element.
        fn plain<T: Element, N: Serialize, S: Serializer>(
            array: &NdArray<'_>,
            node: impl Fn(T) -> N,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(array.iter::<T>().map_err(S::Error::custom)?.map(node))
        }
        let array = self.0;
        match array.dtype().primitive().map(|of| (of.kind(), of.size())) {
            Some((Kind::Uint, 1)) => plain(array, |value: u8| value, serializer),
            Some((Kind::Uint, 2)) => plain(array, |value: u16| value, serializer),
            Some((Kind::Int, 2)) => plain(array, |value: i16| value, serializer),
            Some((Kind::Int, 4)) => plain(array, |value: i32| value, serializer),
            Some((Kind::Int, 8)) => plain(array, |value: i64| value, serializer),
            Some((Kind::Float, 4)) => plain(array, F32, serializer),
            Some((Kind::Float, 8)) => plain(array, F64, serializer),
            _ => {
                let mut seq = serializer.serialize_seq(Some(array.len()))?;
                for item in array.items() {
                    seq.serialize_element(&ItemNode(&item.map_err(S::Error::custom)?))?;
                }
                seq.end()
            }
        }
    }
}
