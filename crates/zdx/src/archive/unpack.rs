//! An archive into a folder.

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

/// Names of strangers that are told, at most.
const TOLD: usize = 100;

/// How an archive is unpacked.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct UnpackOptions {
    /// What happens when the target is a folder with something in it. It is replaced whole, and only where it holds nothing but a store.
    pub overwrite: Overwrite,
    /// Whether to wait for the disk.
    pub sync: SyncPolicy,
    /// Who listens to the progress: bytes of the files.
    pub progress: Option<Arc<dyn Progress>>,
}

impl UnpackOptions {
    /// Replaces [`overwrite`](Self::overwrite).
    #[must_use]
    pub fn with_overwrite(mut self, overwrite: Overwrite) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Replaces [`sync`](Self::sync).
    #[must_use]
    pub fn with_sync(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }

    /// Tells `progress` how far the work is.
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

/// What was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked {
    /// Files of the store.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Entries of the archive that are none of the store's and were left alone.
    pub strangers: u64,
    /// The names of the first hundred of them.
    pub stranger_names: Vec<String>,
}

/// Unpacks an archive into the folder `target`, which appears whole or not at all; its lock (`.zds/`) is left behind. Every file's
/// CRC is checked. Only paths of the format come into being, by folders and files that are new, in a temporary folder beside the target.
///
/// # Errors
/// [`Usage`](container_core::ErrorKind::Usage) where the target exists and is no empty folder, and may not be replaced;
/// [`Io`](container_core::ErrorKind::Io); [`Invalid`](container_core::ErrorKind::Invalid) for an entry whose name leads out of the tree, be
/// it one of the store's or not, and for what is wrong with a file of the store.
pub fn unpack(archive: &Archive, target: impl AsRef<Path>, options: &UnpackOptions) -> Result<Unpacked> {
    let target = target.as_ref();
    let mut unpacked = Unpacked { files: 0, bytes: 0, strangers: 0, stranger_names: Vec::new() };
    for stranger in archive.strangers() {
        if stranger.hostile {
            let error = Error::invalid(format!("the archive is not unpacked: in an entry of it, {}", stranger.why));
            return Err(archive.named(error.at(stranger.offset).in_key(stranger.name.to_owned())));
        }
        unpacked.strangers += 1;
        if unpacked.stranger_names.len() < TOLD {
            unpacked.stranger_names.push(stranger.name.to_owned());
        }
    }
    let new = NewStore::create(target, options.overwrite)?;
    fill(archive, new.path(), options, &mut unpacked)?;
    new.commit(options.sync)?;
    Ok(unpacked)
}

fn fill(archive: &Archive, store: &Path, options: &UnpackOptions, unpacked: &mut Unpacked) -> Result<()> {
    let progress = options.progress.as_deref();
    let wanted = || archive.entries().iter().filter(|entry| !archive.path(entry).starts_with(".zds/"));
    if let Some(progress) = progress {
        progress.begin(Unit::Bytes, Some(wanted().fold(0_u64, |total, entry| total.saturating_add(entry.size))));
    }
    let mut folders = Folders { made: HashSet::new(), order: Vec::new() };
    for collection in archive.collections() {
        folders.make(store, &format!("collections/{collection}"))?;
    }
    for entry in wanted() {
        let path = archive.path(entry);
        if let Some((folder, _)) = path.rsplit_once('/') {
            folders.make(store, folder)?;
        }
        write(archive, entry, &store.join(path), options).map_err(|error| archive.explain(error, entry))?;
        unpacked.files += 1;
        unpacked.bytes += entry.size;
    }
    if options.sync == SyncPolicy::Disk {
        // Names after what they name, the innermost first.
        for folder in folders.order.iter().rev() {
            sync_directory_of(&folder.join("any"));
        }
        sync_directory_of(&store.join("any"));
    }
    Ok(())
}

/// The folders that were made here.
struct Folders {
    made: HashSet<PathBuf>,
    order: Vec<PathBuf>,
}

impl Folders {
    /// Makes the folders of a path, of which none is there that was not made here: so none is a link.
    fn make(&mut self, store: &Path, path: &str) -> Result<()> {
        let whole = store.join(path);
        if self.made.contains(&whole) {
            return Ok(());
        }
        let mut here = store.to_owned();
        for part in path.split('/') {
            here.push(part);
            if !self.made.contains(&here) {
                uninterrupted(|| fs::create_dir(&here)).map_err(|cause| {
                    Error::io("cannot create a folder", cause).in_format("zds").in_key(path.to_owned())
                })?;
                self.made.insert(here.clone());
                self.order.push(here.clone());
            }
        }
        Ok(())
    }
}

fn write(archive: &Archive, entry: &Entry, place: &Path, options: &UnpackOptions) -> Result<()> {
    let failed = |cause| Error::io("cannot write the file", cause);
    let mut file = uninterrupted(|| File::options().write(true).create_new(true).open(place)).map_err(failed)?;
    archive.pieces(entry, &mut |piece| {
        file.write_all(piece).map_err(failed)?;
        if let Some(progress) = options.progress.as_deref() {
            progress.advance(piece.len() as u64);
        }
        Ok(())
    })?;
    if options.sync == SyncPolicy::Disk {
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}
