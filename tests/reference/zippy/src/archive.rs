//! Stores in one file.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zippy_data::{ContainerFS, Engine, container};

use crate::{Outcome, lines, said};

pub(crate) fn pack(directory: &str, archive: &str) -> Outcome<()> {
    container::pack(Path::new(directory), Path::new(archive)).map_err(said)
}

pub(crate) fn unpack(archive: &str, directory: &str) -> Outcome<()> {
    container::unpack(Path::new(archive), Path::new(directory)).map_err(said)
}

/// What a store in an archive holds: unpacked by the reference, with every file also read in place.
pub(crate) fn dump(archive: &str) -> Outcome<()> {
    let fresh = tempfile::tempdir().map_err(|error| error.to_string())?;
    container::unpack(Path::new(archive), fresh.path()).map_err(said)?;
    let packed = ContainerFS::open(archive).map_err(said)?;
    let unpacked = ContainerFS::open(fresh.path()).map_err(said)?;
    let mut files = Vec::new();
    walk(fresh.path(), &mut files)?;
    for file in &files {
        let name = file.strip_prefix(fresh.path()).map_err(|error| error.to_string())?;
        if packed.read_file(name).map_err(said)? != unpacked.read_file(name).map_err(said)? {
            return Err(format!("{} is not the same in the archive and out of it", name.display()));
        }
        in_place(archive, fresh.path(), name)?;
    }
    let mut there = packed.list_collections().map_err(said)?;
    // The directory of all collections counts as one that has no name.
    there.retain(|name| !name.is_empty());
    if there != unpacked.list_collections().map_err(said)? {
        return Err(format!("the archive has the collections {there:?}"));
    }
    lines::dump_all(&fresh.path().to_string_lossy())
}

/// A document that is a file is read through the engine, too.
fn in_place(archive: &str, directory: &Path, name: &Path) -> Outcome<()> {
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    let [top, collection, docs, file] = parts.as_slice() else { return Ok(()) };
    let Some(id) = file.strip_suffix(".json").filter(|_| top == "collections" && docs == "docs") else { return Ok(()) };
    let read = |root: &Path| -> Outcome<Value> {
        Engine::open(root, collection).and_then(|engine| engine.get_document(id)).map_err(said)
    };
    if read(Path::new(archive))? == read(directory)? {
        return Ok(());
    }
    Err(format!("{} is another document in the archive", name.display()))
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(directory).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
