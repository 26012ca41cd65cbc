//! Rayon thread pools.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// The global pool, or a private one.
#[derive(Debug)]
pub(super) enum Pool {
    Shared,
    Own(rayon::ThreadPool),
}

impl Pool {
    pub(super) fn new(threads: usize) -> Option<Self> {
        match threads {
            0 if rayon::current_num_threads() == 1 => None,
            0 => Some(Self::Shared),
            1 => None,
            more => rayon::ThreadPoolBuilder::new().num_threads(more).build().ok().map(Self::Own),
        }
    }

    pub(super) fn count(&self) -> usize {
        match self {
            Self::Shared => rayon::current_num_threads(),
            Self::Own(pool) => pool.current_num_threads(),
        }
    }

    pub(super) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        let all = || items.into_par_iter().map(work).collect();
        match self {
            Self::Shared => all(),
            Self::Own(pool) => pool.install(all),
        }
    }

    /// Whether the calling thread may wait for a task. A thread of the global pool may be its last free one.
    pub(super) fn may_wait(&self) -> bool {
        matches!(self, Self::Own(_)) || rayon::current_thread_index().is_none()
    }

    pub(super) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        match self {
            Self::Shared => rayon::spawn(work),
            Self::Own(pool) => pool.spawn(work),
        }
    }
}
