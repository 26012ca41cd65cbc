//! Advice about memory, as Linux takes it.

use memmap2::{Advice, MmapMut};

/// Tells the system that large pages are wanted under this memory. Nothing where there are none.
pub(crate) fn advise_huge_pages<T>(memory: &mut [T]) {
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

/// The same for all of a map.
pub(crate) fn advise_huge_pages_for_map(map: &MmapMut) {
    // Where it is not taken the pages are small.
    let _ = map.advise(Advice::HugePage);
}
