//! The MD5 sum of the data: computed beside the writing, by a thread of its own.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use container_core::{Error, Result};

use crate::md5::Md5;

/// Blocks that may wait to be hashed before the writer waits too.
const WAITING: usize = 4;

/// Places up to which the file may be hashed that may wait: of one MiB each, an append of 64 GiB.
const PLACES: usize = 1 << 16;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// A sum in the making.
pub(crate) enum Sum {
    /// Nobody wants it.
    None,
    /// Computed by the thread that writes.
    Here(Box<Md5>),
    /// Computed by another.
    Beside(Beside),
}

pub(crate) struct Beside {
    tasks: SyncSender<Task>,
    thread: JoinHandle<Result<[u8; 16]>>,
    vain: Vain,
}

/// Tells the thread, when it is dropped, that nobody waits for the sum any more.
struct Vain(Arc<AtomicBool>);

impl Drop for Vain {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the thread is told.
enum Task {
    /// Hash these bytes.
    Block(Arc<Vec<u8>>),
    /// The file is written up to here: hash it so far.
    UpTo(u64),
}

impl Sum {
    /// The sum of a file that is written from its beginning.
    pub(crate) fn of_new(threads: usize) -> Self {
        if threads == 1 {
            return Self::Here(Box::default());
        }
        let (tasks, received) = sync_channel(WAITING);
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
            Ok(thread) => Self::Beside(Beside { tasks, thread, vain: Vain(Arc::default()) }),
            // No thread to be had: it goes without.
            Err(_) => Self::Here(Box::default()),
        }
    }

    /// The sum of a file of which `old` bytes are there and more will come.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub(crate) fn of_grown(path: &Path, old: u64) -> Result<Self> {
        let failed = |cause| Error::io("cannot read it for its MD5 sum", cause).in_file(path.display().to_string());
        let file = File::open(path).map_err(failed)?;
        let (tasks, received) = sync_channel(PLACES);
        let vain = Vain(Arc::default());
        let stop = Arc::clone(&vain.0);
        let spawned = thread::Builder::new().name("md5".to_owned()).spawn(move || follow(file, old, &received, &stop));
        let thread = spawned.map_err(failed)?;
        Ok(Self::Beside(Beside { tasks, thread, vain }))
    }

    /// Takes the next bytes of a new file.
    pub(crate) fn update(&mut self, block: &Arc<Vec<u8>>) {
        match self {
            Self::None => {}
            Self::Here(md5) => md5.update(block),
            // A thread that is gone says why when it is joined.
            Self::Beside(beside) => drop(beside.tasks.send(Task::Block(Arc::clone(block)))),
        }
    }

    /// A grown file was written up to here.
    pub(crate) fn up_to(&mut self, place: u64) {
        if let Self::Beside(beside) = self {
            drop(beside.tasks.send(Task::UpTo(place)));
        }
    }

    /// The sum, where one was wanted.
    ///
    /// # Errors
    /// Those of reading a grown file.
    pub(crate) fn finish(&mut self) -> Result<Option<[u8; 16]>> {
        match std::mem::replace(self, Self::None) {
            Self::None => Ok(None),
            Self::Here(md5) => Ok(Some(md5.finish())),
            Self::Beside(Beside { tasks, thread, vain }) => {
                drop(tasks);
                let sum = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                drop(vain);
                sum.map(Some)
            }
        }
    }
}

/// Hashes a file as it grows.
fn follow(mut file: File, old: u64, tasks: &Receiver<Task>, vain: &AtomicBool) -> Result<[u8; 16]> {
    let mut md5 = Md5::new();
    let mut chunk = vec![0; CHUNK];
    let mut done = 0u64;
    let mut advance = |place: u64| -> Result<()> {
        while done < place && !vain.load(Ordering::Relaxed) {
            let want = usize::try_from(place - done).unwrap_or(CHUNK).min(CHUNK);
            let target = chunk.get_mut(..want).unwrap_or_default();
            file.read_exact(target).map_err(|cause| Error::io("cannot read it for its MD5 sum", cause).at(done))?;
            md5.update(target);
            done += want as u64;
        }
        Ok(())
    };
    advance(old)?;
    for task in tasks {
        if let Task::UpTo(place) = task {
            advance(place)?;
        }
    }
    Ok(md5.finish())
}

/// The MD5 sum of a file that is at hand.
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
    fn a_file_that_grows_is_hashed_as_it_does() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let all: Vec<u8> = (0..3_000_000u32).map(|n| (n % 253) as u8).collect();
        file.write_all(&all[..1_500_000]).unwrap();
        let mut sum = Sum::of_grown(file.path(), 1_500_000).unwrap();
        for end in [1_500_001, 2_000_000, 3_000_000] {
            let start = file.as_file().metadata().unwrap().len() as usize;
            file.write_all(&all[start..end]).unwrap();
            sum.up_to(end as u64);
        }
        assert_eq!(sum.finish().unwrap(), Some(Md5::digest(&all)));
        assert_eq!(sum.finish().unwrap(), None);
    }

    #[test]
    fn here_and_beside_agree() {
        let blocks: Vec<Arc<Vec<u8>>> = (0..20u8).map(|n| Arc::new(vec![n; 1000 + usize::from(n)])).collect();
        let sums = [1, 2].map(|threads| {
            let mut sum = Sum::of_new(threads);
            blocks.iter().for_each(|block| sum.update(block));
            sum.finish().unwrap().unwrap()
        });
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sums[0], Md5::digest(&blocks.iter().flat_map(|block| block.iter().copied()).collect::<Vec<_>>()));
    }

    #[test]
    fn a_file_cut_short_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Sum::of_grown(file.path(), 10).unwrap().finish().unwrap_err();
        assert!(error.to_string().starts_with("cannot read it for its MD5 sum"), "{error}");
    }
}
