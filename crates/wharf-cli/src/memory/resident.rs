//! Memory that is of no use leaves this process when it is much: pages of mapped files, and what the allocator keeps.
//!
//! What was read of a mapped file stays with the process until somebody needs the room: of a file of 20 GB all that was walked over, which is no
//! use to it, looks like a leak to whoever watches it, and counts against limits on processes. The allocator keeps what is freed between
//! pieces that are in use; where batches of many sizes come and go in several threads that grows to several times of what is in use.

use std::fs;
use std::thread;
use std::time::Duration;

use super::{allocator, map};

/// Bytes of mapped files that may be there.
const MOST_MAPPED: u64 = 128 << 20;

/// Bytes of this process's own that may be there without a look at what of them is in use, and how many more than are in use.
const MOST_OWN: u64 = 160 << 20;
const MORE_OWN: u64 = 64 << 20;

/// How often they are looked at. A page that is not in the system's cache comes no faster than a few GB a second.
const INTERVAL: Duration = Duration::from_millis(10);

/// Begins to look after them. Where there are no threads to be had, or the system does not tell, nothing happens.
pub(super) fn watch() {
    if cfg!(target_os = "linux") {
        // It ends with the process.
        let _ = thread::Builder::new().name("pages".to_owned()).spawn(|| {
            let mut most_own = MOST_OWN;
            loop {
                thread::sleep(INTERVAL);
                let Some(resident) = Resident::now() else { return };
                if resident.files > MOST_MAPPED && map::mapped_bytes() > MOST_MAPPED {
                    map::release_mapped_pages();
                }
                if resident.own > most_own {
                    allocator::release_freed_memory();
                    most_own = Resident::now().map_or(MOST_OWN, |left| (left.own + MORE_OWN).max(MOST_OWN));
                }
            }
        });
    }
}

/// Bytes in memory that count as this process's.
#[derive(Debug, PartialEq, Eq)]
struct Resident {
    own: u64,
    /// Of files, those that are in memory only among them.
    files: u64,
}

impl Resident {
    fn now() -> Option<Self> {
        Self::of_status(&fs::read_to_string("/proc/self/status").ok()?)
    }

    fn of_status(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
        };
        let files = bytes("RssFile")?.checked_add(bytes("RssShmem").unwrap_or(0))?;
        Some(Self { own: bytes("RssAnon")?, files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let status = "Name:\twharf\nRssAnon:\t    9 kB\nRssFile:\t    1024 kB\nRssShmem:\t       8 kB\n";
        assert_eq!(Resident::of_status(status), Some(Resident { own: 9 << 10, files: 1032 << 10 }));
        assert_eq!(Resident::of_status("Name:\twharf\n"), None);
        assert_eq!(Resident::of_status("RssAnon:\t1 kB\nRssFile:\t18446744073709551615 kB\n"), None);
        let is_told = Resident::now().is_some_and(|resident| resident.own > 0 && resident.files > 0);
        assert_eq!(is_told, cfg!(target_os = "linux"));
    }
}
