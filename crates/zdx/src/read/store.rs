//! A store: a folder of collections, or an archive of one.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, OpenOptions, Result};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, DATA, DOCS, META, STORE_METADATA};
use crate::read::collection::{Collection, object};
use crate::read::home::{Home, file};

/// A store of collections, opened for reading: a folder that holds `collections`.
#[derive(Debug, Clone)]
pub struct Store {
    place: Place,
    options: OpenOptions,
}

#[derive(Debug, Clone)]
enum Place {
    /// The root of a store.
    Root(PathBuf),
    /// The folder of one collection, which need not stand in a store.
    Collection(PathBuf),
}

impl Store {
    /// Opens a store with default options. See [`open_with`](Self::open_with).
    ///
    /// # Errors
    /// As there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a store: its root, a folder that holds nothing else than one root, the folder of a collection (of which it then is a store of
    /// one), or a file in that (`meta/data.jsonl`, say).
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) where there is nothing; [`Unsupported`](container_core::ErrorKind::Unsupported) where there is
    /// something else.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: Error| error.in_file(path.display().to_string()).in_format(FORMAT_NAME);
        let metadata = fs::metadata(path).map_err(|cause| failed(Error::io("cannot open", cause)))?;
        let place = match metadata.is_dir() {
            true => place_of(path),
            false => collection_of(path).map(Place::Collection),
        };
        let what = match metadata.is_dir() {
            true => "the folder holds no \"collections\", and is no collection either",
            false => "it is no file of a collection",
        };
        let place = place.ok_or_else(|| failed(Error::unsupported(what)))?;
        Ok(Self { place, options })
    }

    /// The folder of the store, or of its one collection.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::Root(path) | Place::Collection(path) => path,
        }
    }

    /// What its `zds.json` says; `None` where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the file; [`Invalid`](container_core::ErrorKind::Invalid) where it is no JSON object.
    pub fn metadata(&self) -> Result<Option<Map<String, Value>>> {
        match &self.place {
            Place::Root(root) => {
                let found =
                    file(&root.join(STORE_METADATA), &self.options).map_err(|error| error.in_format(FORMAT_NAME))?;
                found.map(|(source, _)| object(&source, &self.options, STORE_METADATA)).transpose()
            }
            Place::Collection(_) => Ok(None),
        }
    }

    /// The names of its collections, sorted.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the folder.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = match &self.place {
            Place::Root(root) => root.join(COLLECTIONS),
            Place::Collection(folder) => return Ok(vec![name_of(folder)]),
        };
        let failed = |cause| {
            let shown = folder.display().to_string();
            Error::io("cannot read the folder of collections", cause).in_file(shown).in_format(FORMAT_NAME)
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a collection.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where there is none of this name; [`Io`](container_core::ErrorKind::Io).
    pub fn collection(&self, name: &str) -> Result<Collection> {
        let missing = |names: Vec<String>| {
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::usage(format!("there is no collection {name:?}: there is {there}")).in_format(FORMAT_NAME)
        };
        let home = match &self.place {
            Place::Root(root) => {
                let folder = root.join(COLLECTIONS).join(name);
                // One step down, and not to anywhere else.
                let is_name = Path::new(name).components().eq([std::path::Component::Normal(name.as_ref())]);
                if !is_name || !folder.is_dir() {
                    return Err(missing(self.names()?));
                }
                Home::Folder(folder)
            }
            Place::Collection(folder) if name_of(folder) == name => Home::Folder(folder.clone()),
            Place::Collection(_) => return Err(missing(self.names()?)),
        };
        Collection::open_in(name.to_owned(), home, self.options)
    }

    /// The one collection that there is.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where there are others, or none; else as [`collection`](Self::collection).
    pub fn only_collection(&self) -> Result<Collection> {
        match self.names()?.as_slice() {
            [name] => self.collection(name),
            [] => Err(Error::usage("the store has no collection").in_format(FORMAT_NAME)),
            names => {
                let text =
                    format!("the store has several collections, of which one has to be chosen: {}", names.join(", "));
                Err(Error::usage(text).in_format(FORMAT_NAME))
            }
        }
    }
}

fn name_of(folder: &Path) -> String {
    let named = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    named
        .or_else(|| folder.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_default()
}

fn is_root(folder: &Path) -> bool {
    folder.join(COLLECTIONS).is_dir()
}

fn is_collection(folder: &Path) -> bool {
    folder.join(META).join(DATA).is_file() || folder.join(DOCS).is_dir() && folder.join(META).is_dir()
}

/// What kind of store a folder is.
fn place_of(folder: &Path) -> Option<Place> {
    if is_root(folder) {
        return Some(Place::Root(folder.to_owned()));
    }
    if is_collection(folder) {
        return Some(Place::Collection(folder.to_owned()));
    }
    let mut inner = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let (only, other) = (inner.next()?, inner.next());
    (other.is_none() && is_root(&only)).then_some(Place::Root(only))
}

/// The collection that a file of it leads to.
fn collection_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let collection = folder.parent()?;
    let is_in = folder.file_name().is_some_and(|name| name == META || name == DOCS);
    (is_in && is_collection(collection)).then(|| collection.to_owned())
}
