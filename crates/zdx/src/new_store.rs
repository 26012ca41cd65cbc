//! A store that appears whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use container_core::{Error, Overwrite, Result, Sync, Unfinished, sync_directory_of};
use tempfile::TempDir;

use crate::FORMAT_NAME;

/// A folder beside its place, in which a store is made; [`commit`](Self::commit) gives it the place. Dropped before, nothing of it is left.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let target = folder.path().join("trees");
/// let new = zdx::NewStore::create(&target, container_core::Overwrite::Refuse)?;
/// std::fs::create_dir(new.path().join("collections"))?;
/// assert!(!target.exists());
/// new.commit(container_core::Sync::Disk)?;
/// assert!(target.join("collections").is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewStore {
    target: PathBuf,
    store: PathBuf,
    old: Old,
    temporary: TempDir,
    _unfinished: Unfinished,
}

/// What stands where the store is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Old {
    Nothing,
    Empty,
    Store,
}

impl NewStore {
    /// Makes an empty folder beside `target`, under the same name. A target that exists is replaced where that is allowed, and only if it
    /// holds nothing but a store.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) where the target exists and is no empty folder, and may not be replaced;
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn create(target: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        let target = target.as_ref();
        let failed = |cause| named("cannot create the output", cause, target);
        let old = look(target, overwrite).map_err(|error| error.in_format(FORMAT_NAME))?;
        let beside = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wharf-").suffix(".tmp");
        let temporary = builder.tempdir_in(beside).map_err(failed)?;
        let unfinished = Unfinished::new(temporary.path());
        // The store is a folder in it, with the mode that any new folder has.
        let store = temporary.path().join("new").join(target.file_name().unwrap_or("store".as_ref()));
        fs::create_dir_all(&store).map_err(failed)?;
        Ok(Self { target: target.to_owned(), store, old, temporary, _unfinished: unfinished })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.store
    }

    /// Gives it its place. What is in it has to be on the disk already, where that matters.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn commit(self, sync: Sync) -> Result<()> {
        let aside = self.temporary.path().join("old");
        place(&self.store, &self.target, self.old, &aside)
            .map_err(|cause| named("cannot put the output in place", cause, &self.target))?;
        if sync == Sync::Disk {
            sync_directory_of(&self.target);
        }
        Ok(())
    }
}

fn look(target: &Path, overwrite: Overwrite) -> Result<Old> {
    let refuse = |detail: &'static str| Err(Error::usage(detail).in_file(target.display().to_string()));
    let failed = |cause| named("cannot look at the output", cause, target);
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Old::Nothing),
        Err(cause) => return Err(failed(cause)),
        Ok(there) if !there.is_dir() => return refuse("the output exists and is no folder"),
        Ok(_) => {}
    }
    let mut members = fs::read_dir(target).map_err(failed)?.peekable();
    if members.peek().is_none() {
        return Ok(Old::Empty);
    }
    if overwrite == Overwrite::Refuse {
        return refuse("the output exists and is not empty");
    }
    for member in members {
        let name = member.map_err(failed)?.file_name();
        if !matches!(name.to_str(), Some("zds.json" | "collections" | "metadata" | ".zds")) {
            let detail = format!("the output is not replaced: it holds {name:?}, which is none of a store's");
            return Err(Error::usage(detail).in_file(target.display().to_string()));
        }
    }
    Ok(Old::Store)
}

/// Moves the new store into its place, and an old one out of it: that goes with the temporary folder.
fn place(store: &Path, target: &Path, old: Old, aside: &Path) -> io::Result<()> {
    match old {
        Old::Nothing => {
            // Renaming replaces an empty folder, or on some systems a file: what has come meanwhile stays.
            if fs::symlink_metadata(target).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        Old::Empty => fs::remove_dir(target)?,
        Old::Store => fs::rename(target, aside)?,
    }
    fs::rename(store, target).inspect_err(|_| {
        // As it was before; if this fails, too, there is nothing else to try, and the first error is told.
        let _ = match old {
            Old::Nothing => Ok(()),
            Old::Empty => fs::create_dir(target),
            Old::Store => fs::rename(aside, target),
        };
    })
}

fn named(doing: &'static str, cause: io::Error, path: &Path) -> Error {
    Error::io(doing, cause).in_format(FORMAT_NAME).in_file(path.display().to_string())
}
