//! The lock of a store's writer. It is compatible with the reference's.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::SystemTime;

use container_core::{Error, ErrorKind, Owner, Result};

use crate::layout::{LOCK, LOCK_FOLDER};
use crate::write::folder::{Folder, Mode};
use crate::write::time::rfc3339;

/// Maximum attempts to lock a file that is replaced in the meantime.
const MAX_ATTEMPTS: u32 = 100;

/// A locked file, removed while still locked. If the process dies, the lock dies with it. A forked child leaves it to its parent.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    folder: Folder,
    owner: Owner,
}

impl Lock {
    /// Takes the lock of a store whose root exists.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) if another writer holds it (the error names it) or locking fails;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) if the lock file or its directory is a symbolic link or special file.
    pub(crate) fn take(root: &Path, now: SystemTime) -> Result<Self> {
        for _ in 0..MAX_ATTEMPTS {
            let store = Folder::root(root)?;
            let folder = match store.make_folder(LOCK_FOLDER) {
                // The store was replaced in the meantime.
                Err(_) if !store.is_at(root) => continue,
                folder => folder?,
            };
            let failed =
                |cause| Error::io("cannot lock the store", cause).in_file(folder.path(LOCK).display().to_string());
            // The directory was removed in the meantime.
            let Some(mut file) = folder.open(LOCK, Mode::WriteOrCreate)? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held_by(&mut file, &folder.path(LOCK))),
                Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            }
            // The previous holder removed the file: nobody else would see this lock.
            if !folder.is_named(&file, LOCK) || !folder.is_at(&store.path(LOCK_FOLDER)) {
                continue;
            }
            let text = format!("pid={}\nhostname={}\ntimestamp={}\n", std::process::id(), host(), rfc3339(now));
            file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
            return Ok(Self { file, folder, owner: Owner::current() });
        }
        let detail = "cannot lock the store: its lock file keeps being removed";
        Err(Error::new(ErrorKind::Io, detail).in_file(root.join(LOCK_FOLDER).join(LOCK).display().to_string()))
    }

    /// Makes sure that the lock still excludes others: the reference unlocks its file before removing it, and may have removed ours.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) if another writer holds a lock by now; [`Usage`](container_core::ErrorKind::Usage) in a forked
    /// child.
    pub(crate) fn renew(&mut self, root: &Path, now: SystemTime) -> Result<()> {
        self.owner.check()?;
        if !self.folder.is_named(&self.file, LOCK) {
            *self = Self::take(root, now)?;
        }
        Ok(())
    }

    /// Releases the lock.
    pub(crate) fn release(&self) {
        if self.owner.is_current() && self.folder.is_named(&self.file, LOCK) {
            // A file left behind does not lock anything.
            let _ = self.folder.remove(LOCK);
        }
    }

    /// The directory of the lock file.
    pub(crate) const fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.release();
    }
}

fn held_by(file: &mut File, path: &Path) -> Error {
    let mut text = String::new();
    // The holder may not have written anything yet.
    let _ = file.rewind().and_then(|()| file.take(4096).read_to_string(&mut text));
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    let (pid, host, since) = (field("pid="), field("hostname="), field("timestamp="));
    let detail = format!("another writer holds the lock: process {pid} on {host}, since {since}");
    Error::new(ErrorKind::Io, detail).in_file(path.display().to_string())
}

/// The host name.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname"));
    let name = name.ok().or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let name: String = name.unwrap_or_default().trim().chars().filter(|c| !c.is_control()).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn error_names_the_holder() {
        let root = tempfile::tempdir().unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(1_795_278_559);
        let path = root.path().join(".zds/.zds_write.lock");
        let first = Lock::take(root.path(), time).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let host = text.lines().nth(1).unwrap().strip_prefix("hostname=").unwrap();
        assert!(!host.is_empty());
        let pid = std::process::id();
        assert_eq!(text, format!("pid={pid}\nhostname={host}\ntimestamp=2026-11-21T16:29:19Z\n"));
        let error = Lock::take(root.path(), time).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let expected = format!(
            "{}: another writer holds the lock: process {pid} on {host}, since 2026-11-21T16:29:19Z",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        drop(first);
        assert!(!path.exists());
        drop(Lock::take(root.path(), time).unwrap());
    }

    #[test]
    fn ignores_lock_file_of_a_dead_process() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".zds")).unwrap();
        let path = root.path().join(".zds/.zds_write.lock");
        fs::write(&path, "pid=1\nhostname=gone\ntimestamp=then, and much longer than what comes after it is written\n")
            .unwrap();
        let lock = Lock::take(root.path(), SystemTime::now()).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("gone"));
        drop(lock);
    }

    #[test]
    fn concurrent_writers_exclude_each_other() {
        let root = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let taken = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if let Ok(lock) = Lock::take(root.path(), SystemTime::now()) {
                            assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            taken.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}

#[cfg(all(test, unix))]
mod unix_tests {
    use super::*;

    #[test]
    fn renews_a_removed_lock_unless_another_writer_has_it() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".zds/.zds_write.lock");
        let now = SystemTime::now();
        let mut first = Lock::take(root.path(), now).unwrap();
        fs::remove_file(&path).unwrap();
        first.renew(root.path(), now).unwrap();
        assert!(Lock::take(root.path(), now).is_err());
        fs::remove_file(&path).unwrap();
        let second = Lock::take(root.path(), now).unwrap();
        assert!(first.renew(root.path(), now).is_err());
        // Does not remove another writer's file.
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }
}
