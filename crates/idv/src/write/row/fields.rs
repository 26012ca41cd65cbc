//! The outermost serializer: a row and its members.

use container_core::Error;
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::{Fault, Fill};

/// Methods that refuse what they are given, in these words.
macro_rules! refuse {
    ($what:ident: $($method:ident($($type:ty),*) $found:literal)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<Self::Ok, Fault> {
            Err($what($found))
        }
    )*};
}

/// The same for what has a value inside.
macro_rules! refuse_variants {
    ($what:ident) => {
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Fault> {
            Err($what("a variant with a value"))
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, Fault> {
            Err($what("a variant with values"))
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, Fault> {
            Err($what("a variant with values"))
        }
    };
}
pub(super) use refuse_variants;

#[cold]
fn no_row(found: &str) -> Fault {
    Fault(Error::invalid(format!("{found} where a row is wanted: a struct, a map, or an item for each column")))
}

#[cold]
fn no_name(found: &str) -> Fault {
    Fault(Error::invalid(format!("{found} where a member's name is wanted")))
}

pub(super) struct RowSerializer<'a, 'b>(pub(super) &'a mut Fill<'b>);

impl<'a, 'b> Serializer for RowSerializer<'a, 'b> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Items<'a, 'b>;
    type SerializeTuple = Items<'a, 'b>;
    type SerializeTupleStruct = Items<'a, 'b>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Members<'a, 'b>;
    type SerializeStruct = Members<'a, 'b>;
    type SerializeStructVariant = Impossible<(), Fault>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Fault> {
        Ok(Items { fill: self.0, count: 0 })
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Fault> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, Fault> {
        self.serialize_seq(Some(len))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        Ok(Members { fill: self.0, key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Fault> {
        self.serialize_map(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    refuse! { no_row:
        serialize_bool(bool) "a bool" serialize_char(char) "a character" serialize_str(&str) "a text" serialize_bytes(&[u8]) "bytes"
        serialize_i8(i8) "a number" serialize_i16(i16) "a number" serialize_i32(i32) "a number" serialize_i64(i64) "a number"
        serialize_i128(i128) "a number" serialize_u8(u8) "a number" serialize_u16(u16) "a number" serialize_u32(u32) "a number"
        serialize_u64(u64) "a number" serialize_u128(u128) "a number" serialize_f32(f32) "a number" serialize_f64(f64) "a number"
        serialize_none() "nothing" serialize_unit() "nothing" serialize_unit_struct(&'static str) "a unit struct"
        serialize_unit_variant(&'static str, u32, &'static str) "a variant"
    }
    refuse_variants!(no_row);
}

/// A row of items in the order of the columns.
pub(super) struct Items<'a, 'b> {
    fill: &'a mut Fill<'b>,
    count: usize,
}

impl SerializeSeq for Items<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let index = self.count;
        self.count += 1;
        if index < self.fill.columns.len() { self.fill.put(index, value) } else { Ok(()) }
    }

    fn end(self) -> Result<(), Fault> {
        let columns = self.fill.columns.len();
        if self.count == columns {
            return Ok(());
        }
        Err(Fault(Error::invalid(format!("{} items for {columns} columns", self.count))))
    }
}

impl SerializeTuple for Items<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<(), Fault> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for Items<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<(), Fault> {
        SerializeSeq::end(self)
    }
}

/// A row of named members.
pub(super) struct Members<'a, 'b> {
    fill: &'a mut Fill<'b>,
    /// The column of the key that came last.
    key: Option<usize>,
}

impl SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        let index = self.fill.column(name)?;
        self.fill.put(index, value)
    }

    fn end(self) -> Result<(), Fault> {
        self.fill.finish()
    }
}

impl SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let fill = &*self.fill;
        self.key = Some(key.serialize(Name(|name: &str| fill.column(name)))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match self.key.take() {
            Some(index) => self.fill.put(index, value),
            None => Err(no_name("a value")),
        }
    }

    fn end(self) -> Result<(), Fault> {
        self.fill.finish()
    }
}

/// Gives the text of a member's name to a function.
pub(super) struct Name<F>(pub(super) F);

impl<R, F: FnOnce(&str) -> Result<R, Fault>> Serializer for Name<F> {
    type Ok = R;
    type Error = Fault;
    type SerializeSeq = Impossible<R, Fault>;
    type SerializeTuple = Impossible<R, Fault>;
    type SerializeTupleStruct = Impossible<R, Fault>;
    type SerializeTupleVariant = Impossible<R, Fault>;
    type SerializeMap = Impossible<R, Fault>;
    type SerializeStruct = Impossible<R, Fault>;
    type SerializeStructVariant = Impossible<R, Fault>;

    fn serialize_str(self, name: &str) -> Result<R, Fault> {
        (self.0)(name)
    }

    fn serialize_char(self, name: char) -> Result<R, Fault> {
        (self.0)(name.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<R, Fault> {
        (self.0)(name)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<R, Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<R, Fault> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Fault> {
        Err(no_name("a sequence"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Fault> {
        Err(no_name("a tuple"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Fault> {
        Err(no_name("a tuple"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        Err(no_name("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Fault> {
        Err(no_name("a struct"))
    }

    refuse! { no_name:
        serialize_bool(bool) "a bool" serialize_bytes(&[u8]) "bytes"
        serialize_i8(i8) "a number" serialize_i16(i16) "a number" serialize_i32(i32) "a number" serialize_i64(i64) "a number"
        serialize_i128(i128) "a number" serialize_u8(u8) "a number" serialize_u16(u16) "a number" serialize_u32(u32) "a number"
        serialize_u64(u64) "a number" serialize_u128(u128) "a number" serialize_f32(f32) "a number" serialize_f64(f64) "a number"
        serialize_none() "nothing" serialize_unit() "nothing" serialize_unit_struct(&'static str) "a unit struct"
    }
    refuse_variants!(no_name);
}
