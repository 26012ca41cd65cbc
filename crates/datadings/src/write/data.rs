//! The data file while it is written: new, or one that grows.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use container_core::{Error, Output, OutputOptions, Result, Sync};

use crate::write::sum::Sum;

/// Bytes that are gathered before they are written and hashed.
const BLOCK: usize = 1 << 20;

pub(crate) struct DataFile {
    target: Target,
    block: Vec<u8>,
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

/// A file that is appended to in place: cut back to its old length unless all goes well.
struct Grown {
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
    }
}

impl DataFile {
    /// A new file.
    pub(crate) fn create(path: &Path, options: OutputOptions, md5: bool, threads: usize) -> Result<Self> {
        let output = Output::create(path, options)?;
        let sum = if md5 { Sum::of_new(threads) } else { Sum::None };
        Ok(Self { target: Target::New(output), block: Vec::new(), position: 0, sum, lent: VecDeque::new() })
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
        Ok(Self { target, block: Vec::new(), position: old, sum, lent: VecDeque::new() })
    }

    /// Bytes of the file so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.block.len() + bytes.len() > self.block.capacity() {
            self.flush()?;
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
    pub(crate) fn ready(&mut self, sync: Sync) -> Result<Option<[u8; 16]>> {
        self.flush()?;
        let (file, path) = match &self.target {
            Target::New(output) => (output.file(), output.path()),
            Target::Grown(grown) => (&grown.file, grown.path.as_path()),
        };
        if sync == Sync::Disk {
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

    /// Gives a new file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.keep();
        match self.target {
            Target::New(output) => output.finish(),
            Target::Grown(_) => Ok(()),
        }
    }
}

fn named(path: &Path, error: Error) -> Error {
    error.in_file(path.display().to_string())
}
