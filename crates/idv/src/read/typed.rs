//! Deserialization of rows into the caller's types.

use container_core::{Error, Result};
use serde_core::de::value::{Error as Mismatch, SeqDeserializer};
use serde_core::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_core::forward_to_deserialize_any;

use super::Row;
use crate::FORMAT_NAME;
use crate::value::Value;

impl Row<'_> {
    /// Deserializes the row into a struct with fields named like the columns, or into a map.
    ///
    /// Numbers convert to any number type that holds them, text to `String`, vectors to `Vec` or arrays (sparse ones as dense), missing
    /// values to `None`. A key converts to a number as its value from 0, to other types as its label, if it has one. Times are ticks, a
    /// time with offset is the pair of ticks and minutes.
    ///
    /// ```
    /// # fn main() -> container_core::Result<()> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/real-adult.idv");
    /// #[derive(serde::Deserialize)]
    /// struct Person {
    ///     age: f32,
    ///     occupation: String,
    ///     #[serde(rename = "sex-key")]
    ///     sex: Option<String>,
    ///     #[serde(rename = "Features")]
    ///     features: Vec<f32>,
    /// }
    ///
    /// let reader = idv::Reader::open(path)?;
    /// let mut rows = reader.rows(&Default::default())?;
    /// let person: Person = rows.try_next()?.unwrap().deserialize()?;
    /// assert_eq!((person.age, person.occupation.as_str()), (25.0, "Machine-op-inspct"));
    /// assert_eq!((person.sex.as_deref(), person.features.len()), (Some("Male"), 28));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with row and column, when a value does not match its field or a field has no column.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        let mut columns = Columns { row: *self, next: 0, reading: None };
        let outcome = T::deserialize(MapOf(&mut columns));
        outcome.map_err(|mismatch| {
            let error = Error::invalid("cannot deserialize the row").caused_by(mismatch);
            let error = error.in_row(self.index()).in_format(FORMAT_NAME);
            match columns.reading.and_then(|column| self.name(column)) {
                Some(name) => error.in_column(name.to_owned()),
                None => error,
            }
        })
    }
}

/// Map access over the columns of a row.
struct Columns<'a> {
    row: Row<'a>,
    next: usize,
    reading: Option<usize>,
}

struct MapOf<'a, 'b>(&'b mut Columns<'a>);

impl<'de> Deserializer<'de> for MapOf<'de, '_> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_map(self.0)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'a> MapAccess<'a> for &mut Columns<'a> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        self.reading = None;
        match self.row.name(self.next) {
            Some(name) => seed.deserialize(serde_core::de::value::BorrowedStrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        self.reading = Some(self.next);
        let value = self.row.get(self.next).unwrap_or(Value::Missing);
        self.next += 1;
        let read = seed.deserialize(value)?;
        self.reading = None;
        Ok(read)
    }
}

impl<'de> IntoDeserializer<'de, Mismatch> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Number types get a key's value, not its label.
macro_rules! number_of_label {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            match self {
                Self::Label(key, _) => visitor.visit_u64(key),
                other => other.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Self::Missing => visitor.visit_unit(),
            Self::SByte(x) => visitor.visit_i8(x),
            Self::Byte(x) => visitor.visit_u8(x),
            Self::Int16(x) => visitor.visit_i16(x),
            Self::UInt16(x) => visitor.visit_u16(x),
            Self::Int32(x) => visitor.visit_i32(x),
            Self::UInt32(x) => visitor.visit_u32(x),
            Self::Int64(x) => visitor.visit_i64(x),
            Self::UInt64(x) | Self::Key(x) => visitor.visit_u64(x),
            Self::Single(x) => visitor.visit_f32(x),
            Self::Double(x) => visitor.visit_f64(x),
            Self::TimeSpan(x) => visitor.visit_i64(x.0),
            Self::DateTime(x) => visitor.visit_i64(x.0),
            Self::DateTimeOffset(x) => {
                let pair = [Self::Int64(x.ticks), Self::Int16(x.minutes)];
                visitor.visit_seq(SeqDeserializer::new(pair.into_iter()))
            }
            Self::RowId(x) => visitor.visit_u128(x),
            Self::Boolean(x) => visitor.visit_bool(x),
            Self::Text(x) => visitor.visit_borrowed_str(x),
            Self::Label(key, labels) => match labels.get(key) {
                Some(label) => label.deserialize_any(visitor),
                None => visitor.visit_u64(key),
            },
            Self::Vector(vector) => visitor.visit_seq(SeqDeserializer::new(vector.items())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Self::Missing => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    number_of_label! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
