//! A folder of a store, held open. Every file that the writer opens, creates, replaces or removes goes through one.
//!
//! A store may come out of an archive or a repository that somebody else made. A symbolic link in it could lead a write to any file of the
//! user, and a pipe could block it. So files are named by one component, relative to the open folder, and are only touched where they are
//! regular files. The root of the store is the exception: the user names it, and it may be a link.
//!
//! Hard links: a file that is replaced or removed may have other names, which keep the old content. A file that is written in place (the
//! data, the lock) may not: its other names would change with it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use container_core::{Error, RegisteredTemporary, Result, SyncPolicy, uninterrupted};

use crate::sys;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: sys::Handle,
    path: PathBuf,
}

/// What has a name in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file, and its mode.
    File(sys::Bits),
    Folder,
    Link,
    Special,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    /// Read, and written only behind its end.
    Append,
    /// The same, made where it is missing.
    AppendOrCreate,
    /// Read and overwritten, made where it is missing.
    WriteOrCreate,
    /// Written, and an error where it is there already; with this mode.
    CreateNew(sys::Bits),
}

impl Mode {
    const fn changes_in_place(self) -> bool {
        matches!(self, Self::Append | Self::AppendOrCreate | Self::WriteOrCreate)
    }
}

impl Folder {
    /// The folder that a user named; it may be a link to one.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn root(path: &Path) -> Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match sys::open_root(path) {
            Ok(handle) => Ok(Self { handle, path: path.to_owned() }),
            Err(cause) => Err(Error::io("cannot open the folder", cause).in_file(path.display().to_string())),
        }
    }

    /// The path of one of its files, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn failed(&self, doing: impl Into<container_core::Text>, cause: io::Error, name: &str) -> Error {
        Error::io(doing, cause).in_file(self.path(name).display().to_string())
    }

    /// What has this name; an error for a link and for what is neither file nor folder.
    fn kind(&self, name: &str) -> Result<Option<Kind>> {
        let kind = match sys::kind(&self.handle, &self.path, name) {
            Ok(kind) => kind,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(self.failed("cannot open", cause, name)),
        };
        match kind {
            Kind::Link => {
                Err(self.refused("it is a symbolic link; a store is written only through regular files", name))
            }
            Kind::Special => Err(self.refused("it is not a regular file", name)),
            kind => Ok(Some(kind)),
        }
    }

    fn refused(&self, detail: &'static str, name: &str) -> Error {
        Error::unsupported(detail).in_file(self.path(name).display().to_string())
    }

    /// Is there something of this name?
    ///
    /// # Errors
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) for a link and for what is neither file nor folder;
    /// [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn contains(&self, name: &str) -> Result<bool> {
        self.kind(name).map(|kind| kind.is_some())
    }

    /// A folder in this one; `None` where it does not exist.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn folder(&self, name: &str) -> Result<Option<Self>> {
        match self.kind(name)? {
            None => Ok(None),
            Some(Kind::Folder) => match sys::open_folder(&self.handle, &self.path, name) {
                Ok(handle) => Ok(Some(Self { handle, path: self.path(name) })),
                Err(cause) => Err(self.failed("cannot open the folder", cause, name)),
            },
            Some(_) => Err(self.refused("it is no folder", name)),
        }
    }

    /// A folder in this one, made where it is missing.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn make_folder(&self, name: &str) -> Result<Self> {
        match sys::make_folder(&self.handle, &self.path, name) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                return Err(self.failed("cannot make the folder", cause, name));
            }
            _ => {}
        }
        let missing = || self.failed("cannot make the folder", io::ErrorKind::NotFound.into(), name);
        self.folder(name)?.ok_or_else(missing)
    }

    /// A regular file; `None` where it does not exist and is not created.
    ///
    /// # Errors
    /// As [`contains`](Self::contains), and [`Unsupported`](container_core::ErrorKind::Unsupported) for a file that would be changed in
    /// place and has other names.
    pub(crate) fn open(&self, name: &str, mode: Mode) -> Result<Option<File>> {
        let is_regular = |kind: Option<Kind>| match kind {
            Some(Kind::Folder) => Err(self.refused("it is not a regular file", name)),
            _ => Ok(()),
        };
        is_regular(self.kind(name)?)?;
        let file = match sys::open_file(&self.handle, &self.path, name, mode) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            // What took its name meanwhile.
            Err(cause) => return Err(self.kind(name).err().unwrap_or_else(|| self.failed("cannot open", cause, name))),
        };
        let metadata = file.metadata().map_err(|cause| self.failed("cannot open", cause, name))?;
        if !metadata.is_file() {
            return Err(self.refused("it is not a regular file", name));
        }
        if mode.changes_in_place() && sys::name_count(&metadata) > 1 {
            let detail = "it has other names (hard links), which would change with it: a copy can be written";
            return Err(self.refused(detail, name));
        }
        Ok(Some(file))
    }

    /// Writes a file as a whole: a temporary one, synced where that is wanted, takes the name and keeps the old one's mode. `fill` writes
    /// it; dropped before, nothing of it is left.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of `fill`.
    pub(crate) fn replace(
        &self,
        name: &str,
        sync: SyncPolicy,
        fill: impl FnOnce(&mut File) -> Result<()>,
    ) -> Result<()> {
        let replaced = match self.kind(name)? {
            Some(Kind::File(mode)) => Some(mode),
            Some(_) => return Err(self.refused("it is not a regular file", name)),
            None => None,
        };
        let (mut file, temporary) = self.temporary(replaced)?;
        fill(&mut file)?;
        if sync == SyncPolicy::Disk {
            file.sync_all().map_err(|cause| self.failed("cannot sync the output", cause, name))?;
        }
        drop(file);
        let placed = uninterrupted(|| {
            sys::rename(&self.handle, &self.path, &temporary.name, &self.handle, &self.path, name)?;
            temporary.keep();
            Ok(())
        });
        placed.map_err(|cause| self.failed("cannot put the output in place", cause, name))?;
        if sync == SyncPolicy::Disk {
            self.sync();
        }
        Ok(())
    }

    /// A new file under a name that nothing else has, readable and writable by us, with this mode or that of any new file.
    fn temporary(&self, mode: Option<sys::Bits>) -> Result<(File, Temporary<'_>)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".wharf-{:x}-{count:x}.tmp", std::process::id());
            let bits = mode.map_or(sys::NEW_FILE, sys::with_our_rights);
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
                // Of a process of the same number that died.
                Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(self.failed("cannot create a temporary file", cause, &name)),
            }
        }
    }

    /// Gives a file or folder a name in another folder, in the place of a file that has it.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<()> {
        self.kind(name)?;
        to.kind(new_name)?;
        let renamed = sys::rename(&self.handle, &self.path, name, &to.handle, &to.path, new_name);
        renamed.map_err(|cause| to.failed("cannot put it in place", cause, new_name))
    }

    /// Removes a regular file; one that does not exist is not an error.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match self.kind(name)? {
            None => return Ok(()),
            Some(Kind::Folder) => return Err(self.refused("it is not a regular file", name)),
            Some(_) => {}
        }
        match sys::remove(&self.handle, &self.path, name) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(self.failed("cannot remove", cause, name)),
            _ => Ok(()),
        }
    }

    /// Removes a folder in this one, with all that is in it. Links in it are removed, not followed.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub(crate) fn remove_folder(&self, name: &str) -> Result<()> {
        if self.kind(name)?.is_none() {
            return Ok(());
        }
        let removed = std::fs::remove_dir_all(self.path(name));
        removed.map_err(|cause| self.failed("cannot remove the folder", cause, name))
    }

    /// The names in it that begin with these letters.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io).
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let failed = |cause| self.failed("cannot read the folder", cause, "");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            names.extend(name.to_str().filter(|name| name.starts_with(prefix)).map(str::to_owned));
        }
        Ok(names)
    }

    /// Makes sure that the names in it outlast a power cut. Some file systems cannot: the names are there all the same.
    pub(crate) fn sync(&self) {
        sys::sync(&self.handle);
    }

    /// Is it this folder that the path leads to now?
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        sys::is_at(&self.handle, path)
    }

    /// Is it this file that has the name now?
    pub(crate) fn is_named(&self, file: &File, name: &str) -> bool {
        sys::is_named(&self.handle, file, name)
    }
}

/// A file that is removed unless it gets its name.
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
            // Nothing else could be done about it; the next writer removes it.
            let _ = sys::remove(&self.folder.handle, &self.folder.path, &self.name);
        }
    }
}
