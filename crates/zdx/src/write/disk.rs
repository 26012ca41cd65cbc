//! Everything that the writer does to files, step by step, so that tests can stop it at each.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Overwrite, Result, Sync};

/// Is asked in front of each step, by its name and the number of its bytes, and says how many of the bytes get through: fewer end in an
/// error behind them.
type Ask = dyn Fn(&'static str, usize) -> io::Result<usize> + Send + std::marker::Sync;

#[derive(Clone, Default)]
pub(crate) struct Hook(Option<Arc<Ask>>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hook(some)" } else { "Hook(none)" })
    }
}

impl Hook {
    #[cfg(test)]
    pub(crate) fn new(
        ask: impl Fn(&'static str, usize) -> io::Result<usize> + Send + std::marker::Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    fn ask(&self, step: &'static str, bytes: usize) -> io::Result<usize> {
        self.0.as_ref().map_or(Ok(bytes), |ask| ask(step, bytes))
    }
}

/// The writer's hand on its files.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    hook: Hook,
    pub(crate) sync: Sync,
}

impl Disk {
    pub(crate) const fn new(hook: Hook, sync: Sync) -> Self {
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
        if self.sync == Sync::Never {
            return Ok(());
        }
        let asked = self.hook.ask(step, 0);
        asked.and_then(|_| file.sync_data()).map_err(|cause| Error::io(format!("cannot sync the {step}"), cause))
    }

    /// Writes a file as a whole, in the place of the one that is there.
    pub(crate) fn replace(
        &self,
        step: &'static str,
        path: &Path,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let options = OutputOptions::default().with_overwrite(Overwrite::Replace).with_sync(self.sync);
        let failed = |cause| Error::io(format!("cannot write the {step}"), cause);
        self.hook.ask(step, 0).map_err(failed)?;
        let mut output = Output::create(path, options)?;
        fill(&mut |bytes| {
            let through = self.hook.ask(step, bytes.len()).map_err(failed)?;
            output.write_all(bytes.get(..through).unwrap_or(bytes)).map_err(failed)?;
            match through < bytes.len() {
                true => Err(failed(io::Error::from(io::ErrorKind::StorageFull))),
                false => Ok(()),
            }
        })?;
        self.hook.ask(step, 0).map_err(failed)?;
        output.finish()
    }

    /// Removes a file; that there is none is as well.
    pub(crate) fn remove(&self, step: &'static str, path: &Path) -> Result<()> {
        let removed = self.hook.ask(step, 0).and_then(|_| fs::remove_file(path));
        match removed {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|cause| {
                Error::io(format!("cannot remove the {step}"), cause).in_file(path.display().to_string())
            }),
        }
    }

    /// Cuts a file off.
    pub(crate) fn cut(&self, step: &'static str, file: &File, len: u64) -> Result<()> {
        let cut = self.hook.ask(step, 0).and_then(|_| file.set_len(len));
        cut.map_err(|cause| Error::io(format!("cannot cut off the {step}"), cause))
    }

    /// Makes a folder and those it stands in.
    pub(crate) fn folder(&self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.folder(parent)?;
        }
        let made = self.hook.ask("folder", 0).and_then(|_| match fs::create_dir(path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        });
        made.map_err(|cause| Error::io("cannot make the folder", cause).in_file(path.display().to_string()))?;
        if self.sync == Sync::Disk {
            container_core::sync_directory_of(path);
        }
        Ok(())
    }
}
