//! Writes new stores: a folder, or an archive.

use std::path::{Path, PathBuf};

use container_core::{Error, Output, OutputOptions, Overwrite, Result, SyncPolicy, TemporaryFolder};

use zdx::archive::{PackOptions, pack_to_output};
use zdx::{CollectionWriter, Durability, NewStore, PlacedStore, StoreWriter, WriterOptions};

use super::super::inputs::Location;
use super::super::overlap::refuse_overlap;

/// A store in progress; it appears whole or not at all.
pub struct NewZds {
    path: PathBuf,
    force: bool,
    staging: Staging,
    root: StoreWriter,
}

enum Staging {
    Folder(NewStore),
    /// An archive, packed at the end.
    Archive(TemporaryFolder, PathBuf),
}

/// Sizes of a written store.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    pub documents: u64,
    pub bytes: u64,
}

impl NewZds {
    /// Creates a store at a path: an archive if it ends in `.zds`, otherwise a folder.
    pub fn create(path: &Path, force: bool, inputs: &[Location]) -> Result<Self> {
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
            // The unpacked files are temporary.
            Staging::Archive(..) => Durability::None,
        };
        let options = WriterOptions::default().with_durability(durability);
        let root = StoreWriter::open(&folder, options).map_err(named)?;
        Ok(Self { path: path.to_owned(), force, staging, root })
    }

    /// Creates a collection.
    pub fn collection(&self, name: &str) -> Result<CollectionWriter> {
        self.root.collection(name).map_err(|error| self.named(error))
    }

    /// Adds the final path to an error, not the temporary one.
    pub fn named(&self, error: Error) -> Error {
        error.in_file(self.path.display().to_string())
    }

    /// Writes what is buffered, and moves the store into place.
    pub fn finish(self, collections: Vec<CollectionWriter>) -> Result<Written> {
        let (ready, written) = self.prepare(collections)?;
        ready.place().map(|_| written)
    }

    /// Writes what is buffered. After this only moving the store into place can fail.
    pub fn prepare(self, collections: Vec<CollectionWriter>) -> Result<(Ready, Written)> {
        let Self { path, force, staging, root } = self;
        let named = |error: Error| error.in_file(path.display().to_string());
        let mut written = Written { documents: 0, bytes: 0 };
        for writer in collections {
            written.documents += writer.len();
            writer.finish().map_err(named)?;
        }
        root.finish().map_err(named)?;
        let made = match staging {
            Staging::Folder(new) => {
                written.bytes = bytes_in(new.path());
                Made::Folder(new)
            }
            Staging::Archive(temporary, folder) => {
                let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
                let options = PackOptions::default().with_output(OutputOptions::default().with_overwrite(overwrite));
                let (output, packed) = pack_to_output(&folder, &path, &options).map_err(named)?;
                written.bytes = packed.packed;
                Made::Archive(temporary, output)
            }
        };
        Ok((Ready { path, made }, written))
    }
}

/// A complete store that is not in place yet.
pub struct Ready {
    path: PathBuf,
    made: Made,
}

enum Made {
    Folder(NewStore),
    Archive(TemporaryFolder, Output),
}

/// A store in place. What it replaced is kept until this is dropped.
pub enum Placed {
    Folder(PlacedStore),
    /// The folder has a hard link to the archive that was replaced, if there was one.
    Archive(PathBuf, TemporaryFolder),
}

/// The name of the replaced archive in the temporary folder.
const REPLACED: &str = "replaced";

impl Ready {
    fn place(self) -> Result<Placed> {
        let Self { path, made } = self;
        let named = |error: Error| error.in_file(path.display().to_string());
        match made {
            Made::Folder(new) => new.place(SyncPolicy::Disk).map(Placed::Folder).map_err(named),
            Made::Archive(temporary, output) => {
                // Without hard links, a replaced archive cannot be restored.
                let _ = std::fs::hard_link(&path, temporary.path().join(REPLACED));
                output.finish().map_err(named)?;
                Ok(Placed::Archive(path, temporary))
            }
        }
    }
}

impl Placed {
    fn undo(self) -> Result<()> {
        match self {
            Self::Folder(store) => store.undo(),
            Self::Archive(path, temporary) => {
                let replaced = temporary.path().join(REPLACED);
                let undone = match replaced.symlink_metadata() {
                    Ok(_) => std::fs::rename(&replaced, &path),
                    Err(_) => std::fs::remove_file(&path),
                };
                undone.map_err(|cause| Error::io("cannot undo", cause).in_file(path.display().to_string()))
            }
        }
    }
}

/// Moves all stores into place, or none: after an error, earlier moves are undone.
pub fn place_all(all: Vec<Ready>) -> Result<()> {
    container_core::uninterrupted(|| {
        let mut placed = Vec::new();
        for ready in all {
            match ready.place() {
                Ok(store) => placed.push(store),
                Err(error) => {
                    let undone: Vec<_> = placed.into_iter().rev().map(Placed::undo).collect();
                    return match undone.into_iter().find_map(Result::err) {
                        None => Err(error),
                        Some(second) => {
                            let detail = format!("a moved output cannot be undone ({second})");
                            Err(Error::new(error.kind(), detail).caused_by(error))
                        }
                    };
                }
            }
        }
        Ok(())
    })
}

/// Whether a path is that of an archive.
pub fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zds"))
}

/// Fails when the output is or contains an input or, without `force`, exists.
pub fn refuse(path: &Path, force: bool, inputs: &[Location]) -> Result<()> {
    if path == Path::new("-") {
        return Err(Error::usage("a ZDS store is a folder or an archive of one, not standard output: give a path"));
    }
    let named = |error: Error| error.in_file(path.display().to_string());
    refuse_overlap([path.to_owned()], inputs)?;
    if is_archive(path) && path.is_dir() {
        return Err(named(Error::usage("the output is a directory, and .zds is the extension of an archive")));
    }
    if is_archive(path) && !force && path.symlink_metadata().is_ok() {
        return Err(named(Error::usage("the output exists").advising("{force} replaces it")));
    }
    Ok(())
}

/// The total size of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        Ok(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
