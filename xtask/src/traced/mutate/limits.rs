//! What a program may take: memory, which is inherited from this process, and time.
#![allow(unsafe_code, reason = "setrlimit and kill have no safe form in the standard library")]

use std::collections::HashMap;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Programs that are started while this lives may map so many bytes, and this one, too.
pub(super) struct MemoryLimit(libc::rlimit);

impl MemoryLimit {
    pub(super) fn set(bytes: u64) -> Result<Self, String> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit writes one structure, which lives here.
        let got = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut before) };
        let limit = libc::rlimit { rlim_cur: bytes.min(before.rlim_max), rlim_max: before.rlim_max };
        // SAFETY: setrlimit reads one structure, which lives here.
        if got != 0 || unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } != 0 {
            return Err(format!("cannot limit memory: {}", io::Error::last_os_error()));
        }
        Ok(Self(before))
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // SAFETY: setrlimit reads one structure, which lives here. The limit may always be raised to what it was.
        let _ = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const self.0) };
    }
}

/// Kills programs that take longer than they may.
pub(super) struct Watch {
    limit: Duration,
    running: Mutex<HashMap<u32, (Instant, bool)>>,
    over: AtomicBool,
}

impl Watch {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, running: Mutex::default(), over: AtomicBool::new(false) }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u32, (Instant, bool)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a program to its end. The second value says whether it had to be killed.
    pub(super) fn wait(&self, child: &mut Child) -> io::Result<(ExitStatus, bool)> {
        let process = child.id();
        self.running().insert(process, (Instant::now() + self.limit, false));
        let status = child.wait();
        let killed = self.running().remove(&process).is_some_and(|(_, killed)| killed);
        status.map(|status| (status, killed))
    }

    /// Looks for such programs until [`end`](Self::end).
    pub(super) fn look(&self) {
        while !self.over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(50));
            let now = Instant::now();
            for (process, (until, killed)) in self.running().iter_mut().filter(|(_, (until, _))| *until < now) {
                let Ok(process) = libc::pid_t::try_from(*process) else { continue };
                *until = now + self.limit;
                *killed = true;
                // SAFETY: kill takes two numbers. The process is a child of this one, at most just waited for.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
        }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
