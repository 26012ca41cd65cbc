//! State shared by the collections of a store opened for writing.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_core::{Error, ErrorKind, Owner, Result};
use serde_json::Value;

use crate::layout::{COLLECTIONS, STORE_METADATA};
use crate::write::folder::Folder;
use crate::write::lock::Lock;
use crate::write::metadata::Metadata;
use crate::write::options::WriterOptions;
use crate::write::time::rfc3339;

/// Prefix of the directories beside the lock in which new collections are prepared.
pub(super) const NEW: &str = "new-";

/// State shared by the collections of a store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) root: PathBuf,
    /// The directory opened at that path. If another takes its place, that is a different store.
    pub(super) folder: Folder,
    pub(crate) options: WriterOptions,
    /// Only this process changes the store; a forked child does not.
    pub(crate) owner: Owner,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) lock: Lock,
    /// Names of the collections open for writing.
    pub(super) open: BTreeSet<String>,
    /// `zds.json`; `None` if an existing store has none.
    pub(super) metadata: Option<Metadata>,
    /// For a new store without collections: the directories created for it, the outermost first.
    pub(super) created: Option<Vec<PathBuf>>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner) // always consistent
    }

    /// Marks a collection as closed.
    pub(crate) fn release_collection(&self, name: &str) {
        self.state().open.remove(name);
    }

    /// Checks that the lock still excludes others, and that the store is still the one that was opened.
    pub(crate) fn renew_lock(&self) -> Result<()> {
        if !self.folder.is_at(&self.root) {
            let detail = "the store was moved or replaced while it was open for writing";
            return Err(Error::new(ErrorKind::Io, detail).in_file(self.root.display().to_string()));
        }
        self.state().lock.renew(&self.root, self.options.now())
    }

    /// The directory of collections. Creating it turns the root into a store.
    pub(crate) fn collections(&self, create: bool) -> Result<Option<Folder>> {
        let existing = self.folder.folder(COLLECTIONS)?;
        if existing.is_some() || !create {
            return Ok(existing);
        }
        let collections = self.options.disk().folder(&self.folder, COLLECTIONS)?;
        self.state().created = None;
        Ok(Some(collections))
    }

    /// Creates a directory in which a new collection is prepared; also returns its name.
    pub(crate) fn make_hidden(&self) -> Result<(Folder, String)> {
        let state = self.state();
        let folder = state.lock.folder();
        let name =
            (0_u32..).map(|number| format!("{NEW}{number}")).find(|name| !folder.contains(name).unwrap_or(false));
        let name = name.unwrap_or_default();
        Ok((self.options.disk().folder(folder, &name)?, name))
    }

    /// Removes such a directory.
    pub(crate) fn remove_hidden(&self, name: &str) -> Result<()> {
        self.state().lock.folder().remove_folder(name)
    }

    /// Moves a new collection into place, which makes it visible.
    pub(crate) fn publish(&self, hidden: &Folder, hidden_name: &str, name: &str) -> Result<()> {
        let disk = self.options.disk();
        match self.collections(false)? {
            Some(collections) => disk.rename("collection", (hidden, name), (&collections, name))?,
            // The hidden directory contains nothing else, and becomes the directory of collections.
            None => {
                let mut state = self.state();
                disk.rename("collection", (state.lock.folder(), hidden_name), (&self.folder, COLLECTIONS))?;
                state.created = None;
                return Ok(());
            }
        }
        // What remains is removed by the next writer.
        let _ = self.remove_hidden(hidden_name);
        Ok(())
    }

    /// Records the number of documents of a collection.
    pub(crate) fn set_count(&self, name: &str, count: u64, is_changed: bool) -> Result<()> {
        let mut state = self.state();
        if let Some(metadata) = &mut state.metadata {
            metadata.set(&["collections", name, "count"], &Value::from(count));
            if is_changed || metadata.is_changed() {
                metadata.set(&["modified"], &Value::from(rfc3339(self.options.now())));
            }
        }
        drop(state);
        self.write_metadata()
    }

    pub(super) fn write_metadata(&self) -> Result<()> {
        match &mut self.state().metadata {
            Some(metadata) => metadata.write(&self.options.disk(), &self.folder, STORE_METADATA),
            None => Ok(()),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            return;
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(created) = state.created.take() else { return };
        // The store was never completed. Stop at the first directory that is not empty.
        state.lock.release();
        for folder in created.iter().rev() {
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}
