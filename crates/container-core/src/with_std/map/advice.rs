//! Memory advice on Linux.

use memmap2::{Advice, MmapMut};

/// Advises the kernel to back this memory with huge pages. No effect on systems without them.
pub(crate) fn advise_huge_pages<T>(memory: &mut [T]) {
    const PAGE: usize = 4096;
    let (start, len) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    // Start at the page boundary: allocators put a header in front of the memory, and excluding the first page would prevent a huge page
    // there.
    let before = start.addr() % PAGE;
    let len = (before + len).next_multiple_of(PAGE);
    // SAFETY: the pages contain memory borrowed by this function, so they are mapped. The advice has no observable effect on them, nor on other
    // data in the first and last page, and nothing is accessed through the address. A rejected advice (an unaligned address, a kernel without
    // huge pages) returns an error, which leaves small pages.
    let _ = unsafe { libc::madvise(start.wrapping_sub(before).cast(), len, libc::MADV_HUGEPAGE) };
}

/// Advises huge pages for a whole mapping.
pub(crate) fn advise_huge_pages_for_map(map: &MmapMut) {
    // Failure leaves small pages.
    let _ = map.advise(Advice::HugePage);
}
