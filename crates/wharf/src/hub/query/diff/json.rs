//! Differences as JSON, for programs. 32-bit floats keep their digits.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{ColumnDifference, Differences, ValueDifference};

/// An object of all members, and `same`.
impl Serialize for Differences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts: Vec<_> = self.counts.iter().map(|(column, rows)| Count { column, rows: *rows }).collect();
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("same", &self.is_same())?;
        map.serialize_entry("rows", &self.rows)?;
        map.serialize_entry("only", &self.only)?;
        map.serialize_entry("differing_rows", &self.differing_rows)?;
        map.serialize_entry("columns", &self.columns)?;
        map.serialize_entry("counts", &counts)?;
        map.serialize_entry("first", &self.first)?;
        map.end()
    }
}

impl Serialize for ColumnDifference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("column", &self.column)?;
        map.serialize_entry("what", self.kind.name())?;
        map.serialize_entry("values", &[&self.one, &self.other])?;
        map.serialize_entry("note", &self.is_note)?;
        map.end()
    }
}

impl Serialize for ValueDifference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("rows", &self.rows)?;
        map.serialize_entry("key", &self.key)?;
        map.serialize_entry("column", &self.column)?;
        map.serialize_entry("values", &self.values)?;
        map.end()
    }
}

struct Count<'a> {
    column: &'a str,
    rows: u64,
}

impl Serialize for Count<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("column", self.column)?;
        map.serialize_entry("rows", &self.rows)?;
        map.end()
    }
}
