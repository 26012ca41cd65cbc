//! Local files, read by position straight into arrays.

use std::sync::{Mutex, PoisonError};
use std::thread;

use container_core::{Result, Source};

use crate::process;

/// Bytes that a thread reads at once: huge pages, which it clears, and which still are in the cache when they are filled.
const STEP: usize = 16 << 20;

/// Threads that read one array.
const MAX_THREADS: usize = 4;

/// Reads the bytes from `offset` into `out`: large ones of a local file with several threads.
pub(super) fn read_into(source: &Source, is_local: bool, offset: u64, out: &mut [u8]) -> Result<()> {
    let threads = match process::threads(0) {
        // A few cores use up the bandwidth of the memory.
        0 if is_local => thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(out.len() / STEP),
        _ => 1,
    };
    if threads <= 1 {
        return source.read_exact_at(offset, out);
    }
    let queue = Mutex::new(out.chunks_mut(STEP).enumerate());
    let work = || {
        // The lock is released before the part is read.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((number, part)) = next() {
            source.read_exact_at(offset + (number * STEP) as u64, part)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut done = work();
        for other in others {
            let result = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done = done.and(result);
        }
        done
    })
}
