//! Creates or replaces a store atomically. What a kill leaves at each point: see the documentation of [`OutputFolder`].
//!
//! A store being replaced stays locked from start to exchange, so that nobody writes documents into it that would be lost. A writer waiting
//! for its lock notices that the lock is no longer that of the directory at the path, and takes the new store's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use container_core::{
    Error, ErrorKind, OutputFolder, Overwrite, PlacedFolder, Result, SyncPolicy, remove_stale_temporaries,
};

use crate::FORMAT_NAME;
use crate::layout::{COLLECTIONS, LOCK_FOLDER, STORE_METADATA};
use crate::sys;
use crate::write::Lock;

/// A new store in a temporary directory; [`commit`](Self::commit) moves it into place. Dropping it discards it.
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
    /// Lock of the store being replaced.
    lock: Option<Lock>,
}

impl NewStore {
    /// Creates an empty directory beside `target`. An existing store at `target` is locked, and replaced on commit if `overwrite` allows it
    /// and the directory contains nothing but a store.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if the target exists, is not an empty directory, and may not be replaced;
    /// [`Io`](container_core::ErrorKind::Io), also if another writer holds the lock of the target: the error names it.
    pub fn create(target: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        Self::create_in(target.as_ref(), overwrite).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn create_in(target: &Path, overwrite: Overwrite) -> Result<Self> {
        // First complete or undo an interrupted replacement.
        remove_stale_temporaries(beside(target));
        let lock = match is_store(target, overwrite)? {
            true => Some(Lock::take(target, SystemTime::now())?),
            false => None,
        };
        Ok(Self { target: target.to_owned(), folder: OutputFolder::create(target)?, lock })
    }

    /// Path of the temporary directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the store into place. Its files must have been synced already, if they are to survive a power cut.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) if something else has appeared at the target; [`Io`](container_core::ErrorKind::Io).
    pub fn commit(self, sync: SyncPolicy) -> Result<()> {
        self.place(sync).map(drop)
    }

    /// As [`commit`](Self::commit), for several stores that must appear together: the replaced store is kept until the result is dropped.
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
                // Our lock does not stop other programs from adding files.
                is_store(&target, Overwrite::Replace)?;
                lock.renew(&target, SystemTime::now())?;
                if !lock.folder().is_at(&target.join(LOCK_FOLDER)) {
                    let detail = "the store to be replaced was moved or replaced in the meantime";
                    return Err(Error::new(ErrorKind::Io, detail).in_file(target.display().to_string()));
                }
                Overwrite::Replace
            }
        };
        if !sys::CAN_RENAME_OPEN {
            lock = None; // a directory that contains an open file cannot be renamed
        }
        Ok(PlacedStore { folder: folder.place(overwrite, sync)?, _lock: lock })
    }
}

/// A store moved into place. The replaced one stays locked, and is removed when this is dropped.
#[derive(Debug)]
pub struct PlacedStore {
    folder: PlacedFolder,
    _lock: Option<Lock>,
}

impl PlacedStore {
    /// Removes the store again, and restores the one it replaced.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn undo(self) -> Result<()> {
        self.folder.undo().map_err(|error| error.in_format(FORMAT_NAME))
    }
}

/// Whether there is a store that may be replaced. If not, nothing is there, or an empty directory.
fn is_store(target: &Path, overwrite: Overwrite) -> Result<bool> {
    let refuse = |detail: &'static str| Err(Error::usage(detail).in_file(target.display().to_string()));
    let failed = |cause| Error::io("cannot access the output", cause).in_file(target.display().to_string());
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(failed(cause)),
        Ok(found) if !found.is_dir() => return refuse("the output exists and is not a directory"),
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
            let detail = format!("the output is not replaced: it contains {name:?}, which is not part of a store");
            return Err(Error::usage(detail).in_file(target.display().to_string()));
        }
    }
    Ok(true)
}

/// The directory that contains a store.
pub(crate) fn beside(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
