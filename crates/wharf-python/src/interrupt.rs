//! Work that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use container_core::{Error, ErrorKind, Progress, Unit};
use pyo3::prelude::*;

use crate::callback::attached;
use crate::error::Result;

/// Time between two looks for signals.
const PERIOD: Duration = Duration::from_millis(50);

/// Ends work at its next report of progress, once it is cancelled.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    cancelled: AtomicBool,
    signals: Mutex<Signals>,
}

/// How work looks for signals that no other thread looks for.
#[derive(Debug, Default)]
struct Signals {
    /// The thread that looks, and when it looked last; `None` while the thread of [`interruptible`] does. Others must not attach to the interpreter:
    /// the one that waits for them may hold its lock.
    looks: Option<(ThreadId, Instant)>,
    /// The exception of a signal handler.
    raised: Option<PyErr>,
}

impl Cancel {
    /// Looks for signals when this thread reports progress, from now on.
    pub(crate) fn watch(&self) {
        let mut signals = self.signals();
        let last = signals.looks.map_or_else(Instant::now, |(_, last)| last);
        signals.looks = Some((thread::current().id(), last));
    }

    /// The exception that cancelled the work.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.signals().raised.take()
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        // A thread that waits for the interpreter must not hold the lock.
        match &mut self.signals().looks {
            Some((thread, last)) if *thread == thread::current().id() && last.elapsed() >= PERIOD => {
                *last = Instant::now()
            }
            _ => return,
        }
        if let Err(error) = attached(|py| py.check_signals()) {
            self.signals().raised.get_or_insert(error);
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Progress for Cancel {
    fn begin(&self, _: Unit, _: Option<u64>) {}

    fn advance(&self, _: u64) -> container_core::Result<()> {
        self.look();
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "interrupted")),
            false => Ok(()),
        }
    }
}

/// What a worker sends to the thread that waits for it.
enum Event {
    Call(Box<dyn FnOnce() + Send>),
    Ended,
}

/// Sends [`Event::Ended`], also when the worker panics.
struct Ending(Sender<Event>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Ended); // the other end waits for it
    }
}

/// The thread that waits for a worker, in [`interruptible_with`].
pub(crate) struct Caller(Sender<Event>);

impl Caller {
    /// Calls a function there. `None` if that thread does not wait, or the function panics.
    pub(crate) fn call<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        let (done, outcome) = sync_channel(1);
        let call = move || drop(done.send(work()));
        self.0.send(Event::Call(Box::new(call))).ok()?;
        outcome.recv().ok()
    }
}

/// What [`interruptible_with`] waits for.
pub(crate) struct Calls {
    sender: Sender<Event>,
    events: Receiver<Event>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let (sender, events) = channel();
        Self { sender, events }
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller(self.sender.clone())
    }
}

/// Runs `work` on a thread of its own, detached, while this one looks for signals: only Python's main thread gets them, and only when it asks.
/// `work` gets the listener of its progress. An exception of a signal handler, such as `KeyboardInterrupt`, cancels the work and is raised once
/// that has ended.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<Cancel>) -> container_core::Result<R> + Send,
) -> Result<R> {
    interruptible_with(py, Calls::new(), work)
}

/// As [`interruptible`]; this thread also makes the calls that `work` asks for.
pub(crate) fn interruptible_with<R: Send>(
    py: Python<'_>,
    calls: Calls,
    work: impl FnOnce(Arc<Cancel>) -> container_core::Result<R> + Send,
) -> Result<R> {
    let cancel = Arc::new(Cancel::default());
    let own = Arc::clone(&cancel);
    let Calls { sender, events } = calls;
    py.detach(|| {
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _ending = Ending(sender);
                work(own)
            });
            let mut interrupted = None;
            loop {
                match events.recv_timeout(PERIOD) {
                    Ok(Event::Call(call)) => call(),
                    Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if interrupted.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    cancel.cancelled.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                }
            }
            // A call that is still waiting fails.
            drop(events);
            // A panic of the worker goes on here.
            let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match interrupted {
                Some(error) => Err(error.into()),
                None => Ok(outcome?),
            }
        })
    })
}
