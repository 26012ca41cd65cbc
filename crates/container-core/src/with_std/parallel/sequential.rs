//! The functions of feature `parallel`, built without it: all work runs on the calling thread.
#![allow(
    clippy::missing_const_for_fn,
    clippy::unnecessary_wraps,
    reason = "signatures match those of feature `parallel`"
)]

use crate::Result;

/// The number of worker threads: 1 without feature `parallel`.
#[must_use]
pub fn threads() -> usize {
    1
}

/// False without feature `parallel`.
#[must_use]
pub fn has_threads() -> bool {
    false
}

/// Drops the work without feature `parallel`. Callers must be able to do it themselves.
pub fn spawn(_: impl FnOnce() + Send + 'static) {}

/// Applies `work` to each item. Results are in the order of the items.
///
/// ```
/// assert_eq!(container_core::parallel::map(vec![1, 2, 3], |number| number * 2), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    items.into_iter().map(work).collect()
}

/// Applies `work` to each item with a shared state. Results are in the order of the items.
pub fn map_with<S: Default, T: Send, R: Send>(items: Vec<T>, work: impl Fn(&mut S, T) -> R + Send + Sync) -> Vec<R> {
    let mut state = S::default();
    items.into_iter().map(|item| work(&mut state, item)).collect()
}

/// Applies `work` to each chunk of `size` values, with a state and the chunk's number from 0. `grain` is ignored without feature `parallel`.
///
/// # Errors
/// The first error of `work`.
///
/// # Panics
/// If `size` is 0.
pub fn for_each_chunk<S: Default, T: Send>(
    values: &mut [T],
    size: usize,
    _grain: usize,
    work: impl Fn(&mut S, usize, &mut [T]) -> Result<()> + Send + Sync,
) -> Result<()> {
    let mut state = S::default();
    values.chunks_mut(size).enumerate().try_for_each(|(number, chunk)| work(&mut state, number, chunk))
}

/// Folds all chunks of `size` values into `state`. `grain`, `new` and `merge` are ignored without feature `parallel`.
///
/// # Panics
/// If `size` is 0.
pub fn fold_chunks<S: Send, T: Sync>(
    values: &[T],
    [size, _grain]: [usize; 2],
    state: &mut S,
    _new: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, usize, &[T]) + Send + Sync,
    _merge: impl Fn(&mut S, S) + Send + Sync,
) {
    values.chunks(size).enumerate().for_each(|(number, chunk)| work(state, number, chunk));
}

/// A placeholder for a thread pool.
#[derive(Debug)]
pub struct Pool(());

impl Pool {
    /// Ignores the number of threads.
    ///
    /// # Errors
    /// None without feature `parallel`.
    pub fn new(_: usize) -> Result<Self> {
        Ok(Self(()))
    }

    /// The number of worker threads: 1 without feature `parallel`.
    #[must_use]
    pub fn threads(&self) -> usize {
        1
    }

    /// Runs `work` on the calling thread.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

#[cfg(test)]
mod tests;
