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

/// The folder of a collection.
#[derive(Debug, Clone)]
pub(crate) enum Home {
    Folder(PathBuf),
    /// And the collection's name.
    Archive(Archive, String),
}

/// A file, and when it was last written, where that is known.
pub(crate) type Found = (Source, Option<SystemTime>);

impl Home {
    /// A file of the folder `meta`; nothing where there is none.
    pub(crate) fn meta(&self, name: &str, options: &OpenOptions) -> Result<Option<Found>> {
        match self {
            Self::Folder(folder) => file(&folder.join(META).join(name), options),
            // The times in an archive are those of packing, if any.
            Self::Archive(archive, collection) => {
                let found = archive.file(&format!("{COLLECTIONS}/{collection}/{META}/{name}"))?;
                Ok(found.map(|source| (source, None)))
            }
        }
    }

    /// By what a file of the folder `meta` is told from another one that is put in its place: its number, length and time. Nothing where there
    /// is none, and where nobody writes.
    pub(crate) fn mark(&self, name: &str) -> Option<(u64, u64, Option<SystemTime>)> {
        let Self::Folder(folder) = self else { return None };
        let found = fs::metadata(folder.join(META).join(name)).ok()?;
        Some((sys::file_number(&found), found.len(), found.modified().ok()))
    }

    /// Are there documents in files of their own?
    pub(crate) fn has_documents(&self) -> bool {
        match self {
            Self::Folder(folder) => folder.join(DOCS).is_dir(),
            Self::Archive(archive, collection) => archive.documents(collection).next().is_some(),
        }
    }

    /// The ids of all documents in files of their own, in order of their names.
    pub(crate) fn documents(&self) -> Result<Vec<String>> {
        let mut ids = match self {
            Self::Folder(folder) => in_folder(&folder.join(DOCS))?,
            Self::Archive(archive, collection) => archive.documents(collection).map(str::to_owned).collect(),
        };
        ids.sort_unstable();
        Ok(ids)
    }

    /// The file of a document; nothing where there is none.
    pub(crate) fn document(&self, id: &str, options: &OpenOptions) -> Result<Option<Bytes>> {
        // What cannot be the name of a file is in none.
        if !id::names_a_file(id) {
            return Ok(None);
        }
        let name = format!("{id}{DOCUMENT}");
        let found = match self {
            Self::Folder(folder) => file(&folder.join(DOCS).join(&name), options)?.map(|(source, _)| source),
            Self::Archive(archive, collection) => archive.document(collection, id)?.map(Source::from),
        };
        let Some(source) = found else { return Ok(None) };
        options.limits.check_block("the length of a document", source.len())?;
        source.read(0..source.len()).map(Some).map_err(|error| error.in_file(format!("{DOCS}/{name}")))
    }
}

/// A file, unless there is none. Links are followed: whoever made the store may have its data elsewhere.
pub(crate) fn file(path: &Path, options: &OpenOptions) -> Result<Option<Found>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(cause) if is_missing(&cause) => return Ok(None),
        Err(cause) => return Err(Error::io("cannot open", cause).in_file(path.display().to_string())),
    };
    // A pipe would be waited for, and a device has no end.
    if !metadata.is_file() {
        return Err(Error::unsupported("it is not a regular file").in_file(path.display().to_string()));
    }
    let source = match Source::open_with(path, options.access) {
        // A writer has removed it meanwhile.
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
    // A name that is too long is none of a file.
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

fn in_folder(folder: &Path) -> Result<Vec<String>> {
    let failed = |cause| Error::io("cannot read the folder", cause).in_file(folder.display().to_string());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if is_missing(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        // The reference leaves files behind whose names begin with a dot, when it dies.
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(DOCUMENT)).filter(|id| id::names_a_file(id)) {
            ids.push(id.to_owned());
        }
    }
    Ok(ids)
}
