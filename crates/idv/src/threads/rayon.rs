//! The threads of rayon's pool.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// How many there are.
pub(crate) fn count() -> usize {
    rayon::current_num_threads()
}

/// Puts work before them.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    rayon::spawn_fifo(work);
}

/// Works on all items, each thread with a state of its own; the outcomes are in the order of the items.
pub(crate) fn map<S: Default + Send, T: Send>(
    items: Vec<u64>,
    work: impl Fn(&mut S, u64) -> T + Sync + Send,
) -> Vec<T> {
    items.into_par_iter().map_init(S::default, work).collect()
}
