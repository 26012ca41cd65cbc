use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;

use crate::with_std::map::{advise_huge_pages, advise_huge_pages_for_map};

/// Allocations below this many bytes do not use huge pages.
const MIN_HUGE_BYTES: usize = 1 << 20;

/// A fixed-length vector backed by huge pages, for large tables with random access such as hash tables.
///
/// Huge pages avoid TLB misses on access and most page faults on first use (one per 2 MiB instead of one per 4 KiB). From 1 MiB on the memory
/// is mapped and huge pages are requested; smaller tables, and systems without huge pages, use ordinary memory.
///
/// ```
/// use container_core::HugePageVec;
/// let mut table: HugePageVec<u64> = HugePageVec::zeroed(1 << 20);
/// table[77] = 5;
/// assert_eq!(table.iter().sum::<u64>(), 5);
/// ```
#[derive(Debug)]
pub struct HugePageVec<T>(Memory<T>);

#[derive(Debug)]
enum Memory<T> {
    Mapped(MmapMut),
    Heap(Vec<T>),
}

impl<T: Pod> HugePageVec<T> {
    /// Creates a table of `len` zeros.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes >= MIN_HUGE_BYTES
            && let Ok(map) = MmapMut::map_anon(bytes)
        {
            advise_huge_pages_for_map(&map);
            return Self(Memory::Mapped(map));
        }
        Self(Memory::Heap(vec![T::zeroed(); len]))
    }
}

/// Creates a vector of `len` zeros, backed by huge pages where available, for large results that are filled once. (A page fault costs as much
/// as filling the page, and a huge page replaces 512 of them.)
///
/// Returns `None` if the memory cannot be allocated.
///
/// ```
/// let mut numbers = container_core::zeroed_vec::<f64>(1 << 20).ok_or("no memory")?;
/// numbers[7] = 1.5;
/// assert_eq!(numbers.iter().sum::<f64>(), 1.5);
/// assert!(container_core::zeroed_vec::<u64>(usize::MAX).is_none());
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn zeroed_vec<T: Zeroable + Clone>(len: usize) -> Option<Vec<T>> {
    let bytes = len.checked_mul(size_of::<T>())?;
    if bytes < MIN_HUGE_BYTES {
        return Some(vec![T::zeroed(); len]);
    }
    // Try the allocation first, since `vec!` aborts on failure. `vec!` gets zeroed pages from the system, untouched until the advice.
    let padded = padded_len(bytes) / size_of::<T>().max(1);
    Vec::<T>::new().try_reserve_exact(padded).ok()?;
    let mut zeros = vec![T::zeroed(); padded];
    advise_huge_pages(&mut zeros);
    zeros.truncate(len);
    Some(zeros)
}

/// Rounds an allocation up to whole huge pages, including the allocator's header. The system then aligns it to a huge page, without a remainder
/// in hundreds of small pages. The excess is never touched.
fn padded_len(bytes: usize) -> usize {
    const HUGE_PAGE: usize = 2 << 20;
    /// The allocator's header, rounded up to a page.
    const HEADER: usize = 4096;
    // For smaller allocations the padding would be too large.
    if bytes < 16 * HUGE_PAGE {
        return bytes;
    }
    bytes.checked_add(HEADER).and_then(|all| all.checked_next_multiple_of(HUGE_PAGE)).map_or(bytes, |all| all - HEADER)
}

/// The casts cannot fail: a mapping is page-aligned, and its length a multiple of the entry size.
impl<T: Pod> Deref for HugePageVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Mapped(map) => bytemuck::try_cast_slice(map).unwrap_or_default(),
            Memory::Heap(entries) => entries,
        }
    }
}

impl<T: Pod> DerefMut for HugePageVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Mapped(map) => bytemuck::try_cast_slice_mut(map).unwrap_or_default(),
            Memory::Heap(entries) => entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_start_at_zero_and_keep_values() {
        for len in [0, 1, 1000, MIN_HUGE_BYTES / 8 - 1, MIN_HUGE_BYTES / 8, MIN_HUGE_BYTES / 8 + 1, 1_000_003] {
            let mut table: HugePageVec<u64> = HugePageVec::zeroed(len);
            assert_eq!(table.len(), len);
            assert!(table.iter().all(|entry| *entry == 0));
            for (entry, value) in table.iter_mut().zip(1..) {
                *entry = value;
            }
            assert_eq!(table.iter().sum::<u64>(), (len as u64) * (len as u64 + 1) / 2);
        }
    }
}
