//! Limits of a program: memory, inherited from this process, and time.
#![allow(unsafe_code, reason = "setrlimit and kill have no safe form in the standard library")]

use std::collections::HashMap;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Limits the address space of this process, and of programs started during the lifetime of this value.
pub(super) struct MemoryLimit(libc::rlimit);

impl MemoryLimit {
    pub(super) fn set(bytes: u64) -> Result<Self, String> {
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit writes one structure, which lives here.
        let got = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut old) };
        let limit = libc::rlimit { rlim_cur: bytes.min(old.rlim_max), rlim_max: old.rlim_max };
        // SAFETY: setrlimit reads one structure, which lives here.
        if got != 0 || unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } != 0 {
            return Err(format!("cannot limit memory: {}", io::Error::last_os_error()));
        }
        Ok(Self(old))
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // SAFETY: setrlimit reads one structure, which lives here. The soft limit may be raised to its old value.
        let _ = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const self.0) };
    }
}

/// Kills programs that exceed a time limit.
pub(super) struct Watchdog {
    limit: Duration,
    running: Mutex<HashMap<u32, (Instant, bool)>>,
    stopped: AtomicBool,
}

impl Watchdog {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, running: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u32, (Instant, bool)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a program to end. The second value says whether it was killed.
    pub(super) fn wait(&self, child: &mut Child) -> io::Result<(ExitStatus, bool)> {
        let process = child.id();
        self.running().insert(process, (Instant::now() + self.limit, false));
        let status = child.wait();
        let killed = self.running().remove(&process).is_some_and(|(_, killed)| killed);
        status.map(|status| (status, killed))
    }

    /// Watches the programs until [`stop`](Self::stop).
    pub(super) fn run(&self) {
        while !self.stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(50));
            let now = Instant::now();
            for (process, (until, killed)) in self.running().iter_mut().filter(|(_, (until, _))| *until < now) {
                let Ok(process) = libc::pid_t::try_from(*process) else { continue };
                *until = now + self.limit;
                *killed = true;
                // SAFETY: kill takes two numbers. The process is a child, waited for at most a moment ago.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
        }
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}
