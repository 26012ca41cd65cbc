//! Files, mapped: which are there, and their pages let go.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_core::{Access, Bytes, Map};
use memmap2::Mmap;

/// The files that are mapped: where, and how many bytes.
static MAPS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn maps() -> MutexGuard<'static, Vec<(usize, usize)>> {
    MAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mapped file, known to [`MAPS`] as long as it is there.
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

/// Files are mapped where that can be done.
pub(crate) const fn mapped() -> Access {
    Access::Mapped(Map::new(map))
}

fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only, and the owner of the bytes keeps it. That nobody changes the file meanwhile is what the user of the command
    // is told to see to, or to say `--access positional`. The command itself writes into no file that it has mapped: outputs are new files that
    // get their names at the end; stores, and data that are cut, are opened by position, or their map is dropped before (`index`).
    let map = unsafe { Mmap::map(file) }?;
    maps().push((map.as_ptr().expose_provenance(), map.len()));
    Ok(Bytes::from_owner(Mapped(map)))
}

/// The bytes of all files that are mapped, touched or not.
pub(super) fn mapped_bytes() -> u64 {
    maps().iter().map(|(_, len)| *len as u64).fold(0, u64::saturating_add)
}

/// Lets the pages go that this process has touched of mapped files. They stay in the system's cache, and come back from there (or from the
/// file) when they are touched again: nothing changes but what counts as this process's memory, which is otherwise all that was ever
/// touched until somebody else needs the room.
#[cfg(target_os = "linux")]
pub(super) fn release_mapped_pages() {
    for (start, len) in maps().iter() {
        // SAFETY: the maps in the list are there, as they leave it before they are unmapped, and it is locked. They are shared and never
        // written: pages that are touched again are those of the file then, as if the system had taken them for others, and no thread can see
        // that they were gone.
        let _ = unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(*start), *len, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) const fn release_mapped_pages() {}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Other tests map files, too: only what is certain of all is asked.
    #[test]
    fn pages_that_were_let_go_come_back() {
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
