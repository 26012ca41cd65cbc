use serde::Serialize;
use serde::ser::{self, Impossible, SerializeMap, SerializeStruct};

/// Takes the fields of a row.
pub(super) trait TakeFields {
    /// A field's name comes: any value that JSON can have as a name.
    fn key_of(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error>;

    /// A field's name comes.
    fn key(&mut self, name: &[u8]);

    /// The field's value comes.
    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error>;
}

/// Takes a map or a struct apart into fields; anything else is no row.
pub(super) struct RowSerializer<'a, F>(pub(super) &'a mut F);

type No = Impossible<(), serde_json::Error>;

fn no_row<T>() -> Result<T, serde_json::Error> {
    Err(ser::Error::custom("it is no map from column names to values"))
}

macro_rules! no_rows {
    ($($method:ident($($kind:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self $(, _: $kind)*) -> Result<$ok, serde_json::Error> { no_row() })*
    };
}

impl<F: TakeFields> ser::Serializer for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = No;

    no_rows! {
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
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
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
        no_row()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, serde_json::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, serde_json::Error> {
        Ok(self)
    }
}

impl<F: TakeFields> SerializeMap for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.0.key_of(key)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.0.value(value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

impl<F: TakeFields> SerializeStruct for RowSerializer<'_, F> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.0.key(key.as_bytes());
        self.0.value(value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        Ok(())
    }
}
