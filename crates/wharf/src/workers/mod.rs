//! Parallel maps and background tasks on a thread pool; serial without the feature `parallel`.

#[cfg_attr(not(feature = "parallel"), path = "serial.rs")]
mod pool;

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use pool::IS_PARALLEL;
use pool::Pool;

/// The calling thread alone, or a pool of threads.
#[derive(Debug)]
pub(crate) struct Workers(Option<Pool>);

impl Workers {
    /// Uses `threads` threads; 0 for one per core. Only the calling thread if no pool can be started, or without the feature `parallel`.
    pub(crate) fn new(threads: usize) -> Self {
        Self(Pool::new(threads))
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or(1, Pool::count)
    }

    /// How many items are worth passing to [`map`](Self::map) at once.
    pub(crate) fn width(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| 2 * pool.count())
    }

    /// Maps items in parallel; results are in the order of items.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        match &self.0 {
            Some(pool) if items.len() > 1 => pool.map(items, work),
            _ => items.into_iter().map(work).collect(),
        }
    }

    /// Starts a task in the background. It runs at once if there is only one thread, or on a thread of the shared pool, which must not
    /// wait for other threads of its pool.
    pub(crate) fn begin<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Task<R> {
        let Some(pool) = self.0.as_ref().filter(|pool| pool.may_wait()) else {
            return Task(State::Done(work()));
        };
        let waiting: Waiting<R> = Arc::new(Mutex::new(Some(Box::new(work))));
        let (sender, receiver) = sync_channel(1);
        // A dropped task is not run.
        let shared = Arc::downgrade(&waiting);
        pool.spawn(move || {
            if let Some(work) = shared.upgrade().and_then(|waiting| take(&waiting)) {
                // Ignore: the task may have been dropped.
                let _ = sender.send(work());
            }
        });
        Task(State::Started(waiting, receiver))
    }
}

/// A background task.
pub(crate) struct Task<R>(State<R>);

enum State<R> {
    Done(R),
    Started(Waiting<R>, Receiver<R>),
}

/// The closure, until a thread takes it.
type Waiting<R> = Arc<Mutex<Option<Box<dyn FnOnce() -> R + Send>>>>;

fn take<R>(waiting: &Waiting<R>) -> Option<Box<dyn FnOnce() -> R + Send>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl<R> Task<R> {
    /// Whether the result is available.
    pub(crate) fn is_done(&mut self) -> bool {
        if let State::Started(_, outcome) = &self.0
            && let Ok(outcome) = outcome.try_recv()
        {
            self.0 = State::Done(outcome);
        }
        matches!(self.0, State::Done(_))
    }

    /// Returns the result, or `None` after a panic. Runs the task here if no thread has taken it.
    pub(crate) fn wait(self) -> Option<R> {
        match self.0 {
            State::Done(outcome) => Some(outcome),
            State::Started(waiting, outcome) => match take(&waiting) {
                Some(work) => Some(work()),
                None => outcome.recv().ok(),
            },
        }
    }
}

/// Distributes items over at most `max_groups` groups of about equal weight, heaviest item first. No group is empty; items of a group are in
/// their original order.
pub(crate) fn groups(weights: &[u64], max_groups: usize) -> Vec<Vec<usize>> {
    let count = max_groups.max(1).min(weights.len());
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
        // Items of weight 0 are not free.
        heap.push((std::cmp::Reverse(load.saturating_add(weight.max(1))), std::cmp::Reverse(group)));
    }
    groups.iter_mut().for_each(|group: &mut Vec<usize>| group.sort_unstable());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_about_equal_weight() {
        assert_eq!(groups(&[1, 9, 1, 1, 5, 1], 2), [vec![1], vec![0, 2, 3, 4, 5]]);
        assert_eq!(groups(&[0, 0, 0, 0], 2), [vec![0, 2], vec![1, 3]]);
        assert_eq!(groups(&[7, 7], 9), [vec![0], vec![1]]);
        assert_eq!(groups(&[], 3), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn tasks_run_once() {
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

    #[test]
    fn map_keeps_order() {
        for threads in [0, 1, 3] {
            let workers = Workers::new(threads);
            assert!(workers.count() >= 1);
            assert_eq!(workers.map((0..100).collect(), |item: u32| item * 2), (0..200).step_by(2).collect::<Vec<_>>());
        }
    }
}
