//! Work on several threads with feature `parallel`. This is a build without it: the calling thread does all work.
#![allow(
    clippy::missing_const_for_fn,
    clippy::unnecessary_wraps,
    reason = "the functions are those of feature `parallel`"
)]

use crate::Result;

/// The number of threads that work at once: 1 without feature `parallel`.
#[must_use]
pub fn threads() -> usize {
    1
}

/// Drops the work, as there is no thread for it: whoever needs the outcome must be able to do the work.
pub fn spawn(_: impl FnOnce() + Send + 'static) {}

/// Works on each item. The outcomes are in the order of the items.
///
/// ```
/// assert_eq!(container_core::parallel::map(vec![1, 2, 3], |number| number * 2), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    items.into_iter().map(work).collect()
}

/// Works on each item; all items share a state. The outcomes are in the order of the items.
pub fn map_with<S: Default, T: Send, R: Send>(items: Vec<T>, work: impl Fn(&mut S, T) -> R + Send + Sync) -> Vec<R> {
    let mut state = S::default();
    items.into_iter().map(|item| work(&mut state, item)).collect()
}

/// Works on all chunks of `size` values; `work` is given a state, the chunk's number from 0, and the chunk. The grain is for several threads.
///
/// # Errors
/// The first one of `work`.
///
/// # Panics
/// `size` is 0.
pub fn for_each_chunk<S: Default, T: Send>(
    values: &mut [T],
    size: usize,
    _grain: usize,
    work: impl Fn(&mut S, usize, &mut [T]) -> Result<()> + Send + Sync,
) -> Result<()> {
    let mut state = S::default();
    values.chunks_mut(size).enumerate().try_for_each(|(number, chunk)| work(&mut state, number, chunk))
}

/// Works on all chunks of `size` values, to change `state`. The grain, `new` and `merge` are for several threads.
///
/// # Panics
/// `size` is 0.
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

/// The calling thread.
#[derive(Debug)]
pub struct Pool(());

impl Pool {
    /// The calling thread, whatever the number.
    ///
    /// # Errors
    /// Only with feature `parallel`.
    pub fn new(_: usize) -> Result<Self> {
        Ok(Self(()))
    }

    /// The number of threads: 1 without feature `parallel`.
    #[must_use]
    pub fn threads(&self) -> usize {
        1
    }

    /// Runs `work`.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

#[cfg(test)]
mod tests;
