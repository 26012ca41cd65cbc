//! Work that Ctrl-C ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use container_core::{Error, ErrorKind, Progress, Unit};
use pyo3::prelude::*;

use crate::error::Result;

/// Time between two looks for signals.
const PERIOD: Duration = Duration::from_millis(50);

/// Ends work at its next report of progress, once it is cancelled.
#[derive(Debug, Default)]
pub(crate) struct Cancel(AtomicBool);

impl Progress for Cancel {
    fn begin(&self, _: Unit, _: Option<u64>) {}

    fn advance(&self, _: u64) -> container_core::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "interrupted")),
            false => Ok(()),
        }
    }
}

/// Runs `work` on a thread of its own, detached, while this one looks for signals: only Python's main thread gets them, and only when it asks.
/// `work` gets the listener of its progress. An exception of a signal handler, such as `KeyboardInterrupt`, cancels the work and is raised once
/// that has ended.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<Cancel>) -> container_core::Result<R> + Send,
) -> Result<R> {
    let cancel = Arc::new(Cancel::default());
    let own = Arc::clone(&cancel);
    py.detach(|| {
        std::thread::scope(|scope| {
            let (ended, wait) = sync_channel::<()>(1);
            let worker = scope.spawn(move || {
                let outcome = work(own);
                drop(ended);
                outcome
            });
            let mut interrupted = None;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PERIOD) {
                if interrupted.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    cancel.0.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                }
            }
            // A panic of the worker goes on here.
            let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match interrupted {
                Some(error) => Err(error.into()),
                None => Ok(outcome?),
            }
        })
    })
}
