use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;

use crate::with_std::map::{advise_huge_pages, advise_huge_pages_for_map};

/// Tables below this many bytes are plain vectors.
const SMALL: usize = 1 << 20;

/// A table of zeros, for millions of entries that are read and written at random places.
///
/// Where the system has large pages, a large table lies on them: then a look-up does not wait for the place of its page, and
/// new memory costs a five-hundredth of the page faults.
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
    Held(Vec<T>),
}

impl<T: Pod> HugePageVec<T> {
    /// So many entries, all of them zero.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes >= SMALL
            && let Ok(map) = MmapMut::map_anon(bytes)
        {
            advise_huge_pages_for_map(&map);
            return Self(Memory::Mapped(map));
        }
        Self(Memory::Held(vec![T::zeroed(); len]))
    }
}

/// So many zeros as a plain vector, on large pages where there are such and it is worth it: for results of many megabytes that are filled
/// once. (A page of new memory costs as much as filling it; a large page is 512 of them.)
///
/// `None` where there is no memory for it.
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
    if bytes < SMALL {
        return Some(vec![T::zeroed(); len]);
    }
    // Tried first where it may fail: what follows would end the process. It is what is used all the same, as memory that is new from
    // the system is zeros already, and is not touched before the advice.
    let room = room_of(bytes) / size_of::<T>().max(1);
    Vec::<T>::new().try_reserve_exact(room).ok()?;
    let mut zeros = vec![T::zeroed(); room];
    advise_huge_pages(&mut zeros);
    zeros.truncate(len);
    Some(zeros)
}

/// Bytes to ask for where so many are wanted: with what an allocator adds, whole large pages. Then the system lays them at the beginning of
/// one, and there is no rest at the ends that would be had in small ones, hundreds of page faults. What is too much is not touched.
fn room_of(bytes: usize) -> usize {
    const LARGE_PAGE: usize = 2 << 20;
    /// An allocator's own bytes, rounded up to a page.
    const OWN: usize = 4096;
    // Of less the rest would be too large a part.
    if bytes < 16 * LARGE_PAGE {
        return bytes;
    }
    bytes.checked_add(OWN).and_then(|all| all.checked_next_multiple_of(LARGE_PAGE)).map_or(bytes, |all| all - OWN)
}

/// A map begins at a page and has whole entries: both casts go through.
impl<T: Pod> Deref for HugePageVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Mapped(map) => bytemuck::try_cast_slice(map).unwrap_or_default(),
            Memory::Held(entries) => entries,
        }
    }
}

impl<T: Pod> DerefMut for HugePageVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Mapped(map) => bytemuck::try_cast_slice_mut(map).unwrap_or_default(),
            Memory::Held(entries) => entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_zero_and_stay_what_they_become() {
        for len in [0, 1, 1000, SMALL / 8 - 1, SMALL / 8, SMALL / 8 + 1, 1_000_003] {
            let mut pages: HugePageVec<u64> = HugePageVec::zeroed(len);
            assert_eq!(pages.len(), len);
            assert!(pages.iter().all(|entry| *entry == 0));
            for (entry, value) in pages.iter_mut().zip(1..) {
                *entry = value;
            }
            assert_eq!(pages.iter().sum::<u64>(), (len as u64) * (len as u64 + 1) / 2);
        }
    }
}
