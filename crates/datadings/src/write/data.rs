//! The data file while it is written: new, or one that grows.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Overwrite, Result, SyncPolicy};

use crate::sys::has_name;
use crate::write::sum::Sum;

/// Bytes that are gathered before they are written and hashed.
const BLOCK: usize = 1 << 20;

pub(crate) struct DataFile {
    target: Target,
    /// A new file that takes no other's place.
    first: bool,
    pub(super) block: Vec<u8>,
    /// Bytes of the whole file, with those in the block.
    position: u64,
    sum: Sum,
    /// Blocks that were written and that the thread which hashes may still have.
    lent: VecDeque<Arc<Vec<u8>>>,
}

enum Target {
    New(Output),
    Grown(Grown),
}

/// A file that is appended to in place: cut back to its old length unless all goes well, and locked as long as this lives.
pub(crate) struct Grown {
    file: File,
    path: PathBuf,
    old: u64,
    keep: bool,
}

impl Drop for Grown {
    fn drop(&mut self) {
        if !self.keep {
            let _ = self.file.set_len(self.old); // nobody can be told; a reader knows what the index does not cover
        }
        // Closing the file is not enough: a child that another thread starts at this moment has a copy of the handle until it calls exec.
        let _ = self.file.unlock();
    }
}

impl DataFile {
    /// A new file.
    pub(crate) fn create(path: &Path, options: OutputOptions, md5: bool, threads: usize) -> Result<Self> {
        let output = Output::create(path, options)?;
        let sum = if md5 { Sum::of_new(threads) } else { Sum::None };
        let first = options.overwrite == Overwrite::Refuse;
        Ok(Self { target: Target::New(output), first, block: Vec::new(), position: 0, sum, lent: VecDeque::new() })
    }

    /// A file that is there and `old` bytes long; it is locked against others who would append.
    pub(crate) fn append(path: &Path, old: u64, md5: bool) -> Result<Self> {
        let failed = |doing: &'static str| move |cause: io::Error| named(path, Error::io(doing, cause));
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed("cannot open to append"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(named(path, Error::usage("somebody else is appending to it")));
            }
            // A file system that knows no locks.
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(cause)) => return Err(failed("cannot lock")(cause)),
        }
        let len = file.metadata().map_err(failed("cannot open to append"))?.len();
        if len != old {
            let detail = format!(
                "it is {len} bytes long, its index ends at {old}: an append did not come to its end, or it has changed meanwhile"
            );
            return Err(named(path, Error::invalid(detail)));
        }
        file.seek(SeekFrom::End(0)).map_err(failed("cannot append"))?;
        let sum = if md5 { Sum::of_grown(path, old)? } else { Sum::None };
        let target = Target::Grown(Grown { file, path: path.to_owned(), old, keep: false });
        Ok(Self { target, first: false, block: Vec::new(), position: old, sum, lent: VecDeque::new() })
    }

    /// Bytes of the file so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        // What does not fit goes through in pieces: a block stays as small as it is, however large a sample.
        while let Some((piece, rest)) = bytes.split_at_checked(self.block.capacity() - self.block.len()) {
            self.block.extend_from_slice(piece);
            self.position += piece.len() as u64;
            self.flush()?;
            bytes = rest;
        }
        self.block.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes the block, and has it hashed.
    fn flush(&mut self) -> Result<()> {
        let full = Arc::new(std::mem::take(&mut self.block));
        if !full.is_empty() {
            match &mut self.target {
                Target::New(output) => {
                    self.sum.update(&full);
                    let done = output.write_all(&full);
                    done.map_err(|cause| named(output.path(), Error::io("cannot write", cause)))?;
                }
                Target::Grown(grown) => {
                    let done = grown.file.write_all(&full);
                    done.map_err(|cause| named(&grown.path, Error::io("cannot write", cause)))?;
                    self.sum.up_to(self.position);
                }
            }
            self.lent.push_back(full);
        }
        // The oldest block mostly is free by now.
        let free = self.lent.pop_front().map(Arc::try_unwrap);
        self.block = match free {
            Some(Ok(block)) => block,
            Some(Err(lent)) => {
                self.lent.push_front(lent);
                Vec::with_capacity(BLOCK)
            }
            None => Vec::with_capacity(BLOCK),
        };
        self.block.clear();
        Ok(())
    }

    /// Everything is in the file, and on the disk where that is asked for: the file lacks nothing but its name. Gives its sum.
    pub(crate) fn ready(&mut self, sync: SyncPolicy) -> Result<Option<[u8; 16]>> {
        self.flush()?;
        let (file, path) = match &self.target {
            Target::New(output) => (output.file(), output.path()),
            Target::Grown(grown) => (&grown.file, grown.path.as_path()),
        };
        if sync == SyncPolicy::Disk {
            file.sync_all().map_err(|cause| named(path, Error::io("cannot sync", cause)))?;
        }
        self.sum.finish().map_err(|error| named(path, error))
    }

    /// From now on a file that grew stays as long as it is.
    pub(crate) fn keep(&mut self) {
        if let Target::Grown(grown) = &mut self.target {
            grown.keep = true;
        }
    }

    /// True for a new file that may not replace another.
    pub(crate) fn is_first(&self) -> bool {
        self.first
    }

    /// A file that grows still has its name.
    ///
    /// # Errors
    /// When somebody has put another in its place meanwhile: an index of this one would be beside that one's data.
    pub(crate) fn check_name(&self) -> Result<()> {
        let Target::Grown(Grown { file, path, .. }) = &self.target else { return Ok(()) };
        match has_name(file, path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(named(path, Error::usage("somebody else has replaced the file that was appended to"))),
            Err(cause) => Err(named(path, Error::io("cannot look at the file that was appended to", cause))),
        }
    }

    /// Gives a new file its name. One that grew is given back: nobody else should append before its index is there.
    pub(crate) fn finish(mut self) -> Result<Option<Grown>> {
        self.keep();
        match self.target {
            Target::New(output) => output.finish().map(|()| None),
            Target::Grown(grown) => Ok(Some(grown)),
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
    fn what_was_appended_to_is_unlocked_even_where_a_child_has_a_copy_of_the_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d");
        std::fs::write(&path, b"x").unwrap();
        let data = DataFile::append(&path, 1, false).unwrap();
        let Target::Grown(grown) = &data.target else { unreachable!("it is appended to") };
        let copy = grown.file.try_clone().unwrap();
        assert!(DataFile::append(&path, 1, false).is_err());
        drop(data);
        assert!(DataFile::append(&path, 1, false).is_ok());
        drop(copy);
    }
}
