//! A store opened for writing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use container_core::{Error, Owner, Result};
use serde_json::json;

use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, LOCK_FOLDER, STORE_METADATA, check_collection};
use crate::write::collection::{CollectionWriter, is_stale};
use crate::write::folder::Folder;
use crate::write::lock::Lock;
use crate::write::metadata::Metadata;
use crate::write::options::WriterOptions;
use crate::write::shared::{NEW, Shared, State};
use crate::write::time::rfc3339;

/// A store opened for writing. It holds the lock that excludes other writers, including the reference's, until it and all of its collections
/// are dropped.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("trees");
/// let root = zdx::StoreWriter::open(&path, zdx::WriterOptions::default())?;
/// let mut train = root.collection("train")?;
/// train.put("tree-1", &serde_json::json!({"name": "oak", "height": 23.5}))?;
/// train.put_line(br#"{"_id":"tree-2","name":"elm"}"#)?;
/// assert!(train.delete("tree-1")?);
/// train.finish()?;
/// root.finish()?;
///
/// let store = zdx::Store::open(&path)?;
/// let train = store.collection("train")?;
/// assert_eq!(train.len()?, 1);
/// assert_eq!(train.get("tree-2")?.ok_or("gone")?.value()?["name"], "elm");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "without finish() the store's metadata is not written"]
pub struct StoreWriter {
    shared: Arc<Shared>,
}

impl StoreWriter {
    /// Opens a store and takes its lock. A new store gets a directory, which becomes a store with its first collection or
    /// [`finish`](Self::finish); dropped before, it is removed again.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the store does not exist and must not be created, or something else is there;
    /// [`Io`](container_core::ErrorKind::Io) if another writer holds the lock (the error names it), or files cannot be read or created;
    /// [`Invalid`](container_core::ErrorKind::Invalid) if its `zds.json` is not a JSON object;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) if a file or directory in it is a symbolic link. The path itself may be one.
    pub fn open(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        let root = path.as_ref();
        if !root.is_dir() {
            // Completing an interrupted replacement may restore it.
            container_core::remove_stale_temporaries(crate::new_store::beside(root));
        }
        let placed = |error: Error| error.in_file(root.display().to_string()).in_format(FORMAT_NAME);
        let created = match root.join(COLLECTIONS).is_dir() {
            true => None,
            false => {
                check_new_root(root, options.create).map_err(placed)?;
                Some(options.disk().root(root).map_err(placed)?)
            }
        };
        Self::open_at(root, options, created).map_err(placed)
    }

    fn open_at(root: &Path, options: WriterOptions, created: Option<Vec<PathBuf>>) -> Result<Self> {
        let folder = Folder::root(root)?;
        folder.folder(COLLECTIONS)?;
        let had_lock_folder = folder.contains(LOCK_FOLDER)?;
        let lock = Lock::take(root, options.now())?;
        // While we waited for the lock, the store may have been replaced.
        let folder = if folder.is_at(root) { folder } else { Folder::root(root)? };
        let mut created = created.filter(|_| !root.join(COLLECTIONS).is_dir());
        if let Some(created) = created.as_mut().filter(|_| !had_lock_folder) {
            created.push(root.join(LOCK_FOLDER));
        }
        let is_empty = match folder.folder(COLLECTIONS)? {
            Some(collections) => collections.names("")?.is_empty(),
            None => true,
        };
        let mut metadata = Metadata::read(&folder, STORE_METADATA)?;
        if metadata.is_none() && is_empty {
            let name = root.canonicalize().ok().and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned()));
            let now = rfc3339(options.now());
            metadata = Some(Metadata::new(&[
                ("version", json!("1.0")),
                ("name", json!(name.unwrap_or_default())),
                ("description", json!("")),
                ("created", json!(now)),
                ("modified", json!(now)),
                ("collections", json!({})),
            ]));
        }
        // Left behind by a writer that died. No other writer can have any while we hold the lock.
        for name in folder.names("")?.iter().filter(|name| is_stale(name)) {
            folder.remove(name)?;
        }
        for name in lock.folder().names(NEW)? {
            lock.folder().remove_folder(&name)?;
        }
        let state = Mutex::new(State { lock, open: BTreeSet::new(), metadata, created });
        Ok(Self { shared: Arc::new(Shared { root: root.to_owned(), folder, options, owner: Owner::current(), state }) })
    }

    /// The process that opened the store. A forked child can drop the writer, which then changes nothing, but not use it.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.shared.owner
    }

    /// The store's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.root
    }

    /// Opens a collection, which may be new if [`WriterOptions::create`] is set. Opening changes nothing. If its last writer died, or its
    /// index is missing, damaged or stale, [`CollectionWriter::recovered`] says so, and the first change or flush repairs it. Several
    /// collections can be open at once, each of them once.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an invalid name, a collection that does not exist and must not be created, or one that
    /// is already open; [`Invalid`](container_core::ErrorKind::Invalid) if the index lists lines past the end of the data, or the data
    /// contain no document: see [`WriterOptions::rebuild`]; [`Unsupported`](container_core::ErrorKind::Unsupported) if a file or directory of
    /// it is a symbolic link, or the data have other hard links; [`Io`](container_core::ErrorKind::Io).
    pub fn collection(&self, name: &str) -> Result<CollectionWriter> {
        check_collection(name).map_err(|error| error.in_format(FORMAT_NAME))?;
        if !self.shared.state().open.insert(name.to_owned()) {
            let detail = format!("collection {name:?} is already open for writing");
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        let opened = CollectionWriter::open(Arc::clone(&self.shared), name);
        if opened.is_err() {
            self.shared.release_collection(name);
        }
        opened.map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Writes the store's metadata and releases the lock.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) while a collection is open, or in a forked child; [`Io`](container_core::ErrorKind::Io).
    pub fn finish(self) -> Result<()> {
        self.shared.owner.check().map_err(|error| error.in_format(FORMAT_NAME))?;
        let open: Vec<String> = self.shared.state().open.iter().cloned().collect();
        if !open.is_empty() {
            let detail = format!("collections are still open for writing: {}", open.join(", "));
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        let written = self.shared.write_metadata().and_then(|()| self.shared.collections(true));
        written.map(drop).map_err(|error| error.in_format(FORMAT_NAME))
    }
}

/// Checks that a store may be created at this path.
fn check_new_root(root: &Path, create: bool) -> Result<()> {
    match fs::metadata(root) {
        Ok(found) if !found.is_dir() => {
            return Err(Error::usage("a file, not a directory: unpack an archive to write to it"));
        }
        // Do not create a store among unrelated files by mistake.
        Ok(_)
            if fs::read_dir(root)
                .is_ok_and(|entries| entries.flatten().any(|entry| !is_store_file(&entry.file_name()))) =>
        {
            return Err(Error::usage("the directory is not a store (no \"collections\" in it), and not empty"));
        }
        _ => {}
    }
    match create {
        true => Ok(()),
        false => Err(Error::usage("no store at this path")),
    }
}

/// Whether a name belongs to a store, apart from its collections.
fn is_store_file(name: &std::ffi::OsStr) -> bool {
    name == STORE_METADATA || name == LOCK_FOLDER || name == "metadata"
}
