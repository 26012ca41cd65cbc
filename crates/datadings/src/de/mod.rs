//! Deserializes msgpack into any type that implements serde's `Deserialize`.
//!
//! Optimized for samples: field names are compared in place, unused fields are skipped by length, and a map is decoded as a numpy value
//! only if something other than a map is requested.

mod access;
mod error;
mod numpy;

use container_core::{Error, Limits};
use serde_core::de::value::{BorrowedBytesDeserializer, SeqDeserializer};
use serde_core::de::{self, Visitor};
use serde_core::{Deserialize, forward_to_deserialize_any};

pub use error::CodecError;

use crate::numpy::{RAW, read, sniff};
use crate::value::RawValue;
use crate::wire::{Token, Tokens, utf8};
use access::{Ext, Pairs, RawParts, Values, Variant};
use numpy::NumpyDeserializer;

type Result<T, E = CodecError> = std::result::Result<T, E>;

/// The name of an ext in `rmpv` and `rmp-serde`.
const EXT: &str = "_ExtStruct";

/// Decodes one value; strings and bytes are borrowed.
///
/// [`RawValue::decode`] is the convenient way to use it.
///
/// * Field names can be str or bin; a bin also decodes as a sequence of bytes, so that `Vec<u8>` works.
/// * An enum is the name or the number of its variant, or a map from it to its content.
/// * Numpy scalars are plain numbers; arrays are nested sequences (of dimension 0: their element), or bytes on request; complex numbers
///   are pairs; pickles are bytes. The types of [`numpy`](crate::numpy) and [`RawValue`] receive them unchanged; a map or a struct
///   receives the encoded map.
#[derive(Debug)]
pub struct Deserializer<'de> {
    tokens: Tokens<'de>,
    /// Number of levels that may still be entered.
    depth: u32,
    limit: u32,
}

impl<'a> RawValue<'a> {
    /// Decodes it into any type. Strings and bytes can be borrowed.
    ///
    /// Numpy scalars become plain numbers, numpy arrays sequences (nested for more dimensions) or an
    /// [`NdArray`](crate::numpy::NdArray), complex numbers pairs.
    ///
    /// # Errors
    /// Invalid bytes, or a mismatch with the type, with the offset.
    pub fn decode<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        T::deserialize(&mut Deserializer::new(*self)).map_err(|error| Error::from(error.at(self.offset())))
    }

    /// Like [`decode`](Self::decode), for the bytes of a whole message: nothing may follow it.
    pub(crate) fn decode_whole<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        let mut deserializer = Deserializer::new(*self);
        let value = T::deserialize(&mut deserializer).map_err(|error| Error::from(error.at(self.offset())))?;
        // A type that reads nothing leaves the message.
        if deserializer.offset() > self.offset() {
            deserializer.tokens.end()?;
        }
        Ok(value)
    }

    /// Like [`decode`](Self::decode), with a nesting limit other than the default.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    pub fn decode_with<T: Deserialize<'a>>(&self, limits: &Limits) -> Result<T, Error> {
        let mut deserializer = Deserializer::with_limits(*self, limits);
        T::deserialize(&mut deserializer).map_err(|error| Error::from(error.at(self.offset())))
    }
}

impl<'de> Deserializer<'de> {
    /// With the default limits: a nesting depth of 128.
    #[must_use]
    #[inline]
    pub fn new(value: RawValue<'de>) -> Self {
        Self::with_limits(value, &Limits::default())
    }

    /// Uses [`depth`](Limits::depth) only, which bounds the stack: each level is a nested call.
    #[must_use]
    #[inline]
    pub fn with_limits(value: RawValue<'de>, limits: &Limits) -> Self {
        Self { tokens: value.tokens(), depth: limits.depth, limit: limits.depth }
    }

    /// The file offset of the next value.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.tokens.offset()
    }

    /// Enters a level of at least `count` values, each of which must be backed by a byte.
    #[inline]
    fn enter(&mut self, count: u64) -> Result<()> {
        let left = self.tokens.remaining();
        if count > left {
            return Err(Error::truncated("the members of an array or a map", count, left).into());
        }
        match self.depth.checked_sub(1) {
            Some(depth) => self.depth = depth,
            None => {
                return Err(Error::limit("nesting depth", u64::from(self.limit) + 1, self.limit.into()).into());
            }
        }
        Ok(())
    }

    fn seq<V: Visitor<'de>>(&mut self, count: u32, visitor: V) -> Result<V::Value> {
        self.enter(count.into())?;
        let mut values = Values { de: self, left: count };
        let value = visitor.visit_seq(&mut values)?;
        let left = values.left;
        self.depth += 1;
        if left > 0 { Err(too_many(count, left, "values")) } else { Ok(value) }
    }

    #[inline]
    fn map<V: Visitor<'de>>(&mut self, count: u32, visitor: V) -> Result<V::Value> {
        self.enter(2 * u64::from(count))?;
        let mut pairs = Pairs { de: self, left: count };
        let value = visitor.visit_map(&mut pairs)?;
        let left = pairs.left;
        self.depth += 1;
        if left > 0 { Err(too_many(count, left, "pairs")) } else { Ok(value) }
    }

    /// Decodes a map when something other than a map is requested: it must be a numpy value.
    #[cold]
    fn numpy<V: Visitor<'de>>(&mut self, start: Tokens<'de>, count: u32, hint: Hint, visitor: V) -> Result<V::Value> {
        let Some(value) = read(RawValue::at(start.rest(), start.offset()))? else {
            return self.map(count, visitor);
        };
        self.tokens = start;
        self.tokens.skip()?;
        let value = NumpyDeserializer(&value);
        match hint {
            Hint::Any => de::Deserializer::deserialize_any(value, visitor),
            Hint::Bytes => de::Deserializer::deserialize_bytes(value, visitor),
        }
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let start = self.tokens;
        match self.tokens.next()? {
            Token::Unsigned(value) => visitor.visit_u64(value),
            Token::Negative(value) => visitor.visit_i64(value),
            Token::F32(value) => visitor.visit_f32(value),
            Token::F64(value) => visitor.visit_f64(value),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Nil => visitor.visit_unit(),
            Token::Str(bytes) => visitor.visit_borrowed_str(utf8(bytes, self.tokens.offset())?),
            Token::Bin(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(count) => self.seq(count, visitor),
            Token::Map(count) if sniff(self.tokens, count) => self.numpy(start, count, Hint::Any, visitor),
            Token::Map(count) => self.map(count, visitor),
            Token::Ext(kind, bytes) => visitor.visit_newtype_struct(Ext { kind: Some(kind), bytes }),
        }
    }
}

/// What a visitor requested.
#[derive(Clone, Copy)]
enum Hint {
    Any,
    Bytes,
}

#[cold]
fn too_many(count: u32, left: u32, what: &str) -> CodecError {
    Error::invalid(format!("expected {} {what}, found {count}", count - left)).into()
}

/// Fast path for small non-negative numbers.
macro_rules! integers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let at = self.tokens.offset();
            match self.tokens.short_unsigned() {
                Some(value) => visitor.visit_u64(value).map_err(|error: CodecError| error.at(at)),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = CodecError;

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let at = self.tokens.offset();
        self.any(visitor).map_err(|error| error.at(at))
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char unit unit_struct
    }

    integers!(deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64);

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let at = self.tokens.offset();
        match self.tokens.short_str() {
            Some(bytes) => {
                let text = utf8(bytes, self.tokens.offset())?;
                visitor.visit_borrowed_str(text).map_err(|error: CodecError| error.at(at))
            }
            None => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let start = self.tokens;
        if let Some(bytes) = self.tokens.bin() {
            return visitor.visit_borrowed_bytes(bytes).map_err(|error: CodecError| error.at(start.offset()));
        }
        match self.tokens.next()? {
            Token::Bin(bytes) | Token::Str(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Map(count) if sniff(self.tokens, count) => self.numpy(start, count, Hint::Bytes, visitor),
            _ => {
                self.tokens = start;
                self.any(visitor)
            }
        }
        .map_err(|error| error.at(start.offset()))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let at = self.tokens.offset();
        if self.tokens.peek() == Some(0xc0) {
            self.tokens.next()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self).map_err(|error: CodecError| error.at(at))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        let start = self.tokens;
        if name == RAW {
            let bytes = self.tokens.skip()?;
            let parts = RawParts { offset: Some(start.offset()), bytes: Some(bytes) };
            return visitor.visit_seq(parts).map_err(|error: CodecError| error.at(start.offset()));
        }
        if name == EXT {
            return match self.tokens.next()? {
                Token::Ext(kind, bytes) => visitor.visit_newtype_struct(Ext { kind: Some(kind), bytes }),
                other => Err(RawValue::at(&[], start.offset()).unexpected("an ext", &other).into()),
            };
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let start = self.tokens;
        match self.tokens.next()? {
            Token::Array(count) => self.seq(count, visitor),
            Token::Bin(bytes) => {
                let mut values = SeqDeserializer::new(bytes.iter().copied());
                let value = visitor.visit_seq(&mut values);
                value.and_then(|value| values.end().map(|()| value))
            }
            _ => {
                self.tokens = start;
                self.any(visitor)
            }
        }
        .map_err(|error| error.at(start.offset()))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let start = self.tokens;
        if let Some(count) = self.tokens.short_map() {
            return self.map(count, visitor).map_err(|error| error.at(start.offset()));
        }
        match self.tokens.next()? {
            Token::Map(count) => self.map(count, visitor),
            _ => {
                self.tokens = start;
                self.any(visitor)
            }
        }
        .map_err(|error| error.at(start.offset()))
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let start = self.tokens;
        match self.tokens.next()? {
            Token::Str(_) | Token::Bin(_) | Token::Unsigned(_) => {
                self.tokens = start;
                visitor.visit_enum(Variant { de: self, is_unit: true })
            }
            Token::Map(1) => {
                self.enter(2)?;
                let value = visitor.visit_enum(Variant { de: self, is_unit: false })?;
                self.depth += 1;
                Ok(value)
            }
            other => {
                let expected = "a variant name, or a map from it to its content";
                Err(RawValue::at(&[], start.offset()).unexpected(expected, &other).into())
            }
        }
        .map_err(|error: CodecError| error.at(start.offset()))
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let at = self.tokens.offset();
        match self.tokens.short_str() {
            Some(bytes) => {
                visitor.visit_borrowed_str(utf8(bytes, self.tokens.offset())?).map_err(|error: CodecError| error.at(at))
            }
            None => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.tokens.skip()?;
        visitor.visit_unit()
    }
}

impl<'de> de::IntoDeserializer<'de, CodecError> for Bytes<'de> {
    type Deserializer = BorrowedBytesDeserializer<'de, CodecError>;

    fn into_deserializer(self) -> Self::Deserializer {
        BorrowedBytesDeserializer::new(self.0)
    }
}

/// Borrowed bytes.
struct Bytes<'de>(&'de [u8]);
