//! The one place of this crate with `unsafe`: mapping a file, and advice about memory.
#![allow(unsafe_code, reason = "the system's calls have no safe form; the argument stands at each")]

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
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
    #[cfg(target_os = "linux")]
    for (start, len) in maps().iter() {
        let start = std::ptr::with_exposed_provenance_mut(*start);
        // SAFETY: the maps in the list are there, as they leave it before they are unmapped, and it is locked. They are shared and never
        // written: with this advice, pages of such a map that are touched again are those of the file, as if the system had taken them for
        // others; no other thread can see that they were gone.
        let _ = unsafe { libc::madvise(start, *len, libc::MADV_DONTNEED) };
    }
}

/// Tells the system that large pages are wanted under this memory. Nothing where there are none.
#[cfg(target_os = "linux")]
pub(crate) fn want_large_pages<T>(memory: &mut [T]) {
    const PAGE: usize = 4096;
    let (start, len) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    // From the beginning of its first page: an allocator has a few bytes of its own in front, and a mapping of which the first page is
    // left out has no large page there.
    let before = start.addr() % PAGE;
    let len = (before + len).next_multiple_of(PAGE);
    // SAFETY: the pages are those in which memory lies that is borrowed for us alone, so they are there; this advice changes nothing that a
    // program could see, of neighbours in the first and last of them either, and nothing is read or written through the address.
    // Where it is not taken (an address that is no page's, a kernel without large pages) an error comes back, and the pages are small.
    let _ = unsafe { libc::madvise(start.wrapping_sub(before).cast(), len, libc::MADV_HUGEPAGE) };
}

/// Elsewhere nobody is to be told.
#[cfg(not(target_os = "linux"))]
pub(crate) fn want_large_pages<T>(_: &mut [T]) {}

/// Tells the allocator to keep what is freed, up to 128 MiB for each of its arenas, instead of giving it back to the system, and to take large
/// pieces of memory from there, too. Programs that make and drop buffers of a megabyte all the time wait for page faults half as much then.
/// For the beginning of a program, as it holds for all of it; nothing happens where the C library is not glibc.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let settings =
            [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 128 << 20), (libc::M_TOP_PAD, 16 << 20)];
        for (name, value) in settings {
            // SAFETY: these settings are bounds that the allocator looks at; it takes its own lock, and refuses what it does not know.
            let _ = unsafe { libc::mallopt(name, value) };
        }
    }
}

/// Gives back to the system what the allocator keeps of memory that was freed, in between what is in use, too. It takes milliseconds. Nothing
/// happens where the C library is not glibc.
pub fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes the allocator's own locks, and touches nothing but memory that nobody has.
        let _ = unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn freed_memory_goes_back() {
        let own = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
        };
        let some = |count: usize| -> Vec<Vec<u8>> { (0..count).map(|_| vec![1; 64 << 10]).collect() };
        let mut pieces = some(1024);
        // Every other one, so that there is no end to be cut off.
        let mut number = 0;
        pieces.retain(|_| (number += 1, number % 2 == 0).1);
        let before = own();
        release_freed_memory();
        assert!(own() + (16 << 20) < before, "{} of {before}", own());
        assert!(pieces.iter().all(|piece| piece.iter().all(|byte| *byte == 1)));
    }

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
