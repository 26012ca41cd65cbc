//! What lies on disk without a name yet, and is to be gone when the process is told to end.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn all() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner) // a set of paths is never half changed
}

/// A temporary file or directory that [`remove_unfinished`] knows, for as long as this lives.
///
/// Every [`Output`](crate::Output) has one; make one for what you keep on disk beside it.
#[derive(Debug)]
#[must_use = "it is known only as long as this lives"]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// This file or directory.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        all().insert(path.clone());
        Self(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        all().remove(&self.0);
    }
}

/// Removes all temporary files of this process: for a program that is told to end by a signal, where nothing is dropped any more.
///
/// Outputs that are under way can no longer be finished afterwards.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::{Output, OutputOptions, remove_unfinished};
/// # let directory = tempfile::tempdir()?;
/// let output = Output::create(directory.path().join("numbers.txt"), OutputOptions::default())?;
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 1);
/// remove_unfinished();
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// assert!(output.finish().is_err());
/// # Ok(())
/// # }
/// ```
pub fn remove_unfinished() {
    for path in all().iter() {
        // One that is gone already is as it should be, and nobody can be told of another.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}
