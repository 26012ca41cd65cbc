use container_core::{Error, Result};

use super::Reader;
use crate::codec::{Values, encoded_len};
use crate::schema::{ColumnSchema, MetadataSchema, Schema};
use crate::wire::{ItemType, KeyType, Type, Version};

/// The metadata of all columns together may take so many times what one item may: many small items can have one large block.
const MOST_ITEMS: u64 = 4;

/// Bytes that metadata which are held together may still take.
pub(crate) struct MetadataRoom {
    taken: u64,
    most: u64,
}

impl MetadataRoom {
    /// Makes room for one more value.
    pub(crate) fn take(&mut self, value_type: &Type, value: &Values) -> Result<()> {
        let taken = self.taken.saturating_add(encoded_len(value_type, value, 0..value.len()));
        if taken > self.most {
            return Err(Error::limit("bytes of all metadata together", taken, self.most));
        }
        self.taken = taken;
        Ok(())
    }
}

impl Reader {
    /// The schema to write columns with so that nothing of them is lost: these columns in this order, or all that can be read.
    ///
    /// Names, types, compression and all metadata are the file's. Types of before version 1.1.1.6 stay as they are where the newer ones
    /// could not hold missing values; keys of the older codec become newer ones where they mean the same.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a column that does not exist, why a column asked for or a metadata value is
    /// unreadable; [`Limit`](container_core::ErrorKind::Limit) for more metadata in all than four times
    /// [`Limits::metadata_bytes`](container_core::Limits::metadata_bytes).
    pub fn schema(&self, columns: Option<&[usize]>) -> Result<Schema> {
        let all;
        let columns = match columns {
            Some(columns) => columns,
            None => {
                all = self.readable();
                &all
            }
        };
        let mut room = self.metadata_room();
        let schemas = columns.iter().map(|&index| self.column_schema(index, Some(&mut room)));
        Ok(Schema::new(schemas.collect::<Result<Vec<_>>>()?))
    }

    pub(crate) fn metadata_room(&self) -> MetadataRoom {
        MetadataRoom { taken: 0, most: self.0.options.limits.metadata_bytes.saturating_mul(MOST_ITEMS) }
    }

    /// The schema of a column, with its metadata as far as there is room, or without.
    pub(crate) fn column_schema(&self, index: usize, metadata: Option<&mut MetadataRoom>) -> Result<ColumnSchema> {
        let column = self.column_at(index)?;
        let kind = column.kind().map_err(|unreadable| {
            unreadable.to_error().in_column(column.unique_name().to_owned()).in_format(crate::FORMAT_NAME)
        })?;
        let mut schema = ColumnSchema::new(column.name(), kind.for_writing(self.header().version));
        schema.compression = column.compression();
        if let Some(room) = metadata {
            for item in self.metadata(index)? {
                let value = self.metadata_value(index, &item)?;
                // A value that was read has a type.
                let Ok(value_type) = item.value_type() else { continue };
                let value_type = value_type.for_writing(self.header().version);
                room.take(&value_type, &value)
                    .map_err(|error| error.in_column(column.unique_name().to_owned()).in_format(crate::FORMAT_NAME))?;
                schema.metadata.push(MetadataSchema { kind: item.kind().to_owned(), value_type, value });
            }
        }
        Ok(schema)
    }
}

impl Type {
    /// The type in version 1.1.1.6 that keeps all that values of this type in that version mean.
    pub(crate) fn for_writing(&self, version: Version) -> Self {
        let item = |item: ItemType| match item {
            // Only the older codec's least value is missing in every version.
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
