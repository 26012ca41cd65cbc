//! Parallel iteration: on rayon's threads with feature `parallel`, on the calling thread without it. Functions and results are the same, so that
//! callers need no `cfg`.
//!
//! Within [`Pool::install`] the functions use the threads of that pool, otherwise rayon's global pool. A forked child does not have the threads of
//! its parent's pool: there all work runs on the calling thread.

use std::sync::OnceLock;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use crate::{Error, Owner, Result};

/// The number of worker threads. 1 without feature `parallel`, and in a forked child.
#[must_use]
pub fn threads() -> usize {
    if has_threads() { rayon::current_num_threads() } else { 1 }
}

/// Whether there are threads: this one belongs to a pool, or the global pool to this process. The first process that asks owns the global pool. False without
/// feature `parallel`.
#[must_use]
pub fn has_threads() -> bool {
    static OWNER: OnceLock<Owner> = OnceLock::new();
    rayon::current_thread_index().is_some() || OWNER.get_or_init(Owner::current).is_current()
}

/// Starts detached work, in first-in, first-out order. Without threads it is dropped: callers must be able to do it themselves.
pub fn spawn(work: impl FnOnce() + Send + 'static) {
    if has_threads() {
        rayon::spawn_fifo(work);
    }
}

/// Applies `work` to each item. Results are in the order of the items.
///
/// ```
/// assert_eq!(container_core::parallel::map(vec![1, 2, 3], |number| number * 2), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match has_threads() {
        true => items.into_par_iter().map(work).collect(),
        false => items.into_iter().map(work).collect(),
    }
}

/// Applies `work` to each item with a state that is reused within a thread. Results are in the order of the items.
pub fn map_with<S: Default, T: Send, R: Send>(items: Vec<T>, work: impl Fn(&mut S, T) -> R + Send + Sync) -> Vec<R> {
    if !has_threads() {
        let mut state = S::default();
        return items.into_iter().map(|item| work(&mut state, item)).collect();
    }
    items.into_par_iter().map_init(S::default, work).collect()
}

/// Applies `work` to each chunk of `size` values, with a per-thread state and the chunk's number from 0.
///
/// A thread takes at least `grain` chunks; fewer than `2 * grain` chunks run on the calling thread.
///
/// # Errors
/// One of the errors of `work`. Other chunks may or may not have been processed.
///
/// # Panics
/// If `size` is 0.
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

/// Folds all chunks of `size` values into `state`, splitting work as [`for_each_chunk`] does. Other threads start from `new()`, and `merge` adds
/// a state to that of the preceding chunks.
///
/// # Panics
/// If `size` is 0.
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
    let merged = folded.reduce_with(|mut one, other| {
        merge(&mut one, other);
        one
    });
    merged.into_iter().for_each(|merged| merge(state, merged));
}

/// Whether all work stays on the calling thread: rayon would not split the chunks, or there are no threads.
fn is_small(len: usize, size: usize, grain: usize) -> bool {
    len.div_ceil(size) < grain.saturating_mul(2) || !has_threads()
}

/// A thread pool, or rayon's global pool.
#[derive(Debug)]
pub struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    /// Starts a pool of `threads` threads, which end with it; 0 uses the global pool. Ignored without feature `parallel`.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if threads cannot be started.
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|cause| Error::io("cannot start threads", std::io::Error::other(cause)))?;
        Ok(Self(Some(pool)))
    }

    /// The number of worker threads. 1 without feature `parallel`.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or_else(threads, rayon::ThreadPool::current_num_threads)
    }

    /// Runs `work` with the functions of this module using the threads of this pool.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

#[cfg(test)]
mod tests;
