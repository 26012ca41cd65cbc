//! Temporary files and folders. [`Output`](crate::Output), [`OutputFolder`](crate::OutputFolder) and whoever writes several files that
//! belong together make them here. Three things must hold, whenever the process ends:
//!
//! * **A signal is no accident.** [`remove_temporaries`] waits for a step that is under way ([`uninterrupted`]: a creation, or a move into
//!   place), and no step begins after it has. So it sees every temporary file, and never one that is being moved.
//! * **A killed process leaves only what the next one recognizes.** The name of a temporary file is `.wharf-HHHHHHHH-RRRRRRRRRRRRRRRR.tmp`:
//!   a hash of the machine's name and a random number, both in lowercase hexadecimal digits. Its creator holds a lock on it (`flock`),
//!   which the system gives back however the process ends. The next process that writes into the folder removes what has such a name and
//!   no lock. A process id says less: it is used again, and is another one in every container.
//! * **Nothing else is removed.** Some network file systems have locks that only one machine sees. There, what another machine made
//!   stays. Where there are no locks at all the name has no hash (`.wharf-RRRRRRRRRRRRRRRR.tmp`), and such a file is never taken for
//!   abandoned.
//!
//! What a kill leaves, call by call:
//!
//! 1. *The file is created, and not locked yet:* an empty file without a lock. The next process removes it. If that process is quicker than
//!    a creator that lives, the creator finds its lock taken or its file gone, and makes another one.
//! 2. *It is locked, and written:* a file whose lock went with its owner. The next process removes it.
//! 3. *It is renamed:* the output is in place, and there is no temporary file. Where the system cannot rename without replacing, the file
//!    has two names for a moment: the next process removes the temporary one.
//!
//! Folders are the same, but for a folder that holds what it replaces: see [`OutputFolder`](crate::OutputFolder).
//!
//! A removal can fail, such as on a full disk of a file system that needs room to remove. Then the file stays until the next process.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use crate::with_std::names::{directory, put_back, sync_directory};
use crate::with_std::sys;

/// Shared by whoever creates a temporary file or moves one; exclusive for the removal of all.
static GATE: RwLock<()> = RwLock::new(());

/// The temporary files of this process.
static REGISTERED: Mutex<BTreeMap<PathBuf, Kind>> = Mutex::new(BTreeMap::new());

/// Attempts at a name that nobody has. More than one is needed only by bad luck.
const ATTEMPTS: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

fn registered() -> MutexGuard<'static, BTreeMap<PathBuf, Kind>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner) // a map of paths is never half changed
}

/// Runs a step that [`remove_temporaries`] must not fall into, such as several renames: it waits for the end of this one. A step that would
/// begin afterwards waits until its guard is dropped. Steps may be nested, but only on one thread: a step must not wait for another thread
/// that has steps.
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
        let _shared = GATE.read().unwrap_or_else(PoisonError::into_inner); // it guards no data
        inside.set(true);
        let _leave = Leave(inside);
        step()
    })
}

/// As long as this lives, no temporary file is made and nothing is moved into place: whoever tries waits.
#[derive(Debug)]
#[must_use = "dropped, outputs can be made again"]
pub struct ShutdownGuard {
    _exclusive: RwLockWriteGuard<'static, ()>,
}

/// Removes all temporary files of this process: for a program that a signal tells to end, in which nothing is dropped any more. It waits for
/// a commit that is under way. Keep what it returns until the process is gone.
///
/// Outputs that are under way cannot be finished afterwards.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use container_core::{Output, OutputOptions, remove_temporaries};
/// # let directory = tempfile::tempdir()?;
/// let output = Output::create(directory.path().join("numbers.txt"), OutputOptions::default())?;
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 1);
/// let ended = remove_temporaries();
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// drop(ended); // a program that goes on after all
/// assert!(output.finish().is_err());
/// # Ok(())
/// # }
/// ```
pub fn remove_temporaries() -> ShutdownGuard {
    let exclusive = GATE.write().unwrap_or_else(PoisonError::into_inner); // it guards no data
    let all = std::mem::take(&mut *registered());
    for (path, kind) in all {
        // Nobody can be told of one that stays; the next process removes it.
        let _ = remove(&path, kind);
    }
    ShutdownGuard { _exclusive: exclusive }
}

fn remove(path: &Path, kind: Kind) -> io::Result<()> {
    // Other threads may still be writing into a folder: each can put something into it that was not there a moment ago. Or they have the last
    // file open that this process may have.
    let mut failed = io::ErrorKind::DirectoryNotEmpty.into();
    for _ in 0..ATTEMPTS {
        let removed = match kind {
            Kind::File => fs::remove_file(path),
            Kind::Folder => fs::remove_dir_all(path).or_else(|cause| match sys::is_out_of_files(&cause) {
                true => remove_frugally(path),
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

/// The same with one open file at a time, and not one for each level of folders. Others must not be able to put links into them meanwhile.
fn remove_frugally(folder: &Path) -> io::Result<()> {
    let mut members = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        members.push((entry.path(), entry.file_type()?.is_dir()));
    }
    for (path, is_folder) in members {
        if is_folder { remove_frugally(&path) } else { fs::remove_file(&path) }?;
    }
    fs::remove_dir(folder)
}

/// A file or a folder under a temporary name, locked. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    kind: Kind,
    /// Open, with the lock. A folder on a system that does not open folders has none.
    handle: Option<File>,
    /// It is not this value's to remove any more.
    released: bool,
}

impl Temporary {
    /// A new file, open to write and to read. `mode` is what a plain creation would be given, on systems with modes.
    pub(crate) fn file(folder: &Path, mode: u32) -> io::Result<(Self, File)> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        sys::set_creation_mode(&mut options, mode);
        let mut temporary = Self::new(folder, Kind::File, |path| options.open(path).map(Some))?;
        let file = temporary.handle.take().ok_or(io::ErrorKind::NotFound)?; // it was opened just now
        Ok((temporary, file))
    }

    /// A new folder, for this user alone.
    pub(crate) fn folder(folder: &Path) -> io::Result<Self> {
        Self::new(folder, Kind::Folder, |path| {
            sys::private_folders().create(path)?;
            sys::open_folder(path).map_err(|cause| match cause.kind() {
                // Another process took it for abandoned: there is a next name.
                io::ErrorKind::NotFound => io::ErrorKind::AlreadyExists.into(),
                _ => {
                    let _ = fs::remove_dir(path); // the first error says more
                    cause
                }
            })
        })
    }

    fn new(folder: &Path, kind: Kind, create: impl Fn(&Path) -> io::Result<Option<File>>) -> io::Result<Self> {
        let folder = std::path::absolute(folder)?;
        remove_stale_temporaries(&folder);
        let mut can_lock = cfg!(unix);
        for _ in 0..ATTEMPTS {
            let path = folder.join(new_name(can_lock));
            let created = uninterrupted(|| {
                let handle = create(&path)?;
                registered().insert(path.clone(), kind);
                Ok(handle)
            });
            let handle = match created {
                Err(cause) if io::Error::kind(&cause) == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let temporary = Self { path, kind, handle, released: false };
            if !can_lock {
                return Ok(temporary);
            }
            match temporary.handle.as_ref().map(File::try_lock) {
                // Another process may have taken it for abandoned before it was locked.
                Some(Ok(())) if fs::symlink_metadata(&temporary.path).is_ok() => return Ok(temporary),
                Some(Ok(()) | Err(TryLockError::WouldBlock)) => {}
                // A file system without locks.
                Some(Err(TryLockError::Error(_))) | None => can_lock = false,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every temporary name is taken"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It has been renamed, or has to stay: nobody removes it. For a step that is [`uninterrupted`].
    pub(crate) fn release(&mut self) {
        self.released = true;
        registered().remove(&self.path);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        // One that cannot be removed now (too many files are open) stays registered for the end of the process.
        if remove(&self.path, self.kind).is_ok() {
            registered().remove(&self.path);
        }
    }
}

/// A folder with a temporary name, for files on their way to their places beside it. Dropped, it is gone with all that is in it, and so it is
/// when [`remove_temporaries`] is called.
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
    /// Makes a folder where a file or folder stands or will stand, and so on the same file system.
    ///
    /// # Errors
    /// That of the system.
    pub fn beside(path: &Path) -> io::Result<Self> {
        Temporary::folder(directory(path)).map(Self)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A temporary file that something else made, for as long as this lives: [`remove_temporaries`] removes it.
#[derive(Debug)]
#[must_use = "it is known only as long as this lives"]
pub struct RegisteredTemporary(PathBuf);

impl RegisteredTemporary {
    /// The file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        registered().insert(path.clone(), Kind::File);
        Self(path)
    }
}

impl Drop for RegisteredTemporary {
    fn drop(&mut self) {
        registered().remove(&self.0);
    }
}

fn new_name(can_lock: bool) -> String {
    // Every state has keys of its own, which the system's random numbers begin.
    let random = std::hash::RandomState::new().build_hasher().finish();
    match can_lock {
        true => format!(".wharf-{:08x}-{random:016x}.tmp", host()),
        false => format!(".wharf-{random:016x}.tmp"),
    }
}

/// The machine that made a temporary file of this name. Nothing for a name that is not exactly of the pattern.
fn host_in(name: &OsStr) -> Option<u32> {
    let (host, random) = name.to_str()?.strip_prefix(".wharf-")?.strip_suffix(".tmp")?.split_once('-')?;
    let is_hex =
        |text: &str, len| text.len() == len && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex(host, 8) || !is_hex(random, 16) {
        return None;
    }
    u32::from_str_radix(host, 16).ok()
}

/// This machine: a hash (FNV-1a) of its name.
fn host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    *HOST.get_or_init(|| {
        let name = fs::read("/proc/sys/kernel/hostname").or_else(|_| fs::read("/etc/hostname")).unwrap_or_default();
        name.trim_ascii().iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    })
}

/// Removes what processes that are dead have left in a folder: temporary files and folders that nobody has locked, as the names say that
/// [`Output`](crate::Output) gives. A folder that a replacement was broken off in is put back first: see
/// [`OutputFolder`](crate::OutputFolder).
///
/// Every output does it by itself, once in a process for each folder. Of a folder with very many files only the first 10,000 are looked at.
pub fn remove_stale_temporaries(folder: &Path) {
    /// Folders that are remembered. One that is forgotten is looked at again.
    const FOLDERS: usize = 1_000;
    static CLEAN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let Ok(folder) = std::path::absolute(folder) else { return };
    if !cfg!(unix) {
        return;
    }
    {
        let mut clean = CLEAN.lock().unwrap_or_else(PoisonError::into_inner); // a set of paths is never half changed
        if clean.contains(&folder) {
            return;
        }
        if clean.len() >= FOLDERS {
            clean.clear();
        }
        clean.insert(folder.clone());
    }
    remove_stale_in(&folder);
}

fn remove_stale_in(folder: &Path) {
    /// More entries of a folder than anybody waits for.
    const ENTRIES: usize = 10_000;
    for entry in fs::read_dir(folder).into_iter().flatten().take(ENTRIES).flatten() {
        if let Some(host) = host_in(&entry.file_name()) {
            // One that cannot be removed stays.
            let _ = remove_if_stale(folder, &entry.path(), host);
        }
    }
}

/// Removes a temporary file or folder if its owner is dead.
fn remove_if_stale(folder: &Path, path: &Path, host: u32) -> io::Result<()> {
    let file = sys::open_to_lock(path)?;
    if file.try_lock().is_err() || (host != self::host() && !sys::is_local(&file)) {
        return Ok(());
    }
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return fs::remove_file(path);
    }
    if metadata.is_dir() && put_back(path, folder) {
        // What has replaced a folder must be on the disk before that folder is removed.
        sync_directory(folder);
        return fs::remove_dir_all(path);
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
