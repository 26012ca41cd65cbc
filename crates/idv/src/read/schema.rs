use container_core::Result;

use super::Reader;
use super::budget::Budget;
use crate::schema::{ColumnSchema, MetadataSchema, Schema};
use crate::wire::{ItemType, KeyType, Type, Version};

impl Reader {
    /// A schema for writing these columns without loss, by default all readable ones: names, types, compression and all metadata.
    ///
    /// Legacy types are kept where the current ones could not represent missing values; legacy keys become current ones where they are
    /// equivalent.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist; why a selected column or a metadata value is
    /// unreadable; [`Limit`](container_core::ErrorKind::Limit) for more metadata than
    /// [`Limits::memory_bytes`](container_core::Limits::memory_bytes).
    pub fn schema(&self, columns: Option<&[usize]>) -> Result<Schema> {
        let all;
        let columns = match columns {
            Some(columns) => columns,
            None => {
                all = self.readable_columns()?;
                &all
            }
        };
        let mut budget = self.memory_budget();
        let schemas = columns.iter().map(|&index| self.column_schema(index, Some(&mut budget)));
        Ok(Schema::new(schemas.collect::<Result<Vec<_>>>()?))
    }

    /// A full memory budget for one operation.
    pub(crate) fn memory_budget(&self) -> Budget {
        Budget::new(self.0.options.limits.memory_bytes)
    }

    /// The schema of a column. Metadata are included if a budget for them is given.
    pub(crate) fn column_schema(&self, index: usize, metadata: Option<&mut Budget>) -> Result<ColumnSchema> {
        let column = self.column_at(index)?;
        let kind = column.kind().map_err(|unreadable| {
            unreadable.to_error().in_column(column.unique_name().to_owned()).in_format(crate::FORMAT_NAME)
        })?;
        let mut schema = ColumnSchema::new(column.name(), kind.for_writing(self.header().version));
        schema.compression = column.compression();
        if let Some(budget) = metadata {
            for item in self.metadata(index)? {
                let value = self.metadata_value_within(index, &item, budget)?;
                // Always `Ok`: the value was read.
                let Ok(value_type) = item.value_type() else { continue };
                let value_type = value_type.for_writing(self.header().version);
                schema.metadata.push(MetadataSchema { kind: item.kind().to_owned(), value_type, value });
            }
        }
        Ok(schema)
    }
}

impl Type {
    /// The type of version 1.1.1.6 with the same meaning as this type in `version`.
    pub(crate) fn for_writing(&self, version: Version) -> Self {
        let item = |item: ItemType| match item {
            // Only the legacy codec's minimum is missing in every version.
            ItemType::TimeSpan if version < Version::V6 => ItemType::DvTimeSpan,
            ItemType::Key(KeyType { width, count: count @ 1.., min: 0, contiguous: true, old: true }) => {
                ItemType::Key(KeyType { width, count, min: 0, contiguous: true, old: false })
            }
            other => other,
        };
        match self {
            Self::Item(one) => Self::Item(item(*one)),
            Self::Vector { item: one, dimensions } => Self::Vector { item: item(*one), dimensions: dimensions.clone() },
        }
    }
}
