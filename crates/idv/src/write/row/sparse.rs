//! The serializer of a sparse vector: `{"$sparse": {"length", "indices", "values"}}`.

use container_core::Error;
use serde_core::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::super::cell::{Cell, KeyLabels, close_sparse, quoted};
use super::RowError;
use super::fields::{Name, refuse_variants};
use super::item::{Item, all_cells, cells, tuples, type_mismatch, unsupported_variant};
use crate::codec::{Values, Vectors};
use crate::wire::{ItemType, Type};

/// The map `{"$sparse": {"length", "indices", "values"}}` of a vector.
pub(super) struct Sparse<'b> {
    vectors: &'b mut Vectors,
    kind: &'b Type,
    labels: Option<&'b KeyLabels>,
    /// The `$sparse` name has been serialized; `done`: its value, too.
    named: bool,
    done: bool,
}

impl<'b> Sparse<'b> {
    pub(super) const fn new(vectors: &'b mut Vectors, kind: &'b Type, labels: Option<&'b KeyLabels>) -> Self {
        Self { vectors, kind, labels, named: false, done: false }
    }

    fn name(&mut self, name: &str) -> Result<(), RowError> {
        if name != "$sparse" || self.named {
            return Err(not_sparse(&format!("member {}", quoted(name))));
        }
        self.named = true;
        Ok(())
    }

    fn body<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        value.serialize(Body { vectors: self.vectors, kind: self.kind, labels: self.labels })?;
        self.done = true;
        Ok(())
    }

    fn finish(self) -> Result<(), RowError> {
        if self.done { Ok(()) } else { Err(not_sparse("an empty map")) }
    }
}

#[cold]
fn not_sparse(found: &str) -> RowError {
    RowError(Error::invalid(format!(
        "expected {{\"$sparse\": {{\"length\", \"indices\", \"values\"}}}}, found {found}"
    )))
}

/// The value of `$sparse`.
struct Body<'x> {
    vectors: &'x mut Vectors,
    kind: &'x Type,
    labels: Option<&'x KeyLabels>,
}

impl Body<'_> {
    fn cell(self, _: Cell<'_>) -> Result<(), RowError> {
        Err(not_sparse("a single value"))
    }

    #[cold]
    #[expect(clippy::unused_self, reason = "signature expected by the macros")]
    fn refuse(&self, found: &str) -> RowError {
        not_sparse(found)
    }
}

impl<'x> Serializer for Body<'x> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Impossible<(), RowError>;
    type SerializeTuple = Impossible<(), RowError>;
    type SerializeTupleStruct = Impossible<(), RowError>;
    type SerializeTupleVariant = Impossible<(), RowError>;
    type SerializeMap = Parts<'x>;
    type SerializeStruct = Parts<'x>;
    type SerializeStructVariant = Impossible<(), RowError>;

    all_cells!();
    refuse_variants!(not_sparse);

    fn serialize_bytes(self, _: &[u8]) -> Result<(), RowError> {
        Err(not_sparse("bytes"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, RowError> {
        Err(not_sparse("a sequence"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, RowError> {
        Err(not_sparse("a sequence"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, RowError> {
        Err(not_sparse("a sequence"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        Ok(Parts { body: self, part: None, parts: [const { Values::UInt32(Vec::new()) }; 2], found: [false; 3] })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        self.serialize_map(None)
    }
}

/// The parts of a sparse vector, in any order.
pub(super) struct Parts<'x> {
    body: Body<'x>,
    /// The part of the last name.
    part: Option<usize>,
    /// The length, as the only value, and the slots.
    parts: [Values; 2],
    found: [bool; 3],
}

const PARTS: [&str; 3] = ["length", "indices", "values"];

impl Parts<'_> {
    fn name(&mut self, name: &str) -> Result<usize, RowError> {
        let part = PARTS.iter().position(|part| *part == name);
        let part = part.ok_or_else(|| not_sparse(&format!("member {}", quoted(name))))?;
        match self.found.get_mut(part) {
            Some(found) if !*found => *found = true,
            _ => return Err(not_sparse(&format!("duplicate member {}", quoted(name)))),
        }
        Ok(part)
    }

    fn put<T: Serialize + ?Sized>(&mut self, part: usize, value: &T) -> Result<(), RowError> {
        let Self { body, parts: [length, slots], .. } = self;
        let (values, item, labels) = match part {
            0 => return value.serialize(Item { values: length, item: ItemType::UInt32, labels: None, shape: None }),
            1 => (slots, ItemType::UInt32, None),
            _ => (body.vectors.items_mut(), body.kind.item(), body.labels),
        };
        value.serialize(List(Item { values, item, labels, shape: None }))
    }

    fn finish(self) -> Result<(), RowError> {
        if let Some((_, missing)) = self.found.iter().zip(PARTS).find(|(found, _)| !**found) {
            return Err(RowError(Error::invalid(format!("missing member {missing:?} of $sparse"))));
        }
        let [length, slots] = &self.parts;
        let length = length.as_slice::<u32>().and_then(<[u32]>::first).copied().unwrap_or(0);
        Ok(close_sparse(self.body.vectors, self.body.kind, length, slots.as_slice().unwrap_or_default())?)
    }
}

/// A flat sequence of items.
struct List<'x>(Item<'x, 'static>);

impl List<'_> {
    fn cell(self, _: Cell<'_>) -> Result<(), RowError> {
        Err(self.refuse("a single value"))
    }

    #[cold]
    fn refuse(&self, found: &str) -> RowError {
        type_mismatch(found, &format_args!("a sequence of {}", self.0.item))
    }
}

impl<'x> Serializer for List<'x> {
    type Ok = ();
    type Error = RowError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Impossible<(), RowError>;
    type SerializeMap = Impossible<(), RowError>;
    type SerializeStruct = Impossible<(), RowError>;
    type SerializeStructVariant = Impossible<(), RowError>;

    all_cells!();
    refuse_variants!(unsupported_variant);

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), RowError> {
        match self.0 {
            Item { values: Values::Byte(items), item: ItemType::Byte, .. } => {
                items.extend_from_slice(bytes);
                Ok(())
            }
            item => Err(Self(item).refuse("bytes")),
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, RowError> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, RowError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, RowError> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RowError> {
        Err(self.refuse("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, RowError> {
        Err(self.refuse("a struct"))
    }
}

impl SerializeSeq for List<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        let Item { values, item, labels, .. } = &mut self.0;
        value.serialize(Item { values, item: *item, labels: *labels, shape: None })
    }

    fn end(self) -> Result<(), RowError> {
        Ok(())
    }
}

tuples!(List<'_>);

impl SerializeMap for Sparse<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), RowError> {
        key.serialize(Name(|name: &str| self.name(name)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        self.body(value)
    }

    fn end(self) -> Result<(), RowError> {
        self.finish()
    }
}

impl SerializeStruct for Sparse<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), RowError> {
        self.name(name)?;
        self.body(value)
    }

    fn end(self) -> Result<(), RowError> {
        self.finish()
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), RowError> {
        self.part = Some(key.serialize(Name(|name: &str| self.name(name)))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowError> {
        match self.part.take() {
            Some(part) => self.put(part, value),
            None => Err(not_sparse("a value without a name")),
        }
    }

    fn end(self) -> Result<(), RowError> {
        self.finish()
    }
}

impl SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = RowError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), RowError> {
        let part = self.name(name)?;
        self.put(part, value)
    }

    fn end(self) -> Result<(), RowError> {
        self.finish()
    }
}
