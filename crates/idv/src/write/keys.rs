//! Keys as record batches need them: known after the rows.

use std::io::{Seek, Write};

use container_core::Result;

use crate::{ColumnSchema, KeyLabels, Schema, Writer};

impl<W: Write + Seek> Writer<W> {
    /// Says what the keys of a column are, once all are known: how many values they have, and the labels.
    pub(crate) fn set_keys(&mut self, index: usize, column: ColumnSchema) -> Result<()> {
        Schema::new([column.clone()]).check()?;
        if let (Some(schema), Some(pending)) = (self.schema.columns.get_mut(index), self.columns.get_mut(index)) {
            pending.kind = column.kind.clone();
            *schema = column;
        }
        Ok(())
    }
}

impl KeyLabels {
    /// The first of the values that a label stands for, and whether it stands for others, too.
    pub(crate) fn first(&self, label: &str) -> Option<(u64, bool)> {
        self.by_label.get(label).map(|place| (place.first, place.second.is_some()))
    }
}
