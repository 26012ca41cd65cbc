//! Work on blocks, done ahead by other threads or by the one that needs the result.
//!
//! A job is claimed by whoever comes first. The thread that wants a result which nobody has begun does the work itself, so
//! waiting only ever means waiting for a thread that is at work: a scan inside a busy pool, or in a forked child without
//! one, goes on.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use container_core::parallel;

/// What a job's work is done by, on whichever thread.
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
    /// Nobody has begun.
    Waiting(T),
    Running,
    Done(O),
    /// The result was taken, or nobody wants it any more.
    Gone,
}

impl<W: Worker> Job<W> {
    /// Puts a task before the pool of threads.
    pub(crate) fn spawn(worker: &Arc<W>, task: W::Task) -> Arc<Self> {
        let job = Arc::new(Self { state: Mutex::new(State::Waiting(task)), done: Condvar::new() });
        let (theirs, worker) = (Arc::clone(&job), Arc::clone(worker));
        parallel::spawn(move || theirs.run(&worker));
        job
    }

    /// Does the work, unless somebody else has begun.
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

    /// The result: does the work here if nobody has begun, else waits.
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

    /// Nobody wants the result any more.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::Gone;
    }
}
