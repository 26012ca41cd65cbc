use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::with_std::names::{directory, rename_new, sync_directory};
use crate::with_std::sys;
use crate::with_std::temporary::{Temporary, uninterrupted};

/// What happens when the output already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Overwrite {
    /// Refuse, when the output is created and again when it is put in place.
    #[default]
    Refuse,
    /// Replace it, at the moment the new file is whole.
    Replace,
}

/// Whether the bytes must have reached the disk before the file gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum SyncPolicy {
    /// Sync the file and then its directory: after a power cut the file is whole or absent.
    #[default]
    Disk,
    /// Do not sync: whole or absent when the process dies, not when the machine does. For very many small files.
    Never,
}

/// How an [`Output`] is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub struct OutputOptions {
    /// What happens when the file exists.
    pub overwrite: Overwrite,
    /// Whether to wait for the disk.
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

/// A file that appears whole or not at all: a temporary sibling, written, synced, renamed by [`finish`](Self::finish).
///
/// Dropped without `finish`, it leaves what was there before, and no temporary file. Writes are not buffered.
///
/// A process that is killed leaves its temporary file, `.wharf-HHHHHHHH-RRRRRRRRRRRRRRRR.tmp` with hexadecimal digits. The next process that
/// makes an output in the folder removes it. It never removes that of a process that lives.
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
    /// The file as it was named, and the one that this leads to.
    named: PathBuf,
    target: PathBuf,
    options: OutputOptions,
    /// The mode of the file that is replaced.
    replaced: Option<u32>,
    failed: bool,
}

impl Output {
    /// Begins a file that will appear at `path`.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) when it exists and may not be replaced, or is a directory, a device or a pipe;
    /// [`Io`](crate::ErrorKind::Io) when no file can be created beside it.
    pub fn create(path: impl Into<PathBuf>, options: OutputOptions) -> Result<Self> {
        let named: PathBuf = path.into();
        let mut target = named.clone();
        let mut there = target.symlink_metadata().ok();
        // A link stays a link: the file it leads to is the one that is replaced.
        if there.as_ref().is_some_and(fs::Metadata::is_symlink)
            && let Ok(real) = target.canonicalize()
        {
            there = real.metadata().ok();
            target = real;
        }
        match &there {
            None => {}
            Some(there) if there.is_dir() => {
                return Err(Error::usage("the output is a directory").in_file(named.display().to_string()));
            }
            Some(_) if options.overwrite == Overwrite::Refuse => return Err(exists(&named)),
            // A device, a pipe or a socket would be gone: a file cannot be written beside them and take their place.
            Some(there) if !there.is_file() && !there.is_symlink() => {
                return Err(
                    Error::usage("the output exists and is not a regular file").in_file(named.display().to_string())
                );
            }
            Some(_) => {}
        }
        let replaced = there.filter(fs::Metadata::is_file).as_ref().and_then(sys::mode_of);
        // The program may change its folder before the file is finished.
        target = std::path::absolute(&target).unwrap_or(target);
        // What a plain creation gives: the process's mask takes its part. A replaced file keeps its mode; until then it is ours
        // to be read back, even where nobody may write the old one.
        let mode = replaced.map_or(0o666, |mode: u32| mode | 0o600);
        let (temporary, file) = Temporary::file(directory(&target), mode)
            .map_err(|cause| Error::io("cannot create the output", cause).in_file(named.display().to_string()))?;
        Ok(Self { temporary, file, named, target, options, replaced, failed: false })
    }

    /// Where the file will appear, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.named
    }

    /// The temporary file, for reading back what was written.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    #[cfg(test)]
    pub(crate) fn temporary_path(&self) -> &Path {
        self.temporary.path()
    }

    /// What has been written so far, to be checked before it gets its name. Later writes may be seen.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io).
    pub fn read_back(&self) -> Result<crate::Source> {
        let failed = |cause| Error::io("cannot read back what was written", cause);
        let file = File::open(self.temporary.path()).map_err(failed)?;
        crate::Source::from_file(file).map_err(|error| error.in_file(self.named.display().to_string()))
    }

    /// Syncs the file and gives it its name.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io), and [`Usage`](crate::ErrorKind::Usage) when a write failed before or when the target has
    /// come into being meanwhile and may not be replaced. After an error the old file is as it was.
    pub fn finish(self) -> Result<()> {
        let Self { mut temporary, file, named, target, options, replaced, failed } = self;
        let name = || named.display().to_string();
        if failed {
            return Err(Error::usage("the output is not whole: a write to it failed before").in_file(name()));
        }
        if let Some(mode) = replaced {
            // The mask of the process may have taken something, and our own right to read may be too much: mostly neither, and asking
            // costs less than setting. Some file systems have no such modes: what is written is whole all the same.
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
            Ok(()) => {}
            Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => return Err(exists(&named)),
            Err(cause) => return Err(Error::io("cannot put the output in place", cause).in_file(name())),
        }
        if options.sync == SyncPolicy::Disk {
            sync_directory(directory(&target));
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.failed = true;
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// For formats whose beginning is known last.
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

    fn leftovers(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_folder_that_is_missing_is_said_in_a_few_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such.txt");
        let error = Output::create(&path, OutputOptions::default()).unwrap_err().to_string();
        let wanted = format!("{}: cannot create the output: No such file or directory (os error 2)", path.display());
        assert!(error == wanted || cfg!(not(unix)), "{error}");
    }

    #[test]
    fn dropped_output_leaves_the_old_file() {
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
    fn an_existing_file_is_refused_early_and_late() {
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
    fn replacing_needs_to_be_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "old").unwrap();
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(SyncPolicy::Never);
        let mut output = Output::create(&path, options).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    mod unix {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

        use super::*;

        #[test]
        fn what_is_no_file_is_never_replaced() {
            let directory = tempfile::tempdir().unwrap();
            let (path, link) = (directory.path().join("socket"), directory.path().join("link"));
            let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
            symlink(&path, &link).unwrap();
            let options = OutputOptions::default().with_overwrite(Overwrite::Replace);
            for name in [&path, &link] {
                let error = Output::create(name, options).unwrap_err();
                assert!(error.to_string().ends_with("the output exists and is not a regular file"), "{error}");
            }
            assert!(fs::metadata(&path).unwrap().file_type().is_socket());
            assert_eq!(leftovers(directory.path()), 2);
        }

        #[test]
        fn the_mode_is_that_of_a_plain_create_and_a_link_stays_a_link() {
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
            // Whatever the mask would make of it; and what nobody may write is ours while it is written.
            for wanted in [0o666, 0o600, 0o444] {
                fs::set_permissions(&ours, fs::Permissions::from_mode(wanted)).unwrap();
                let output = Output::create(&ours, options).unwrap();
                let meanwhile = output.file().metadata().unwrap().permissions().mode();
                assert_eq!((meanwhile & 0o600, meanwhile & 0o177 & !wanted), (0o600, 0), "{wanted:o}");
                output.finish().unwrap();
                assert_eq!(mode(&ours) & 0o777, wanted);
            }
        }
    }
}
