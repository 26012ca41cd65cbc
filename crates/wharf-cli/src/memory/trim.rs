//! Returns unused memory to the system in the background, on Linux: pages of mapped files, and free memory that the allocator retains.
//!
//! The kernel keeps every page of a mapped file that was read resident until memory runs short: after a scan of 20 GB the process appears to
//! use 20 GB, which looks like a leak and counts against memory limits. The allocator retains freed memory between blocks in use; batches
//! of varying size from several threads fragment it to several times the memory in use.

use std::fs;
use std::thread;
use std::time::Duration;

use super::allocator;
use super::mapped_files::maps;

/// Resident bytes of mapped files above which their pages are released.
const MAX_MAPPED: u64 = 128 << 20;

/// Anonymous bytes above which the allocator is trimmed the first time.
const MIN_ANONYMOUS: u64 = 160 << 20;
/// Growth in bytes after a trim before the next one.
const ANONYMOUS_GROWTH: u64 = 64 << 20;

/// Time between checks. Uncached pages arrive at a few GB/s at most, that is tens of MB per interval.
const INTERVAL: Duration = Duration::from_millis(10);

/// Starts the background thread. Does nothing if the thread cannot be started.
pub(super) fn start() {
    // The thread ends with the process.
    let _ = thread::Builder::new().name("memory-trim".to_owned()).spawn(|| {
        let mut max_anonymous = MIN_ANONYMOUS;
        loop {
            thread::sleep(INTERVAL);
            let Some(resident) = Resident::now() else { return };
            if resident.files > MAX_MAPPED && mapped_bytes() > MAX_MAPPED {
                release_mapped_pages();
            }
            if resident.anonymous > max_anonymous {
                allocator::release_freed_memory();
                max_anonymous = Resident::now()
                    .map_or(MIN_ANONYMOUS, |left| (left.anonymous + ANONYMOUS_GROWTH).max(MIN_ANONYMOUS));
            }
        }
    });
}

/// Total length in bytes of all maps, resident or not.
fn mapped_bytes() -> u64 {
    maps().iter().map(|(_, len)| *len as u64).fold(0, u64::saturating_add)
}

/// Drops the resident pages of all maps from this process. They stay in the page cache and are mapped again on the next access; only the
/// resident size of the process shrinks.
fn release_mapped_pages() {
    for (start, len) in maps().iter() {
        // SAFETY: the list is locked and a map leaves it before it is unmapped, so the range is valid. The maps are shared and never written:
        // a dropped page is read from the file again, which no thread can observe.
        let _ = unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(*start), *len, libc::MADV_DONTNEED) };
    }
}

/// Resident memory of this process, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Resident {
    anonymous: u64,
    /// Pages of files, including shared memory.
    files: u64,
}

impl Resident {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/status").ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
        };
        let files = bytes("RssFile")?.checked_add(bytes("RssShmem").unwrap_or(0))?;
        Some(Self { anonymous: bytes("RssAnon")?, files })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::mapped_files::map;
    use super::*;

    // Other tests map files at the same time, so the totals are lower bounds.
    #[test]
    fn reads_released_pages_again() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let (one, two) = (map(&file).unwrap(), map(&file).unwrap());
        assert!(mapped_bytes() >= 2 << 20);
        assert!(one == bytes && two == bytes);
        let part = one.slice(4000..9000);
        drop(one);
        release_mapped_pages();
        assert!(two == bytes && part == bytes[4000..9000]);
        let start = part.as_ptr().addr() - 4000;
        assert!(maps().contains(&(start, 1 << 20)));
        drop(part);
        assert!(!maps().contains(&(start, 1 << 20)) || two.as_ptr().addr() == start);
    }

    #[test]
    fn parses_proc_status() {
        let status = "Name:\twharf\nRssAnon:\t    9 kB\nRssFile:\t    1024 kB\nRssShmem:\t       8 kB\n";
        assert_eq!(Resident::parse(status), Some(Resident { anonymous: 9 << 10, files: 1032 << 10 }));
        assert_eq!(Resident::parse("Name:\twharf\n"), None);
        assert_eq!(Resident::parse("RssAnon:\t1 kB\nRssFile:\t18446744073709551615 kB\n"), None);
        assert!(Resident::now().is_some_and(|resident| resident.anonymous > 0 && resident.files > 0));
    }
}
