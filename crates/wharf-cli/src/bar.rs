//! A line of progress on standard error, for people, when the work takes a while.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use container_core::{Progress, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::human::{clean, grouped, size};

/// Work that ends before does not show a line.
const PATIENCE: Duration = Duration::from_secs(2);
/// The line is made anew so often.
const REFRESH: Duration = Duration::from_millis(100);

/// Listens to the work; shows it from the third second on. Clear or drop it before anything else is printed.
pub(crate) struct Bar {
    /// `None` when nobody looks.
    state: Option<Mutex<State>>,
    done: AtomicU64,
}

struct State {
    /// When the first work began.
    begun: Instant,
    /// When the line is made the next time.
    due: Instant,
    work: Work,
    shown: Option<ProgressBar>,
}

struct Work {
    what: String,
    begun: Instant,
    unit: Unit,
    total: Option<u64>,
}

impl Bar {
    /// A line that shows itself when `visible`.
    pub(crate) fn new(visible: bool) -> Self {
        let now = Instant::now();
        let work = Work { what: String::new(), begun: now, unit: Unit::Rows, total: None };
        let state = State { begun: now, due: now + PATIENCE, work, shown: None };
        Self { state: visible.then(|| Mutex::new(state)), done: AtomicU64::new(0) }
    }

    /// Does something that prints, with the line out of the way.
    pub(crate) fn aside<T>(&self, action: impl FnOnce() -> T) -> T {
        let mut shown = None;
        self.with(|state| shown.clone_from(&state.shown));
        match shown {
            Some(bar) => bar.suspend(action),
            None => action(),
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.with(|state| {
            if let Some(shown) = state.shown.take() {
                shown.finish_and_clear();
            }
        });
    }

    fn with(&self, action: impl FnOnce(&mut State)) {
        if let Some(state) = &self.state {
            // A thread that died with the lock has left nothing half done that this line would care about.
            action(&mut state.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
    }
}

impl Work {
    /// `big.idv: 250,000 of 1,000,000 rows, 25 %, 12 s left`
    fn line(&self, done: u64, took: Duration) -> String {
        let shown = |count: u64| match self.unit {
            Unit::Bytes => size(count),
            Unit::Rows => grouped(count),
        };
        let rows = if self.unit == Unit::Rows { " rows" } else { "" };
        let Some(total) = self.total.filter(|&total| total > 0 && done <= total) else {
            return format!("{}: {}{rows}", self.what, shown(done));
        };
        let part = u128::from(done) * 100 / u128::from(total);
        let mut line = format!("{}: {} of {}{rows}, {part} %", self.what, shown(done), shown(total));
        if let Some(left) = (took.as_millis() * u128::from(total - done)).checked_div(u128::from(done)) {
            line.push_str(&format!(", {} left", clock(left / 1000)));
        }
        line
    }
}

fn clock(seconds: u128) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

impl Progress for Bar {
    fn name(&self, what: &str) {
        self.with(|state| what.clone_into(&mut state.work.what));
    }

    fn begin(&self, unit: Unit, total: Option<u64>) {
        self.done.store(0, Ordering::Relaxed);
        self.with(|state| {
            let what = std::mem::take(&mut state.work.what);
            state.work = Work { what, begun: Instant::now(), unit, total };
        });
    }

    fn advance(&self, done: u64) {
        let done = self.done.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        self.with(|state| {
            let now = Instant::now();
            if now < state.due || now.duration_since(state.begun) < PATIENCE {
                return;
            }
            state.due = now + REFRESH;
            let line = state.work.line(done, now.duration_since(state.work.begun));
            let shown = state.shown.get_or_insert_with(bar);
            shown.set_message(clean(&line).into_owned());
            shown.tick();
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(unit: Unit, total: Option<u64>, done: u64, seconds: u64) -> String {
        let work = Work { what: "x".to_owned(), begun: Instant::now(), unit, total };
        work.line(done, Duration::from_secs(seconds))
    }

    #[test]
    fn the_line_says_how_far_and_how_long() {
        assert_eq!(line(Unit::Rows, Some(1000), 250, 30), "x: 250 of 1,000 rows, 25 %, 1 min 30 s left");
        assert_eq!(line(Unit::Rows, None, 1250, 3), "x: 1,250 rows");
        assert_eq!(line(Unit::Bytes, Some(4_000_000_000), 1_000_000_000, 3), "x: 1.0 GB of 4.0 GB, 25 %, 9 s left");
        assert_eq!(line(Unit::Rows, Some(u64::MAX), u64::MAX / 2, 3600).rsplit(", ").next(), Some("1 h 0 min left"));
        assert_eq!(line(Unit::Rows, Some(10), 0, 3), "x: 0 of 10 rows, 0 %");
        assert_eq!(line(Unit::Rows, Some(10), 11, 3), "x: 11 rows", "a total that was wrong is not shown");
    }
}
