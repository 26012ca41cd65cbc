//! A store: a folder of collections, or an archive of one.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, OpenOptions, Result, Source};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::archive::Archive;
use crate::layout::{COLLECTIONS, DATA, DOCS, META, STORE_METADATA};
use crate::read::collection::{Collection, object};
use crate::read::home::{Home, file};

/// What an archive begins with: a file in it, or its end.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// A store of collections, opened for reading: a folder that holds `collections`, or an archive of such a folder, which is read in place.
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
    Archive(Archive),
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
    /// one), a file in that (`meta/data.jsonl`, say), or an archive.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) where there is nothing; [`Unsupported`](container_core::ErrorKind::Unsupported) where there is
    /// something else; of archives those of [`Archive::open`].
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: Error| error.in_file(path.display().to_string()).in_format(FORMAT_NAME);
        let metadata = fs::metadata(path).map_err(|cause| failed(Error::io("cannot open", cause)))?;
        let (place, what) = if metadata.is_dir() {
            (place_of(path), "the folder holds no \"collections\", and is no collection either")
        } else if let Some(folder) = collection_of(path) {
            (Some(Place::Collection(folder)), "")
        } else {
            let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
            let head = source.read(0..source.len().min(4)).map_err(failed)?;
            let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zds"));
            if named || ZIP.contains(&&head[..]) {
                return Self::from_source(source, Some(path.display().to_string()), options);
            }
            (None, "it is no archive, and no file of a collection")
        };
        let place = place.ok_or_else(|| failed(Error::unsupported(what)))?;
        Ok(Self { place, options })
    }

    /// Opens an archive from any source. The name is what errors call it.
    ///
    /// # Errors
    /// As [`Archive::from_source`].
    pub fn from_source(source: Source, name: Option<String>, options: OpenOptions) -> Result<Self> {
        let archive = Archive::from_source(source, name, &options)?;
        Ok(Self { place: Place::Archive(archive), options })
    }

    /// The archive that it is in, if so.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        match &self.place {
            Place::Archive(archive) => Some(archive),
            _ => None,
        }
    }

    /// The folder of the store, or of its one collection; `None` for an archive.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Root(path) | Place::Collection(path) => Some(path),
            Place::Archive(_) => None,
        }
    }

    /// Its root, where it is no archive and not a collection alone.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.place {
            Place::Root(root) => Some(root),
            _ => None,
        }
    }

    /// What its `zds.json` says; `None` where there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the file; [`Invalid`](container_core::ErrorKind::Invalid) where it is no JSON object.
    pub fn metadata(&self) -> Result<Option<Map<String, Value>>> {
        let found = match &self.place {
            Place::Root(root) => {
                file(&root.join(STORE_METADATA), &self.options).map(|found| found.map(|(source, _)| source))
            }
            Place::Archive(archive) => archive.file(STORE_METADATA),
            Place::Collection(_) => Ok(None),
        };
        let found = found.map_err(|error| error.in_format(FORMAT_NAME))?;
        found.map(|source| object(&source, &self.options, STORE_METADATA)).transpose()
    }

    /// The names of its collections, sorted.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the folder.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = match &self.place {
            Place::Root(root) => root.join(COLLECTIONS),
            Place::Collection(folder) => return Ok(vec![name_of(folder)]),
            Place::Archive(archive) => return Ok(archive.collections().into_iter().map(str::to_owned).collect()),
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
            Place::Archive(archive) if archive.collections().contains(&name) => {
                Home::Archive(archive.clone(), name.to_owned())
            }
            Place::Collection(_) | Place::Archive(_) => return Err(missing(self.names()?)),
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
    folder.join(META).join(DATA).exists() || folder.join(DOCS).is_dir() && folder.join(META).is_dir()
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
