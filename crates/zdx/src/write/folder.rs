//! An open directory of a store. The writer opens, creates, replaces and removes all files through one.
//!
//! A store may come from an archive or repository made by somebody else. A symbolic link in it could redirect a write to any of the user's
//! files, and a pipe could block it. Therefore files are named by a single component relative to an open directory, and only regular files are
//! touched. The store's root is the exception: the user names it, and it may be a link.
//!
//! Hard links: a file that is replaced or removed may have other names, which keep the old contents. A file that is modified in place (the data,
//! the lock) must not, as its other names would change, too.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{Error, RegisteredTemporary, Result, SyncPolicy, uninterrupted};

use crate::sys;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: sys::Handle,
    path: PathBuf,
}

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file, with its permissions.
    File(sys::Bits),
    Folder,
    Link,
    Special,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    /// For reading and appending.
    Append,
    /// As `Append`, but created if missing.
    AppendOrCreate,
    /// For reading and overwriting, created if missing.
    WriteOrCreate,
    /// For writing, with these permissions; fails if it exists.
    CreateNew(sys::Bits),
}

impl Mode {
    const fn changes_in_place(self) -> bool {
        matches!(self, Self::Append | Self::AppendOrCreate | Self::WriteOrCreate)
    }
}

impl Folder {
    /// Opens a directory given by the user, which may be a link.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn root(path: &Path) -> Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match sys::open_root(path) {
            Ok(handle) => Ok(Self { handle, path: path.to_owned() }),
            Err(cause) => Err(Error::io("cannot open the directory", cause).in_file(path.display().to_string())),
        }
    }

    /// The path of an entry, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn failed(&self, doing: impl Into<container_core::Text>, cause: io::Error, name: &str) -> Error {
        Error::io(doing, cause).in_file(self.path(name).display().to_string())
    }

    /// The kind of an entry; an error for links and special files.
    fn kind(&self, name: &str) -> Result<Option<Kind>> {
        let kind = match sys::kind(&self.handle, &self.path, name) {
            Ok(kind) => kind,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(self.failed("cannot open", cause, name)),
        };
        match kind {
            Kind::Link => Err(self.refuse("a symbolic link: stores are written only through regular files", name)),
            Kind::Special => Err(self.refuse("not a regular file", name)),
            kind => Ok(Some(kind)),
        }
    }

    fn refuse(&self, detail: &'static str, name: &str) -> Error {
        Error::unsupported(detail).in_file(self.path(name).display().to_string())
    }

    /// Whether an entry exists.
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for links and special files; [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn contains(&self, name: &str) -> Result<bool> {
        self.kind(name).map(|kind| kind.is_some())
    }

    /// Opens a subdirectory; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn folder(&self, name: &str) -> Result<Option<Self>> {
        match self.kind(name)? {
            None => Ok(None),
            Some(Kind::Folder) => match sys::open_folder(&self.handle, &self.path, name) {
                Ok(handle) => Ok(Some(Self { handle, path: self.path(name) })),
                Err(cause) => Err(self.failed("cannot open the directory", cause, name)),
            },
            Some(_) => Err(self.refuse("not a directory", name)),
        }
    }

    /// Opens a subdirectory, created if missing.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn make_folder(&self, name: &str) -> Result<Self> {
        match sys::make_folder(&self.handle, &self.path, name) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                return Err(self.failed("cannot create the directory", cause, name));
            }
            _ => {}
        }
        let missing = || self.failed("cannot create the directory", io::ErrorKind::NotFound.into(), name);
        self.folder(name)?.ok_or_else(missing)
    }

    /// Opens a regular file; `None` if it does not exist and is not created.
    ///
    /// # Errors
    /// As [`contains`](Self::contains), and [`Unsupported`](container_core::ErrorKind::Unsupported) for a file with several hard links if it
    /// would be modified in place.
    pub(crate) fn open(&self, name: &str, mode: Mode) -> Result<Option<File>> {
        let is_regular = |kind: Option<Kind>| match kind {
            Some(Kind::Folder) => Err(self.refuse("not a regular file", name)),
            _ => Ok(()),
        };
        is_regular(self.kind(name)?)?;
        let file = match sys::open_file(&self.handle, &self.path, name, mode) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Report a link or special file that has taken the name in the meantime.
            Err(cause) => return Err(self.kind(name).err().unwrap_or_else(|| self.failed("cannot open", cause, name))),
        };
        let metadata = file.metadata().map_err(|cause| self.failed("cannot open", cause, name))?;
        if !metadata.is_file() {
            return Err(self.refuse("not a regular file", name));
        }
        if mode.changes_in_place() && sys::name_count(&metadata) > 1 {
            let detail = "the file has other hard links, which would change with it; write to a copy";
            return Err(self.refuse(detail, name));
        }
        Ok(Some(file))
    }

    /// Atomically replaces a file: writes a temporary file with the permissions of the existing one, syncs it if requested, and renames it. On
    /// error the temporary file is removed.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of `write`.
    /// As [`open`](Self::open), and those of `write`.
    pub(crate) fn replace(
        &self,
        name: &str,
        sync: SyncPolicy,
        write: impl FnOnce(&mut File) -> Result<()>,
    ) -> Result<()> {
        let replaced = match self.kind(name)? {
            Some(Kind::File(mode)) => Some(mode),
            Some(_) => return Err(self.refuse("not a regular file", name)),
            None => None,
        };
        let (mut file, temporary) = self.temporary(replaced)?;
        write(&mut file)?;
        if sync == SyncPolicy::Disk {
            file.sync_all().map_err(|cause| self.failed("cannot sync the output", cause, name))?;
        }
        drop(file);
        let placed = uninterrupted(|| {
            sys::rename(&self.handle, &self.path, &temporary.name, &self.handle, &self.path, name)?;
            temporary.keep();
            Ok(())
        });
        placed.map_err(|cause| self.failed("cannot move the output into place", cause, name))?;
        if sync == SyncPolicy::Disk {
            self.sync();
        }
        Ok(())
    }

    /// Creates a file with a unique name, that we can read and write, with the given or default permissions.
    fn temporary(&self, mode: Option<sys::Bits>) -> Result<(File, Temporary<'_>)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".wharf-{:x}-{count:x}.tmp", std::process::id());
            let bits = mode.map_or(sys::NEW_FILE, sys::with_owner_access);
            let created = uninterrupted(|| {
                let file = sys::open_file(&self.handle, &self.path, &name, Mode::CreateNew(bits))?;
                Ok((file, RegisteredTemporary::new(self.path(&name))))
            });
            match created {
                Ok((file, unfinished)) => {
                    let temporary = Temporary { folder: self, name, _unfinished: unfinished, is_kept: false };
                    if let Some(mode) = mode {
                        sys::set_mode(&file, mode);
                    }
                    return Ok((file, temporary));
                }
                // Left behind by a dead process with the same id.
                Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(self.failed("cannot create a temporary file", cause, &name)),
            }
        }
    }

    /// Renames an entry, possibly into another directory, replacing an existing file.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<()> {
        self.kind(name)?;
        to.kind(new_name)?;
        let renamed = sys::rename(&self.handle, &self.path, name, &to.handle, &to.path, new_name);
        renamed.map_err(|cause| to.failed("cannot move it into place", cause, new_name))
    }

    /// Removes a regular file, if it exists.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match self.kind(name)? {
            None => return Ok(()),
            Some(Kind::Folder) => return Err(self.refuse("not a regular file", name)),
            Some(_) => {}
        }
        match sys::remove(&self.handle, &self.path, name) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(self.failed("cannot remove", cause, name)),
            _ => Ok(()),
        }
    }

    /// Removes a subdirectory with all its contents. Links in it are removed, not followed.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn remove_folder(&self, name: &str) -> Result<()> {
        if self.kind(name)?.is_none() {
            return Ok(());
        }
        let removed = std::fs::remove_dir_all(self.path(name));
        removed.map_err(|cause| self.failed("cannot remove the directory", cause, name))
    }

    /// Names of the entries that begin with `prefix`.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let failed = |cause| self.failed("cannot read the directory", cause, "");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            names.extend(name.to_str().filter(|name| name.starts_with(prefix)).map(str::to_owned));
        }
        Ok(names)
    }

    /// Syncs the directory's entries to disk. Ignores errors, as some file systems do not support it.
    pub(crate) fn sync(&self) {
        sys::sync(&self.handle);
    }

    /// Whether the path still leads to this directory.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        sys::is_at(&self.handle, path)
    }

    /// Whether this file still has the name.
    pub(crate) fn is_named(&self, file: &File, name: &str) -> bool {
        sys::is_named(&self.handle, file, name)
    }
}

/// A temporary file, removed unless kept.
struct Temporary<'f> {
    folder: &'f Folder,
    name: String,
    _unfinished: RegisteredTemporary,
    is_kept: bool,
}

impl Temporary<'_> {
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            // The next writer removes it otherwise.
            let _ = sys::remove(&self.folder.handle, &self.folder.path, &self.name);
        }
    }
}
