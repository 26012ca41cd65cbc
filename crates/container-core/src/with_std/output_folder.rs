//! Folders that are written atomically, for containers that are directories.
//!
//! The folder is built as `T/new/NAME` in a temporary folder `T` beside its target. States a killed process leaves behind:
//!
//! 1. *While building:* `T` without a lock; the target is unchanged. The next process removes `T`.
//! 2. *Target absent or an empty folder:* one rename. Before it, see 1; after it, the new folder is in place and `T` is empty.
//! 3. *Replacing a folder:* one exchange of both names (`renameat2` with `RENAME_EXCHANGE`). Before it, see 1; after it, the new folder is in
//!    place and `T/new/NAME` is the old one, removed with `T` by this process or the next once the exchange is on disk.
//! 4. *Replacing a folder where names cannot be exchanged (NFS, older systems):* two renames, `NAME` to `T/old/NAME` and `T/new/NAME` to
//!    `NAME`. Between them the target is absent and both folders are in `T`; the next process that writes to the directory moves the old one
//!    back. If only `T/old/NAME` exists, the new folder is in place and `T` is removed. If something else has been created at the target
//!    meanwhile, `T` stays and nothing is lost.
//!
//! Power failure: callers of [`commit`](OutputFolder::commit) have synced the content of the new folder. Renames are synced before anything is
//! removed, so that one of the states above holds.
//!
//! Signals wait for steps 2 to 4 ([`uninterrupted`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::with_std::names::{NEW, OLD, directory, rename_new};
use crate::with_std::output::{Overwrite, SyncPolicy, exists};
use crate::with_std::sys;
use crate::with_std::temporary::{Temporary, uninterrupted};

/// A folder that is written atomically: it is filled at a temporary [`path`](Self::path), and [`commit`](Self::commit) moves it into place.
/// Dropping it without `commit` removes it.
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
    /// Creates an empty temporary folder in the directory of `target`. An existing target is checked by [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a path without a file name, such as `..`; [`Io`](crate::ErrorKind::Io).
    pub fn create(target: &Path) -> Result<Self> {
        let in_file = |error: Error| error.in_file(target.display().to_string());
        let failed = |cause| in_file(Error::io("cannot create the output", cause));
        let Some(name) = target.file_name() else {
            return Err(in_file(Error::usage("the output path has no file name")));
        };
        // The working directory may change before commit().
        let parent = std::path::absolute(directory(target)).map_err(failed)?;
        let temporary = Temporary::folder(&parent).map_err(failed)?;
        let new = temporary.path().join(NEW).join(name);
        uninterrupted(|| fs::create_dir_all(&new)).map_err(failed)?;
        Ok(Self { target: parent.join(name), new, temporary })
    }

    /// The temporary path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.new
    }

    /// Moves the folder into place. An empty folder at the target is always replaced, another one only with [`Overwrite::Replace`], and a file
    /// never. The caller syncs the content; `sync` concerns the rename.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if the target exists and may not be replaced; [`Io`](crate::ErrorKind::Io). The target is unchanged
    /// after an error; if restoring it fails, the error names its new location.
    pub fn commit(self, overwrite: Overwrite, sync: SyncPolicy) -> Result<()> {
        self.place(overwrite, sync).map(drop)
    }

    /// Like [`commit`](Self::commit), but keeps the replaced folder until the result is dropped, so that the move can be undone. For several
    /// outputs that must appear together.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn place(mut self, overwrite: Overwrite, sync: SyncPolicy) -> Result<PlacedFolder> {
        self.temporary.owner.check().map_err(|error| error.in_file(self.target.display().to_string()))?;
        uninterrupted(|| {
            let how = self.move_in(overwrite)?;
            if sync == SyncPolicy::Disk {
                sys::sync_directory(directory(&self.target));
            }
            Ok(PlacedFolder { folder: self, how })
        })
    }

    fn move_in(&mut self, overwrite: Overwrite) -> Result<How> {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
        if !sys::REPLACES_EMPTY_FOLDERS {
            let _ = fs::remove_dir(&self.target); // removes only an empty folder
        }
        let mut placed = rename_new(&self.new, &self.target);
        if placed.as_ref().is_err_and(|cause| cause.kind() == AlreadyExists) {
            // Renaming a folder replaces only an empty folder.
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
        let aside = aside.join(self.target.file_name().unwrap_or_default()); // checked by create()
        fs::rename(&self.target, &aside).map_err(|cause| self.failed(cause))?;
        let Err(cause) = fs::rename(&self.new, &self.target) else { return Ok(How::Aside) };
        let error = self.failed(cause);
        match rename_new(&aside, &self.target) {
            Ok(()) => Err(error),
            Err(_) => {
                self.temporary.release();
                let detail =
                    format!("cannot move the output into place; the previous one is now at {}", aside.display());
                Err(Error::new(crate::ErrorKind::Io, detail)
                    .in_file(self.target.display().to_string())
                    .caused_by(error))
            }
        }
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::io("cannot move the output into place", cause).in_file(self.target.display().to_string())
    }
}

/// An [`OutputFolder`] that was moved into place. Dropping it removes the folder it replaced.
#[derive(Debug)]
pub struct PlacedFolder {
    folder: OutputFolder,
    how: How,
}

/// How a folder was moved into place.
#[derive(Debug, Clone, Copy)]
enum How {
    New,
    /// The replaced folder now has the temporary name.
    Exchanged,
    /// The replaced folder was moved aside first.
    Aside,
}

impl PlacedFolder {
    /// Removes the folder again and restores the one it replaced.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): the new folder is still in place, or the replaced one remains under its temporary name.
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

    fn output_with(target: &Path, text: &str) -> OutputFolder {
        let output = OutputFolder::create(target).unwrap();
        fs::write(output.path().join("text"), text).unwrap();
        output
    }

    #[test]
    fn target_is_kept_or_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let text = || fs::read_to_string(target.join("text")).unwrap();
        let count = || fs::read_dir(directory.path()).unwrap().count();
        fs::create_dir(&target).unwrap();
        output_with(&target, "in an empty folder").commit(Overwrite::Refuse, SyncPolicy::Disk).unwrap();
        assert_eq!((text().as_str(), count()), ("in an empty folder", 1));
        let error = output_with(&target, "refused").commit(Overwrite::Refuse, SyncPolicy::Never).unwrap_err();
        assert!(error.to_string().ends_with("a: the output exists"), "{error}");
        assert_eq!((text().as_str(), count()), ("in an empty folder", 1));
        output_with(&target, "replaced").commit(Overwrite::Replace, SyncPolicy::Never).unwrap();
        assert_eq!((text().as_str(), count()), ("replaced", 1));
        drop(output_with(&target, "dropped"));
        assert_eq!((text().as_str(), count()), ("replaced", 1));
        // A folder never replaces a file.
        fs::write(directory.path().join("b"), "").unwrap();
        let error = output_with(&directory.path().join("b"), "refused")
            .commit(Overwrite::Replace, SyncPolicy::Never)
            .unwrap_err();
        assert!(error.to_string().ends_with("b: the output exists"), "{error}");
        let error = OutputFolder::create(&directory.path().join("..")).unwrap_err();
        assert!(error.to_string().ends_with("the output path has no file name"), "{error}");
        assert_eq!(count(), 2);
    }

    #[test]
    fn replaces_in_two_steps_without_exchange() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        output_with(&target, "old").commit(Overwrite::Refuse, SyncPolicy::Never).unwrap();
        let mut output = output_with(&target, "new");
        output.replace_in_two_steps().unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(target.join("text")).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        // If the second step fails, the old folder is restored.
        let mut output = output_with(&target, "lost");
        fs::remove_dir_all(output.path()).unwrap();
        let error = output.replace_in_two_steps().unwrap_err().to_string();
        assert!(error.contains("a: cannot move the output into place: "), "{error}");
        drop(output);
        assert_eq!(fs::read_to_string(target.join("text")).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
