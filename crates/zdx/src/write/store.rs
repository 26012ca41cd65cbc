//! The root of a store that is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use container_core::{Error, Result};
use serde_json::{Value, json};

use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, LOCK_FOLDER, STORE_METADATA, check_collection};
use crate::write::collection::CollectionWriter;
use crate::write::lock::Lock;
use crate::write::metadata::Metadata;
use crate::write::options::WriterOptions;
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

/// What the collections of a store have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) root: PathBuf,
    pub(crate) options: WriterOptions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lock: Lock,
    /// The names of collections that are being written.
    open: BTreeSet<String>,
    /// `zds.json`; none where the store has none and was not made here.
    metadata: Option<Metadata>,
}

impl StoreWriter {
    /// Opens a store, or makes one, and takes its lock.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where there is none and none is to be made, or something else is there;
    /// [`Io`](container_core::ErrorKind::Io) where another has it locked, saying who, and where files cannot be read or made;
    /// [`Invalid`](container_core::ErrorKind::Invalid) where its `zds.json` is no JSON object.
    pub fn open(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self> {
        let root = path.as_ref();
        if !root.is_dir() {
            // It may be there once a replacement that was broken off is put right.
            container_core::remove_stale_temporaries(crate::new_store::beside(root));
        }
        let placed = |error: Error| error.in_file(root.display().to_string()).in_format(FORMAT_NAME);
        let collections = root.join(COLLECTIONS);
        if !collections.is_dir() {
            what_is_there(root, options.create).map_err(placed)?;
            options.disk().folder(&collections).map_err(placed)?;
        }
        let lock = Lock::take(root, options.now()).map_err(placed)?;
        let path = root.join(STORE_METADATA);
        let mut metadata = Metadata::read(&path).map_err(placed)?;
        let is_new = fs::read_dir(&collections).is_ok_and(|mut entries| entries.next().is_none());
        if metadata.is_none() && is_new {
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
        let state = Mutex::new(State { lock, open: BTreeSet::new(), metadata });
        let shared = Shared { root: root.to_owned(), options, state };
        shared.write_metadata().map_err(placed)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The folder of the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.root
    }

    /// Opens a collection, or makes one. Where its last writer has died, or its index is missing, damaged or older than the data, that is
    /// put right first, and [`CollectionWriter::recovered`] tells what was found. Several may be open at once, each once.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for a name that cannot be one, where there is none and none is to be made, and for one
    /// that is open already; [`Invalid`](container_core::ErrorKind::Invalid) where the index names what lies behind the end of the data,
    /// or no line of the data is a document: see [`WriterOptions::rebuild`]; [`Io`](container_core::ErrorKind::Io).
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
        self.shared.write_metadata().map_err(|error| error.in_format(FORMAT_NAME))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner) // nothing in it is ever half changed
    }

    /// A collection is not written any more.
    pub(crate) fn closed(&self, name: &str) {
        self.state().open.remove(name);
    }

    /// Makes sure that others are still kept out.
    pub(crate) fn renew_lock(&self) -> Result<()> {
        self.state().lock.renew(&self.root, self.options.now())
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

    fn write_metadata(&self) -> Result<()> {
        let path = self.root.join(STORE_METADATA);
        match &mut self.state().metadata {
            Some(metadata) => metadata.write(&self.options.disk(), &path),
            None => Ok(()),
        }
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
