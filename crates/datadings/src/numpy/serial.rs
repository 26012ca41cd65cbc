//! Serde support for numpy values: written as `msgpack-numpy` maps, read zero-copy.

use serde_core::de::{Error as _, SeqAccess, Visitor};
use serde_core::ser::{Error as _, SerializeMap, SerializeTuple};
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Array, Complex, Dtype, FieldDtype, NdArray, Numpy, Pickle, Scalar};
use crate::json;
use crate::value::RawValue;

/// Serialized as a bin.
struct Bin<'a>(&'a [u8]);

impl Serialize for Bin<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// A string for a plain dtype, an array of fields for a structured one.
impl Serialize for Dtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Primitive(of) => serializer.collect_str(of),
            Self::Structured(fields) => serializer.collect_seq(fields),
        }
    }
}

impl Serialize for FieldDtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_tuple(if self.shape.is_empty() { 2 } else { 3 })?;
        match &self.title {
            Some(title) => parts.serialize_element(&(title, &self.name))?,
            None => parts.serialize_element(&self.name)?,
        }
        parts.serialize_element(&self.dtype)?;
        if !self.shape.is_empty() {
            parts.serialize_element(&self.shape)?;
        }
        parts.end()
    }
}

impl Serialize for NdArray<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return json::serialize_numpy(&Numpy::Array(self.clone()), serializer);
        }
        // msgpack-numpy writes an unstructured `V` as a structure of one nameless field.
        let is_void = matches!(self.dtype(), Dtype::Primitive(of) if of.kind() == super::Kind::Void);
        let is_structured = matches!(self.dtype(), Dtype::Structured(_));
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry(&Bin(b"nd"), &true)?;
        match is_void {
            true => map.serialize_entry(&Bin(b"type"), &[("", self.dtype())])?,
            false => map.serialize_entry(&Bin(b"type"), self.dtype())?,
        }
        map.serialize_entry(&Bin(b"kind"), &Bin(if is_structured || is_void { b"V" } else { b"" }))?;
        map.serialize_entry(&Bin(b"shape"), self.shape())?;
        map.serialize_entry(&Bin(b"data"), &Bin(self.data()))?;
        map.end()
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return json::serialize_numpy(&Numpy::Scalar(self.clone()), serializer);
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry(&Bin(b"nd"), &false)?;
        map.serialize_entry(&Bin(b"type"), self.dtype())?;
        map.serialize_entry(&Bin(b"data"), &Bin(self.data()))?;
        map.end()
    }
}

impl Serialize for Complex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return json::serialize_numpy(&Numpy::Complex(*self), serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(&Bin(b"complex"), &true)?;
        map.serialize_entry(&Bin(b"data"), &self.to_string())?;
        map.end()
    }
}

impl Serialize for Pickle<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return json::serialize_numpy(&Numpy::Pickle(self.clone()), serializer);
        }
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry(&Bin(b"nd"), &true)?;
        map.serialize_entry(&Bin(b"type"), &[("", "|O")])?;
        map.serialize_entry(&Bin(b"kind"), &Bin(b"O"))?;
        map.serialize_entry(&Bin(b"shape"), self.shape())?;
        map.serialize_entry(&Bin(b"data"), &Bin(self.as_bytes()))?;
        map.end()
    }
}

impl Serialize for Numpy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Array(array) => array.serialize(serializer),
            Self::Scalar(scalar) => scalar.serialize(serializer),
            Self::Complex(number) => number.serialize(serializer),
            Self::Pickle(pickle) => pickle.serialize(serializer),
        }
    }
}

/// The newtype name by which this crate's serializer and deserializer recognize a [`RawValue`].
pub(crate) const RAW: &str = "$datadings::RawValue";

/// Borrows an encoded value within a decoded struct. Works only with this crate's deserializer.
impl<'de: 'a, 'a> Deserialize<'de> for RawValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;
        impl<'de> Visitor<'de> for RawVisitor {
            type Value = RawValue<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a msgpack value, decoded by crate datadings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let offset = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let bytes = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                Ok(RawValue::at(bytes, offset))
            }
        }
        deserializer.deserialize_newtype_struct(RAW, RawVisitor)
    }
}

/// Copies the encoded value unchanged. Serializers of other crates receive its bytes.
impl Serialize for RawValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.tokens().skip().map_err(S::Error::custom)?;
        serializer.serialize_newtype_struct(RAW, &Bin(bytes))
    }
}

macro_rules! by_raw {
    ($($type:ident<$lifetime:lifetime> = $method:ident),*) => {$(
        impl<'de: $lifetime, $lifetime> Deserialize<'de> for $type<$lifetime> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                RawValue::deserialize(deserializer)?.$method().map_err(D::Error::custom)
            }
        }
    )*};
}

by_raw!(NdArray<'a> = ndarray, Scalar<'a> = scalar, Pickle<'a> = pickle);

impl<'de> Deserialize<'de> for Complex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawValue::deserialize(deserializer)?.complex().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NdArray::deserialize(deserializer).map(|array| array.to_array())
    }
}
