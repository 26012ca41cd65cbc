//! Unpacks an archive into a directory.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Overwrite, Progress, Result, SyncPolicy, Unit, sync_directory_of, uninterrupted};

use super::entry::Entry;
use super::read::Archive;
use crate::new_store::NewStore;

/// Maximum number of foreign entries whose names are reported.
const MAX_FOREIGN_NAMES: usize = 100;

/// Options for unpacking.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct UnpackOptions {
    /// What to do if the target exists and is not empty. It is replaced as a whole, and only if it contains nothing but a store.
    pub overwrite: Overwrite,
    /// Whether to sync the files.
    pub sync: SyncPolicy,
    /// Receives progress reports, in bytes of the files.
    pub progress: Option<Arc<dyn Progress>>,
}

impl UnpackOptions {
    /// Sets [`overwrite`](Self::overwrite).
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: Overwrite) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets [`sync`](Self::sync).
    #[must_use]
    pub fn with_sync(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl fmt::Debug for UnpackOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnpackOptions")
            .field("overwrite", &self.overwrite)
            .field("sync", &self.sync)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// Result of [`unpack`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackSummary {
    /// Number of files unpacked.
    pub files: u64,
    /// Their total length in bytes.
    pub bytes: u64,
    /// Number of entries that do not belong to the store, and were ignored.
    pub foreign_entries: u64,
    /// The names of the first hundred of them.
    pub foreign_names: Vec<String>,
}

/// Unpacks an archive into the directory `target`, atomically, except for its lock (`.zds/`). Checks the CRC of every file. Creates only paths
/// of the format, as new files and directories in a temporary directory beside the target.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) if the target exists, is not an empty directory, and may not be replaced;
/// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) for any entry whose name escapes the directory, and
/// for damaged files of the store.
pub fn unpack(archive: &Archive, target: impl AsRef<Path>, options: &UnpackOptions) -> Result<UnpackSummary> {
    let target = target.as_ref();
    let mut summary = UnpackSummary { files: 0, bytes: 0, foreign_entries: 0, foreign_names: Vec::new() };
    for foreign in archive.foreign_entries() {
        if foreign.is_hostile {
            let error = Error::invalid(format!(
                "the archive cannot be unpacked: entry with an unsafe name: {}",
                foreign.reason
            ));
            return Err(archive.with_name(error.at(foreign.offset).in_key(foreign.name.to_owned())));
        }
        summary.foreign_entries += 1;
        if summary.foreign_names.len() < MAX_FOREIGN_NAMES {
            summary.foreign_names.push(foreign.name.to_owned());
        }
    }
    let new = NewStore::create(target, options.overwrite)?;
    extract(archive, new.path(), options, &mut summary)?;
    new.commit(options.sync)?;
    Ok(summary)
}

fn extract(archive: &Archive, store: &Path, options: &UnpackOptions, summary: &mut UnpackSummary) -> Result<()> {
    let progress = options.progress.as_deref();
    let entries = || archive.entries().iter().filter(|entry| !archive.path(entry).starts_with(".zds/"));
    if let Some(progress) = progress {
        progress.begin(Unit::Bytes, Some(entries().fold(0_u64, |total, entry| total.saturating_add(entry.size))));
    }
    let mut folders = Folders { created: HashSet::new(), order: Vec::new() };
    for collection in archive.collections() {
        folders.create(store, &format!("collections/{collection}"))?;
    }
    for entry in entries() {
        let path = archive.path(entry);
        if let Some((folder, _)) = path.rsplit_once('/') {
            folders.create(store, folder)?;
        }
        write(archive, entry, &store.join(path), options).map_err(|error| archive.with_entry(error, entry))?;
        summary.files += 1;
        summary.bytes += entry.size;
    }
    if options.sync == SyncPolicy::Disk {
        // Contents before names, innermost first.
        for folder in folders.order.iter().rev() {
            sync_directory_of(&folder.join("any"));
        }
        sync_directory_of(&store.join("any"));
    }
    Ok(())
}

/// The directories created so far.
struct Folders {
    created: HashSet<PathBuf>,
    order: Vec<PathBuf>,
}

impl Folders {
    /// Creates the directories of a path. None of them may exist unless created here, so none is a link.
    fn create(&mut self, store: &Path, path: &str) -> Result<()> {
        let whole = store.join(path);
        if self.created.contains(&whole) {
            return Ok(());
        }
        let mut here = store.to_owned();
        for part in path.split('/') {
            here.push(part);
            if !self.created.contains(&here) {
                uninterrupted(|| fs::create_dir(&here)).map_err(|cause| {
                    Error::io("cannot create a directory", cause).in_format("zds").in_key(path.to_owned())
                })?;
                self.created.insert(here.clone());
                self.order.push(here.clone());
            }
        }
        Ok(())
    }
}

fn write(archive: &Archive, entry: &Entry, path: &Path, options: &UnpackOptions) -> Result<()> {
    let failed = |cause| Error::io("cannot write the file", cause);
    let mut file = uninterrupted(|| File::options().write(true).create_new(true).open(path)).map_err(failed)?;
    archive.read_blocks(entry, &mut |block| {
        file.write_all(block).map_err(failed)?;
        if let Some(progress) = options.progress.as_deref() {
            progress.advance(block.len() as u64)?;
        }
        Ok(())
    })?;
    if options.sync == SyncPolicy::Disk {
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}
