//! Time that does not depend on what else the machine does.

use std::time::{Duration, Instant};

/// Measures the processor's time of the calling thread, for tests that tell linear work from quadratic. Work of other threads is
/// not counted. Where the system does not report it, all time that passes counts.
#[derive(Debug)]
pub struct Stopwatch {
    processor: Option<Duration>,
    clock: Instant,
}

impl Stopwatch {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { processor: processor_time(), clock: Instant::now() }
    }

    /// The time since the start; to be asked by the thread that started it.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.clock.elapsed(),
        }
    }
}

/// What this thread has taken so far, as Linux reports it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn sleep_is_not_work() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(300));
        let asleep = watch.elapsed();
        assert!(asleep < Duration::from_millis(100), "{asleep:?}");
        let clock = Instant::now();
        while watch.elapsed() < asleep + Duration::from_millis(20) {
            assert!(clock.elapsed() < Duration::from_secs(60), "work is not counted");
        }
    }
}
