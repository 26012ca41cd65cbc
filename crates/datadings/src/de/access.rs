//! Access to the members of arrays, maps and enums for serde's visitors.

use serde_core::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_core::forward_to_deserialize_any;

use super::{Bytes, CodecError, Deserializer, Result};

pub(super) struct Values<'d, 'de> {
    pub(super) de: &'d mut Deserializer<'de>,
    pub(super) left: u32,
}

impl<'de> SeqAccess<'de> for Values<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.de).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        // A value takes at least one byte.
        Some((self.left as usize).min(self.de.tokens.rest().len()))
    }
}

pub(super) struct Pairs<'d, 'de> {
    pub(super) de: &'d mut Deserializer<'de>,
    pub(super) left: u32,
}

impl<'de> MapAccess<'de> for Pairs<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.de).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(&mut *self.de)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some((self.left as usize).min(self.de.tokens.rest().len() / 2))
    }
}

/// An enum variant: its name alone, or a map from its name to its content.
pub(super) struct Variant<'d, 'de> {
    pub(super) de: &'d mut Deserializer<'de>,
    pub(super) is_unit: bool,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = CodecError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = seed.deserialize(&mut *self.de)?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = CodecError;

    fn unit_variant(self) -> Result<()> {
        if self.is_unit {
            return Ok(());
        }
        // Some writers put a nil here.
        de::Deserialize::deserialize(self.de)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        if self.is_unit {
            return Err(de::Error::invalid_type(Unexpected::UnitVariant, &"a variant with content"));
        }
        seed.deserialize(self.de)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        if self.is_unit {
            return Err(de::Error::invalid_type(Unexpected::UnitVariant, &visitor));
        }
        de::Deserializer::deserialize_seq(self.de, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        if self.is_unit {
            return Err(de::Error::invalid_type(Unexpected::UnitVariant, &visitor));
        }
        de::Deserializer::deserialize_map(self.de, visitor)
    }
}

/// An ext in the form that `rmpv` expects: its type, then its bytes.
pub(super) struct Ext<'de> {
    pub(super) kind: Option<i8>,
    pub(super) bytes: &'de [u8],
}

impl<'de> de::Deserializer<'de> for Ext<'de> {
    type Error = CodecError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(ExtParts { kind: self.kind, bytes: Some(self.bytes) })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct ExtParts<'de> {
    kind: Option<i8>,
    bytes: Option<&'de [u8]>,
}

impl<'de> SeqAccess<'de> for ExtParts<'de> {
    type Error = CodecError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.kind.take() {
            Some(kind) => seed.deserialize(kind.into_deserializer()).map(Some),
            None => self.bytes.take().map(|bytes| seed.deserialize(Bytes(bytes).into_deserializer())).transpose(),
        }
    }
}

/// The parts of a [`RawValue`](crate::RawValue): its offset, then its bytes.
pub(super) struct RawParts<'de> {
    pub(super) offset: Option<u64>,
    pub(super) bytes: Option<&'de [u8]>,
}

impl<'de> SeqAccess<'de> for RawParts<'de> {
    type Error = CodecError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.offset.take() {
            Some(offset) => seed.deserialize(offset.into_deserializer()).map(Some),
            None => self.bytes.take().map(|bytes| seed.deserialize(Bytes(bytes).into_deserializer())).transpose(),
        }
    }
}
