//! Deserializes numpy values as numbers, sequences and bytes.

use container_core::Error;
use serde_core::de::value::SeqDeserializer;
use serde_core::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_core::forward_to_deserialize_any;

use super::{CodecError, Result};
use crate::numpy::{Dtype, FieldDtype, Item, Kind, Numpy};

/// Maximum nesting of sequences and records.
const MAX_NESTING: u32 = 128;
/// Maximum number of empty sequences, which no bytes back.
const MAX_EMPTY: usize = 1 << 16;

#[derive(Clone, Copy)]
pub(super) struct NumpyDeserializer<'v, 'de>(pub(super) &'v Numpy<'de>);

impl<'de> de::Deserializer<'de> for NumpyDeserializer<'_, 'de> {
    type Error = CodecError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Numpy::Array(array) => {
                let block =
                    Block { dtype: array.dtype(), shape: array.shape(), data: array.data(), depth: MAX_NESTING };
                block.check()?;
                de::Deserializer::deserialize_any(block, visitor)
            }
            Numpy::Scalar(scalar) => {
                let block = Block { dtype: scalar.dtype(), shape: &[], data: scalar.data(), depth: MAX_NESTING };
                de::Deserializer::deserialize_any(block, visitor)
            }
            Numpy::Complex(number) => pair([number.re, number.im], visitor),
            Numpy::Pickle(pickle) => visitor.visit_borrowed_bytes(pickle.as_bytes()),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Numpy::Array(array) => visitor.visit_borrowed_bytes(array.data()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

fn pair<'de, V: Visitor<'de>, T: IntoDeserializer<'de, CodecError>>(parts: [T; 2], visitor: V) -> Result<V::Value> {
    visitor.visit_seq(SeqDeserializer::new(parts.into_iter()))
}

/// Elements of one type in any number of dimensions.
#[derive(Clone, Copy)]
struct Block<'v> {
    dtype: &'v Dtype,
    shape: &'v [usize],
    data: &'v [u8],
    depth: u32,
}

impl Block<'_> {
    fn check(&self) -> Result<()> {
        let Some(first) = self.shape.iter().position(|&length| length == 0) else { return Ok(()) };
        let outer = self.shape.iter().take(first).fold(1usize, |product, &length| product.saturating_mul(length));
        if outer > MAX_EMPTY {
            return Err(Error::limit("number of empty sequences", outer as u64, MAX_EMPTY as u64).into());
        }
        Ok(())
    }
}

impl<'de> de::Deserializer<'de> for Block<'_> {
    type Error = CodecError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some((&length, shape)) = self.shape.split_first() else {
            return element(self.dtype, self.data, self.depth, visitor);
        };
        let depth = deeper(self.depth)?;
        let stride = self.data.len().checked_div(length).unwrap_or(0);
        let mut blocks = Blocks { inner: Block { shape, depth, ..self }, stride, left: length };
        let value = visitor.visit_seq(&mut blocks)?;
        match blocks.left {
            0 => Ok(value),
            left => Err(de::Error::invalid_length(length, &format!("{} elements", length - left).as_str())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

fn deeper(depth: u32) -> Result<u32> {
    let limit = u64::from(MAX_NESTING);
    depth.checked_sub(1).ok_or_else(|| Error::limit("array nesting depth", limit + 1, limit).into())
}

struct Blocks<'v> {
    inner: Block<'v>,
    stride: usize,
    left: usize,
}

impl<'de> SeqAccess<'de> for Blocks<'_> {
    type Error = CodecError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let (head, tail) = self.inner.data.split_at_checked(self.stride).unwrap_or_default();
        self.inner.data = tail;
        seed.deserialize(Block { data: head, ..self.inner }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.inner.data.len()))
    }
}

fn element<'de, V: Visitor<'de>>(dtype: &Dtype, data: &[u8], depth: u32, visitor: V) -> Result<V::Value> {
    match Item::read(dtype, data)? {
        Item::Bool(value) => visitor.visit_bool(value),
        Item::Int(value) | Item::Datetime(value, _) | Item::Timedelta(value, _) => visitor.visit_i64(value),
        Item::Uint(value) => visitor.visit_u64(value),
        Item::F16(value) => visitor.visit_f32(value.to_f32()),
        Item::F32(value) => visitor.visit_f32(value),
        Item::F64(value) => visitor.visit_f64(value),
        Item::Complex32(parts) => pair(parts, visitor),
        Item::Complex64(parts) => pair(parts, visitor),
        Item::Bytes(bytes) => visitor.visit_bytes(bytes),
        Item::Text(text) => visitor.visit_string(text),
        Item::Opaque(of, bytes) if of.kind() == Kind::Void => visitor.visit_bytes(bytes),
        Item::Opaque(of, _) => {
            Err(Error::unsupported(format!("an element of dtype {of} has a meaning only on the machine that wrote it"))
                .into())
        }
        Item::Record(record) => {
            let depth = deeper(depth)?;
            visitor.visit_map(Fields { rest: record.fields(), next: None, depth })
        }
    }
}

struct Fields<'v, I> {
    rest: I,
    next: Option<(&'v FieldDtype, &'v [u8])>,
    depth: u32,
}

impl<'de, 'v, I: Iterator<Item = (&'v FieldDtype, &'v [u8])>> MapAccess<'de> for Fields<'v, I> {
    type Error = CodecError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.next = self.rest.next();
        let Some((field, _)) = self.next else { return Ok(None) };
        seed.deserialize(field.name.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let (field, data) = self.next.take().ok_or_else(|| CodecError::from(Error::usage("a value without a name")))?;
        seed.deserialize(Block { dtype: &field.dtype, shape: &field.shape, data, depth: self.depth })
    }
}
