//! CPU time, which does not depend on the load of the machine.

use std::time::{Duration, Instant};

/// Measures the CPU time of the calling thread, for tests of complexity. Other threads do not count. Falls back to wall-clock time on systems
/// that do not report it. The environment variable `WHARF_SLOWDOWN` is a number to divide by, for emulated processors.
#[derive(Debug)]
pub struct Stopwatch {
    cpu: Option<Duration>,
    clock: Instant,
}

impl Stopwatch {
    /// Starts measuring.
    #[must_use]
    pub fn start() -> Self {
        Self { cpu: cpu_time(), clock: Instant::now() }
    }

    /// The time since the start. Call it on the thread that called [`start`](Self::start).
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let elapsed = match (self.cpu, cpu_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.clock.elapsed(),
        };
        elapsed / slowdown()
    }
}

fn slowdown() -> u32 {
    std::env::var("WHARF_SLOWDOWN")
        .ok()
        .and_then(|number| number.parse().ok())
        .filter(|&number| number > 0)
        .unwrap_or(1)
}

/// The CPU time of this thread so far, on Linux.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn sleeping_does_not_count() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(300));
        let asleep = watch.elapsed();
        assert!(asleep < Duration::from_millis(100), "{asleep:?}");
        let clock = Instant::now();
        while watch.elapsed() < asleep + Duration::from_millis(20) {
            assert!(clock.elapsed() < Duration::from_secs(60), "CPU time does not count");
        }
    }
}
