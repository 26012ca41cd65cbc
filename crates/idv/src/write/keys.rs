//! Keys for `ArrowWriter`, whose labels are known only after the rows.

use std::io::{Seek, Write};

use container_core::Result;

use crate::{ColumnSchema, KeyLabels, Schema, Writer};

impl<W: Write + Seek> Writer<W> {
    /// Sets the key count and labels of a key column.
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
    /// The first key value of a label, and whether it has others.
    pub(crate) fn first(&self, label: &str) -> Option<(u64, bool)> {
        self.by_label.get(label).map(|keys| (keys.first, keys.second.is_some()))
    }
}
