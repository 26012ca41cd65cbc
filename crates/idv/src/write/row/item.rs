//! The serializer of one item.

use container_core::Error;
use serde_core::ser::{Impossible, Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, Serializer};

use super::super::cell::{Cell, KeyLabels, Shape, push_item};
use super::RowError;
use super::fields::refuse_variants;
use crate::codec::Values;
use crate::time::DateTimeOffset;
use crate::wire::ItemType;
/// Serializer methods for scalar values, forwarding to a method `cell`.
macro_rules! cells {
    ($($method:ident($type:ty) $cell:ident)*) => {
        $(
            fn $method(self, value: $type) -> Result<(), RowError> {
                self.cell(Cell::$cell(value.into()))
            }
        )*

        fn is_human_readable(&self) -> bool {
            false
        }

        fn serialize_char(self, value: char) -> Result<(), RowError> {
            self.cell(Cell::Text(value.encode_utf8(&mut [0; 4])))
        }

        fn serialize_none(self) -> Result<(), RowError> {
            self.cell(Cell::Missing)
        }

        fn serialize_unit(self) -> Result<(), RowError> {
            self.cell(Cell::Missing)
        }

        fn serialize_unit_struct(self, _: &'static str) -> Result<(), RowError> {
            Err(self.refuse("a unit struct"))
        }

        fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), RowError> {
            self.cell(Cell::Text(name))
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), RowError> {
            value.serialize(self)
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), RowError> {
            value.serialize(self)
        }
    };
}

macro_rules! all_cells {
    () => {
        cells! {
            serialize_bool(bool) Bool serialize_str(&str) Text serialize_f32(f32) Single serialize_f64(f64) Double
            serialize_i8(i8) Int serialize_i16(i16) Int serialize_i32(i32) Int serialize_i64(i64) Int serialize_i128(i128) Int
            serialize_u8(u8) Int serialize_u16(u16) Int serialize_u32(u32) Int serialize_u64(u64) Int serialize_u128(u128) RowId
        }
    };
}

pub(super) use {all_cells, cells};

#[cold]
pub(super) fn type_mismatch(found: &str, expected: &dyn std::fmt::Display) -> RowError {
    RowError(Error::invalid(format!("expected {expected}, found {found}")))
}

#[cold]
pub(super) fn unsupported_variant(found: &str) -> RowError {
    RowError(Error::invalid(format!("unsupported value: {found}")))
}

/// An item of a column or, with a shape, of a vector.
pub(super) struct Item<'x, 's> {
    pub(super) values: &'x mut Values,
    pub(super) item: ItemType,
    pub(super) labels: Option<&'x KeyLabels>,
    pub(super) shape: Option<&'x mut Shape<'s>>,
}

impl<'x, 's> Item<'x, 's> {
    fn cell(self, cell: Cell<'_>) -> Result<(), RowError> {
        if let Some(shape) = self.shape {
            shape.items(1)?;
        }
        Ok(push_item(self.values, self.item, self.labels, cell)?)
    }

    #[cold]
    fn refuse(&self, found: &str) -> RowError {
        type_mismatch(found, &self.item)
    }

    /// Starts a time with offset given as ticks and minutes.
    pub(super) fn pair(self, found: &str) -> Result<Pair<'x>, RowError> {
        if !matches!(self.item, ItemType::DateTimeOffset | ItemType::DvDateTimeZone) {
            return Err(self.refuse(found));
        }
        if let Some(shape) = self.shape {
            shape.items(1)?;
        }
        Ok(Pair { values: self.values, item: self.item, numbers: Values::Int64(Vec::with_capacity(2)) })
    }

    fn array(self) -> Result<Nested<'x, 's>, RowError> {
        match self.shape {
            Some(shape) => {
                shape.open()?;
                Ok(Nested::Array { values: self.values, item: self.item, labels: self.labels, shape })
            }
            None => Err(type_mismatch("a sequence", &self.item)),
        }
    }
}

impl<'x, 's> Serializer for Item<'x, 's> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Nested<'x, 's>;
    type SerializeTuple = Nested<'x, 's>;
    type SerializeTupleStruct = Nested<'x, 's>;
    type SerializeTupleVariant = Impossible<(), RowError>;
    type SerializeMap = Impossible<(), RowError>;
    type SerializeStruct = Impossible<(), RowError>;
    type SerializeStructVariant = Impossible<(), RowError>;

    all_cells!();
    refuse_variants!(unsupported_variant);

    fn serialize_bytes(self, _: &[u8]) -> Result<(), RowError> {
        Err(self.refuse("bytes"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, RowError> {
        self.array()
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, RowError> {
        // A pair is a time with offset, not an array of two.
        let zoned = matches!(self.item, ItemType::DateTimeOffset | ItemType::DvDateTimeZone);
        if zoned && len == 2 { Ok(Nested::Pair(self.pair("a tuple")?)) } else { self.array() }
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, RowError> {
        self.serialize_tuple(len)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        Err(self.refuse("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        Err(self.refuse("a struct"))
    }
}

/// A sequence among the items of a vector.
pub(super) enum Nested<'x, 's> {
    Array { values: &'x mut Values, item: ItemType, labels: Option<&'x KeyLabels>, shape: &'x mut Shape<'s> },
    Pair(Pair<'x>),
}

impl SerializeSeq for Nested<'_, '_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        match self {
            Self::Array { values, item, labels, shape } => {
                value.serialize(Item { values, item: *item, labels: *labels, shape: Some(shape) })
            }
            Self::Pair(pair) => pair.put(value),
        }
    }

    fn end(self) -> Result<(), RowError> {
        match self {
            Self::Array { shape, .. } => {
                shape.close()?;
                Ok(())
            }
            Self::Pair(pair) => pair.end(),
        }
    }
}

/// Ticks and minutes of a time with offset.
pub(super) struct Pair<'x> {
    values: &'x mut Values,
    item: ItemType,
    numbers: Values,
}

impl Pair<'_> {
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        value.serialize(Item { values: &mut self.numbers, item: ItemType::Int64, labels: None, shape: None })
    }

    pub(super) fn end(self) -> Result<(), RowError> {
        let numbers = self.numbers.as_slice::<i64>().unwrap_or_default();
        let time = match numbers {
            &[ticks, minutes] => i16::try_from(minutes).ok().map(|minutes| DateTimeOffset::new(ticks, minutes)),
            _ => None,
        };
        let Some(time) = time else {
            let detail = format!("expected ticks and minutes of a {}, found {numbers:?}", self.item);
            return Err(RowError(Error::invalid(detail)));
        };
        Ok(push_item(self.values, self.item, None, Cell::Time(time))?)
    }
}

/// Implements tuples as sequences.
macro_rules! tuples {
    ($($type:ty),*) => {$(
        impl SerializeTuple for $type {
            type Ok = ();
            type Error = RowError;

            fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
                SerializeSeq::serialize_element(self, value)
            }

            fn end(self) -> Result<(), RowError> {
                SerializeSeq::end(self)
            }
        }

        impl SerializeTupleStruct for $type {
            type Ok = ();
            type Error = RowError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
                SerializeSeq::serialize_element(self, value)
            }

            fn end(self) -> Result<(), RowError> {
                SerializeSeq::end(self)
            }
        }
    )*};
}
pub(super) use tuples;
tuples!(Nested<'_, '_>);
