//! Block jobs for the thread pool, used by scans and by the writer's pipeline.
//!
//! The first thread to claim a job runs it. A consumer whose job is unclaimed runs it itself, so it only ever waits for a thread that is
//! already working. A scan therefore makes progress in a busy pool, and in a forked child without one.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use container_core::parallel;

/// Runs tasks, on any thread.
pub(crate) trait Worker: Send + Sync + 'static {
    type Task: Send + 'static;
    type Outcome: Send + 'static;

    fn work(&self, task: Self::Task) -> Self::Outcome;
}

pub(crate) struct Job<W: Worker> {
    state: Mutex<State<W::Task, W::Outcome>>,
    done: Condvar,
}

enum State<T, O> {
    /// Not claimed yet.
    Waiting(T),
    Running,
    Done(O),
    /// Result taken, or job canceled.
    Gone,
}

impl<W: Worker> Job<W> {
    /// Submits a task to the thread pool.
    pub(crate) fn spawn(worker: &Arc<W>, task: W::Task) -> Arc<Self> {
        let job = Arc::new(Self { state: Mutex::new(State::Waiting(task)), done: Condvar::new() });
        let (pool_job, worker) = (Arc::clone(&job), Arc::clone(worker));
        parallel::spawn(move || pool_job.run(&worker));
        job
    }

    /// Runs the task unless another thread has claimed it.
    fn run(&self, worker: &W) {
        if let Some(task) = self.claim() {
            let outcome = worker.work(task);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(*state, State::Gone) {
                *state = State::Done(outcome);
            }
            drop(state);
            self.done.notify_all();
        }
    }

    fn claim(&self) -> Option<W::Task> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Running) {
            State::Waiting(task) => Some(task),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Returns the result: runs an unclaimed task on this thread, otherwise waits.
    pub(crate) fn take(&self, worker: &W) -> W::Outcome {
        if let Some(task) = self.claim() {
            let outcome = worker.work(task);
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Gone;
            return outcome;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::replace(&mut *state, State::Gone) {
                State::Done(outcome) => return outcome,
                other => *state = other,
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the task or its result.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::Gone;
    }
}
