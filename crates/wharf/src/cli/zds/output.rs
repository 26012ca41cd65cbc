//! New stores: a folder, or an archive.

use std::path::{Path, PathBuf};

use container_core::{Error, OutputOptions, Overwrite, Result, Sync, TemporaryFolder};
use serde_json::{Map, Value, json};
use zdx::archive::{PackOptions, pack};
use zdx::{CollectionWriter, Durability, NewStore, StoreWriter, WriterOptions};

use super::super::inputs::{self, Place};
use super::NAME;

/// A store that is being made, and appears whole or not at all.
pub(crate) struct NewZds {
    path: PathBuf,
    force: bool,
    staging: Staging,
    root: StoreWriter,
}

enum Staging {
    Folder(NewStore),
    /// An archive, packed in the end.
    Archive(TemporaryFolder, PathBuf),
}

/// What was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

impl NewZds {
    /// Begins a store at a path: an archive where it ends in `.zds`, else a folder.
    pub(crate) fn create(path: &Path, force: bool, inputs: &[Place]) -> Result<Self> {
        let named = |error: Error| error.in_file(path.display().to_string());
        refuse(path, force, inputs)?;
        let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
        let failed = |cause| named(Error::io("cannot create the output", cause));
        let (staging, folder) = if is_archive(path) {
            let temporary = TemporaryFolder::beside(path).map_err(failed)?;
            let folder = temporary.path().join(path.file_stem().unwrap_or("store".as_ref()));
            (Staging::Archive(temporary, folder.clone()), folder)
        } else {
            let new = NewStore::create(path, overwrite).map_err(named)?;
            let folder = new.path().to_owned();
            (Staging::Folder(new), folder)
        };
        let durability = match staging {
            Staging::Folder(_) => Durability::Flush,
            // What is packed has not to be on the disk.
            Staging::Archive(..) => Durability::None,
        };
        let options = WriterOptions::default().with_durability(durability);
        let root = StoreWriter::open(&folder, options).map_err(named)?;
        Ok(Self { path: path.to_owned(), force, staging, root })
    }

    /// Begins a collection.
    pub(crate) fn collection(&self, name: &str) -> Result<CollectionWriter> {
        self.root.collection(name).map_err(|error| self.named(error))
    }

    /// An error in it, which names its place and not where it is made.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.in_file(self.path.display().to_string())
    }

    /// Gives the store its place.
    pub(crate) fn finish(self, collections: Vec<CollectionWriter>) -> Result<Written> {
        let Self { path, force, staging, root } = self;
        let named = |error: Error| error.in_file(path.display().to_string());
        let mut written = Written { documents: 0, bytes: 0 };
        for writer in collections {
            written.documents += writer.len();
            writer.finish().map_err(named)?;
        }
        root.finish().map_err(named)?;
        match staging {
            Staging::Folder(new) => {
                written.bytes = bytes_in(new.path());
                new.commit(Sync::Disk).map_err(named)?;
            }
            Staging::Archive(_temporary, folder) => {
                let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
                let options = PackOptions::default().with_output(OutputOptions::default().with_overwrite(overwrite));
                written.bytes = pack(&folder, &path, &options).map_err(named)?.packed;
            }
        }
        Ok(written)
    }
}

/// What was written, for programs.
pub(crate) fn done(path: &Path, written: Written) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("file".into(), json!(path.display().to_string()));
    object.insert("to".into(), NAME.into());
    object.insert("rows".into(), written.documents.into());
    object.insert("bytes".into(), written.bytes.into());
    object
}

/// Is an archive wanted?
pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zds"))
}

/// Refuses an output that is an input, or holds one, whatever the flags; and without `force` one that exists.
pub(crate) fn refuse(path: &Path, force: bool, inputs: &[Place]) -> Result<()> {
    if path == Path::new("-") {
        return Err(Error::usage(
            "a store is a folder or an archive of one, which standard output is not: give a path",
        ));
    }
    let named = |error: Error| error.in_file(path.display().to_string());
    inputs::refuse_overlap([path.to_owned()], inputs)?;
    if is_archive(path) && path.is_dir() {
        return Err(named(Error::usage("the output is a directory, and a name in .zds is an archive's")));
    }
    if is_archive(path) && !force && path.symlink_metadata().is_ok() {
        return Err(named(Error::usage("the output exists; --force replaces it")));
    }
    Ok(())
}

/// Bytes of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        Ok(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
