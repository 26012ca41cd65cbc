//! Memory-mapped files, and a list of the maps.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_core::{Access, Bytes, Map};
use memmap2::Mmap;

/// Address and length in bytes of each map.
static MAPS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

pub(super) fn maps() -> MutexGuard<'static, Vec<(usize, usize)>> {
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

pub(super) fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only, and the returned bytes own it. The help of `--access` tells the user that no other program may modify a
    // mapped file. The command itself never writes to a file that it has mapped: outputs are new files, renamed at the end; stores and files
    // to be truncated are read by position, or unmapped first (`index`).
    let map = unsafe { Mmap::map(file) }?;
    maps().push((map.as_ptr().expose_provenance(), map.len()));
    Ok(Bytes::from_owner(Mapped(map)))
}
