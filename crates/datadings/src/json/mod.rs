//! Values as JSON, and JSON as values.
//!
//! | value | JSON |
//! |---|---|
//! | nil, bool, integer, str, array | themselves; integers keep all of their 64 bits |
//! | float | its own shortest digits, of 32 or of 64 bits; the texts `NaN`, `Infinity`, `-Infinity` where it is not finite |
//! | bin | `{"$bytes": base64}` |
//! | ext | `{"$ext": {"type": n, "data": base64}}` |
//! | map | an object in the same order; one whose only name begins with `$`, or whose first is `$escape`, stands in `{"$escape": {..}}` |
//! | numpy array | `{"$ndarray": {"dtype": "<i2", "shape": [3], "data": [0, 1, 2]}}`, elements flat in C order |
//! | numpy scalar | the plain number, text or bytes |
//! | complex | `{"$complex": [re, im]}` |
//! | array of Python objects | `{"$pickle": base64}` |
//!
//! Elements of arrays are numbers; true and false; pairs of real and imaginary part; texts for `U`, and for `S` where all elements are UTF-8;
//! whole numbers of the unit that the dtype tells for datetimes and timedeltas. Where elements have no such form
//! (structures, `V`, long doubles, `S` and `U` that are no text, bools that are neither 0 nor 1), data is one text: the base64 of the
//! bytes. The dtype of a structure is the array of its fields, as numpy's `descr` has it.
//!
//! A key that is no str becomes the JSON text of the key: `1`, `null`, `{"$bytes":"eA=="}`; more than four of these
//! in one another are an error. Where two keys of a map are then equal, both stand in the object, as both stood in the map.
//!
//! # What does not come back
//!
//! [`to_msgpack`] reverses all of that. What [`write()`] and it together change:
//!
//! * floats of 32 bits that are not elements of arrays: they become floats of 64 bits with the same digits; floats that are not finite become texts,
//!   which [`to_msgpack_with`] makes floats again;
//! * the bits of a NaN in an array: all become the usual one;
//! * scalars of numpy: plain numbers (longer ones than 64 bits, `V` and structures: bytes);
//! * keys that are no str: they become str;
//! * bytes that numpy does not count: names that occur twice in the map of an array, members it does not know, the older forms with names as str, the
//!   text of a complex number if Python would write another, dtypes in forms that numpy does not write; the shape beside a pickle;
//! * msgpack that is longer than it must be.

mod input;
mod out;
mod words;
mod wrong;

use std::cell::Cell;

use container_core::{Error, Limits, Result};
use serde::{Serialize, Serializer};

pub use input::{to_msgpack, to_msgpack_with};
pub use words::FloatWords;

use crate::numpy::Numpy;
use crate::value::RawValue;
use out::{Node, NumpyNode};

/// A name that begins so is one of ours, or escaped.
const SIGN: char = '$';
const BYTES: &str = "$bytes";
const EXT: &str = "$ext";
const NDARRAY: &str = "$ndarray";
const COMPLEX: &str = "$complex";
const PICKLE: &str = "$pickle";
const ESCAPE: &str = "$escape";

/// A value that serializes as this module's page says, into JSON or any other format of serde: what a whole sample looks like to those who
/// do not know msgpack.
///
/// Nesting deeper than 128 is an error.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a>(pub RawValue<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.tokens().check(Limits::default().depth).map_err(serde::ser::Error::custom)?;
        let error = Cell::new(None);
        let node = Node { raw: RawValue::at(bytes, self.0.offset()), error: &error, keys: 0 };
        let result = node.serialize(serializer);
        match error.take() {
            Some(error) => Err(serde::ser::Error::custom(error)),
            None => result,
        }
    }
}

/// Appends a value as compact JSON. After an error `out` is as it was.
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
/// What is wrong with the bytes, with its place; nesting deeper than the limits allow.
pub fn write(value: RawValue<'_>, out: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    // Seen whole before anything is written: most that is wrong is found here.
    let bytes = value.tokens().check(limits.depth)?;
    let start = out.len();
    let error = Cell::new(None);
    let node = Node { raw: RawValue::at(bytes, value.offset()), error: &error, keys: 0 };
    let result = node.serialize(&mut serde_json::Serializer::new(&mut *out));
    result.map_err(|cause| {
        out.truncate(start);
        error.take().unwrap_or_else(|| Error::invalid("the value cannot be written as JSON").caused_by(cause))
    })
}

/// A value of numpy where the serializer writes for people.
pub(crate) fn serialize_numpy<S: Serializer>(value: &Numpy<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    NumpyNode(value).serialize(serializer)
}
