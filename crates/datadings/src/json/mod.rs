//! Converts msgpack values to JSON and back.
//!
//! | value | JSON |
//! |---|---|
//! | nil, bool, integer, str, array | the same; integers keep all 64 bits |
//! | float | shortest digits that identify it as a float of 32 or 64 bits, for 16 bits those of the same 32-bit float; the strings `NaN`, `Infinity`, `-Infinity` if not finite |
//! | bin | `{"$bytes": base64}` |
//! | ext | `{"$ext": {"type": n, "data": base64}}` |
//! | map | an object in the same order; wrapped in `{"$escape": {..}}` if its only key begins with `$` or its first key is `$escape` |
//! | sparse vector: a map `{"$sparse": {"length": 4, "indices": [3], "values": [0.5]}}` | the same |
//! | numpy array | `{"$ndarray": {"dtype": "<i2", "shape": [3], "data": [0, 1, 2]}}`, elements flat in C order |
//! | numpy scalar | the plain number, string or bytes |
//! | numpy scalar that is a datetime or timedelta | ISO 8601: `"2024-05-01T12:30:00.5"`, `"PT1.5S"`; `"NaT"`; the number if the unit is unspecified |
//! | complex | `{"$complex": [re, im]}` |
//! | array of Python objects | `{"$pickle": base64}` |
//!
//! Array elements are numbers; true and false; pairs of real and imaginary part; strings for `U`, and for `S` if all elements are UTF-8;
//! integers in units of the dtype for datetimes and timedeltas. If elements cannot be represented like this (structures, `V`, long doubles,
//! `S` and `U` that are not valid strings, bools other than 0 and 1), data is one string: their bytes in base64. The dtype of a structure
//! is the array of its fields, as in numpy's `descr`.
//!
//! A key that is not a str becomes its own JSON as a string: `1`, `null`, `{"$bytes":"eA=="}`; more than four such keys nested in each other
//! are an error. If two keys of a map become equal, the object has both.
//!
//! # What is not preserved
//!
//! [`to_msgpack`] reverses [`write()`] except for:
//!
//! * 32-bit floats outside of arrays: they become 64-bit floats with the same digits; non-finite floats become strings, which
//!   [`to_msgpack_with`] can turn back into floats;
//! * the bits of a NaN in an array: all become the standard one;
//! * numpy scalars: they become plain numbers and strings (beyond 64 bits, `V` and structures: bytes);
//! * keys that are not str: they become str;
//! * encodings without a meaning to numpy: duplicate and unknown keys in the map of an array, the legacy form with str keys, the text of a
//!   complex number if Python would write it differently, dtypes in a notation that numpy does not write; the shape beside a pickle;
//! * msgpack that is longer than necessary.

mod error;
mod input;
mod out;
mod words;

use std::cell::Cell;

use container_core::{Error, Limits, Result};
use serde_core::{Serialize, Serializer};

pub use input::{to_msgpack, to_msgpack_with};
pub use words::FloatWords;

use crate::numpy::Numpy;
use crate::value::RawValue;
use out::{Node, NumpyNode};

/// Prefix of this module's own keys, and of keys that must be escaped.
const PREFIX: char = '$';
const BYTES: &str = "$bytes";
const EXT: &str = "$ext";
const NDARRAY: &str = "$ndarray";
const COMPLEX: &str = "$complex";
const PICKLE: &str = "$pickle";
const ESCAPE: &str = "$escape";

/// A value that serializes as described in this module's documentation, into JSON or any other serde format: a whole sample for consumers
/// without msgpack.
///
/// Nesting deeper than 128 is an error.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a>(pub RawValue<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.tokens().check(Limits::default().depth).map_err(serde_core::ser::Error::custom)?;
        let error = Cell::new(None);
        let node = Node { raw: RawValue::at(bytes, self.0.offset()), error: &error, keys: 0 };
        let result = node.serialize(serializer);
        match error.take() {
            Some(error) => Err(serde_core::ser::Error::custom(error)),
            None => result,
        }
    }
}

/// Appends a value as compact JSON. An error leaves `out` unchanged.
///
/// ```
/// use container_core::Limits;
/// use datadings::{RawValue, json};
/// let mut out = Vec::new();
/// json::write(RawValue::new(b"\x82\xa3key\xa1a\xa5image\xc4\x02hi"), &mut out, &Limits::default())?;
/// assert_eq!(out, br#"{"key":"a","image":{"$bytes":"aGk="}}"#);
/// let mut back = Vec::new();
/// json::to_msgpack(&out, &mut back)?;
/// assert_eq!(back, b"\x82\xa3key\xa1a\xa5image\xc4\x02hi");
/// # Ok::<(), datadings::Error>(())
/// ```
///
/// # Errors
/// Invalid bytes, with the offset; nesting deeper than the limits allow.
pub fn write(value: RawValue<'_>, out: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    // Validate first, so that most errors are found before anything is written.
    let bytes = value.tokens().check(limits.depth)?;
    let start = out.len();
    let error = Cell::new(None);
    let node = Node { raw: RawValue::at(bytes, value.offset()), error: &error, keys: 0 };
    let result = node.serialize(&mut serde_json::Serializer::new(&mut *out));
    result.map_err(|cause| {
        out.truncate(start);
        error.take().unwrap_or_else(|| Error::invalid("cannot write the value as JSON").caused_by(cause))
    })
}

/// Serializes a numpy value into a human-readable format.
pub(crate) fn serialize_numpy<S: Serializer>(value: &Numpy<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    NumpyNode(value).serialize(serializer)
}
