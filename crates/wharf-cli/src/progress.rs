//! A progress line on standard error, for work that takes more than two seconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use container_core::{Progress, Result, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::display::{clean, grouped, size};

/// Work that ends earlier shows no progress.
const DELAY: Duration = Duration::from_secs(2);
/// Time between updates of the line.
const REFRESH: Duration = Duration::from_millis(100);

/// Receives progress and shows it after [`DELAY`]. Clear or drop it before printing anything else.
pub(crate) struct ProgressLine {
    /// `None` if progress is not shown.
    state: Option<Mutex<State>>,
    done: AtomicU64,
}

struct State {
    started: Instant,
    next_update: Instant,
    task: Task,
    bar: Option<ProgressBar>,
    /// Nothing more is shown.
    is_closed: bool,
}

struct Task {
    name: String,
    started: Instant,
    unit: Unit,
    total: Option<u64>,
}

/// Calls `run` with a line, which is gone when it returns.
pub(crate) fn with_line<T>(is_visible: bool, run: impl FnOnce(Arc<dyn Progress>) -> T) -> T {
    let line = Arc::new(ProgressLine::new(is_visible));
    let result = run(Arc::clone(&line) as Arc<dyn Progress>);
    line.clear();
    result
}

impl ProgressLine {
    pub(crate) fn new(visible: bool) -> Self {
        let now = Instant::now();
        let task = Task { name: String::new(), started: now, unit: Unit::Rows, total: None };
        let state = State { started: now, next_update: now + DELAY, task, bar: None, is_closed: false };
        Self { state: visible.then(|| Mutex::new(state)), done: AtomicU64::new(0) }
    }

    /// Hides the line while `action` prints.
    pub(crate) fn suspend<T>(&self, action: impl FnOnce() -> T) -> T {
        let mut bar = None;
        self.with(|state| bar.clone_from(&state.bar));
        match bar {
            Some(bar) => bar.suspend(action),
            None => action(),
        }
    }

    /// Removes the line for good, also when work goes on.
    pub(crate) fn close(&self) {
        self.with(|state| state.is_closed = true);
        self.clear();
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.with(|state| {
            if let Some(bar) = state.bar.take() {
                bar.finish_and_clear();
            }
        });
    }

    fn with(&self, action: impl FnOnce(&mut State)) {
        if let Some(state) = &self.state {
            // A poisoned lock is harmless: the state is only what the line shows.
            action(&mut state.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
    }
}

impl Task {
    /// `big.idv: 250,000 of 1,000,000 rows, 25 %, 12 s left`
    fn line(&self, done: u64, elapsed: Duration) -> String {
        let amount = |count: u64| match self.unit {
            Unit::Bytes => size(count),
            _ => grouped(count),
        };
        let rows = if self.unit == Unit::Rows { " rows" } else { "" };
        let Some(total) = self.total.filter(|&total| total > 0 && done <= total) else {
            return format!("{}: {}{rows}", self.name, amount(done));
        };
        let percent = u128::from(done) * 100 / u128::from(total);
        let mut line = format!("{}: {} of {}{rows}, {percent} %", self.name, amount(done), amount(total));
        if let Some(left) = (elapsed.as_millis() * u128::from(total - done)).checked_div(u128::from(done)) {
            line.push_str(&format!(", {} left", duration(left / 1000)));
        }
        line
    }
}

fn duration(seconds: u128) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

impl Progress for ProgressLine {
    fn name(&self, name: &str) {
        self.with(|state| name.clone_into(&mut state.task.name));
    }

    fn begin(&self, unit: Unit, total: Option<u64>) {
        self.done.store(0, Ordering::Relaxed);
        self.with(|state| {
            let name = std::mem::take(&mut state.task.name);
            state.task = Task { name, started: Instant::now(), unit, total };
        });
    }

    fn advance(&self, done: u64) -> Result<()> {
        let done = self.done.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        self.with(|state| {
            let now = Instant::now();
            if state.is_closed || now < state.next_update || now.duration_since(state.started) < DELAY {
                return;
            }
            state.next_update = now + REFRESH;
            let line = state.task.line(done, now.duration_since(state.task.started));
            let bar = state.bar.get_or_insert_with(new_bar);
            bar.set_message(clean(&line).into_owned());
            bar.tick();
        });
        Ok(())
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(unit: Unit, total: Option<u64>, done: u64, seconds: u64) -> String {
        let task = Task { name: "x".to_owned(), started: Instant::now(), unit, total };
        task.line(done, Duration::from_secs(seconds))
    }

    #[test]
    fn shows_amount_percentage_and_time_left() {
        assert_eq!(line(Unit::Rows, Some(1000), 250, 30), "x: 250 of 1,000 rows, 25 %, 1 min 30 s left");
        assert_eq!(line(Unit::Rows, None, 1250, 3), "x: 1,250 rows");
        assert_eq!(line(Unit::Bytes, Some(4_000_000_000), 1_000_000_000, 3), "x: 1.0 GB of 4.0 GB, 25 %, 9 s left");
        assert_eq!(line(Unit::Rows, Some(u64::MAX), u64::MAX / 2, 3600).rsplit(", ").next(), Some("1 h 0 min left"));
        assert_eq!(line(Unit::Rows, Some(10), 0, 3), "x: 0 of 10 rows, 0 %");
        assert_eq!(line(Unit::Rows, Some(10), 11, 3), "x: 11 rows", "a wrong total is not shown");
    }
}
