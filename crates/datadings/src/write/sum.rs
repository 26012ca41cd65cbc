//! The MD5 sum of the data, computed by a separate thread while they are written.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use container_core::{Error, Result};

use crate::md5::Md5;

/// Maximum number of blocks waiting to be hashed; then the writer waits too.
const MAX_PENDING_BLOCKS: usize = 16;

/// Maximum number of pending [`Task::UpTo`]: with four per MiB, an append of 16 GiB.
const MAX_PENDING_ENDS: usize = 1 << 16;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// A running MD5 sum.
pub(crate) enum DataSum {
    /// Not requested.
    Off,
    /// Computed by the writing thread.
    Inline(Box<Md5>),
    /// Computed by its own thread.
    Threaded(SumThread),
}

pub(crate) struct SumThread {
    tasks: SyncSender<Task>,
    thread: JoinHandle<Result<[u8; 16]>>,
    cancel: CancelOnDrop,
}

/// Tells the thread, when dropped, that the sum is no longer needed.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A task of the thread.
enum Task {
    /// Hash these bytes.
    Block(Arc<Vec<u8>>),
    /// The file is written up to this offset: hash it up to there.
    UpTo(u64),
}

impl DataSum {
    /// The sum of a new file.
    pub(crate) fn of_new(threads: usize) -> Self {
        if threads == 1 {
            return Self::Inline(Box::default());
        }
        let (tasks, received) = sync_channel(MAX_PENDING_BLOCKS);
        let spawned = thread::Builder::new().name("md5".to_owned()).spawn(move || {
            let mut md5 = Md5::new();
            for task in received {
                if let Task::Block(block) = task {
                    md5.update(&block);
                }
            }
            Ok(md5.finish())
        });
        match spawned {
            Ok(thread) => Self::Threaded(SumThread { tasks, thread, cancel: CancelOnDrop(Arc::default()) }),
            // No thread available: hash on this one.
            Err(_) => Self::Inline(Box::default()),
        }
    }

    /// The sum of a file that has `old_len` bytes and will grow. Starts hashing those at once.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub(crate) fn of_growing(path: &Path, old_len: u64) -> Result<Self> {
        let failed =
            |cause| Error::io("cannot read the data to compute its MD5 sum", cause).in_file(path.display().to_string());
        let file = File::open(path).map_err(failed)?;
        let (tasks, received) = sync_channel(MAX_PENDING_ENDS);
        let cancel = CancelOnDrop(Arc::default());
        let stop = Arc::clone(&cancel.0);
        let spawned =
            thread::Builder::new().name("md5".to_owned()).spawn(move || follow(file, old_len, &received, &stop));
        let thread = spawned.map_err(failed)?;
        Ok(Self::Threaded(SumThread { tasks, thread, cancel }))
    }

    /// Adds the next bytes of a new file.
    pub(crate) fn update(&mut self, block: &Arc<Vec<u8>>) {
        match self {
            Self::Off => {}
            Self::Inline(md5) => md5.update(block),
            // If the thread has ended, joining it reports why.
            Self::Threaded(sum) => drop(sum.tasks.send(Task::Block(Arc::clone(block)))),
        }
    }

    /// Extends the sum to `end`, up to which the growing file has been written.
    pub(crate) fn extend_to(&mut self, end: u64) {
        if let Self::Threaded(sum) = self {
            drop(sum.tasks.send(Task::UpTo(end)));
        }
    }

    /// The sum, if requested.
    ///
    /// # Errors
    /// Errors reading a growing file.
    pub(crate) fn finish(&mut self) -> Result<Option<[u8; 16]>> {
        match std::mem::replace(self, Self::Off) {
            Self::Off => Ok(None),
            Self::Inline(md5) => Ok(Some(md5.finish())),
            Self::Threaded(SumThread { tasks, thread, cancel }) => {
                drop(tasks);
                let sum = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                drop(cancel);
                sum.map(Some)
            }
        }
    }
}

/// Hashes a file as it grows.
fn follow(mut file: File, old_len: u64, tasks: &Receiver<Task>, cancel: &AtomicBool) -> Result<[u8; 16]> {
    let mut md5 = Md5::new();
    let mut chunk = vec![0; CHUNK];
    let mut hashed = 0u64;
    let mut advance = |end: u64| -> Result<()> {
        while hashed < end && !cancel.load(Ordering::Relaxed) {
            let len = usize::try_from(end - hashed).unwrap_or(CHUNK).min(CHUNK);
            let target = chunk.get_mut(..len).unwrap_or_default();
            let read = file.read_exact(target);
            read.map_err(|cause| Error::io("cannot read the data to compute its MD5 sum", cause).at(hashed))?;
            md5.update(target);
            hashed += len as u64;
        }
        Ok(())
    };
    advance(old_len)?;
    for task in tasks {
        if let Task::UpTo(end) = task {
            advance(end)?;
        }
    }
    Ok(md5.finish())
}

/// The MD5 sum of a source.
pub(crate) fn sum_of(source: &container_core::Source) -> Result<[u8; 16]> {
    if let Some(bytes) = source.as_slice() {
        return Ok(Md5::digest(bytes));
    }
    let mut md5 = Md5::new();
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let end = source.len().min(at + CHUNK as u64);
        md5.update(source.view(at..end, &mut buffer)?);
        at = end;
    }
    Ok(md5.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn growing_file_is_hashed_as_it_grows() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let all: Vec<u8> = (0..3_000_000u32).map(|n| (n % 253) as u8).collect();
        file.write_all(&all[..1_500_000]).unwrap();
        let mut sum = DataSum::of_growing(file.path(), 1_500_000).unwrap();
        for end in [1_500_001, 2_000_000, 3_000_000] {
            let start = file.as_file().metadata().unwrap().len() as usize;
            file.write_all(&all[start..end]).unwrap();
            sum.extend_to(end as u64);
        }
        assert_eq!(sum.finish().unwrap(), Some(Md5::digest(&all)));
        assert_eq!(sum.finish().unwrap(), None);
    }

    #[test]
    fn inline_and_threaded_sums_agree() {
        let blocks: Vec<Arc<Vec<u8>>> = (0..20u8).map(|n| Arc::new(vec![n; 1000 + usize::from(n)])).collect();
        let sums = [1, 2].map(|threads| {
            let mut sum = DataSum::of_new(threads);
            blocks.iter().for_each(|block| sum.update(block));
            sum.finish().unwrap().unwrap()
        });
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sums[0], Md5::digest(&blocks.iter().flat_map(|block| block.iter().copied()).collect::<Vec<_>>()));
    }

    #[test]
    fn rejects_a_truncated_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = DataSum::of_growing(file.path(), 10).unwrap().finish().unwrap_err();
        assert!(error.to_string().starts_with("cannot read the data to compute its MD5 sum"), "{error}");
    }
}
