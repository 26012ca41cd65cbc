//! The most memory that a process takes, as Linux tells while it runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::shell;

/// How often a running process is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// The most that was seen, in MiB.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Peak {
    /// Memory of its own: what would have to go to swap.
    pub(super) own: f64,
    /// With the pages of mapped files that happened to be there: the system takes those away when it needs the memory.
    pub(super) resident: f64,
}

impl Peak {
    /// Takes what `/proc/PID/status` says into account. A process that is ending has no memory.
    fn see(&mut self, status: &str) {
        let mebibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kibibytes| kibibytes / 1024.0)
        };
        self.own = self.own.max(mebibytes("RssAnon").unwrap_or(0.0) + mebibytes("RssShmem").unwrap_or(0.0));
        self.resident = self.resident.max(mebibytes("VmHWM").unwrap_or(0.0));
    }
}

/// Runs a program to its end, and tells the most memory that it had; none where the system does not tell.
pub(super) fn of(mut command: Command) -> Result<Option<Peak>, String> {
    let shown = shell::command_line(&command);
    let failed = |error: std::io::Error| format!("cannot run `{shown}`: {error}");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().map_err(failed)?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = Peak::default();
    let ended = loop {
        // Until it has been waited for, nobody else has its number.
        if let Ok(status) = fs::read_to_string(Path::new(&status)) {
            peak.see(&status);
        }
        match child.try_wait().map_err(failed)? {
            Some(ended) => break ended,
            None => thread::sleep(INTERVAL),
        }
    };
    match ended.success() {
        true => Ok((peak != Peak::default()).then_some(peak)),
        false => Err(format!("`{shown}` ended with {ended}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_of_all_looks_counts() {
        let mut peak = Peak::default();
        peak.see("Name:\tx\nVmHWM:\t  4096 kB\nRssAnon:\t    2048 kB\nRssFile:\t 512 kB\nRssShmem:\t 1024 kB\n");
        peak.see("VmHWM:\t  8192 kB\nRssAnon:\t    1024 kB\nRssShmem:\t 0 kB\n");
        peak.see("Name:\tzombie\n");
        assert_eq!(peak, Peak { own: 3.0, resident: 8.0 });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_seen() {
        let mut sleep = shell::program("sleep");
        sleep.arg("0.1");
        let peak = of(sleep).unwrap().unwrap();
        assert!(peak.resident > 0.1 && peak.resident < 1000.0, "{peak:?}");
        assert!(of(shell::program("false")).is_err());
    }
}
