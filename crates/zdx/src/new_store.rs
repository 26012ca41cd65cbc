//! A store that appears whole or not at all. What a kill leaves at each point: see the documentation of [`OutputFolder`].
//!
//! A store that is replaced stays locked from the beginning to the exchange. So nobody writes documents into it that would be lost, and a
//! writer that waits for its lock finds that the lock is not the one of the folder at that path, and takes the one of the new store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use container_core::{
    Error, ErrorKind, OutputFolder, Overwrite, PlacedFolder, Result, SyncPolicy, remove_stale_temporaries,
};

use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, LOCK_FOLDER, STORE_METADATA};
use crate::write::Lock;

/// A folder beside its place, in which a store is made; [`commit`](Self::commit) moves it into place. Dropped before that, it is gone.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let target = folder.path().join("trees");
/// let new = zdx::NewStore::create(&target, container_core::Overwrite::Refuse)?;
/// std::fs::create_dir(new.path().join("collections"))?;
/// assert!(!target.exists());
/// new.commit(container_core::SyncPolicy::Disk)?;
/// assert!(target.join("collections").is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "without commit() the store does not appear"]
pub struct NewStore {
    target: PathBuf,
    folder: OutputFolder,
    /// That of the store that is replaced.
    lock: Option<Lock>,
}

impl NewStore {
    /// Makes an empty folder beside `target`, under the same name. A store that exists is locked, and replaced in the end, if that is allowed
    /// and it holds nothing but a store.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the target exists, is not an empty folder, and may not be replaced;
    /// [`Io`](container_core::ErrorKind::Io), also if another writer has the store at the target locked: the error says who.
    pub fn create(target: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        Self::create_in(target.as_ref(), overwrite).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn create_in(target: &Path, overwrite: Overwrite) -> Result<Self> {
        // A replacement that was broken off is put right first.
        remove_stale_temporaries(beside(target));
        let lock = match is_store(target, overwrite)? {
            true => Some(Lock::take(target, SystemTime::now())?),
            false => None,
        };
        Ok(Self { target: target.to_owned(), folder: OutputFolder::create(target)?, lock })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves it into place. What is in it has to be on the disk already, where that matters.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if something else is at its place by now; [`Io`](container_core::ErrorKind::Io).
    pub fn commit(self, sync: SyncPolicy) -> Result<()> {
        self.place(sync).map(drop)
    }

    /// The same, for several stores that appear together or not at all: what was there is kept until what this returns is dropped.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn place(self, sync: SyncPolicy) -> Result<PlacedStore> {
        self.place_in(sync).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn place_in(self, sync: SyncPolicy) -> Result<PlacedStore> {
        let Self { target, folder, mut lock } = self;
        let overwrite = match &mut lock {
            None => Overwrite::Refuse,
            Some(lock) => {
                // Our lock says nothing about files that other programs have put there.
                is_store(&target, Overwrite::Replace)?;
                lock.renew(&target, SystemTime::now())?;
                if !lock.folder().is_at(&target.join(LOCK_FOLDER)) {
                    let detail = "the store that is to be replaced was moved or replaced meanwhile";
                    return Err(Error::new(ErrorKind::Io, detail).in_file(target.display().to_string()));
                }
                Overwrite::Replace
            }
        };
        if !cfg!(unix) {
            lock = None; // a folder with an open file cannot be renamed there
        }
        Ok(PlacedStore { folder: folder.place(overwrite, sync)?, _lock: lock })
    }
}

/// A store that is in place. What it has replaced stays locked, and is removed when this is dropped.
#[derive(Debug)]
pub struct PlacedStore {
    folder: PlacedFolder,
    _lock: Option<Lock>,
}

impl PlacedStore {
    /// Takes the store away again, and puts back what it has replaced.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn undo(self) -> Result<()> {
        self.folder.undo().map_err(|error| error.in_format(FORMAT_NAME))
    }
}

/// Is there a store that may be replaced? If not, nothing is there, or an empty folder.
fn is_store(target: &Path, overwrite: Overwrite) -> Result<bool> {
    let refuse = |detail: &'static str| Err(Error::usage(detail).in_file(target.display().to_string()));
    let failed = |cause| Error::io("cannot look at the output", cause).in_file(target.display().to_string());
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(failed(cause)),
        Ok(found) if !found.is_dir() => return refuse("the output exists and is not a folder"),
        Ok(_) => {}
    }
    let mut members = fs::read_dir(target).map_err(failed)?.peekable();
    if members.peek().is_none() {
        return Ok(false);
    }
    if overwrite == Overwrite::Refuse {
        return refuse("the output exists and is not empty");
    }
    for member in members {
        let name = member.map_err(failed)?.file_name();
        if !matches!(name.to_str(), Some(STORE_METADATA | COLLECTIONS | "metadata" | LOCK_FOLDER)) {
            let detail = format!("the output is not replaced: {name:?} in it is not part of a store");
            return Err(Error::usage(detail).in_file(target.display().to_string()));
        }
    }
    Ok(true)
}

/// The folder that a store stands in.
pub(crate) fn beside(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
