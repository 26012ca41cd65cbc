//! Pages of mapped files leave this process's memory when they are many.
//!
//! What was read of a mapped file stays with the process until somebody needs the room: of a file of 20 GB all that was walked over, which is no
//! use to it, looks like a leak to whoever watches it, and counts against limits on processes.

use std::fs;
use std::thread;
use std::time::Duration;

/// Bytes of mapped files that may be there.
const MOST: u64 = 128 << 20;

/// How often they are looked at. A page that is not in the system's cache comes no faster than a few GB a second.
const INTERVAL: Duration = Duration::from_millis(10);

/// Begins to look after them. Where there are no threads to be had, or the system does not tell, nothing happens.
pub(crate) fn watch() {
    if cfg!(target_os = "linux") {
        // It ends with the process.
        let _ = thread::Builder::new().name("pages".to_owned()).spawn(|| {
            loop {
                thread::sleep(INTERVAL);
                if container_core::mapped_bytes() > MOST && resident().is_some_and(|bytes| bytes > MOST) {
                    container_core::release_mapped_pages();
                }
            }
        });
    }
}

/// The bytes of files, those in memory among them, that this process has.
fn resident() -> Option<u64> {
    of_status(&fs::read_to_string("/proc/self/status").ok()?)
}

fn of_status(status: &str) -> Option<u64> {
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()
    };
    kibibytes("RssFile")?.checked_add(kibibytes("RssShmem").unwrap_or(0))?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let status = "Name:\twharf\nRssAnon:\t    9 kB\nRssFile:\t    1024 kB\nRssShmem:\t       8 kB\n";
        assert_eq!(of_status(status), Some(1032 * 1024));
        assert_eq!(of_status("Name:\twharf\n"), None);
        assert_eq!(of_status("RssFile:\t18446744073709551615 kB\n"), None);
        #[cfg(target_os = "linux")]
        assert!(resident().is_some_and(|bytes| bytes > 0));
    }
}
