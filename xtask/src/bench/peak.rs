//! Peak memory of a process, as Linux reports it while the process runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::shell;

/// Sampling interval.
const INTERVAL: Duration = Duration::from_millis(5);

/// Peak memory in MiB.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Peak {
    /// Anonymous and shared memory, which can only be swapped.
    pub(super) own: f64,
    /// Including resident pages of mapped files, which the system can drop at any time.
    pub(super) resident: f64,
}

impl Peak {
    /// Adds a sample of `/proc/PID/status`. An exiting process has no memory lines.
    fn add_sample(&mut self, status: &str) {
        let mebibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kibibytes| kibibytes / 1024.0)
        };
        self.own = self.own.max(mebibytes("RssAnon").unwrap_or(0.0) + mebibytes("RssShmem").unwrap_or(0.0));
        self.resident = self.resident.max(mebibytes("VmHWM").unwrap_or(0.0));
    }
}

/// Runs a program and returns its peak memory, or `None` where the system does not report it.
pub(super) fn measure(mut command: Command) -> Result<Option<Peak>, String> {
    let command_line = shell::command_line(&command);
    let run_error = |error: std::io::Error| format!("cannot run `{command_line}`: {error}");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().map_err(run_error)?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = Peak::default();
    let ended = loop {
        // The process ID is not reused before the process is waited for.
        if let Ok(status) = fs::read_to_string(Path::new(&status)) {
            peak.add_sample(&status);
        }
        match child.try_wait().map_err(run_error)? {
            Some(ended) => break ended,
            None => thread::sleep(INTERVAL),
        }
    };
    match ended.success() {
        true => Ok((peak != Peak::default()).then_some(peak)),
        false => Err(format!("`{command_line}` ended with {ended}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_maximum_of_all_samples() {
        let mut peak = Peak::default();
        peak.add_sample("Name:\tx\nVmHWM:\t  4096 kB\nRssAnon:\t    2048 kB\nRssFile:\t 512 kB\nRssShmem:\t 1024 kB\n");
        peak.add_sample("VmHWM:\t  8192 kB\nRssAnon:\t    1024 kB\nRssShmem:\t 0 kB\n");
        peak.add_sample("Name:\tzombie\n");
        assert_eq!(peak, Peak { own: 3.0, resident: 8.0 });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn measures_a_process() {
        let mut sleep = shell::program("sleep");
        sleep.arg("0.1");
        let peak = measure(sleep).unwrap().unwrap();
        assert!(peak.resident > 0.1 && peak.resident < 1000.0, "{peak:?}");
        assert!(measure(shell::program("false")).is_err());
    }
}
