//! Signal handling.
//!
//! On a terminating signal (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU) the command completes a commit in progress, removes its temporary
//! files, and dies of the signal, as the parent process expects. Exceeding the file size limit (SIGXFSZ) is a write error, like a full
//! disk.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// Whether SIGINT is left to the program.
static KEEPS_INTERRUPTS: AtomicBool = AtomicBool::new(false);

/// Leaves SIGINT to the program. Call it before [`install`].
pub(crate) fn keep_interrupts() {
    KEEPS_INTERRUPTS.store(true, Ordering::Relaxed);
}

/// Installs the handlers. If that fails, signals end the process at once; the next run removes the temporary files left behind.
pub(crate) fn install() {
    // A handler that does nothing: the write fails, and its error is reported.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    // Signals that the parent had ignored (`nohup`, `&` in a script) stay ignored.
    let ignored = ignored_mask();
    let handled =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let kept = KEEPS_INTERRUPTS.load(Ordering::Relaxed);
    let handled: Vec<_> = handled.filter(|signal| *signal != SIGINT || !kept).collect();
    let Ok(mut signals) = Signals::new(&handled) else { return };
    let thread = std::thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _exit = crate::lock_exit();
            let _removed = container_core::remove_temporaries();
            let _ = low_level::emulate_default_handler(signal);
        }
    });
    if thread.is_err() {
        // Without the thread, restore the default: the signal ends the process.
        for signal in handled {
            let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
        }
    }
}

/// The signals that this process ignores: bit n - 1 for signal n. Without /proc only `SIGHUP`, for `nohup`.
fn ignored_mask() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(1 << (SIGHUP - 1))
}
