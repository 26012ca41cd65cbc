//! Rayon thread pools.

use container_core::parallel;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

pub(crate) const IS_PARALLEL: bool = true;

/// The global pool, or a private one.
#[derive(Debug)]
pub(super) enum Pool {
    Shared,
    Own(rayon::ThreadPool),
}

impl Pool {
    pub(super) fn new(threads: usize) -> Option<Self> {
        match threads {
            0 if parallel::threads() == 1 => None,
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

#[cfg(test)]
mod tests {
    use super::super::{Task, Workers};

    #[test]
    fn tasks_finish_while_all_pool_threads_wait() {
        // Both threads of the pool wait for tasks started elsewhere, and start more.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let tasks: Vec<_> = (0..2).map(|item: u32| Workers::new(0).begin(move || item)).collect();
        let outcomes: Vec<u32> = pool.install(|| {
            use rayon::iter::{IntoParallelIterator, ParallelIterator};
            let both = tasks.into_par_iter().map(|task| {
                let more: Vec<_> = (0..10).map(|item: u32| Workers::new(0).begin(move || item)).collect();
                task.wait().unwrap() + more.into_iter().filter_map(Task::wait).sum::<u32>()
            });
            both.collect()
        });
        assert_eq!(outcomes, [45, 46]);
    }
}
