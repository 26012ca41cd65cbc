//! What the collections of a store that is written have in common.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::layout::{COLLECTIONS, STORE_METADATA};
use crate::write::folder::Folder;
use crate::write::lock::Lock;
use crate::write::metadata::Metadata;
use crate::write::options::WriterOptions;
use crate::write::time::rfc3339;

/// What folders begin with, beside the lock, in which collections are made that are not seen yet.
pub(super) const NEW: &str = "new-";

/// What the collections of a store have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) root: PathBuf,
    /// The folder at that path. One that takes its place later is another store.
    pub(super) folder: Folder,
    pub(crate) options: WriterOptions,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) lock: Lock,
    /// The names of collections that are being written.
    pub(super) open: BTreeSet<String>,
    /// `zds.json`; `None` where the store has none and was not made here.
    pub(super) metadata: Option<Metadata>,
    /// Where the store is a new one, and has no collection yet: the folders that were made for it, the outermost first.
    pub(super) made: Option<Vec<PathBuf>>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner) // nothing in it is ever half changed
    }

    /// A collection is not written any more.
    pub(crate) fn closed(&self, name: &str) {
        self.state().open.remove(name);
    }

    /// Makes sure that others are still kept out, and that the store is still the one that was opened.
    pub(crate) fn renew_lock(&self) -> Result<()> {
        if !self.folder.is_at(&self.root) {
            let detail = "the store was moved or replaced while it was being written";
            return Err(Error::new(ErrorKind::Io, detail).in_file(self.root.display().to_string()));
        }
        self.state().lock.renew(&self.root, self.options.now())
    }

    /// The folder of collections; one that is made makes the folder a store.
    pub(crate) fn collections(&self, make: bool) -> Result<Option<Folder>> {
        let found = self.folder.folder(COLLECTIONS)?;
        if found.is_some() || !make {
            return Ok(found);
        }
        let collections = self.options.disk().folder(&self.folder, COLLECTIONS)?;
        self.state().made = None;
        Ok(Some(collections))
    }

    /// A folder in which a new collection can be made unseen, and its name.
    pub(crate) fn make_unseen(&self) -> Result<(Folder, String)> {
        let state = self.state();
        let folder = state.lock.folder();
        let name =
            (0_u32..).map(|number| format!("{NEW}{number}")).find(|name| !folder.contains(name).unwrap_or(false));
        let name = name.unwrap_or_default();
        Ok((self.options.disk().folder(folder, &name)?, name))
    }

    /// Removes such a folder.
    pub(crate) fn remove_unseen(&self, name: &str) -> Result<()> {
        self.state().lock.folder().remove_folder(name)
    }

    /// Gives a new collection its place: from now on it is seen.
    pub(crate) fn show(&self, unseen: &Folder, unseen_name: &str, name: &str) -> Result<()> {
        let disk = self.options.disk();
        match self.collections(false)? {
            Some(collections) => disk.rename("collection", (unseen, name), (&collections, name))?,
            // The folder that it is alone in becomes the one of collections.
            None => {
                let mut state = self.state();
                disk.rename("collection", (state.lock.folder(), unseen_name), (&self.folder, COLLECTIONS))?;
                state.made = None;
                return Ok(());
            }
        }
        // The next writer removes what stays.
        let _ = self.remove_unseen(unseen_name);
        Ok(())
    }

    /// A collection has so many documents now.
    pub(crate) fn counted(&self, name: &str, count: u64, is_changed: bool) -> Result<()> {
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
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(made) = state.made.take() else { return };
        // A store that never became one. What is not empty stays, and the first error ends it: nothing else could be done.
        state.lock.release();
        for folder in made.iter().rev() {
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}
