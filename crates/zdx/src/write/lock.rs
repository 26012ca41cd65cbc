//! The lock that one writer of a store holds: the reference's, so that each keeps the other out.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::SystemTime;

use container_core::{Error, ErrorKind, Result};

use crate::layout::{LOCK, LOCK_FOLDER};
use crate::write::folder::{Folder, Mode};
use crate::write::time::rfc3339;

/// So often a file is opened that is another one by the time it is locked.
const TRIES: u32 = 100;

/// A locked file. It is removed while it is still locked; a lock of a process that dies dies with it.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    folder: Folder,
}

impl Lock {
    /// Takes the lock of a store whose root exists.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) where another holds it, saying who, and where there can be no lock;
    /// [`Unsupported`](container_core::ErrorKind::Unsupported) where the lock or its folder is a symbolic link or no regular file.
    pub(crate) fn take(root: &Path, now: SystemTime) -> Result<Self> {
        for _ in 0..TRIES {
            let store = Folder::root(root)?;
            let folder = match store.make_folder(LOCK_FOLDER) {
                // The store was replaced meanwhile.
                Err(_) if !store.is_at(root) => continue,
                folder => folder?,
            };
            let failed =
                |cause| Error::io("cannot lock the store", cause).in_file(folder.path(LOCK).display().to_string());
            // Its folder was removed meanwhile.
            let Some(mut file) = folder.open(LOCK, Mode::WriteOrCreate)? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(&mut file, &folder.path(LOCK))),
                Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            }
            // Who held it before has removed it: then nobody else sees this one.
            if !folder.is_named(&file, LOCK) || !folder.is_at(&store.path(LOCK_FOLDER)) {
                continue;
            }
            let text = format!("pid={}\nhostname={}\ntimestamp={}\n", std::process::id(), host(), rfc3339(now));
            file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
            return Ok(Self { file, folder });
        }
        let detail = "cannot lock the store: its lock is removed as often as it is made";
        Err(Error::new(ErrorKind::Io, detail).in_file(root.join(LOCK_FOLDER).join(LOCK).display().to_string()))
    }

    /// Makes sure that it still keeps others out: the reference unlocks its file before it removes it, which may be this one by then.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io) where another holds a lock now.
    pub(crate) fn renew(&mut self, root: &Path, now: SystemTime) -> Result<()> {
        if !self.folder.is_named(&self.file, LOCK) {
            *self = Self::take(root, now)?;
        }
        Ok(())
    }

    /// Gives it back: other writers may come.
    pub(crate) fn release(&self) {
        if self.folder.is_named(&self.file, LOCK) {
            // What stays behind locks nobody out.
            let _ = self.folder.remove(LOCK);
        }
    }

    /// The folder that the lock is in.
    pub(crate) const fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.release();
    }
}

fn held(file: &mut File, path: &Path) -> Error {
    let mut text = String::new();
    // A holder that has not written yet is one all the same.
    let _ = file.rewind().and_then(|()| file.take(4096).read_to_string(&mut text));
    let said = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    let (pid, host, since) = (said("pid="), said("hostname="), said("timestamp="));
    let detail = format!("another writer has the store locked: process {pid} on {host}, since {since}");
    Error::new(ErrorKind::Io, detail).in_file(path.display().to_string())
}

/// The name of this machine.
fn host() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname"));
    let told = told.ok().or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let name: String = told.unwrap_or_default().trim().chars().filter(|found| !found.is_control()).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn one_holds_it_and_the_other_is_told_who() {
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
        let wanted = format!(
            "{}: another writer has the store locked: process {pid} on {host}, since 2026-11-21T16:29:19Z",
            path.display()
        );
        assert_eq!(error.to_string(), wanted);
        drop(first);
        assert!(!path.exists());
        drop(Lock::take(root.path(), time).unwrap());
    }

    #[test]
    fn what_a_dead_one_left_locks_nobody_out() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".zds")).unwrap();
        let path = root.path().join(".zds/.zds_write.lock");
        fs::write(&path, "pid=1\nhostname=gone\ntimestamp=then, and much longer than what comes after it is written\n")
            .unwrap();
        let lock = Lock::take(root.path(), SystemTime::now()).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("gone"));
        drop(lock);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_was_removed_is_taken_again_unless_another_has_it() {
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
        // And what is not its own it does not remove.
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn many_at_once_exclude_each_other() {
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
