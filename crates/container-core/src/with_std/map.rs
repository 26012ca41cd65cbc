//! The one place of this crate with `unsafe`: mapping a file, and advice about memory.
#![allow(unsafe_code, reason = "the system's calls have no safe form; the argument stands at each")]

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use memmap2::Mmap;

#[cfg_attr(not(target_os = "linux"), path = "map/no_advice.rs")]
#[cfg_attr(target_os = "linux", path = "map/advice.rs")]
mod advice;
#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), path = "map/no_allocator.rs")]
#[cfg_attr(all(target_os = "linux", target_env = "gnu"), path = "map/glibc.rs")]
mod allocator;

pub(crate) use advice::{want_large_pages, want_large_pages_of};

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

/// Maps a whole file, read-only.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    // SAFETY: the map is read-only and private to this process; `Bytes` keeps it alive. What cannot be excluded is that
    // another process changes the file meanwhile: bytes of a changed file may differ between two reads, which all
    // parsers of this workspace bear (they check what they use, from plain byte slices without invariants), and a file
    // cut short raises SIGBUS. That is the known price of mapping, documented at `Access::Mapped`; `Access::Positional` is the way
    // to refuse it.
    let map = unsafe { Mmap::map(file) }?;
    maps().push((map.as_ptr().expose_provenance(), map.len()));
    Ok(Bytes::from_owner(Mapped(map)))
}

/// The bytes of all files that are mapped by this crate in this process, touched or not.
#[must_use]
pub fn mapped_bytes() -> u64 {
    maps().iter().map(|(_, len)| *len as u64).fold(0, u64::saturating_add)
}

/// Lets the pages go that this process has touched of mapped files. They stay in the system's cache, and come back from there (or from the
/// file) when they are touched again: nothing changes but what counts as this process's memory, which is otherwise all that was ever
/// touched until somebody else needs the room. For programs that walk through files larger than what they want to be seen with; the command
/// `wharf` does it by itself. Nothing happens on systems other than Linux.
pub fn release_mapped_pages() {
    for (start, len) in maps().iter() {
        // SAFETY: the maps in the list are there, as they leave it before they are unmapped, and it is locked. They are shared and never
        // written.
        unsafe { advice::release(std::ptr::with_exposed_provenance_mut(*start), *len) };
    }
}

/// Tells the allocator to keep what is freed, up to 128 MiB for each of its arenas, instead of giving it back to the system, and to take large
/// pieces of memory from there, too. Programs that make and drop buffers of a megabyte all the time wait for page faults half as much then.
/// For the beginning of a program, as it holds for all of it; nothing happens where the C library is not glibc.
pub fn keep_freed_memory() {
    allocator::keep_freed_memory();
}

/// Gives back to the system what the allocator keeps of memory that was freed, in between what is in use, too. It takes milliseconds. Nothing
/// happens where the C library is not glibc.
pub fn release_freed_memory() {
    allocator::release_freed_memory();
}

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
