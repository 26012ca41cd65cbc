//! Memory-mapped files: a list of the maps, and dropping their resident pages.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_core::{Access, Bytes, Map};
use memmap2::Mmap;

/// Address and length in bytes of each map.
static MAPS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn maps() -> MutexGuard<'static, Vec<(usize, usize)>> {
    MAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mapped file, listed in [`MAPS`] until it is dropped.
struct Mapped(Mmap);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let start = self.0.as_ptr().addr();
        maps().retain(|(own, _)| *own != start);
    }
}

/// Maps files where the system allows it.
pub(crate) const fn mapped() -> Access {
    Access::Mapped(Map::new(map))
}

fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only, and the returned bytes own it. The help of `--access` tells the user that no other program may modify a
    // mapped file. The command itself never writes to a file that it has mapped: outputs are new files, renamed at the end; stores and files
    // to be truncated are read by position, or unmapped first (`index`).
    let map = unsafe { Mmap::map(file) }?;
    maps().push((map.as_ptr().expose_provenance(), map.len()));
    Ok(Bytes::from_owner(Mapped(map)))
}

/// Total length in bytes of all maps, resident or not.
pub(super) fn mapped_bytes() -> u64 {
    maps().iter().map(|(_, len)| *len as u64).fold(0, u64::saturating_add)
}

/// Drops the resident pages of all maps from this process. They stay in the page cache and are mapped again on the next access; only the
/// resident size of the process shrinks.
#[cfg(target_os = "linux")]
pub(super) fn release_mapped_pages() {
    for (start, len) in maps().iter() {
        // SAFETY: the list is locked and a map leaves it before it is unmapped, so the range is valid. The maps are shared and never written:
        // a dropped page is read from the file again, which no thread can observe.
        let _ = unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(*start), *len, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) const fn release_mapped_pages() {}

#[cfg(test)]
mod tests {
    use std::io::Write;

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
}
