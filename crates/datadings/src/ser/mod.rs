//! Serializes any type that implements serde's `Serialize`, byte for byte as Python's `msgpack` and `msgpack-numpy`.

mod compound;

use container_core::{Error, Result};
use serde_core::ser::{self, Serialize};

pub use crate::de::CodecError;

use crate::numpy::RAW;
use crate::wire::{
    put_array_header, put_bin, put_bool, put_ext, put_f32, put_f64, put_int, put_map_header, put_nil, put_str, put_uint,
};
use compound::{Compound, CompoundKind};

/// The name of an ext in `rmpv` and `rmp-serde`.
const EXT: &str = "_ExtStruct";

/// Encodes a value; see [`extend`].
///
/// # Errors
/// As [`extend`].
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(128);
    extend(&mut out, value)?;
    Ok(out)
}

/// Encodes a value and appends it to `out`, which an error leaves unchanged.
///
/// Integers take their shortest encoding, strings are str, serde's bytes are bin, an `f32` is a 32-bit float and an `f64` a 64-bit one,
/// structs are maps of their fields in order, `None` and units are nil, an enum variant is its name or a map from its name to its content.
/// The types of [`numpy`](crate::numpy) become the maps that Python writes; a [`RawValue`](crate::RawValue) is copied unchanged.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Sample { key: &'static str, label: u16 }
/// let mut out = Vec::new();
/// datadings::ser::extend(&mut out, &Sample { key: "a", label: 7 })?;
/// assert_eq!(out, b"\x82\xa3key\xa1a\xa5label\x07");
/// # Ok::<(), datadings::Error>(())
/// ```
///
/// # Errors
/// What msgpack cannot represent: integers beyond 64 bits, more than 2^32 - 1 bytes in a string or values in a sequence; errors of the
/// type's own implementation.
pub fn extend<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<()> {
    let start = out.len();
    value.serialize(&mut Serializer::new(out)).map_err(|error| {
        out.truncate(start);
        error.into()
    })
}

/// Encodes an `rmpv` value and appends it.
///
/// # Errors
/// A length above 2^32 - 1.
pub fn from_rmpv(out: &mut Vec<u8>, value: &rmpv::Value) -> Result<()> {
    let start = out.len();
    rmpv::encode::write_value(out, value).map_err(|cause| {
        out.truncate(start);
        Error::usage("cannot encode the value").caused_by(cause)
    })
}

/// Appends values to a buffer.
#[derive(Debug)]
pub struct Serializer<'o> {
    out: &'o mut Vec<u8>,
    human_readable: bool,
}

impl<'o> Serializer<'o> {
    /// Appends to this buffer.
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, human_readable: false }
    }

    /// Lets types serialize in their human-readable form, such as a time as its text.
    #[must_use]
    pub fn human_readable(mut self) -> Self {
        self.human_readable = true;
        self
    }
}

/// A length that msgpack cannot represent.
#[cold]
fn too_long(what: &str, len: u64) -> CodecError {
    Error::limit(format!("length of {what}"), len, u32::MAX.into()).into()
}

fn too_wide(value: impl std::fmt::Display) -> CodecError {
    Error::usage(format!("integer {value} exceeds the 64 bits of msgpack")).into()
}

impl<'s, 'o> ser::Serializer for &'s mut Serializer<'o> {
    type Ok = ();
    type Error = CodecError;
    type SerializeSeq = Compound<'s, 'o>;
    type SerializeTuple = Compound<'s, 'o>;
    type SerializeTupleStruct = Compound<'s, 'o>;
    type SerializeTupleVariant = Compound<'s, 'o>;
    type SerializeMap = Compound<'s, 'o>;
    type SerializeStruct = Compound<'s, 'o>;
    type SerializeStructVariant = Compound<'s, 'o>;

    fn is_human_readable(&self) -> bool {
        self.human_readable
    }

    fn serialize_bool(self, value: bool) -> Result<(), CodecError> {
        put_bool(self.out, value);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), CodecError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), CodecError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), CodecError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), CodecError> {
        put_int(self.out, value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), CodecError> {
        match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => self.serialize_u64(value),
            (_, Ok(value)) => self.serialize_i64(value),
            _ => Err(too_wide(value)),
        }
    }

    fn serialize_u8(self, value: u8) -> Result<(), CodecError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), CodecError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), CodecError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), CodecError> {
        put_uint(self.out, value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), CodecError> {
        self.serialize_u64(u64::try_from(value).map_err(|_| too_wide(value))?)
    }

    fn serialize_f32(self, value: f32) -> Result<(), CodecError> {
        put_f32(self.out, value);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), CodecError> {
        put_f64(self.out, value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), CodecError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), CodecError> {
        put_str(self.out, text).map_err(|len| too_long("a string", len))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), CodecError> {
        put_bin(self.out, bytes).map_err(|len| too_long("bytes", len))
    }

    fn serialize_none(self) -> Result<(), CodecError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CodecError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CodecError> {
        put_nil(self.out);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CodecError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), CodecError> {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), CodecError> {
        let start = self.out.len();
        if name == RAW {
            // Serialized as a bin, whose header is then removed.
            value.serialize(&mut *self)?;
            let header_len = match self.out.get(start) {
                Some(0xc4) => 2,
                Some(0xc5) => 3,
                _ => 5,
            };
            self.out.drain(start..start + header_len);
            return Ok(());
        }
        if name == EXT {
            let bytes = to_vec(value)?;
            let (kind, bytes) = crate::RawValue::new(&bytes).decode::<(i8, Bytes<'_>)>()?;
            return put_ext(self.out, kind, &bytes.0).map_err(|len| too_long("an ext", len));
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CodecError> {
        put_map_header(self.out, 1);
        self.serialize_str(variant)?;
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, CodecError> {
        Compound::new(self, CompoundKind::Array, len)
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, CodecError> {
        Compound::new(self, CompoundKind::Array, Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, CodecError> {
        Compound::new(self, CompoundKind::Array, Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, CodecError> {
        put_map_header(self.out, 1);
        self.serialize_str(variant)?;
        Compound::new(self, CompoundKind::Array, Some(len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, CodecError> {
        Compound::new(self, CompoundKind::Map, len)
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeStruct, CodecError> {
        Compound::new(self, CompoundKind::Map, Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, CodecError> {
        put_map_header(self.out, 1);
        self.serialize_str(variant)?;
        Compound::new(self, CompoundKind::Map, Some(len))
    }
}

/// Bytes, from serde's bytes or a sequence.
struct Bytes<'a>(std::borrow::Cow<'a, [u8]>);

impl<'de: 'a, 'a> serde_core::Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> serde_core::de::Visitor<'de> for Borrow {
            type Value = std::borrow::Cow<'de, [u8]>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(bytes.into())
            }

            fn visit_seq<A: serde_core::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(bytes.into())
            }
        }
        deserializer.deserialize_bytes(Borrow).map(Self)
    }
}

/// The header of an array or a map of `count` members.
fn put_header(out: &mut Vec<u8>, kind: CompoundKind, count: u32) {
    match kind {
        CompoundKind::Array => put_array_header(out, count),
        CompoundKind::Map => put_map_header(out, count),
    }
}
