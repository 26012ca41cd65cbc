use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::with_std::names::{directory, rename_new};
use crate::with_std::sys;
use crate::with_std::temporary::{Temporary, uninterrupted};

/// What to do if the output already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Overwrite {
    /// Fail, both when the output is created and when it is moved into place.
    #[default]
    Refuse,
    /// Replace it atomically once the new file is complete.
    Replace,
}

/// Whether data must reach the disk before the file gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Sync the file and its directory: after a power failure the file is complete or absent.
    #[default]
    Disk,
    /// Do not sync: complete or absent if the process dies, but not if the machine does. For large numbers of small files.
    Never,
}

/// Options for [`Output::create`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub struct OutputOptions {
    /// What to do if the file already exists.
    pub overwrite: Overwrite,
    /// Whether to sync to disk.
    pub sync: SyncPolicy,
}

impl OutputOptions {
    /// Replaces [`overwrite`](Self::overwrite).
    #[must_use]
    pub const fn with_overwrite(mut self, overwrite: Overwrite) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Replaces [`sync`](Self::sync).
    #[must_use]
    pub const fn with_sync(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }
}

/// A file that is written atomically: data goes to a temporary file in the same directory, which [`finish`](Self::finish) syncs and renames.
///
/// Dropping an `Output` without `finish` removes the temporary file and leaves an existing file untouched. Writes are unbuffered.
///
/// A killed process leaves its temporary file, `.wharf-HHHHHHHH-RRRRRRRRRRRRRRRR.tmp` with hexadecimal digits. The next process that creates
/// an output in the directory removes it; files of running processes are never removed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::Write;
/// use container_core::{Output, OutputOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("numbers.txt");
/// let mut output = Output::create(&path, OutputOptions::default())?;
/// output.write_all(b"1 2 3\n")?;
/// assert!(!path.exists());
/// output.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"1 2 3\n");
/// # Ok(())
/// # }
/// ```
#[must_use = "without finish() the file does not appear"]
#[derive(Debug)]
pub struct Output {
    temporary: Temporary,
    file: File,
    /// The path as given, and with symbolic links resolved.
    named: PathBuf,
    target: PathBuf,
    options: OutputOptions,
    /// The mode of the replaced file.
    replaced: Option<u32>,
    failed: bool,
}

impl Output {
    /// Creates the temporary file for an output at `path`. A symbolic link is kept, and its target replaced.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if `path` exists and may not be replaced, or is not a regular file;
    /// [`Io`](crate::ErrorKind::Io) if no file can be created in its directory.
    pub fn create(path: impl Into<PathBuf>, options: OutputOptions) -> Result<Self> {
        let named: PathBuf = path.into();
        let target = Self::destination(&named)?;
        let replaced = target.symlink_metadata().ok();
        if replaced.is_some() && options.overwrite == Overwrite::Refuse {
            return Err(exists(&named));
        }
        let replaced = replaced.filter(fs::Metadata::is_file).as_ref().and_then(sys::mode_of);
        // The working directory may change before finish().
        let target = std::path::absolute(&target).unwrap_or(target);
        // A new file gets the default mode, reduced by the umask. A replaced file keeps its mode, which finish() sets; until then the owner
        // needs to read and write.
        let mode = replaced.map_or(0o666, |mode: u32| mode | 0o600);
        let (temporary, file) = Temporary::file(directory(&target), mode)
            .map_err(|cause| Error::io("cannot create the output", cause).in_file(named.display().to_string()))?;
        Ok(Self { temporary, file, named, target, options, replaced, failed: false })
    }

    /// The file that an output at `path` replaces or creates: the target of a symbolic link, otherwise `path`.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) for a directory, and for everything else that is not a regular file: a rename would destroy a
    /// device, pipe or socket, or the link to one.
    pub fn destination(path: &Path) -> Result<PathBuf> {
        // A link to nothing is replaced itself.
        let Ok(there) = path.metadata() else { return Ok(path.to_owned()) };
        let refuse = |detail: &'static str| Err(Error::usage(detail).in_file(path.display().to_string()));
        if there.is_dir() {
            return refuse("the output is a directory");
        }
        // Links of `/proc` have targets without a path.
        let target = if path.is_symlink() { path.canonicalize().ok() } else { Some(path.to_owned()) };
        match target {
            Some(target) if there.is_file() => Ok(target),
            _ => refuse("the output exists and is not a regular file"),
        }
    }

    /// The path of the output, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.named
    }

    /// The temporary file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    #[cfg(test)]
    pub(crate) fn temporary_path(&self) -> &Path {
        self.temporary.path()
    }

    /// Opens the data written so far for reading, to check it before [`finish`](Self::finish). Later writes may be visible.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the temporary file cannot be opened.
    pub fn read_back(&self) -> Result<crate::Source> {
        let failed = |cause| Error::io("cannot read back what was written", cause);
        let file = File::open(self.temporary.path()).map_err(failed)?;
        crate::Source::from_file(file).map_err(|error| error.in_file(self.named.display().to_string()))
    }

    /// Syncs the file and moves it into place.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io); [`Usage`](crate::ErrorKind::Usage) if an earlier write failed, if the target has been created meanwhile
    /// and may not be replaced, or in a forked child. An existing file is unchanged after an error.
    pub fn finish(self) -> Result<()> {
        let Self { mut temporary, file, named, target, options, replaced, failed } = self;
        let name = || named.display().to_string();
        temporary.owner.check().map_err(|error| error.in_file(name()))?;
        if failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed").in_file(name()));
        }
        if let Some(mode) = replaced {
            // Usually the mode is right already, and reading it is cheaper than setting it. Failure is ignored: some file systems have no modes.
            if file.metadata().ok().as_ref().and_then(sys::mode_of) != replaced {
                sys::set_mode(&file, mode);
            }
        }
        if options.sync == SyncPolicy::Disk {
            file.sync_all().map_err(|cause| Error::io("cannot sync the output", cause).in_file(name()))?;
        }
        let placed = uninterrupted(|| {
            match options.overwrite {
                Overwrite::Replace => fs::rename(temporary.path(), &target)?,
                Overwrite::Refuse => rename_new(temporary.path(), &target)?,
            }
            temporary.release();
            Ok(())
        });
        match placed {
            // Closing is not enough for those who lock the file next: a child that another thread is forking has a copy of the handle until it
            // calls `exec`.
            Ok(()) => drop(file.unlock()),
            Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => return Err(exists(&named)),
            Err(cause) => return Err(Error::io("cannot move the output into place", cause).in_file(name())),
        }
        if options.sync == SyncPolicy::Disk {
            sys::sync_directory(directory(&target));
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A buffer that a forked child drops must not be written twice.
        let owned = self.temporary.owner.check().map_err(io::Error::other);
        let written = owned.and_then(|()| self.file.write(bytes));
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.failed = true;
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// For formats whose header is written last.
impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = self.file.seek(to);
        self.failed |= moved.is_err();
        moved
    }
}

pub(crate) fn exists(target: &Path) -> Error {
    Error::usage("the output exists").in_file(target.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn leftovers(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn finishing_unlocks_despite_a_copied_handle() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let output = Output::create(&path, OutputOptions::default()).unwrap();
        let copy = output.file.try_clone().unwrap();
        assert!(copy.try_lock().is_ok(), "the same handle");
        output.finish().unwrap();
        assert!(File::open(&path).unwrap().try_lock().is_ok());
        drop(copy);
    }

    #[test]
    fn drop_keeps_the_existing_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "old").unwrap();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
        let mut output = Output::create(&path, options).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(leftovers(directory.path()), 1);
    }

    #[test]
    fn existing_file_is_refused_on_create_and_finish() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let mut output = Output::create(&path, OutputOptions::default()).unwrap();
        output.write_all(b"late").unwrap();
        fs::write(&path, "old").unwrap();
        let error = output.finish().unwrap_err();
        assert!(error.to_string().ends_with("a: the output exists"), "{error}");
        assert!(Output::create(&path, OutputOptions::default()).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(leftovers(directory.path()), 1);
    }

    #[test]
    fn a_forked_child_leaves_the_file_to_its_parent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let child_of = |output: &mut Output| output.temporary.owner = crate::with_std::owner::Owner::other();
        let mut output = Output::create(&path, OutputOptions::default()).unwrap();
        let temporary = output.temporary_path().to_owned();
        child_of(&mut output);
        assert!(output.write_all(b"twice").unwrap_err().to_string().contains("a forked process cannot write to it"));
        assert_eq!(fs::read(&temporary).unwrap(), b"");
        drop(output);
        assert_eq!(leftovers(directory.path()), 1);
        let mut output = Output::create(&path, OutputOptions::default()).unwrap();
        child_of(&mut output);
        assert!(output.finish().unwrap_err().to_string().contains("a forked process cannot write to it"));
        assert_eq!((path.exists(), leftovers(directory.path())), (false, 2));
    }

    #[test]
    fn replaces_on_request() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "old").unwrap();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
        let mut output = Output::create(&path, options).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}

#[cfg(all(test, unix))]
mod unix_tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::tests::leftovers;
    use super::*;

    #[test]
    fn missing_directory_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such.txt");
        let error = Output::create(&path, OutputOptions::default()).unwrap_err().to_string();
        let expected = format!("{}: cannot create the output: No such file or directory (os error 2)", path.display());
        assert_eq!(error, expected);
    }

    #[test]
    fn never_replaces_special_files() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("socket"), directory.path().join("link"));
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        symlink(&path, &link).unwrap();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
        // Its target has no path.
        let unnamed = directory.path().join("unnamed");
        let (_one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        symlink(format!("/proc/self/fd/{}", other.as_raw_fd()), &unnamed).unwrap();
        for name in [&path, &link, &unnamed] {
            if name.exists() {
                let error = Output::create(name, options).unwrap_err();
                assert!(error.to_string().ends_with("the output exists and is not a regular file"), "{error}");
            }
        }
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
        assert_eq!(leftovers(directory.path()), 3);
    }

    #[test]
    fn keeps_default_mode_and_symlinks() {
        let directory = tempfile::tempdir().unwrap();
        let (plain, ours, link) =
            (directory.path().join("plain"), directory.path().join("ours"), directory.path().join("link"));
        fs::write(&plain, "").unwrap();
        Output::create(&ours, OutputOptions::default()).unwrap().finish().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&plain), mode(&ours));
        symlink(&ours, &link).unwrap();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
        let mut output = Output::create(&link, options).unwrap();
        output.write_all(b"through").unwrap();
        output.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&ours).unwrap(), b"through");
        // Independent of the umask; a read-only file is writable by its owner until it is finished.
        for expected in [0o666, 0o600, 0o444] {
            fs::set_permissions(&ours, fs::Permissions::from_mode(expected)).unwrap();
            let output = Output::create(&ours, options).unwrap();
            let before_finish = output.file().metadata().unwrap().permissions().mode();
            assert_eq!((before_finish & 0o600, before_finish & 0o177 & !expected), (0o600, 0), "{expected:o}");
            output.finish().unwrap();
            assert_eq!(mode(&ours) & 0o777, expected);
        }
    }
}
