use serde::Serialize;
use serde::ser::{self, Impossible, SerializeMap, SerializeStruct};

/// Receives the fields of a row.
pub(super) trait FieldVisitor {
    /// The name of the next field: any value that can be a JSON member name.
    fn serialized_key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error>;

    /// The value of the field.
    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error>;
}

/// Serializes a map or a struct into a [`FieldVisitor`], and rejects any other value.
pub(super) struct RowSerializer<'a, F>(pub(super) &'a mut F);

type Unsupported = Impossible<(), serde_json::Error>;

fn not_a_row<T>() -> Result<T, serde_json::Error> {
    Err(ser::Error::custom("expected a map from column names to values"))
}

macro_rules! not_rows {
    ($($method:ident($($kind:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self $(, _: $kind)*) -> Result<$ok, serde_json::Error> { not_a_row() })*
    };
}

impl<F: FieldVisitor> ser::Serializer for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = Unsupported;
    type SerializeTuple = Unsupported;
    type SerializeTupleStruct = Unsupported;
    type SerializeTupleVariant = Unsupported;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Unsupported;

    not_rows! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Unsupported;
        serialize_tuple(usize) -> Unsupported;
        serialize_tuple_struct(&'static str, usize) -> Unsupported;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Unsupported;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Unsupported;
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), serde_json::Error> {
        not_a_row()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, serde_json::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, serde_json::Error> {
        Ok(self)
    }
}

impl<F: FieldVisitor> SerializeMap for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.0.serialized_key(key)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.0.value(value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

impl<F: FieldVisitor> SerializeStruct for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.0.serialized_key(key)?;
        self.0.value(value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        Ok(())
    }
}
