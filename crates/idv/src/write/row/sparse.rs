//! Serializers of a sparse vector: `{"$sparse": {"length", "indices", "values"}}`.

use container_core::Error;
use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::super::cell::{Cell, KeyLabels, close_sparse, shown};
use super::Fault;
use super::fields::{Name, refuse_variants};
use super::item::{Item, all_cells, cells, no_variant, not_wanted, tuples};
use crate::codec::{Values, Vectors};
use crate::wire::{ItemType, Type};

/// The map `{"$sparse": {"length", "indices", "values"}}` of a vector.
pub(super) struct Sparse<'b> {
    vectors: &'b mut Vectors,
    kind: &'b Type,
    labels: Option<&'b KeyLabels>,
    /// The name has come, and then its value.
    named: bool,
    done: bool,
}

impl<'b> Sparse<'b> {
    pub(super) const fn new(vectors: &'b mut Vectors, kind: &'b Type, labels: Option<&'b KeyLabels>) -> Self {
        Self { vectors, kind, labels, named: false, done: false }
    }

    fn name(&mut self, name: &str) -> Result<(), Fault> {
        if name != "$sparse" || self.named {
            return Err(no_sparse(&format!("member {}", shown(name))));
        }
        self.named = true;
        Ok(())
    }

    fn body<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(Body { vectors: self.vectors, kind: self.kind, labels: self.labels })?;
        self.done = true;
        Ok(())
    }

    fn finish(self) -> Result<(), Fault> {
        if self.done { Ok(()) } else { Err(no_sparse("a map without members")) }
    }
}

#[cold]
fn no_sparse(found: &str) -> Fault {
    Fault(Error::invalid(format!("{found} where {{\"$sparse\": {{\"length\", \"indices\", \"values\"}}}} is wanted")))
}

/// What stands behind `$sparse`.
struct Body<'x> {
    vectors: &'x mut Vectors,
    kind: &'x Type,
    labels: Option<&'x KeyLabels>,
}

impl Body<'_> {
    fn cell(self, _: Cell<'_>) -> Result<(), Fault> {
        Err(no_sparse("a single value"))
    }

    #[cold]
    #[expect(clippy::unused_self, reason = "as of all serializers here")]
    fn refuse(&self, found: &str) -> Fault {
        no_sparse(found)
    }
}

impl<'x> Serializer for Body<'x> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Impossible<(), Fault>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Parts<'x>;
    type SerializeStruct = Parts<'x>;
    type SerializeStructVariant = Impossible<(), Fault>;

    all_cells!();
    refuse_variants!(no_sparse);

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Fault> {
        Err(no_sparse("bytes"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Fault> {
        Err(no_sparse("a sequence"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Fault> {
        Err(no_sparse("a sequence"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Fault> {
        Err(no_sparse("a sequence"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        Ok(Parts { body: self, part: None, parts: [const { Values::UInt32(Vec::new()) }; 2], found: [false; 3] })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Fault> {
        self.serialize_map(None)
    }
}

/// The parts of a sparse vector, in any order.
pub(super) struct Parts<'x> {
    body: Body<'x>,
    /// The part whose name came last.
    part: Option<usize>,
    /// The length, alone, and the slots.
    parts: [Values; 2],
    found: [bool; 3],
}

const PARTS: [&str; 3] = ["length", "indices", "values"];

impl Parts<'_> {
    fn name(&mut self, name: &str) -> Result<usize, Fault> {
        let part = PARTS.iter().position(|part| *part == name);
        let part = part.ok_or_else(|| no_sparse(&format!("member {}", shown(name))))?;
        match self.found.get_mut(part) {
            Some(found) if !*found => *found = true,
            _ => return Err(no_sparse(&format!("member {} twice", shown(name)))),
        }
        Ok(part)
    }

    fn put<T: Serialize + ?Sized>(&mut self, part: usize, value: &T) -> Result<(), Fault> {
        let Self { body, parts: [length, slots], .. } = self;
        let (values, item, labels) = match part {
            0 => return value.serialize(Item { values: length, item: ItemType::UInt32, labels: None, shape: None }),
            1 => (slots, ItemType::UInt32, None),
            _ => (body.vectors.items_mut(), body.kind.item(), body.labels),
        };
        value.serialize(List(Item { values, item, labels, shape: None }))
    }

    fn finish(self) -> Result<(), Fault> {
        if let Some((_, missing)) = self.found.iter().zip(PARTS).find(|(found, _)| !**found) {
            return Err(Fault(Error::invalid(format!("$sparse has no member {missing:?}"))));
        }
        let [length, slots] = &self.parts;
        let length = length.as_slice::<u32>().and_then(<[u32]>::first).copied().unwrap_or(0);
        Ok(close_sparse(self.body.vectors, self.body.kind, length, slots.as_slice().unwrap_or_default())?)
    }
}

/// A flat sequence of items.
struct List<'x>(Item<'x, 'static>);

impl List<'_> {
    fn cell(self, _: Cell<'_>) -> Result<(), Fault> {
        Err(self.refuse("a single value"))
    }

    #[cold]
    fn refuse(&self, found: &str) -> Fault {
        not_wanted(found, &format_args!("a sequence of {}", self.0.item))
    }
}

impl<'x> Serializer for List<'x> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Impossible<(), Fault>;
    type SerializeStruct = Impossible<(), Fault>;
    type SerializeStructVariant = Impossible<(), Fault>;

    all_cells!();
    refuse_variants!(no_variant);

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Fault> {
        match self.0 {
            Item { values: Values::Byte(items), item: ItemType::Byte, .. } => {
                items.extend_from_slice(bytes);
                Ok(())
            }
            item => Err(Self(item).refuse("bytes")),
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        Err(self.refuse("a map"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Fault> {
        Err(self.refuse("a struct"))
    }
}

impl SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let Item { values, item, labels, .. } = &mut self.0;
        value.serialize(Item { values, item: *item, labels: *labels, shape: None })
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

tuples!(List<'_>);

impl SerializeMap for Sparse<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        key.serialize(Name(|name: &str| self.name(name)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.body(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.finish()
    }
}

impl SerializeStruct for Sparse<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        self.name(name)?;
        self.body(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.finish()
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        self.part = Some(key.serialize(Name(|name: &str| self.name(name)))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match self.part.take() {
            Some(part) => self.put(part, value),
            None => Err(no_sparse("a value without name")),
        }
    }

    fn end(self) -> Result<(), Fault> {
        self.finish()
    }
}

impl SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        let part = self.name(name)?;
        self.put(part, value)
    }

    fn end(self) -> Result<(), Fault> {
        self.finish()
    }
}
