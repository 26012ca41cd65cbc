//! The root of a store that is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use container_core::{Error, Result};
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

/// A store that is written: it holds the lock that keeps other writers out, this crate's and the reference's, for as long as it or one of
/// its collections lives.
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
#[must_use = "without finish() the store's metadata are not written"]
pub struct StoreWriter {
    shared: Arc<Shared>,
}

impl StoreWriter {
    /// Opens a store and takes its lock. A new store gets a folder, and becomes a store with its first collection or
    /// [`finish`](Self::finish): dropped before, nothing of it stays.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where the store does not exist and must not be made, or something else is there;
    /// [`Io`](container_core::ErrorKind::Io) where another writer has it locked, saying who, and where files cannot be read or made;
    /// [`Invalid`](container_core::ErrorKind::Invalid) where its `zds.json` is no JSON object;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) where a file or folder of it is a symbolic link. The path itself may be one.
    pub fn open(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        let root = path.as_ref();
        if !root.is_dir() {
            // It may be there once a replacement that was broken off is put right.
            container_core::remove_stale_temporaries(crate::new_store::beside(root));
        }
        let placed = |error: Error| error.in_file(root.display().to_string()).in_format(FORMAT_NAME);
        let made = match root.join(COLLECTIONS).is_dir() {
            true => None,
            false => {
                what_is_there(root, options.create).map_err(placed)?;
                Some(options.disk().root(root).map_err(placed)?)
            }
        };
        Self::open_at(root, options, made).map_err(placed)
    }

    fn open_at(root: &Path, options: WriterOptions, made: Option<Vec<PathBuf>>) -> Result<Self> {
        let folder = Folder::root(root)?;
        folder.folder(COLLECTIONS)?;
        let had_lock_folder = folder.contains(LOCK_FOLDER)?;
        let lock = Lock::take(root, options.now())?;
        // What is locked may be a store that has replaced the other meanwhile.
        let folder = if folder.is_at(root) { folder } else { Folder::root(root)? };
        let mut made = made.filter(|_| !root.join(COLLECTIONS).is_dir());
        if let Some(made) = made.as_mut().filter(|_| !had_lock_folder) {
            made.push(root.join(LOCK_FOLDER));
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
        // Temporary files and collections of a writer that died. Nobody else has any while we hold the lock.
        for name in folder.names("")?.iter().filter(|name| is_stale(name)) {
            folder.remove(name)?;
        }
        for name in lock.folder().names(NEW)? {
            lock.folder().remove_folder(&name)?;
        }
        let state = Mutex::new(State { lock, open: BTreeSet::new(), metadata, made });
        Ok(Self { shared: Arc::new(Shared { root: root.to_owned(), folder, options, state }) })
    }

    /// The folder of the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.root
    }

    /// Opens a collection, which need not exist where [`WriterOptions::create`] allows that. Opening changes nothing. Where its last
    /// writer has died, or its index is missing, damaged or older than the data, [`CollectionWriter::recovered`] says so, and the first
    /// change or flush repairs it. Several may be open at once, each once.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a name that cannot be one, a collection that does not exist and must not be made,
    /// and one that is open already; [`Invalid`](container_core::ErrorKind::Invalid) where the index names what lies behind the end of
    /// the data, or no line of the data is a document: see [`WriterOptions::rebuild`];
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) where a file or folder of it is a symbolic link, and where the data have
    /// other names (hard links); [`Io`](container_core::ErrorKind::Io).
    pub fn collection(&self, name: &str) -> Result<CollectionWriter> {
        check_collection(name).map_err(|error| error.in_format(FORMAT_NAME))?;
        if !self.shared.state().open.insert(name.to_owned()) {
            let detail = format!("the collection {name:?} is being written already");
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        let opened = CollectionWriter::open(Arc::clone(&self.shared), name);
        if opened.is_err() {
            self.shared.closed(name);
        }
        opened.map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Writes the metadata and gives the lock back.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) while a collection is still being written; [`Io`](container_core::ErrorKind::Io).
    pub fn finish(self) -> Result<()> {
        let open: Vec<String> = self.shared.state().open.iter().cloned().collect();
        if !open.is_empty() {
            let detail = format!("a collection of the store is still being written: {}", open.join(", "));
            return Err(Error::usage(detail).in_format(FORMAT_NAME));
        }
        let written = self.shared.write_metadata().and_then(|()| self.shared.collections(true));
        written.map(drop).map_err(|error| error.in_format(FORMAT_NAME))
    }
}

/// May a store be made here?
fn what_is_there(root: &Path, create: bool) -> Result<()> {
    match fs::metadata(root) {
        Ok(found) if !found.is_dir() => {
            return Err(Error::usage(
                "it is a file: a store that is written is a folder, an archive has to be unpacked",
            ));
        }
        // A folder of other things is none that a store is made in by mistake.
        Ok(_) if fs::read_dir(root).is_ok_and(|entries| entries.flatten().any(|entry| !is_own(&entry.file_name()))) => {
            return Err(Error::usage("the folder is no store, and not empty: it holds no \"collections\""));
        }
        _ => {}
    }
    match create {
        true => Ok(()),
        false => Err(Error::usage("there is no store, and none is to be made")),
    }
}

/// Is it what stands in a store beside its collections?
fn is_own(name: &std::ffi::OsStr) -> bool {
    name == STORE_METADATA || name == LOCK_FOLDER || name == "metadata"
}
