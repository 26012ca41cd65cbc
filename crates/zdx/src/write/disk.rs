//! Everything that the writer does to files, step by step, so that tests can stop it at each.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Result, SyncPolicy, uninterrupted};

use crate::write::folder::Folder;

/// Is asked in front of each step, by its name and the number of its bytes, and says how many of the bytes get through: fewer end in an
/// error behind them.
pub(super) type Ask = dyn Fn(&'static str, usize) -> io::Result<usize> + Send + std::marker::Sync;

#[derive(Clone, Default)]
pub(crate) struct Hook(pub(super) Option<Arc<Ask>>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hook(some)" } else { "Hook(none)" })
    }
}

impl Hook {
    fn ask(&self, step: &'static str, bytes: usize) -> io::Result<usize> {
        self.0.as_ref().map_or(Ok(bytes), |ask| ask(step, bytes))
    }
}

/// The writer's hand on its files.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    hook: Hook,
    pub(crate) sync: SyncPolicy,
}

impl Disk {
    pub(crate) const fn new(hook: Hook, sync: SyncPolicy) -> Self {
        Self { hook, sync }
    }

    /// Puts bytes behind what a file has.
    pub(crate) fn append(&self, step: &'static str, file: &mut File, bytes: &[u8]) -> Result<()> {
        let failed = |cause| Error::io(format!("cannot write the {step}"), cause);
        let through = self.hook.ask(step, bytes.len()).map_err(failed)?;
        file.write_all(bytes.get(..through).unwrap_or(bytes)).map_err(failed)?;
        match through < bytes.len() {
            true => Err(failed(io::Error::from(io::ErrorKind::StorageFull))),
            false => Ok(()),
        }
    }

    /// Waits until the bytes of a file have reached the disk, where that is wanted.
    pub(crate) fn sync(&self, step: &'static str, file: &File) -> Result<()> {
        if self.sync == SyncPolicy::Never {
            return Ok(());
        }
        let asked = self.hook.ask(step, 0);
        asked.and_then(|_| file.sync_data()).map_err(|cause| Error::io(format!("cannot sync the {step}"), cause))
    }

    /// Writes a file as a whole, in the place of the one that is there.
    pub(crate) fn replace(
        &self,
        step: &'static str,
        folder: &Folder,
        name: &str,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let failed = |cause| Error::io(format!("cannot write the {step}"), cause);
        self.hook.ask(step, 0).map_err(failed)?;
        folder.replace(name, self.sync, |file| {
            fill(&mut |bytes| self.append(step, file, bytes))?;
            self.hook.ask(step, 0).map(drop).map_err(failed)
        })
    }

    /// Removes a file; a missing one is no error.
    pub(crate) fn remove(&self, step: &'static str, folder: &Folder, name: &str) -> Result<()> {
        self.hook.ask(step, 0).map_err(|cause| Error::io(format!("cannot remove the {step}"), cause))?;
        folder.remove(name)
    }

    /// Gives a file or a folder another name.
    pub(crate) fn rename(&self, step: &'static str, from: (&Folder, &str), to: (&Folder, &str)) -> Result<()> {
        self.hook.ask(step, 0).map_err(|cause| Error::io(format!("cannot put the {step} in place"), cause))?;
        from.0.rename(from.1, to.0, to.1)?;
        if self.sync == SyncPolicy::Disk {
            to.0.sync();
        }
        Ok(())
    }

    /// Cuts a file off.
    pub(crate) fn cut(&self, step: &'static str, file: &File, len: u64) -> Result<()> {
        let cut = self.hook.ask(step, 0).and_then(|_| file.set_len(len));
        cut.map_err(|cause| Error::io(format!("cannot cut off the {step}"), cause))
    }

    /// Makes a folder in another where it is missing.
    pub(crate) fn folder(&self, parent: &Folder, name: &str) -> Result<Folder> {
        self.hook.ask("folder", 0).map_err(|cause| Error::io("cannot make the folder", cause))?;
        let folder = parent.make_folder(name)?;
        if self.sync == SyncPolicy::Disk {
            parent.sync();
        }
        Ok(folder)
    }

    /// Makes a folder that a user named, and those it stands in; says which were made, the outermost first.
    pub(crate) fn root(&self, path: &Path) -> Result<Vec<PathBuf>> {
        if path.is_dir() || path.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let mut made = path.parent().map(|parent| self.root(parent)).transpose()?.unwrap_or_default();
        // Not after a signal: it would be a part of a temporary folder that has just been removed.
        let created = uninterrupted(|| self.hook.ask("folder", 0).and_then(|_| fs::create_dir(path)));
        created.map_err(|cause| Error::io("cannot make the folder", cause).in_file(path.display().to_string()))?;
        if self.sync == SyncPolicy::Disk {
            container_core::sync_directory_of(path);
        }
        made.push(path.to_owned());
        Ok(made)
    }
}
