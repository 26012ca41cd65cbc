//! A progress bar on standard error, for people, when the work takes a while.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use container_core::{Progress, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends before does not show a bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// Listens to the work; shows it from the third second on. Drop it before anything else is printed.
pub(crate) struct Bar {
    begun: Instant,
    done: AtomicU64,
    /// `None` when nobody looks.
    state: Option<Mutex<State>>,
}

struct State {
    unit: Unit,
    total: Option<u64>,
    what: String,
    shown: Option<ProgressBar>,
}

impl Bar {
    /// A bar that shows itself when `visible`.
    pub(crate) fn new(visible: bool) -> Self {
        let state = State { unit: Unit::Rows, total: None, what: String::new(), shown: None };
        Self { begun: Instant::now(), done: AtomicU64::new(0), state: visible.then(|| Mutex::new(state)) }
    }

    /// What is worked on now.
    pub(crate) fn name(&self, what: String) {
        self.with(|state| {
            if let Some(shown) = &state.shown {
                shown.set_message(what.clone());
            }
            state.what = what;
        });
    }

    /// Does something that prints, with the bar out of the way.
    pub(crate) fn aside<T>(&self, action: impl FnOnce() -> T) -> T {
        let mut shown = None;
        self.with(|state| shown.clone_from(&state.shown));
        match shown {
            Some(bar) => bar.suspend(action),
            None => action(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.with(|state| {
            if let Some(shown) = state.shown.take() {
                shown.finish_and_clear();
            }
        });
    }

    fn with(&self, action: impl FnOnce(&mut State)) {
        if let Some(state) = &self.state {
            // A thread that died with the lock has left nothing half done that a bar would care about.
            action(&mut state.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
    }
}

impl State {
    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
        let template = match (self.unit, self.total) {
            (Unit::Bytes, Some(_)) => "{wide_msg} {bytes}/{total_bytes} {percent}% {binary_bytes_per_sec} eta {eta}",
            (Unit::Bytes, None) => "{wide_msg} {bytes} {binary_bytes_per_sec}",
            (Unit::Rows, Some(_)) => "{wide_msg} {human_pos}/{human_len} rows {percent}% {per_sec} eta {eta}",
            (Unit::Rows, None) => "{wide_msg} {human_pos} rows {per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(self.what.clone());
        bar
    }
}

impl Progress for Bar {
    fn begin(&self, unit: Unit, total: Option<u64>) {
        self.done.store(0, Ordering::Relaxed);
        self.with(|state| {
            if let Some(old) = state.shown.take() {
                old.finish_and_clear();
            }
            (state.unit, state.total) = (unit, total);
        });
    }

    fn advance(&self, done: u64) {
        let done = self.done.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        if self.state.is_none() || self.begun.elapsed() < PATIENCE {
            return;
        }
        self.with(|state| {
            if state.shown.is_none() {
                state.shown = Some(state.bar().with_elapsed(self.begun.elapsed()));
            }
            if let Some(shown) = &state.shown {
                shown.set_position(done);
            }
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}
