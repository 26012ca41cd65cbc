//! A store as it is read, packed: also one whose index does not say so.

use std::path::Path;

use container_core::{Error, Result, Source};

use super::pack::{PackOptions, Packed, pack};
use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, INDEX, JOURNAL, META};
use crate::read::{Condition, IndexState, Store};

impl Store {
    /// Packs the store into an archive at `target`, as [`pack`] does, and so that it is read there as it is here: an archive knows no time of
    /// writing and no writer at work, so a collection whose index is not the whole truth gets a new one. Its condition is told, by name.
    ///
    /// # Errors
    /// As [`pack`], and of reading indexes; [`Usage`](container_core::ErrorKind::Usage) for an archive, and for a collection's folder alone.
    pub fn pack(
        &self,
        target: impl AsRef<Path>,
        mut options: PackOptions,
    ) -> Result<(Packed, Vec<(String, Condition)>)> {
        let usage = |detail: &'static str| Error::usage(detail).in_format(FORMAT_NAME);
        let root = match self.root() {
            Some(root) => root,
            None if self.archive().is_some() => return Err(usage("it is an archive already")),
            None => return Err(usage("the folder of a collection is no store: its root can be packed")),
        };
        let mut renewed = Vec::new();
        for name in self.names()? {
            let collection = self.collection(&name)?;
            let condition = collection.condition()?;
            let meta = format!("{COLLECTIONS}/{name}/{META}");
            options.skip.insert(format!("{meta}/{JOURNAL}"));
            if !matches!(condition.index, IndexState::Valid | IndexState::Text | IndexState::NoData) {
                options.replace.insert(format!("{meta}/{INDEX}"), Source::from(collection.index_in_order()?));
                renewed.push((name, condition));
            }
        }
        Ok((pack(root, target, &options)?, renewed))
    }
}
