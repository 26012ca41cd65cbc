//! The serializers of a row and its member names.

use container_core::Error;
use serde_core::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::{RowBuilder, RowError};

/// Serializer methods that reject their value, described by a literal.
macro_rules! refuse {
    ($what:ident: $($method:ident($($type:ty),*) $found:literal)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<Self::Ok, RowError> {
            Err($what($found))
        }
    )*};
}

/// The same for enum variants with data.
macro_rules! refuse_variants {
    ($what:ident) => {
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, RowError> {
            Err($what("a variant with a value"))
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, RowError> {
            Err($what("a variant with values"))
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, RowError> {
            Err($what("a variant with values"))
        }
    };
}
pub(super) use refuse_variants;

#[cold]
fn not_a_row(found: &str) -> RowError {
    RowError(Error::invalid(format!("expected a row (a struct, a map, or one item per column), found {found}")))
}

#[cold]
fn not_a_name(found: &str) -> RowError {
    RowError(Error::invalid(format!("expected a member name, found {found}")))
}

pub(super) struct RowSerializer<'a, 'b>(pub(super) &'a mut RowBuilder<'b>);

impl<'a, 'b> Serializer for RowSerializer<'a, 'b> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Items<'a, 'b>;
    type SerializeTuple = Items<'a, 'b>;
    type SerializeTupleStruct = Items<'a, 'b>;
    type SerializeTupleVariant = Impossible<(), RowError>;
    type SerializeMap = Members<'a, 'b>;
    type SerializeStruct = Members<'a, 'b>;
    type SerializeStructVariant = Impossible<(), RowError>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, RowError> {
        Ok(Items { builder: self.0, count: 0 })
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, RowError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, RowError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        Ok(Members { builder: self.0, key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        self.serialize_map(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), RowError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), RowError> {
        value.serialize(self)
    }

    refuse! { not_a_row:
        serialize_bool(bool) "a Boolean" serialize_char(char) "a character" serialize_str(&str) "a string" serialize_bytes(&[u8]) "bytes"
        serialize_i8(i8) "a number" serialize_i16(i16) "a number" serialize_i32(i32) "a number" serialize_i64(i64) "a number"
        serialize_i128(i128) "a number" serialize_u8(u8) "a number" serialize_u16(u16) "a number" serialize_u32(u32) "a number"
        serialize_u64(u64) "a number" serialize_u128(u128) "a number" serialize_f32(f32) "a number" serialize_f64(f64) "a number"
        serialize_none() "a unit value" serialize_unit() "a unit value" serialize_unit_struct(&'static str) "a unit struct"
        serialize_unit_variant(&'static str, u32, &'static str) "a variant"
    }
    refuse_variants!(not_a_row);
}

/// A row as a sequence in column order.
pub(super) struct Items<'a, 'b> {
    builder: &'a mut RowBuilder<'b>,
    count: usize,
}

impl SerializeSeq for Items<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        let index = self.count;
        self.count += 1;
        if index < self.builder.columns.len() { self.builder.put(index, value) } else { Ok(()) }
    }

    fn end(self) -> Result<(), RowError> {
        let columns = self.builder.columns.len();
        if self.count == columns {
            return Ok(());
        }
        Err(RowError(Error::invalid(format!("expected {columns} items, one per column, found {}", self.count))))
    }
}

impl SerializeTuple for Items<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<(), RowError> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for Items<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<(), RowError> {
        SerializeSeq::end(self)
    }
}

/// A row as named members.
pub(super) struct Members<'a, 'b> {
    builder: &'a mut RowBuilder<'b>,
    /// The column of the last key.
    key: Option<usize>,
}

impl SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), RowError> {
        let index = self.builder.column(name)?;
        self.builder.put(index, value)
    }

    fn end(self) -> Result<(), RowError> {
        self.builder.finish()
    }
}

impl SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), RowError> {
        let builder = &*self.builder;
        self.key = Some(key.serialize(Name(|name: &str| builder.column(name)))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        match self.key.take() {
            Some(index) => self.builder.put(index, value),
            None => Err(not_a_name("a value")),
        }
    }

    fn end(self) -> Result<(), RowError> {
        self.builder.finish()
    }
}

/// Passes a member name to a function.
pub(super) struct Name<F>(pub(super) F);

impl<R, F: FnOnce(&str) -> Result<R, RowError>> Serializer for Name<F> {
    type Ok = R;
    type Error = RowError;
    type SerializeSeq = Impossible<R, RowError>;
    type SerializeTuple = Impossible<R, RowError>;
    type SerializeTupleStruct = Impossible<R, RowError>;
    type SerializeTupleVariant = Impossible<R, RowError>;
    type SerializeMap = Impossible<R, RowError>;
    type SerializeStruct = Impossible<R, RowError>;
    type SerializeStructVariant = Impossible<R, RowError>;

    fn serialize_str(self, name: &str) -> Result<R, RowError> {
        (self.0)(name)
    }

    fn serialize_char(self, name: char) -> Result<R, RowError> {
        (self.0)(name.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<R, RowError> {
        (self.0)(name)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<R, RowError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<R, RowError> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, RowError> {
        Err(not_a_name("a sequence"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, RowError> {
        Err(not_a_name("a tuple"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, RowError> {
        Err(not_a_name("a tuple"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        Err(not_a_name("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        Err(not_a_name("a struct"))
    }

    refuse! { not_a_name:
        serialize_bool(bool) "a Boolean" serialize_bytes(&[u8]) "bytes"
        serialize_i8(i8) "a number" serialize_i16(i16) "a number" serialize_i32(i32) "a number" serialize_i64(i64) "a number"
        serialize_i128(i128) "a number" serialize_u8(u8) "a number" serialize_u16(u16) "a number" serialize_u32(u32) "a number"
        serialize_u64(u64) "a number" serialize_u128(u128) "a number" serialize_f32(f32) "a number" serialize_f64(f64) "a number"
        serialize_none() "a unit value" serialize_unit() "a unit value" serialize_unit_struct(&'static str) "a unit struct"
    }
    refuse_variants!(not_a_name);
}
