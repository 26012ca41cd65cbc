//! Packing a store in its current state.

use std::path::Path;

use container_core::{Error, Result, Source};

use super::pack::{PackOptions, PackSummary, pack};
use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, DOCS, DOCUMENT, DOCUMENT_LIST, INDEX, JOURNAL, META, ORDER};
use crate::read::{Condition, IndexState, Store, without};

impl Store {
    /// Packs the store into an archive at `target`, as [`pack`] does, so that it reads the same there. Modification times and journals do not
    /// survive packing, so a collection whose index alone does not list its documents gets a new index; these collections are returned with
    /// their condition.
    ///
    /// # Errors
    /// As [`pack`], and those of reading indexes; [`Usage`](container_core::ErrorKind::Usage) for an archive or a single collection.
    pub fn pack(
        &self,
        target: impl AsRef<Path>,
        mut options: PackOptions,
    ) -> Result<(PackSummary, Vec<(String, Condition)>)> {
        let usage = |detail: &'static str| Error::usage(detail).in_format(FORMAT_NAME);
        let root = match self.root() {
            Some(root) => root,
            None if self.archive().is_some() => return Err(usage("already an archive")),
            None => return Err(usage("cannot pack a single collection, only a store")),
        };
        let mut reindexed = Vec::new();
        for name in self.names()? {
            let collection = self.collection(&name)?;
            let condition = collection.condition()?;
            let meta = format!("{COLLECTIONS}/{name}/{META}");
            options.skip.insert(format!("{meta}/{JOURNAL}"));
            // Without the journal, they would be documents again.
            let removed = &collection.sources.removed;
            options.skip.extend(removed.iter().map(|id| format!("{COLLECTIONS}/{name}/{DOCS}/{id}{DOCUMENT}")));
            let lists: &[&str] = if removed.is_empty() { &[] } else { &[ORDER, DOCUMENT_LIST] };
            for list in lists {
                let Some((source, _)) = collection.paths.meta(list, &collection.options)? else { continue };
                collection.options.limits.check_block(format!("the length of {list}"), source.len())?;
                if let Some(kept) = without(list, &source.read(0..source.len())?, removed) {
                    options.replace.insert(format!("{meta}/{list}"), Source::from(kept.into_bytes()));
                }
            }
            if !matches!(condition.index, IndexState::Valid | IndexState::Text | IndexState::NoData) {
                options.replace.insert(format!("{meta}/{INDEX}"), Source::from(collection.index_in_order()?));
                reindexed.push((name, condition));
            }
        }
        Ok((pack(root, target, &options)?, reindexed))
    }
}
