//! Rows whose columns are only renamed and left out: their values stay as they are.

use std::collections::HashMap;
use std::fmt;

use container_core::{ColumnInfo, Error, Loss, Result, Rows, Scan, Table};
use serde::de::{self, MapAccess, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::container::ChangedTable;

/// The new names of columns; `None` for those that are left out. Others keep their names.
type Names = HashMap<String, Option<String>>;

/// Rows with other names.
pub(super) struct ChangedRows<'a> {
    rows: Box<dyn Rows + 'a>,
    names: Names,
    /// Columns that cannot be read.
    left_out: Vec<Loss>,
}

impl<'a> ChangedRows<'a> {
    pub(super) fn new(table: &'a ChangedTable, scan: &Scan) -> Result<Self> {
        let below = table.below()?;
        let base_of = |column: usize| table.plan.base_of(column).map(|base| table.plan.base(base));
        let mut names: Names = below.columns().iter().map(|column| (column.name.clone(), None)).collect();
        for (index, name) in (0..table.columns().len()).filter_map(base_of) {
            if let Some(column) = below.columns().get(index) {
                names.insert(column.name.clone(), Some(name.to_owned()));
            }
        }
        names.retain(|from, to| to.as_ref() != Some(from));
        let mut own = scan.clone();
        let mut left_out = Vec::new();
        own.columns = match &scan.columns {
            Some(columns) => {
                let find = |column: &usize| {
                    let found = base_of(*column).map(|(index, _)| index);
                    found
                        .ok_or_else(|| Error::usage(format!("no column {column}: there are {}", table.columns().len())))
                };
                Some(columns.iter().map(find).collect::<Result<Vec<_>>>()?)
            }
            // Without a schema, members that a row lacks are not added.
            None if !below.has_schema() || !names.values().any(Option::is_none) => None,
            None => {
                left_out.extend(table.columns().iter().filter_map(ColumnInfo::left_out));
                let columns = table.columns().iter().enumerate();
                let readable = columns.filter(|(_, column)| column.unreadable.is_none());
                Some(readable.filter_map(|(at, _)| Some(base_of(at)?.0)).collect())
            }
        };
        Ok(Self { rows: below.rows(&own)?, names, left_out })
    }
}

impl Rows for ChangedRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.rows.advance()
    }

    fn index(&self) -> u64 {
        self.rows.index()
    }

    fn locate(&self, error: Error) -> Error {
        self.rows.locate(error)
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut row = Vec::new();
        self.rows.json(&mut row)?;
        if row.first() != Some(&b'{') {
            // Not a row of columns, as a sample of datadings can be.
            out.extend_from_slice(&row);
            return Ok(());
        }
        let start = out.len();
        let mut deserializer = serde_json::Deserializer::from_slice(&row);
        // Values are not taken apart: any depth is fine.
        let renamed = deserializer.deserialize_map(Members { names: &self.names, out });
        renamed.map_err(|cause| {
            out.truncate(start);
            Error::invalid("the row is not valid JSON").caused_by(cause)
        })
    }

    fn losses(&self) -> Vec<Loss> {
        self.left_out.iter().cloned().chain(self.rows.losses()).collect()
    }
}

/// Writes the members of an object with other names.
struct Members<'a> {
    names: &'a Names,
    out: &'a mut Vec<u8>,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut separator = b'{';
        while let Some(name) = members.next_key::<std::borrow::Cow<'_, str>>()? {
            let value: &RawValue = members.next_value()?;
            let name = match self.names.get(name.as_ref()) {
                Some(None) => continue,
                Some(Some(new)) => new.as_str(),
                None => name.as_ref(),
            };
            self.out.push(separator);
            serde_json::to_writer(&mut *self.out, name).map_err(de::Error::custom)?;
            self.out.push(b':');
            self.out.extend_from_slice(value.get().as_bytes());
            separator = b',';
        }
        self.out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        Ok(())
    }
}

impl Serialize for ChangedRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.rows.row(), Renaming { names: &self.names, inner: serializer })
    }
}

/// Serializes a map or struct with other names, and any other value as it is.
struct Renaming<'a, S> {
    names: &'a Names,
    inner: S,
}

macro_rules! as_it_is {
    ($($method:ident($($value:ident: $kind:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self $(, $value: $kind)*) -> Result<$ok, S::Error> { self.inner.$method($($value),*) })*
    };
}

impl<'a, S: Serializer> Serializer for Renaming<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = RenamedMap<'a, S::SerializeMap>;
    type SerializeStruct = RenamedMap<'a, S::SerializeMap>;
    type SerializeStructVariant = S::SerializeStructVariant;

    as_it_is! {
        serialize_bool(value: bool) -> S::Ok;
        serialize_i8(value: i8) -> S::Ok;
        serialize_i16(value: i16) -> S::Ok;
        serialize_i32(value: i32) -> S::Ok;
        serialize_i64(value: i64) -> S::Ok;
        serialize_u8(value: u8) -> S::Ok;
        serialize_u16(value: u16) -> S::Ok;
        serialize_u32(value: u32) -> S::Ok;
        serialize_u64(value: u64) -> S::Ok;
        serialize_f32(value: f32) -> S::Ok;
        serialize_f64(value: f64) -> S::Ok;
        serialize_char(value: char) -> S::Ok;
        serialize_str(value: &str) -> S::Ok;
        serialize_bytes(value: &[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(name: &'static str) -> S::Ok;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> S::Ok;
        serialize_seq(len: Option<usize>) -> S::SerializeSeq;
        serialize_tuple(len: usize) -> S::SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> S::SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> S::SerializeTupleVariant;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> S::SerializeStructVariant;
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        // The number of members that stay is not known.
        Ok(RenamedMap { names: self.names, inner: self.inner.serialize_map(None)?, is_left_out: false })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.serialize_map(Some(len))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A map whose members get other names.
struct RenamedMap<'a, M> {
    names: &'a Names,
    inner: M,
    /// The next value belongs to a name that is left out.
    is_left_out: bool,
}

impl<M: SerializeMap> SerializeMap for RenamedMap<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), M::Error> {
        let text = serde_json::to_value(key).ok();
        match text.as_ref().and_then(|text| self.names.get(text.as_str()?)) {
            Some(None) => {
                self.is_left_out = true;
                Ok(())
            }
            Some(Some(name)) => self.inner.serialize_key(name),
            None => self.inner.serialize_key(key),
        }
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), M::Error> {
        if std::mem::take(&mut self.is_left_out) { Ok(()) } else { self.inner.serialize_value(value) }
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.inner.end()
    }
}

impl<M: SerializeMap> SerializeStruct for RenamedMap<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Result<(), M::Error> {
        self.serialize_entry(key, value)
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.inner.end()
    }
}
