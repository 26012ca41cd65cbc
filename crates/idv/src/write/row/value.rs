//! The serializer of one column value.

use serde_core::ser::{Impossible, Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, Serializer};

use super::super::cell::{Cell, KeyLabels, Shape, check_length};
use super::RowError;
use super::fields::refuse_variants;
use super::item::{Item, Pair, all_cells, cells, tuples, type_mismatch, unsupported_variant};
use super::sparse::Sparse;
use crate::codec::{Values, Vectors};
use crate::wire::{ItemType, Type};
/// A value of a column.
pub(super) struct Column<'b> {
    pub(super) values: &'b mut Values,
    pub(super) kind: &'b Type,
    pub(super) labels: Option<&'b KeyLabels>,
}

impl<'b> Column<'b> {
    fn cell(self, cell: Cell<'_>) -> Result<(), RowError> {
        Ok(self.values.push_cell(self.kind, self.labels, cell)?)
    }

    #[cold]
    fn refuse(&self, found: &str) -> RowError {
        type_mismatch(found, self.kind)
    }

    /// The vectors of a vector column.
    fn vectors(self, found: &str) -> Result<&'b mut Vectors, RowError> {
        match self.values {
            Values::Vector(vectors) if self.kind.is_vector() => Ok(vectors),
            _ => Err(type_mismatch(found, self.kind)),
        }
    }
}

impl<'b> Serializer for Column<'b> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Sequence<'b>;
    type SerializeTuple = Sequence<'b>;
    type SerializeTupleStruct = Sequence<'b>;
    type SerializeTupleVariant = Impossible<(), RowError>;
    type SerializeMap = Sparse<'b>;
    type SerializeStruct = Sparse<'b>;
    type SerializeStructVariant = Impossible<(), RowError>;

    all_cells!();
    refuse_variants!(unsupported_variant);

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), RowError> {
        let kind = self.kind;
        if kind.item() != ItemType::Byte {
            return Err(self.refuse("bytes"));
        }
        let vectors = self.vectors("bytes")?;
        check_length(kind, bytes.len() as u64)?;
        if let Values::Byte(items) = vectors.items_mut() {
            items.extend_from_slice(bytes);
        }
        Ok(vectors.close_dense()?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, RowError> {
        let (kind, labels) = (self.kind, self.labels);
        match kind {
            Type::Vector { dimensions, .. } => {
                let vectors = self.vectors("a sequence")?;
                let mut shape = Shape::new(dimensions);
                shape.open()?;
                Ok(Sequence::Vector { vectors, kind, labels, shape })
            }
            Type::Item(item) => {
                let item = Item { values: self.values, item: *item, labels, shape: None };
                Ok(Sequence::Pair(item.pair("a sequence")?))
            }
        }
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, RowError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, RowError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        let (kind, labels) = (self.kind, self.labels);
        Ok(Sparse::new(self.vectors("a map")?, kind, labels))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        self.serialize_map(None)
    }
}

/// The items of a column's sequence.
pub(super) enum Sequence<'b> {
    Vector { vectors: &'b mut Vectors, kind: &'b Type, labels: Option<&'b KeyLabels>, shape: Shape<'b> },
    Pair(Pair<'b>),
}

impl SerializeSeq for Sequence<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        match self {
            Self::Vector { vectors, kind, labels, shape } => {
                let (values, item) = (vectors.items_mut(), kind.item());
                value.serialize(Item { values, item, labels: *labels, shape: Some(shape) })
            }
            Self::Pair(pair) => pair.put(value),
        }
    }

    fn end(self) -> Result<(), RowError> {
        match self {
            Self::Vector { vectors, kind, mut shape, .. } => {
                let length = shape.total();
                shape.close()?;
                check_length(kind, length)?;
                Ok(vectors.close_dense()?)
            }
            Self::Pair(pair) => pair.end(),
        }
    }
}

tuples!(Sequence<'_>);
