//! Work on several threads: those of rayon with feature `parallel`, and the calling thread alone without it. Whoever uses this module needs
//! no `cfg`: both have the same functions, and the same outcomes.
//!
//! A function that is called within [`Pool::install`] uses the threads of that pool, and otherwise those that the process shares.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use crate::{Error, Result};

/// The number of threads that work at once. It is 1 without feature `parallel`.
#[must_use]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Starts work that nobody waits for, after what was started before. Without feature `parallel` it is dropped: whoever needs the outcome must
/// be able to do the work.
pub fn spawn(work: impl FnOnce() + Send + 'static) {
    rayon::spawn_fifo(work);
}

/// Works on each item. The outcomes are in the order of the items.
///
/// ```
/// assert_eq!(container_core::parallel::map(vec![1, 2, 3], |number| number * 2), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    items.into_par_iter().map(work).collect()
}

/// Works on each item; each thread has a state, which many items share. The outcomes are in the order of the items.
pub fn map_with<S: Default, T: Send, R: Send>(items: Vec<T>, work: impl Fn(&mut S, T) -> R + Send + Sync) -> Vec<R> {
    items.into_par_iter().map_init(S::default, work).collect()
}

/// Works on all chunks of `size` values; `work` is given a state of its thread, the chunk's number from 0, and the chunk.
/// A thread takes at least `grain` chunks: fewer than two such groups are left to the calling thread.
///
/// # Errors
/// One of `work`; what comes after it may have been worked on or not.
///
/// # Panics
/// `size` is 0.
pub fn for_each_chunk<S: Default, T: Send>(
    values: &mut [T],
    size: usize,
    grain: usize,
    work: impl Fn(&mut S, usize, &mut [T]) -> Result<()> + Send + Sync,
) -> Result<()> {
    if is_small(values.len(), size, grain) {
        let mut state = S::default();
        return values.chunks_mut(size).enumerate().try_for_each(|(number, chunk)| work(&mut state, number, chunk));
    }
    let chunks = values.par_chunks_mut(size).enumerate().with_min_len(grain);
    chunks.try_for_each_init(S::default, |state, (number, chunk)| work(state, number, chunk))
}

/// Works on all chunks of `size` values as [`for_each_chunk`] does, to change `state`: other threads begin with a state that `new` makes,
/// and `merge` adds it to that of the chunks before it.
///
/// # Panics
/// `size` is 0.
pub fn fold_chunks<S: Send, T: Sync>(
    values: &[T],
    [size, grain]: [usize; 2],
    state: &mut S,
    new: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, usize, &[T]) + Send + Sync,
    merge: impl Fn(&mut S, S) + Send + Sync,
) {
    if is_small(values.len(), size, grain) {
        return values.chunks(size).enumerate().for_each(|(number, chunk)| work(state, number, chunk));
    }
    let folded = values.par_chunks(size).enumerate().with_min_len(grain).fold(&new, |mut state, (number, chunk)| {
        work(&mut state, number, chunk);
        state
    });
    let merged = folded.reduce(&new, |mut one, other| {
        merge(&mut one, other);
        one
    });
    merge(state, merged);
}

/// True where rayon would not split the chunks: then its threads need not be started.
const fn is_small(len: usize, size: usize, grain: usize) -> bool {
    len.div_ceil(size) < grain.saturating_mul(2)
}

/// The threads that the process shares, or a number of others.
#[derive(Debug)]
pub struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    /// This number of threads, which end with the pool; 0 for those that the process shares. Without feature `parallel` the number is
    /// ignored.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): the system does not start them.
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|cause| Error::io("cannot start threads", std::io::Error::other(cause)))?;
        Ok(Self(Some(pool)))
    }

    /// The number of threads. It is 1 without feature `parallel`.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or_else(threads, rayon::ThreadPool::current_num_threads)
    }

    /// Runs `work`: what it does with the functions of this module is done by these threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

#[cfg(test)]
mod tests;
