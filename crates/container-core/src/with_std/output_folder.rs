//! A folder that appears whole or not at all, for containers that are folders.
//!
//! It is made in a temporary folder `T` beside its place, as `T/new/NAME`. What a kill leaves, step by step:
//!
//! 1. *It is being made:* `T` without a lock, and at the place what was there before. The next process removes `T`.
//! 2. *Nothing was at the place, or an empty folder:* one rename. Before it, see 1; after it, the new folder is in place, and `T` is empty.
//! 3. *A folder is replaced:* one exchange of both names (`renameat2` with `RENAME_EXCHANGE`). Before it, see 1; after it, the new folder is
//!    in place and `T/new/NAME` is the old one. That is removed with `T` once the exchange is on the disk, by this process or the next.
//! 4. *A folder is replaced where names cannot be exchanged (NFS, older systems):* two renames, `NAME` to `T/old/NAME` and `T/new/NAME` to
//!    `NAME`. Between them nothing is at the place, and both folders are in `T`. The next process that writes into the folder sees both, and
//!    moves the old one back. With `T/old/NAME` alone the new folder is in place, and `T` is removed. If something else has taken
//!    the place meanwhile, `T` stays, and nothing is lost.
//!
//! A power cut: whoever calls [`commit`](OutputFolder::commit) has the new folder on the disk by then. Moves are on the disk before anything
//! is removed, so that one of the above holds after a power cut as well.
//!
//! A signal waits for steps 2 to 4 ([`uninterrupted`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::with_std::names::{NEW, OLD, directory, rename_new, sync_directory};
use crate::with_std::output::{Overwrite, SyncPolicy, exists};
use crate::with_std::sys;
use crate::with_std::temporary::{Temporary, uninterrupted};

/// A folder beside its place, in which something is made; [`commit`](Self::commit) moves it into place. Dropped before that, it is gone.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::{OutputFolder, Overwrite, SyncPolicy};
/// # let directory = tempfile::tempdir()?;
/// let target = directory.path().join("trees");
/// let output = OutputFolder::create(&target)?;
/// std::fs::write(output.path().join("oak"), "23 m")?;
/// assert!(!target.exists());
/// output.commit(Overwrite::Refuse, SyncPolicy::Disk)?;
/// assert_eq!(std::fs::read_to_string(target.join("oak"))?, "23 m");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "without commit() the folder does not appear"]
pub struct OutputFolder {
    target: PathBuf,
    new: PathBuf,
    temporary: Temporary,
}

impl OutputFolder {
    /// Makes an empty folder of the same name beside `target`. What is there is looked at by [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a path that ends in no name, such as `..`; [`Io`](crate::ErrorKind::Io).
    pub fn create(target: &Path) -> Result<Self> {
        let in_file = |error: Error| error.in_file(target.display().to_string());
        let failed = |cause| in_file(Error::io("cannot create the output", cause));
        let Some(name) = target.file_name() else {
            return Err(in_file(Error::usage("the output needs a path that ends in a name")));
        };
        // The program may change its folder before the commit.
        let beside = std::path::absolute(directory(target)).map_err(failed)?;
        let temporary = Temporary::folder(&beside).map_err(failed)?;
        let new = temporary.path().join(NEW).join(name);
        uninterrupted(|| fs::create_dir_all(&new)).map_err(failed)?;
        Ok(Self { target: beside.join(name), new, temporary })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.new
    }

    /// Moves it into place, where nothing or an empty folder is, or a folder that is to be replaced and is removed then. What is in the new
    /// one has to be on the disk already, where that matters.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) when something is there that may not be replaced; [`Io`](crate::ErrorKind::Io). What was there is
    /// there after an error, too. If even that cannot be restored, it stays beside its place, and the error says where.
    pub fn commit(self, overwrite: Overwrite, sync: SyncPolicy) -> Result<()> {
        self.place(overwrite, sync).map(drop)
    }

    /// The same, for several outputs that appear together or not at all: what was there is kept until what this returns is dropped.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn place(mut self, overwrite: Overwrite, sync: SyncPolicy) -> Result<PlacedFolder> {
        uninterrupted(|| {
            let how = self.move_in(overwrite)?;
            if sync == SyncPolicy::Disk {
                sync_directory(directory(&self.target));
            }
            Ok(PlacedFolder { folder: self, how })
        })
    }

    fn move_in(&mut self, overwrite: Overwrite) -> Result<How> {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
        if !cfg!(unix) {
            let _ = fs::remove_dir(&self.target); // only an empty one goes; elsewhere the rename below replaces it
        }
        let mut placed = rename_new(&self.new, &self.target);
        if placed.as_ref().is_err_and(|cause| cause.kind() == AlreadyExists) {
            // Only an empty folder is replaced by a folder.
            placed = fs::rename(&self.new, &self.target);
        }
        let Err(cause) = placed else { return Ok(How::New) };
        match (cause.kind(), overwrite) {
            (AlreadyExists | DirectoryNotEmpty, Overwrite::Replace) => self.replace(),
            (AlreadyExists | DirectoryNotEmpty | NotADirectory, _) => Err(exists(&self.target)),
            _ => Err(self.failed(cause)),
        }
    }

    fn replace(&mut self) -> Result<How> {
        match sys::exchange(&self.new, &self.target) {
            None => self.replace_in_two_steps(),
            Some(exchanged) => exchanged.map(|()| How::Exchanged).map_err(|cause| self.failed(cause)),
        }
    }

    fn replace_in_two_steps(&mut self) -> Result<How> {
        let aside = self.temporary.path().join(OLD);
        fs::create_dir(&aside).map_err(|cause| self.failed(cause))?;
        let aside = aside.join(self.target.file_name().unwrap_or_default()); // it has one: see `create`
        fs::rename(&self.target, &aside).map_err(|cause| self.failed(cause))?;
        let Err(cause) = fs::rename(&self.new, &self.target) else { return Ok(How::Aside) };
        let error = self.failed(cause);
        match rename_new(&aside, &self.target) {
            Ok(()) => Err(error),
            Err(_) => {
                self.temporary.release();
                let detail = format!("cannot put the output in place, and the old one is now {}", aside.display());
                Err(Error::new(crate::ErrorKind::Io, detail)
                    .in_file(self.target.display().to_string())
                    .caused_by(error))
            }
        }
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::io("cannot put the output in place", cause).in_file(self.target.display().to_string())
    }
}

/// A folder that is in place. What it has replaced is removed when this is dropped.
#[derive(Debug)]
pub struct PlacedFolder {
    folder: OutputFolder,
    how: How,
}

/// How a folder came into place.
#[derive(Debug, Clone, Copy)]
enum How {
    New,
    /// The old one has the name of the new one.
    Exchanged,
    /// The old one was moved aside before.
    Aside,
}

impl PlacedFolder {
    /// Takes the folder away again, and puts back what it has replaced.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): the new folder is still in place, or what it has replaced is beside it.
    pub fn undo(self) -> Result<()> {
        let Self { mut folder, how } = self;
        uninterrupted(|| match how {
            How::New => fs::rename(&folder.target, &folder.new).map_err(|cause| folder.failed(cause)),
            How::Exchanged => folder.replace().map(drop),
            How::Aside => {
                let aside = folder.temporary.path().join(OLD).join(folder.target.file_name().unwrap_or_default());
                fs::rename(&folder.target, &folder.new).and_then(|()| rename_new(&aside, &folder.target)).map_err(
                    |cause| {
                        folder.temporary.release();
                        folder.failed(cause)
                    },
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(target: &Path, text: &str) -> OutputFolder {
        let output = OutputFolder::create(target).unwrap();
        fs::write(output.path().join("text"), text).unwrap();
        output
    }

    #[test]
    fn what_is_there_stays_or_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a");
        let text = || fs::read_to_string(target.join("text")).unwrap();
        let count = || fs::read_dir(place.path()).unwrap().count();
        fs::create_dir(&target).unwrap();
        filled(&target, "in an empty folder").commit(Overwrite::Refuse, SyncPolicy::Disk).unwrap();
        assert_eq!((text().as_str(), count()), ("in an empty folder", 1));
        let error = filled(&target, "refused").commit(Overwrite::Refuse, SyncPolicy::Never).unwrap_err();
        assert!(error.to_string().ends_with("a: the output exists"), "{error}");
        assert_eq!((text().as_str(), count()), ("in an empty folder", 1));
        filled(&target, "replaced").commit(Overwrite::Replace, SyncPolicy::Never).unwrap();
        assert_eq!((text().as_str(), count()), ("replaced", 1));
        drop(filled(&target, "dropped"));
        assert_eq!((text().as_str(), count()), ("replaced", 1));
        // A file is never replaced by a folder.
        fs::write(place.path().join("b"), "").unwrap();
        let error =
            filled(&place.path().join("b"), "refused").commit(Overwrite::Replace, SyncPolicy::Never).unwrap_err();
        assert!(error.to_string().ends_with("b: the output exists"), "{error}");
        let error = OutputFolder::create(&place.path().join("..")).unwrap_err();
        assert!(error.to_string().ends_with("the output needs a path that ends in a name"), "{error}");
        assert_eq!(count(), 2);
    }

    #[test]
    fn names_that_cannot_be_exchanged_are_renamed_in_two_steps() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a");
        filled(&target, "old").commit(Overwrite::Refuse, SyncPolicy::Never).unwrap();
        let mut output = filled(&target, "new");
        output.replace_in_two_steps().unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(target.join("text")).unwrap(), "new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        // The second step fails: the old folder is back.
        let mut output = filled(&target, "lost");
        fs::remove_dir_all(output.path()).unwrap();
        let error = output.replace_in_two_steps().unwrap_err().to_string();
        assert!(error.contains("a: cannot put the output in place: "), "{error}");
        drop(output);
        assert_eq!(fs::read_to_string(target.join("text")).unwrap(), "new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
