//! All file operations of the writer, with hooks so that tests can interrupt each of them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Result, SyncPolicy, uninterrupted};

use crate::write::folder::Folder;

/// Called before each operation with its name and number of bytes. Returns how many bytes to write: if fewer, the operation then fails.
pub(super) type Interceptor = dyn Fn(&'static str, usize) -> io::Result<usize> + Send + std::marker::Sync;

#[derive(Clone, Default)]
pub(crate) struct Hook(pub(super) Option<Arc<Interceptor>>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hook(some)" } else { "Hook(none)" })
    }
}

impl Hook {
    fn intercept(&self, step: &'static str, bytes: usize) -> io::Result<usize> {
        self.0.as_ref().map_or(Ok(bytes), |intercept| intercept(step, bytes))
    }
}

/// File operations of a writer.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    hook: Hook,
    pub(crate) sync: SyncPolicy,
}

impl Disk {
    pub(crate) const fn new(hook: Hook, sync: SyncPolicy) -> Self {
        Self { hook, sync }
    }

    /// Appends bytes to a file.
    pub(crate) fn append(&self, step: &'static str, file: &mut File, bytes: &[u8]) -> Result<()> {
        let failed = |cause| Error::io(format!("cannot write the {step}"), cause);
        let len = self.hook.intercept(step, bytes.len()).map_err(failed)?;
        file.write_all(bytes.get(..len).unwrap_or(bytes)).map_err(failed)?;
        match len < bytes.len() {
            true => Err(failed(io::Error::from(io::ErrorKind::StorageFull))),
            false => Ok(()),
        }
    }

    /// Syncs a file's contents to disk, unless disabled.
    pub(crate) fn sync(&self, step: &'static str, file: &File) -> Result<()> {
        if self.sync == SyncPolicy::Never {
            return Ok(());
        }
        let allowed = self.hook.intercept(step, 0);
        allowed.and_then(|_| file.sync_data()).map_err(|cause| Error::io(format!("cannot sync the {step}"), cause))
    }

    /// Atomically replaces a file.
    pub(crate) fn replace(
        &self,
        step: &'static str,
        folder: &Folder,
        name: &str,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let failed = |cause| Error::io(format!("cannot write the {step}"), cause);
        self.hook.intercept(step, 0).map_err(failed)?;
        folder.replace(name, self.sync, |file| {
            write(&mut |bytes| self.append(step, file, bytes))?;
            self.hook.intercept(step, 0).map(drop).map_err(failed)
        })
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, step: &'static str, folder: &Folder, name: &str) -> Result<()> {
        self.hook.intercept(step, 0).map_err(|cause| Error::io(format!("cannot remove the {step}"), cause))?;
        folder.remove(name)
    }

    /// Renames a file or directory.
    pub(crate) fn rename(&self, step: &'static str, from: (&Folder, &str), to: (&Folder, &str)) -> Result<()> {
        self.hook.intercept(step, 0).map_err(|cause| Error::io(format!("cannot put the {step} in place"), cause))?;
        from.0.rename(from.1, to.0, to.1)?;
        if self.sync == SyncPolicy::Disk {
            to.0.sync();
        }
        Ok(())
    }

    /// Truncates a file.
    pub(crate) fn cut(&self, step: &'static str, file: &File, len: u64) -> Result<()> {
        let cut = self.hook.intercept(step, 0).and_then(|_| file.set_len(len));
        cut.map_err(|cause| Error::io(format!("cannot truncate the {step}"), cause))
    }

    /// Creates a directory in another if it does not exist.
    pub(crate) fn folder(&self, parent: &Folder, name: &str) -> Result<Folder> {
        self.hook.intercept("folder", 0).map_err(|cause| Error::io("cannot create the directory", cause))?;
        let folder = parent.make_folder(name)?;
        if self.sync == SyncPolicy::Disk {
            parent.sync();
        }
        Ok(folder)
    }

    /// Creates a directory given by the user, and its parents. Returns those created, the outermost first.
    pub(crate) fn root(&self, path: &Path) -> Result<Vec<PathBuf>> {
        if path.is_dir() || path.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let mut created_dirs = path.parent().map(|parent| self.root(parent)).transpose()?.unwrap_or_default();
        // Not after a signal: the handler may have just removed the temporary directory that it would be in.
        let created = uninterrupted(|| self.hook.intercept("folder", 0).and_then(|_| fs::create_dir(path)));
        created.map_err(|cause| Error::io("cannot create the directory", cause).in_file(path.display().to_string()))?;
        if self.sync == SyncPolicy::Disk {
            container_core::sync_directory_of(path);
        }
        created_dirs.push(path.to_owned());
        Ok(created_dirs)
    }
}
