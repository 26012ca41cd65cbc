//! Work on several things at once, and ahead of who waits for it.

#[cfg_attr(not(feature = "parallel"), path = "alone.rs")]
mod pool;

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use pool::Pool;

/// Who does the work: this thread alone, or a pool of threads.
#[derive(Debug)]
pub(crate) struct Workers(Option<Pool>);

impl Workers {
    /// So many threads; 0 for as many as the machine has. One where no others can be had, and without the feature `parallel`.
    pub(crate) fn new(threads: usize) -> Self {
        Self(Pool::new(threads))
    }

    /// How many work at once.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or(1, Pool::count)
    }

    /// How many things are worth being done together.
    pub(crate) fn width(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| 2 * pool.count())
    }

    /// Works on each item; the outcomes are in the order of the items.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        match &self.0 {
            Some(pool) if items.len() > 1 => pool.map(items, work),
            _ => items.into_iter().map(work).collect(),
        }
    }

    /// Begins a work that nobody waits for yet. It is done at once where there is one thread, and on a thread of the pool itself: that is
    /// not to wait for others of its pool.
    pub(crate) fn begin<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Task<R> {
        let Some(pool) = self.0.as_ref().filter(|pool| pool.may_wait()) else {
            return Task(State::Done(work()));
        };
        let waiting: Waiting<R> = Arc::new(Mutex::new(Some(Box::new(work))));
        let (sender, receiver) = sync_channel(1);
        // When the task is dropped nobody wants the work any more.
        let shared = Arc::downgrade(&waiting);
        pool.spawn(move || {
            if let Some(work) = shared.upgrade().and_then(|waiting| take(&waiting)) {
                // Nobody may be waiting any more.
                let _ = sender.send(work());
            }
        });
        Task(State::Begun(waiting, receiver))
    }
}

/// A work that was begun.
pub(crate) struct Task<R>(State<R>);

enum State<R> {
    Done(R),
    Begun(Waiting<R>, Receiver<R>),
}

/// A work, until somebody does it.
type Waiting<R> = Arc<Mutex<Option<Box<dyn FnOnce() -> R + Send>>>>;

fn take<R>(waiting: &Waiting<R>) -> Option<Box<dyn FnOnce() -> R + Send>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl<R> Task<R> {
    /// Is it done, so that nobody would have to wait?
    pub(crate) fn is_done(&mut self) -> bool {
        if let State::Begun(_, outcome) = &self.0
            && let Ok(outcome) = outcome.try_recv()
        {
            self.0 = State::Done(outcome);
        }
        matches!(self.0, State::Done(_))
    }

    /// What came of it; none where it ended by a panic. What no thread has come to is done here.
    pub(crate) fn wait(self) -> Option<R> {
        match self.0 {
            State::Done(outcome) => Some(outcome),
            State::Begun(waiting, outcome) => match take(&waiting) {
                Some(work) => Some(work()),
                None => outcome.recv().ok(),
            },
        }
    }
}

/// Puts items into so many groups that weigh about the same, the heaviest first; no group is empty. Items of a group are in their order.
pub(crate) fn groups(weights: &[u64], most: usize) -> Vec<Vec<usize>> {
    let count = most.max(1).min(weights.len());
    let mut order: Vec<(u64, usize)> = weights.iter().copied().zip(0..).collect();
    order.sort_by_key(|&(weight, index)| (std::cmp::Reverse(weight), index));
    let mut heap: std::collections::BinaryHeap<_> =
        (0..count).map(|group| (std::cmp::Reverse(0_u64), std::cmp::Reverse(group))).collect();
    let mut groups = vec![Vec::new(); count];
    for (weight, index) in order {
        let Some((std::cmp::Reverse(load), std::cmp::Reverse(group))) = heap.pop() else { break };
        if let Some(items) = groups.get_mut(group) {
            items.push(index);
        }
        // Something without weight is work all the same.
        heap.push((std::cmp::Reverse(load.saturating_add(weight.max(1))), std::cmp::Reverse(group)));
    }
    groups.iter_mut().for_each(|group: &mut Vec<usize>| group.sort_unstable());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_weigh_about_the_same() {
        assert_eq!(groups(&[1, 9, 1, 1, 5, 1], 2), [vec![1], vec![0, 2, 3, 4, 5]]);
        assert_eq!(groups(&[0, 0, 0, 0], 2), [vec![0, 2], vec![1, 3]]);
        assert_eq!(groups(&[7, 7], 9), [vec![0], vec![1]]);
        assert_eq!(groups(&[], 3), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn work_that_was_begun_is_done_once() {
        for threads in [0, 1, 3] {
            let workers = Workers::new(threads);
            let mut tasks: Vec<_> = (0..100).map(|item: u32| workers.begin(move || item * 2)).collect();
            while !tasks.iter_mut().all(Task::is_done) {
                std::thread::yield_now();
            }
            let outcomes: Vec<_> = tasks.into_iter().filter_map(Task::wait).collect();
            assert_eq!(outcomes, (0..200).step_by(2).collect::<Vec<_>>());
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn work_is_done_while_every_thread_of_the_pool_waits() {
        // Two threads of a pool, each of which waits for what was begun elsewhere, and begins more.
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

    #[test]
    fn the_order_of_the_outcomes_is_that_of_the_items() {
        for threads in [0, 1, 3] {
            let workers = Workers::new(threads);
            assert!(workers.count() >= 1);
            assert_eq!(workers.map((0..100).collect(), |item: u32| item * 2), (0..200).step_by(2).collect::<Vec<_>>());
        }
    }
}
