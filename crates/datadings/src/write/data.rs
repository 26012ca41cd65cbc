//! The data file while it is written: a new file, or an existing one that is appended to.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Overwrite, Owner, Result, SyncPolicy};

use crate::sys::has_name;
use crate::write::sum::DataSum;

/// Bytes buffered before they are written and hashed.
const BLOCK: usize = 256 << 10;

pub(crate) struct DataFile {
    target: Target,
    /// The file is new and must not replace another.
    must_not_exist: bool,
    pub(super) block: Vec<u8>,
    /// Size of the file, including the current block.
    position: u64,
    sum: DataSum,
    /// Written blocks that the hashing thread may still use.
    in_flight: VecDeque<Arc<Vec<u8>>>,
}

enum Target {
    New(Output),
    Append(AppendTarget),
}

/// A file appended to in place. Dropping it unlocks the file, and truncates it to its old length unless `keep` is set. A forked child does
/// neither.
pub(crate) struct AppendTarget {
    file: File,
    path: PathBuf,
    old_len: u64,
    keep: bool,
    owner: Owner,
}

impl Drop for AppendTarget {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            return;
        }
        if !self.keep {
            let _ = self.file.set_len(self.old_len); // on failure, readers ignore what the index does not cover
        }
        // Closing is not enough: a child that another thread is forking has a copy of the handle until it calls `exec`.
        let _ = self.file.unlock();
    }
}

impl DataFile {
    /// Creates a new file.
    pub(crate) fn create(path: &Path, options: OutputOptions, md5: bool, threads: usize) -> Result<Self> {
        if path.is_symlink() {
            let detail = "cannot write through a symbolic link: the index would not be beside the data";
            return Err(named(path, Error::unsupported(detail)));
        }
        let output = Output::create(path, options)?;
        let sum = if md5 { DataSum::of_new(threads) } else { DataSum::Off };
        let must_not_exist = options.overwrite == Overwrite::Refuse;
        let target = Target::New(output);
        Ok(Self { target, must_not_exist, block: Vec::new(), position: 0, sum, in_flight: VecDeque::new() })
    }

    /// Opens an existing file of `old_len` bytes, and locks it against other writers that append.
    pub(crate) fn append(path: &Path, old_len: u64, md5: bool) -> Result<Self> {
        let failed = |action: &'static str| move |cause: io::Error| named(path, Error::io(action, cause));
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed("cannot open to append"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(named(path, Error::usage("another writer is appending to it")));
            }
            // The file system may not support locks.
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(cause)) => return Err(failed("cannot lock")(cause)),
        }
        let len = file.metadata().map_err(failed("cannot open to append"))?.len();
        if len != old_len {
            let detail = format!(
                "file is {len} bytes long, but its index ends at byte {old_len}: an append was interrupted, or the file has changed"
            );
            return Err(named(path, Error::invalid(detail)));
        }
        file.seek(SeekFrom::End(0)).map_err(failed("cannot append"))?;
        let sum = if md5 { DataSum::of_growing(path, old_len)? } else { DataSum::Off };
        let target =
            Target::Append(AppendTarget { file, path: path.to_owned(), old_len, keep: false, owner: Owner::current() });
        Ok(Self {
            target,
            must_not_exist: false,
            block: Vec::new(),
            position: old_len,
            sum,
            in_flight: VecDeque::new(),
        })
    }

    /// The size of the file so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        // Large samples pass through in chunks, so that a block never grows.
        while let Some((chunk, rest)) = bytes.split_at_checked(self.block.capacity() - self.block.len()) {
            self.block.extend_from_slice(chunk);
            self.position += chunk.len() as u64;
            self.flush()?;
            bytes = rest;
        }
        self.block.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes the block and passes it on to be hashed.
    fn flush(&mut self) -> Result<()> {
        let full = Arc::new(std::mem::take(&mut self.block));
        if !full.is_empty() {
            match &mut self.target {
                Target::New(output) => {
                    self.sum.update(&full);
                    let result = output.write_all(&full);
                    result.map_err(|cause| named(output.path(), Error::io("cannot write", cause)))?;
                }
                Target::Append(target) => {
                    target.owner.check().map_err(|error| named(&target.path, error))?;
                    let result = target.file.write_all(&full);
                    result.map_err(|cause| named(&target.path, Error::io("cannot write", cause)))?;
                    self.sum.extend_to(self.position);
                }
            }
            self.in_flight.push_back(full);
        }
        // Reuse the oldest block if it has been hashed, as usual.
        let free = self.in_flight.pop_front().map(Arc::try_unwrap);
        self.block = match free {
            Some(Ok(block)) => block,
            Some(Err(block)) => {
                self.in_flight.push_front(block);
                Vec::with_capacity(BLOCK)
            }
            None => Vec::with_capacity(BLOCK),
        };
        self.block.clear();
        Ok(())
    }

    /// Writes everything, and syncs it if requested: only the file's name is missing then. Returns the MD5 sum, which may still be running.
    pub(crate) fn flush_and_sync(&mut self, sync: SyncPolicy) -> Result<DataSum> {
        self.flush()?;
        let (file, path) = match &self.target {
            Target::New(output) => (output.file(), output.path()),
            Target::Append(target) => (&target.file, target.path.as_path()),
        };
        if sync == SyncPolicy::Disk {
            file.sync_all().map_err(|cause| named(path, Error::io("cannot sync", cause)))?;
        }
        Ok(std::mem::replace(&mut self.sum, DataSum::Off))
    }

    /// Keeps appended data from now on.
    pub(crate) fn keep(&mut self) {
        if let Target::Append(target) = &mut self.target {
            target.keep = true;
        }
    }

    /// True for a new file that must not replace another.
    pub(crate) fn must_not_exist(&self) -> bool {
        self.must_not_exist
    }

    /// Checks that a file appended to still has its name.
    ///
    /// # Errors
    /// When another file has replaced it: the index would accompany the wrong data.
    pub(crate) fn check_name(&self) -> Result<()> {
        let Target::Append(AppendTarget { file, path, .. }) = &self.target else { return Ok(()) };
        match has_name(file, path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(named(path, Error::usage("the data file was replaced during the append"))),
            Err(cause) => Err(named(path, Error::io("cannot check the data file", cause))),
        }
    }

    /// Gives a new file its name. An append target is returned, so that it stays locked until its index is in place.
    pub(crate) fn finish(mut self) -> Result<Option<AppendTarget>> {
        self.keep();
        match self.target {
            Target::New(output) => output.finish().map(|()| None),
            Target::Append(target) => Ok(Some(target)),
        }
    }
}

fn named(path: &Path, error: Error) -> Error {
    error.in_file(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_unlocks_despite_a_copied_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        std::fs::write(&path, b"x").unwrap();
        let data = DataFile::append(&path, 1, false).unwrap();
        let Target::Append(target) = &data.target else { unreachable!("opened to append") };
        let copy = target.file.try_clone().unwrap();
        assert!(DataFile::append(&path, 1, false).is_err());
        drop(data);
        assert!(DataFile::append(&path, 1, false).is_ok());
        drop(copy);
    }
}
