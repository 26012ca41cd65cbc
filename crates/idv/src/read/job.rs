//! Blocks decoded ahead, by other threads or by the one that needs them.
//!
//! A job is claimed by whoever comes first. The thread that wants a block which nobody has begun decodes it itself,
//! so waiting only ever means waiting for a thread that is at work: a scan inside a busy pool, or in a forked child
//! without one, goes on.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use container_core::Result;

use super::batches::Decoder;
use crate::codec::Values;

pub(super) struct Job {
    slot: usize,
    block: u64,
    state: Mutex<State>,
    done: Condvar,
}

enum State {
    /// Nobody has begun; the buffer is there to be used again.
    Waiting(Values),
    Running,
    Done(Result<Values>),
    /// The result was taken, or nobody wants it any more.
    Gone,
}

impl Job {
    /// Puts a block before the pool of threads.
    pub(super) fn spawn(decoder: &Arc<Decoder>, slot: usize, block: u64, buffer: Values) -> Arc<Self> {
        let job = Arc::new(Self { slot, block, state: Mutex::new(State::Waiting(buffer)), done: Condvar::new() });
        let (theirs, decoder) = (Arc::clone(&job), Arc::clone(decoder));
        rayon::spawn_fifo(move || theirs.run(&decoder));
        job
    }

    /// Decodes the block, unless somebody else has begun.
    fn run(&self, decoder: &Decoder) {
        if let Some(buffer) = self.claim() {
            let result = decoder.decode(self.slot, self.block, buffer);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(*state, State::Gone) {
                *state = State::Done(result);
            }
            drop(state);
            self.done.notify_all();
        }
    }

    fn claim(&self) -> Option<Values> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Running) {
            State::Waiting(buffer) => Some(buffer),
            other => {
                *state = other;
                None
            }
        }
    }

    /// The decoded block: decodes it here if nobody has begun, else waits.
    pub(super) fn take(&self, decoder: &Decoder) -> Result<Values> {
        if let Some(buffer) = self.claim() {
            let result = decoder.decode(self.slot, self.block, buffer);
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Gone;
            return result;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::replace(&mut *state, State::Gone) {
                State::Done(result) => return result,
                other => *state = other,
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nobody wants the block any more.
    pub(super) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::Gone;
    }
}
