use std::collections::HashSet;

use container_core::{Error, Result};

use crate::FORMAT_NAME;
use crate::check;
use crate::codec::{Values, Vectors};
use crate::wire::{Compression, ItemType, Type};

/// The columns of a file to be written.
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

/// A column of a file to be written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnSchema {
    /// Its name, not empty (ML.NET refuses a file with an empty one). Names may repeat; ML.NET shows the last of them.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// What else is said of it.
    pub metadata: Vec<MetadataSchema>,
    /// How its blocks are compressed; `None` as [`WriterOptions::compression`](crate::WriterOptions::compression) says.
    pub compression: Option<Compression>,
}

/// One thing said of a column, such as the labels of its keys.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MetadataSchema {
    /// What it is, such as `KeyValues`. Not empty, and no two of a column have the same.
    pub kind: String,
    /// The type of its value.
    pub value_type: Type,
    /// Exactly one value.
    pub value: Values,
}

impl Schema {
    /// A schema of these columns.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = ColumnSchema>) -> Self {
        Self { columns: columns.into_iter().collect() }
    }

    /// Fails when a file cannot have these columns.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage), with the column: an empty name, a type that cannot be, metadata without a kind or
    /// of a kind that is there already, or whose value is not exactly one of its type.
    pub fn check(&self) -> Result<()> {
        for (index, column) in self.columns.iter().enumerate() {
            if column.name.is_empty() {
                let detail = format!("column {index} (counted from 0) has an empty name, which ML.NET refuses");
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

    /// Says something more of the column: `value` holds exactly one value of the type.
    #[must_use]
    pub fn with_metadata(mut self, kind: impl Into<String>, value_type: Type, value: Values) -> Self {
        self.metadata.push(MetadataSchema { kind: kind.into(), value_type, value });
        self
    }

    /// Labels of a key's values, one each: the metadata `KeyValues`.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text and more.
    pub fn with_key_values<S: AsRef<str>>(self, labels: impl IntoIterator<Item = S>) -> Result<Self> {
        self.with_texts("KeyValues", labels)
    }

    /// Names of a vector's slots, one each: the metadata `SlotNames`.
    ///
    /// # Errors
    /// [`Limit`](container_core::ErrorKind::Limit) for 2^31 bytes of text and more.
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
            let about = |detail: String| Error::usage(format!("metadata {:?}: {detail}", metadata.kind));
            if metadata.kind.is_empty() {
                return Err(Error::usage("metadata of an empty kind, which ML.NET refuses"));
            }
            if !kinds.insert(metadata.kind.as_str()) {
                return Err(about("it is there twice".to_owned()));
            }
            metadata.value_type.check().map_err(|error| about(error.detail().to_owned()))?;
            if metadata.value.len() != 1 || !metadata.value.holds(&metadata.value_type) {
                let (found, n) = (metadata.value.variant(), metadata.value.len());
                return Err(about(format!("{n} values ({found}) where one {} is wanted", metadata.value_type)));
            }
            if !metadata.value.is_consistent() {
                return Err(about("a value whose parts have different lengths".to_owned()));
            }
            if let (Values::Vector(vectors), size @ 1..) = (&metadata.value, metadata.value_type.size()) {
                let length = vectors.get(0).map_or(0, |vector| vector.length);
                if length != size {
                    return Err(about(format!("a vector of {length} items where {} is said", metadata.value_type)));
                }
            }
            // ML.NET refuses a file for such a time; keys it passes on as they are.
            if !matches!(metadata.value_type.item(), ItemType::Key(_)) {
                check::validate_for_writing(&metadata.value_type, &metadata.value, 0..1).map_err(|wrong| about(wrong.detail))?;
            }
        }
        Ok(())
    }
}
