use std::collections::HashSet;

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::check;
use crate::codec::{Values, Vectors};
use crate::wire::{Compression, ItemType, Type};

/// The columns of a file to write.
///
/// ```
/// use idv::{ColumnSchema, ItemType, KeyType, KeyWidth, Schema, Type};
/// # fn main() -> container_core::Result<()> {
/// let color = ItemType::Key(KeyType::new(KeyWidth::UInt32, 3)?);
/// let schema = Schema::new([
///     ColumnSchema::new("price", Type::Item(ItemType::Single)),
///     ColumnSchema::new("color", Type::Item(color)).with_key_values(["red", "green", "blue"])?,
///     ColumnSchema::new("pixels", Type::Vector { item: ItemType::Byte, dimensions: vec![28, 28] }),
/// ]);
/// assert_eq!(schema.columns.len(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Schema {
    /// The columns, in the file's order.
    pub columns: Vec<ColumnSchema>,
}

/// A column of a file to write.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnSchema {
    /// Column name, not empty (ML.NET rejects an empty one). Names may repeat; ML.NET shows the last of equal names.
    pub name: String,
    /// Value type.
    pub kind: Type,
    /// Metadata (annotations), such as slot names and key values.
    pub metadata: Vec<MetadataSchema>,
    /// Block compression; `None` uses [`WriterOptions::compression`](crate::WriterOptions::compression).
    pub compression: Option<Compression>,
}

/// One metadata item of a column, such as its key values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MetadataSchema {
    /// Metadata kind, such as `KeyValues`. Not empty, and unique within a column.
    pub kind: String,
    /// Type of the value.
    pub value_type: Type,
    /// Exactly one value.
    pub value: Values,
}

impl Schema {
    /// A schema with these columns.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = ColumnSchema>) -> Self {
        Self { columns: columns.into_iter().collect() }
    }

    /// Checks that a file can have these columns.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage), with the column: an empty name, an invalid type, metadata with an empty or duplicate
    /// kind, or whose value is not exactly one value of its type.
    pub fn check(&self) -> Result<()> {
        for (index, column) in self.columns.iter().enumerate() {
            if column.name.is_empty() {
                let detail = format!("column {index} (counted from 0) has an empty name, which ML.NET rejects");
                return Err(Error::usage(detail).in_format(FORMAT_NAME));
            }
            column.check().map_err(|error| error.in_column(column.name.clone()).in_format(FORMAT_NAME))?;
        }
        Ok(())
    }
}

impl ColumnSchema {
    /// A column without metadata.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self { name: name.into(), kind, metadata: Vec::new(), compression: None }
    }

    /// Adds metadata; `value` matches_type exactly one value of the type.
    #[must_use]
    pub fn with_metadata(mut self, kind: impl Into<String>, value_type: Type, value: Values) -> Self {
        self.metadata.push(MetadataSchema { kind: kind.into(), value_type, value });
        self
    }

    /// Adds the labels of a key column, one per key value: the metadata `KeyValues`.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text or more.
    pub fn with_key_values<S: AsRef<str>>(self, labels: impl IntoIterator<Item = S>) -> Result<Self> {
        self.with_texts("KeyValues", labels)
    }

    /// Adds the slot names of a vector column, one per slot: the metadata `SlotNames`.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text or more.
    pub fn with_slot_names<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Result<Self> {
        self.with_texts("SlotNames", names)
    }

    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    fn with_texts<S: AsRef<str>>(self, kind: &str, all: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut vectors = Vectors::of(ItemType::Text);
        let mut count = 0;
        if let Values::Text(texts) = vectors.items_mut() {
            for text in all {
                texts.push(text.as_ref())?;
            }
            count = texts.len();
        }
        vectors.close_dense()?;
        // A vector that could be closed has fewer than 2^31 items.
        let dimensions = vec![u32::try_from(count).unwrap_or(u32::MAX)];
        let value_type = Type::Vector { item: ItemType::Text, dimensions };
        Ok(self.with_metadata(kind, value_type, Values::Vector(Box::new(vectors))))
    }

    fn check(&self) -> Result<()> {
        self.kind.check()?;
        let mut kinds = HashSet::new();
        for metadata in &self.metadata {
            let invalid = |detail: String| Error::usage(format!("metadata {:?}: {detail}", metadata.kind));
            if metadata.kind.is_empty() {
                return Err(Error::usage("metadata with an empty kind, which ML.NET rejects"));
            }
            if !kinds.insert(metadata.kind.as_str()) {
                return Err(invalid("duplicate kind".to_owned()));
            }
            metadata.value_type.check().map_err(|error| invalid(error.detail().to_owned()))?;
            if metadata.value.len() != 1 || !metadata.value.matches_type(&metadata.value_type) {
                let (variant, count) = (metadata.value.variant(), metadata.value.len());
                return Err(invalid(format!("expected one {}, found {count} values ({variant})", metadata.value_type)));
            }
            if !metadata.value.is_consistent() {
                return Err(invalid("arrays of the value have different lengths".to_owned()));
            }
            if let (Values::Vector(vectors), size @ 1..) = (&metadata.value, metadata.value_type.size()) {
                let length = vectors.get(0).map_or(0, |vector| vector.length);
                if length != size {
                    return Err(invalid(format!("expected {}, found a vector of {length} items", metadata.value_type)));
                }
            }
            // ML.NET rejects a file with an invalid time; invalid keys it passes through.
            if !matches!(metadata.value_type.item(), ItemType::Key(_)) {
                check::validate_for_writing(&metadata.value_type, &metadata.value, 0..1)
                    .map_err(|value| invalid(value.detail))?;
            }
        }
        Ok(())
    }
}
