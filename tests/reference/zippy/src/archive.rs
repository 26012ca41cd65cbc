//! Stores in one file.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zippy_data::{ContainerFS, Engine, container};

use crate::{Outcome, lines, message};

pub(crate) fn pack(directory: &str, archive: &str) -> Outcome<()> {
    container::pack(Path::new(directory), Path::new(archive)).map_err(message)
}

pub(crate) fn unpack(archive: &str, directory: &str) -> Outcome<()> {
    container::unpack(Path::new(archive), Path::new(directory)).map_err(message)
}

/// Dumps an archive: unpacked by the reference, with every file also read in place.
pub(crate) fn dump(archive: &str) -> Outcome<()> {
    let fresh = tempfile::tempdir().map_err(|error| error.to_string())?;
    container::unpack(Path::new(archive), fresh.path()).map_err(message)?;
    let packed = ContainerFS::open(archive).map_err(message)?;
    let unpacked = ContainerFS::open(fresh.path()).map_err(message)?;
    let mut files = Vec::new();
    list_files(fresh.path(), &mut files)?;
    for file in &files {
        let name = file.strip_prefix(fresh.path()).map_err(|error| error.to_string())?;
        if packed.read_file(name).map_err(message)? != unpacked.read_file(name).map_err(message)? {
            return Err(format!("{} differs between the archive and its unpacked form", name.display()));
        }
        compare_document(archive, fresh.path(), name)?;
    }
    let mut collections = packed.list_collections().map_err(message)?;
    // The parent directory is listed as a collection without a name.
    collections.retain(|name| !name.is_empty());
    if collections != unpacked.list_collections().map_err(message)? {
        return Err(format!("the archive has other collections: {collections:?}"));
    }
    lines::dump_all(&fresh.path().to_string_lossy())
}

/// Compares a document stored as a file, read through the engine.
fn compare_document(archive: &str, directory: &Path, name: &Path) -> Outcome<()> {
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    let [top, collection, docs, file] = parts.as_slice() else { return Ok(()) };
    let Some(id) = file.strip_suffix(".json").filter(|_| top == "collections" && docs == "docs") else { return Ok(()) };
    let read = |root: &Path| -> Outcome<Value> {
        Engine::open(root, collection).and_then(|engine| engine.get_document(id)).map_err(message)
    };
    if read(Path::new(archive))? == read(directory)? {
        return Ok(());
    }
    Err(format!("{}: another document in the archive", name.display()))
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(directory).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            list_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
