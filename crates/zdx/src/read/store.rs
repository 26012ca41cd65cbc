//! A store: a directory of collections, or an archive of one.

use std::fs;
use std::path::{Path, PathBuf};

use container_core::{Error, OpenOptions, Result, Source};
use serde_json::{Map, Value};

use crate::FORMAT_NAME;
use crate::archive::Archive;
use crate::layout::{COLLECTIONS, DATA, DOCS, META, STORE_METADATA};
use crate::read::collection::{Collection, read_object};
use crate::read::paths::{CollectionPaths, file};

/// First bytes of a ZIP archive: of an entry, or of the end record if it is empty.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// A store opened for reading: a directory that contains `collections`, or an archive of one, which is read in place.
#[derive(Debug, Clone)]
pub struct Store {
    location: Location,
    options: OpenOptions,
}

#[derive(Debug, Clone)]
enum Location {
    /// Root directory of a store.
    Root(PathBuf),
    /// Directory of a single collection, inside or outside of a store.
    Collection(PathBuf),
    Archive(Archive),
}

impl Store {
    /// Opens a store with default options. See [`open_with`](Self::open_with).
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a store from any of: its root; a directory that contains nothing but the root; a collection's directory, as a store of one
    /// collection; a file in it, such as `meta/data.jsonl`; an archive.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) if the path cannot be opened; [`Unsupported`](container_core::ErrorKind::Unsupported) if it is
    /// none of these; those of [`Archive::open`].
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: Error| error.in_file(path.display().to_string()).in_format(FORMAT_NAME);
        let metadata = fs::metadata(path).map_err(|cause| failed(Error::io("cannot open", cause)))?;
        let (location, problem) = if metadata.is_dir() {
            (locate(path), "the directory is neither a store (no \"collections\" in it) nor a collection")
        } else if let Some(folder) = collection_of(path) {
            (Some(Location::Collection(folder)), "")
        } else {
            let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
            let head = source.read(0..source.len().min(4)).map_err(failed)?;
            let has_extension = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zds"));
            if has_extension || ZIP.contains(&&head[..]) {
                return Self::from_source(source, Some(path.display().to_string()), options);
            }
            (None, "neither an archive nor a file of a collection")
        };
        let location = location.ok_or_else(|| failed(Error::unsupported(problem)))?;
        Ok(Self { location, options })
    }

    /// Opens an archive from any source. Errors refer to it by `name`.
    ///
    /// # Errors
    /// As [`Archive::from_source`].
    pub fn from_source(source: Source, name: Option<String>, options: OpenOptions) -> Result<Self> {
        let archive = Archive::from_source(source, name, &options)?;
        Ok(Self { location: Location::Archive(archive), options })
    }

    /// The archive, if the store is one.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        match &self.location {
            Location::Archive(archive) => Some(archive),
            _ => None,
        }
    }

    /// The directory of the store or of its only collection; `None` for an archive.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.location {
            Location::Root(path) | Location::Collection(path) => Some(path),
            Location::Archive(_) => None,
        }
    }

    /// The root directory; `None` for an archive or a single collection.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.location {
            Location::Root(root) => Some(root),
            _ => None,
        }
    }

    /// The contents of `zds.json`; `None` if there is none.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) if it is not a JSON object.
    pub fn metadata(&self) -> Result<Option<Map<String, Value>>> {
        let source = match &self.location {
            Location::Root(root) => {
                file(&root.join(STORE_METADATA), &self.options).map(|file| file.map(|(source, _)| source))
            }
            Location::Archive(archive) => archive.file(STORE_METADATA),
            Location::Collection(_) => Ok(None),
        };
        let source = source.map_err(|error| error.in_format(FORMAT_NAME))?;
        source.map(|source| read_object(&source, &self.options, STORE_METADATA)).transpose()
    }

    /// The names of its collections, sorted.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) of the directory.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = match &self.location {
            Location::Root(root) => root.join(COLLECTIONS),
            Location::Collection(folder) => return Ok(vec![name_of(folder)]),
            Location::Archive(archive) => return Ok(archive.collections().into_iter().map(str::to_owned).collect()),
        };
        let failed = |cause| {
            let path = folder.display().to_string();
            Error::io("cannot read the directory of collections", cause).in_file(path).in_format(FORMAT_NAME)
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
    /// [`Usage`](container_core::ErrorKind::Usage) if there is no collection with this name; [`Io`](container_core::ErrorKind::Io).
    pub fn collection(&self, name: &str) -> Result<Collection> {
        let missing = |names: Vec<String>| {
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::usage(format!("no collection {name:?} (available: {names})")).in_format(FORMAT_NAME)
        };
        let paths = match &self.location {
            Location::Root(root) => {
                let folder = root.join(COLLECTIONS).join(name);
                // The name must be a single component, so that it cannot lead elsewhere.
                let is_name = Path::new(name).components().eq([std::path::Component::Normal(name.as_ref())]);
                if !is_name || !folder.is_dir() {
                    return Err(missing(self.names()?));
                }
                CollectionPaths::Folder(folder)
            }
            Location::Collection(folder) if name_of(folder) == name => CollectionPaths::Folder(folder.clone()),
            Location::Archive(archive) if archive.collections().contains(&name) => {
                CollectionPaths::Archive(archive.clone(), name.to_owned())
            }
            Location::Collection(_) | Location::Archive(_) => return Err(missing(self.names()?)),
        };
        Collection::open_in(name.to_owned(), paths, self.options)
    }

    /// Opens the store's only collection.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if there is not exactly one; otherwise as [`collection`](Self::collection).
    pub fn only_collection(&self) -> Result<Collection> {
        match self.names()?.as_slice() {
            [name] => self.collection(name),
            [] => Err(Error::usage("the store has no collections").in_format(FORMAT_NAME)),
            names => {
                let detail = format!("the store has several collections, choose one: {}", names.join(", "));
                Err(Error::usage(detail).in_format(FORMAT_NAME))
            }
        }
    }
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    name.or_else(|| folder.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_default()
}

fn is_root(folder: &Path) -> bool {
    folder.join(COLLECTIONS).is_dir()
}

fn is_collection(folder: &Path) -> bool {
    folder.join(META).join(DATA).exists() || folder.join(DOCS).is_dir() && folder.join(META).is_dir()
}

/// The store or collection in a directory; `None` if it contains neither.
fn locate(folder: &Path) -> Option<Location> {
    if is_root(folder) {
        return Some(Location::Root(folder.to_owned()));
    }
    if is_collection(folder) {
        return Some(Location::Collection(folder.to_owned()));
    }
    let mut inner = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let (only, other) = (inner.next()?, inner.next());
    (other.is_none() && is_root(&only)).then_some(Location::Root(only))
}

/// The collection directory that a file belongs to.
fn collection_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let collection = folder.parent()?;
    let is_inside = folder.file_name().is_some_and(|name| name == META || name == DOCS);
    (is_inside && is_collection(collection)).then(|| collection.to_owned())
}
