//! Temporary files and folders of [`Output`](crate::Output), [`OutputFolder`](crate::OutputFolder) and multi-file writers. Three guarantees
//! hold whenever the process ends:
//!
//! * **Signals clean up.** [`remove_temporaries`] waits for running steps ([`uninterrupted`]: a creation, or a move into place) and blocks new
//!   ones. So it sees every temporary file, and none that is being moved.
//! * **A killed process leaves only files the next one recognizes.** A temporary file is named `.wharf-HHHHHHHH-RRRRRRRRRRRRRRRR.tmp`: a hash
//!   of the host name and a random number, in lowercase hexadecimal digits. Its creator holds a lock on it (`flock`), which the system releases
//!   however the process ends. The next process that writes to the directory removes unlocked files with such names. (Process ids are reused,
//!   and differ between containers.)
//! * **Nothing else is removed.** Locks of some network file systems are visible to one machine only; files of other machines stay there.
//!   Without any locks the name has no hash (`.wharf-RRRRRRRRRRRRRRRR.tmp`), and the file is never considered abandoned.
//!
//! States a killed process leaves behind:
//!
//! 1. *Created, not yet locked:* an empty unlocked file, removed by the next process. If that happens to a running creator, it finds the lock
//!    taken or the file gone, and creates another one.
//! 2. *Locked and written:* a file whose lock is released, removed by the next process.
//! 3. *Renamed:* the output is in place, without a temporary file. Where the system cannot rename without replacing, the file briefly has two
//!    names; the next process removes the temporary one.
//!
//! The same holds for folders, except for one that contains the folder it replaces: see [`OutputFolder`](crate::OutputFolder).
//!
//! A removal that fails is left to the next process. A forked child neither removes nor finishes what its parent writes ([`Owner`]).

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use crate::with_std::names::{directory, restore_replaced};
use crate::with_std::owner::Owner;
use crate::with_std::sys;

/// Held shared while a temporary file is created or moved, exclusively while all are removed.
static GATE: RwLock<()> = RwLock::new(());

/// The temporary files of this process and, after a fork, copies of those of its parent.
static REGISTERED: Mutex<BTreeMap<PathBuf, (Kind, Owner)>> = Mutex::new(BTreeMap::new());

/// Maximum attempts to find an unused name, or to remove a folder that others write to.
const ATTEMPTS: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

fn registered() -> MutexGuard<'static, BTreeMap<PathBuf, (Kind, Owner)>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner) // the map is consistent after a panic
}

/// Runs a step that [`remove_temporaries`] must not interrupt, such as several renames.
///
/// `remove_temporaries` waits for running steps; later ones wait until its guard is dropped. Steps may be nested on one thread, but must not
/// wait for a step of another thread.
pub fn uninterrupted<R>(step: impl FnOnce() -> R) -> R {
    struct Leave<'a>(&'a Cell<bool>);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    INSIDE.with(|inside| {
        if inside.get() {
            return step();
        }
        let _shared = GATE.read().unwrap_or_else(PoisonError::into_inner); // guards no data
        inside.set(true);
        let _leave = Leave(inside);
        step()
    })
}

/// While this guard is alive, creating temporary files and moving outputs into place blocks. See [`remove_temporaries`].
#[derive(Debug)]
#[must_use = "outputs can be created again once the guard is dropped"]
pub struct ShutdownGuard {
    _exclusive: RwLockWriteGuard<'static, ()>,
}

/// Removes all temporary files of this process, for programs that end on a signal without running destructors. Waits for running commits.
/// Keep the guard until the process exits.
///
/// Unfinished outputs cannot be finished afterwards.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::{Output, OutputOptions, remove_temporaries};
/// # let directory = tempfile::tempdir()?;
/// let output = Output::create(directory.path().join("numbers.txt"), OutputOptions::default())?;
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 1);
/// let guard = remove_temporaries();
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// drop(guard); // the program continues after all
/// assert!(output.finish().is_err());
/// # Ok(())
/// # }
/// ```
pub fn remove_temporaries() -> ShutdownGuard {
    let exclusive = GATE.write().unwrap_or_else(PoisonError::into_inner); // guards no data
    let all = std::mem::take(&mut *registered());
    for (path, (kind, _)) in all.into_iter().filter(|(_, (_, owner))| owner.is_current()) {
        // A file that cannot be removed is left to the next process.
        let _ = remove(&path, kind);
    }
    ShutdownGuard { _exclusive: exclusive }
}

fn remove(path: &Path, kind: Kind) -> io::Result<()> {
    // Other threads may still create files in the folder, or have exhausted the file descriptors.
    let mut failed = io::ErrorKind::DirectoryNotEmpty.into();
    for _ in 0..ATTEMPTS {
        let removed = match kind {
            Kind::File => fs::remove_file(path),
            Kind::Folder => fs::remove_dir_all(path).or_else(|cause| match sys::is_out_of_files(&cause) {
                true => remove_with_few_descriptors(path),
                false => Err(cause),
            }),
        };
        match removed {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty || sys::is_out_of_files(&cause) => {
                failed = cause;
                std::thread::sleep(Duration::from_millis(1));
            }
            removed => return removed,
        }
    }
    Err(failed)
}

/// Removes a folder with one open descriptor at a time, instead of one per level. Unsafe against others who replace subfolders by links.
fn remove_with_few_descriptors(folder: &Path) -> io::Result<()> {
    let mut members = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        members.push((entry.path(), entry.file_type()?.is_dir()));
    }
    for (path, is_folder) in members {
        if is_folder { remove_with_few_descriptors(&path) } else { fs::remove_file(&path) }?;
    }
    fs::remove_dir(folder)
}

/// A locked temporary file or folder, removed on drop, but not by a forked child.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    kind: Kind,
    /// Holds the lock. `None` for folders on systems that cannot open them.
    handle: Option<File>,
    pub(crate) owner: Owner,
    /// Drop no longer removes it.
    released: bool,
}

impl Temporary {
    /// Creates a file, open for reading and writing. `mode` is its Unix mode before the umask.
    pub(crate) fn file(folder: &Path, mode: u32) -> io::Result<(Self, File)> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        sys::set_creation_mode(&mut options, mode);
        let mut temporary = Self::new(folder, Kind::File, |path| options.open(path).map(Some))?;
        let file = temporary.handle.take().ok_or(io::ErrorKind::NotFound)?; // always set by the closure
        Ok((temporary, file))
    }

    /// Creates a folder accessible to this user only.
    pub(crate) fn folder(folder: &Path) -> io::Result<Self> {
        Self::new(folder, Kind::Folder, |path| {
            sys::private_folders().create(path)?;
            sys::open_folder(path).map_err(|cause| match cause.kind() {
                // Another process removed it as abandoned: retry with another name.
                io::ErrorKind::NotFound => io::ErrorKind::AlreadyExists.into(),
                _ => {
                    let _ = fs::remove_dir(path); // the first error is reported
                    cause
                }
            })
        })
    }

    fn new(folder: &Path, kind: Kind, create: impl Fn(&Path) -> io::Result<Option<File>>) -> io::Result<Self> {
        let folder = std::path::absolute(folder)?;
        remove_stale_temporaries(&folder);
        let mut can_lock = sys::CAN_LOCK;
        let owner = Owner::current();
        for _ in 0..ATTEMPTS {
            let path = folder.join(new_name(can_lock));
            let created = uninterrupted(|| {
                let handle = create(&path)?;
                registered().insert(path.clone(), (kind, owner));
                Ok(handle)
            });
            let handle = match created {
                Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let temporary = Self { path, kind, handle, owner, released: false };
            if !can_lock {
                return Ok(temporary);
            }
            match temporary.handle.as_ref().map(File::try_lock) {
                // Another process may have removed it as abandoned before it was locked.
                Some(Ok(())) if fs::symlink_metadata(&temporary.path).is_ok() => return Ok(temporary),
                Some(Ok(()) | Err(TryLockError::WouldBlock)) => {}
                // The file system has no locks.
                Some(Err(TryLockError::Error(_))) | None => can_lock = false,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "cannot find an unused temporary name"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Disables removal, after a rename or to keep the file. Call within [`uninterrupted`].
    pub(crate) fn release(&mut self) {
        self.released = true;
        registered().remove(&self.path);
    }
}

/// Creates a temporary file for this process alone in a directory. It has no name and disappears when it is closed.
///
/// # Errors
/// I/O errors.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    let (temporary, file) = Temporary::file(directory, 0o600)?;
    drop(temporary); // removes the name
    Ok(file)
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.released || !self.owner.is_current() {
            return;
        }
        // On failure (such as too many open files) it stays registered for remove_temporaries().
        if remove(&self.path, self.kind).is_ok() {
            registered().remove(&self.path);
        }
    }
}

/// A temporary folder for files that are later renamed into its parent directory. Removed with its content on drop and by
/// [`remove_temporaries`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let target = directory.path().join("numbers.txt");
/// let folder = container_core::TemporaryFolder::beside(&target)?;
/// std::fs::write(folder.path().join("numbers.txt"), "1 2 3\n")?;
/// container_core::uninterrupted(|| std::fs::rename(folder.path().join("numbers.txt"), &target))?;
/// drop(folder);
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TemporaryFolder(pub(crate) Temporary);

impl TemporaryFolder {
    /// Creates a folder in the directory of `path`, and so on the same file system.
    ///
    /// # Errors
    /// I/O errors.
    pub fn beside(path: &Path) -> io::Result<Self> {
        Temporary::folder(directory(path)).map(Self)
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Registers a temporary file created elsewhere: while this value is alive, [`remove_temporaries`] removes the file.
#[derive(Debug)]
#[must_use = "the file is registered only while this value is alive"]
pub struct RegisteredTemporary(PathBuf);

impl RegisteredTemporary {
    /// Registers the file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        registered().insert(path.clone(), (Kind::File, Owner::current()));
        Self(path)
    }
}

impl Drop for RegisteredTemporary {
    fn drop(&mut self) {
        registered().remove(&self.0);
    }
}

fn new_name(can_lock: bool) -> String {
    // RandomState is seeded from the system's random numbers.
    let random = std::hash::RandomState::new().build_hasher().finish();
    match can_lock {
        true => format!(".wharf-{:08x}-{random:016x}.tmp", host()),
        false => format!(".wharf-{random:016x}.tmp"),
    }
}

/// The host hash in the name of a temporary file, or `None` for other names.
fn host_in(name: &OsStr) -> Option<u32> {
    let (host, random) = name.to_str()?.strip_prefix(".wharf-")?.strip_suffix(".tmp")?.split_once('-')?;
    let is_hex =
        |digits: &str, len| digits.len() == len && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex(host, 8) || !is_hex(random, 16) {
        return None;
    }
    u32::from_str_radix(host, 16).ok()
}

/// FNV-1a hash of the host name.
fn host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    *HOST.get_or_init(|| {
        let name = fs::read("/proc/sys/kernel/hostname").or_else(|_| fs::read("/etc/hostname")).unwrap_or_default();
        name.trim_ascii().iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    })
}

/// Removes unlocked temporary files and folders that dead processes left in `folder`. A folder whose replacement was interrupted is restored
/// first: see [`OutputFolder`](crate::OutputFolder).
///
/// Every output calls this once per process and folder. Only the first 10,000 entries of a folder are examined.
pub fn remove_stale_temporaries(folder: &Path) {
    /// Folders remembered as clean.
    const MAX_CLEAN_FOLDERS: usize = 1_000;
    static CLEAN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let Ok(folder) = std::path::absolute(folder) else { return };
    if !sys::CAN_LOCK {
        return;
    }
    {
        let mut clean = CLEAN.lock().unwrap_or_else(PoisonError::into_inner); // the set is consistent after a panic
        if clean.contains(&folder) {
            return;
        }
        if clean.len() >= MAX_CLEAN_FOLDERS {
            clean.clear();
        }
        clean.insert(folder.clone());
    }
    remove_stale_in(&folder);
}

fn remove_stale_in(folder: &Path) {
    /// Bounds the time spent on large folders.
    const MAX_ENTRIES: usize = 10_000;
    for entry in fs::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten() {
        if let Some(host) = host_in(&entry.file_name()) {
            // Failure leaves the file in place.
            let _ = remove_if_stale(folder, &entry.path(), host);
        }
    }
}

/// Removes a temporary file or folder unless its owner is alive.
fn remove_if_stale(folder: &Path, path: &Path, host: u32) -> io::Result<()> {
    let file = sys::open_to_lock(path)?;
    if file.try_lock().is_err() || (host != self::host() && !sys::is_local(&file)) {
        return Ok(());
    }
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return fs::remove_file(path);
    }
    if metadata.is_dir() && restore_replaced(path, folder) {
        // The replacement must be on disk before the replaced folder is removed.
        sys::sync_directory(folder);
        return fs::remove_dir_all(path);
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
