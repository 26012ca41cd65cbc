//! Where the files of a collection are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use container_core::{Bytes, Error, OpenOptions, Result, Source};

use crate::archive::Archive;
use crate::layout::{COLLECTIONS, DOCS, DOCUMENT, META};
use crate::sys;
use crate::wire::id;

/// Where a collection is stored.
#[derive(Debug, Clone)]
pub(crate) enum CollectionPaths {
    Folder(PathBuf),
    /// An archive, and the collection's name in it.
    Archive(Archive, String),
}

/// A file and its modification time, if known.
pub(crate) type FileAndTime = (Source, Option<SystemTime>);

impl CollectionPaths {
    /// Opens a file of `meta`; `None` if it does not exist.
    pub(crate) fn meta(&self, name: &str, options: &OpenOptions) -> Result<Option<FileAndTime>> {
        match self {
            Self::Folder(folder) => file(&folder.join(META).join(name), options),
            // Modification times in an archive are not those of the files.
            Self::Archive(archive, collection) => {
                let file = archive.file(&format!("{COLLECTIONS}/{collection}/{META}/{name}"))?;
                Ok(file.map(|source| (source, None)))
            }
        }
    }

    /// Identifies the current version of a file in `meta` by file number, length and modification time. `None` if there is no such file, or
    /// for an archive, which nobody writes to.
    pub(crate) fn identity(&self, name: &str) -> Option<(u64, u64, Option<SystemTime>)> {
        let Self::Folder(folder) = self else { return None };
        let metadata = fs::metadata(folder.join(META).join(name)).ok()?;
        Some((sys::file_number(&metadata), metadata.len(), metadata.modified().ok()))
    }

    /// Whether there may be file-per-document documents.
    pub(crate) fn has_documents(&self) -> bool {
        match self {
            Self::Folder(folder) => folder.join(DOCS).is_dir(),
            Self::Archive(archive, collection) => archive.documents(collection).next().is_some(),
        }
    }

    /// The ids of all file-per-document documents, sorted.
    pub(crate) fn documents(&self) -> Result<Vec<String>> {
        let mut ids = match self {
            Self::Folder(folder) => ids_in(&folder.join(DOCS))?,
            Self::Archive(archive, collection) => archive.documents(collection).map(str::to_owned).collect(),
        };
        ids.sort_unstable();
        Ok(ids)
    }

    /// Reads the file of a document; `None` if it does not exist.
    pub(crate) fn document(&self, id: &str, options: &OpenOptions) -> Result<Option<Bytes>> {
        // An id that is not a file name has no file.
        if !id::names_a_file(id) {
            return Ok(None);
        }
        let name = format!("{id}{DOCUMENT}");
        let source = match self {
            Self::Folder(folder) => file(&folder.join(DOCS).join(&name), options)?.map(|(source, _)| source),
            Self::Archive(archive, collection) => archive.document(collection, id)?.map(Source::from),
        };
        let Some(source) = source else { return Ok(None) };
        options.limits.check_block("the length of a document", source.len())?;
        source.read(0..source.len()).map(Some).map_err(|error| error.in_file(format!("{DOCS}/{name}")))
    }
}

/// Opens a file; `None` if it does not exist. Follows links: a store may keep its data elsewhere.
pub(crate) fn file(path: &Path, options: &OpenOptions) -> Result<Option<FileAndTime>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(cause) if is_missing(&cause) => return Ok(None),
        Err(cause) => return Err(Error::io("cannot open", cause).in_file(path.display().to_string())),
    };
    // Opening a pipe would block, and a device has no end.
    if !metadata.is_file() {
        return Err(Error::unsupported("not a regular file").in_file(path.display().to_string()));
    }
    let source = match Source::open_with(path, options.access) {
        // Removed by a writer in the meantime.
        Err(error)
            if std::error::Error::source(&error).and_then(|cause| cause.downcast_ref()).is_some_and(is_missing) =>
        {
            return Ok(None);
        }
        opened => opened?,
    };
    Ok(Some((source, metadata.modified().ok())))
}

fn is_missing(cause: &io::Error) -> bool {
    // A name that is too long cannot exist.
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

fn ids_in(folder: &Path) -> Result<Vec<String>> {
    let failed = |cause| Error::io("cannot read the directory", cause).in_file(folder.display().to_string());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if is_missing(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        // The reference leaves temporary files starting with a dot when it dies.
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(DOCUMENT)).filter(|id| id::names_a_file(id)) {
            ids.push(id.to_owned());
        }
    }
    Ok(ids)
}
