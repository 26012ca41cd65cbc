//! What signals do to the command.
//!
//! One that asks it to end (a key press, a scheduler, a terminal that is closed, a limit of processor time) removes its temporary files first.
//! Then the process dies of the signal, as its parent expects. A commit that is under way is completed before that. A file that exceeds
//! the limit of a file's size is an error like a full disk.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// Begins to handle signals. Where they cannot be handled they end the process at once, and the next one removes what it leaves.
pub(super) fn handle() {
    // A handler that does nothing: the write fails, and its error is reported.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    // What the parent has told the process to ignore (`nohup`, `&` in a script) stays ignored.
    let ignored = ignored();
    let asked =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let asked: Vec<_> = asked.collect();
    let Ok(mut signals) = Signals::new(&asked) else { return };
    let thread = std::thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _end = super::end();
            let _ended = container_core::remove_temporaries();
            let _ = low_level::emulate_default_handler(signal);
        }
    });
    if thread.is_err() {
        // Nobody waits for the signals: they end the process by themselves.
        for signal in asked {
            let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
        }
    }
}

/// The signals that this process ignores, a bit for each, the first one lowest. Where the system does not say, `SIGHUP`, for the sake of
/// `nohup`.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(1 << (SIGHUP - 1))
}
