use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Tables below this many bytes are plain vectors.
const SMALL: usize = 1 << 20;

/// A table of zeros, for millions of entries that are read and written at random places.
///
/// Where the system has large pages, a large table lies on them: then a look-up does not wait for the place of its page, and
/// new memory costs a five-hundredth of the page faults.
///
/// ```
/// use container_core::Pages;
/// let mut table: Pages<u64> = Pages::zeroed(1 << 20);
/// table[77] = 5;
/// assert_eq!(table.iter().sum::<u64>(), 5);
/// ```
#[derive(Debug)]
pub struct Pages<T>(Memory<T>);

#[derive(Debug)]
enum Memory<T> {
    Mapped(MmapMut),
    Held(Vec<T>),
}

impl<T: Pod> Pages<T> {
    /// So many entries, all of them zero.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes >= SMALL
            && let Ok(map) = MmapMut::map_anon(bytes)
        {
            // Advice: where it is not taken the pages are small.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            return Self(Memory::Mapped(map));
        }
        Self(Memory::Held(vec![T::zeroed(); len]))
    }
}

/// A map begins at a page and has whole entries: both casts go through.
impl<T: Pod> Deref for Pages<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Mapped(map) => bytemuck::try_cast_slice(map).unwrap_or_default(),
            Memory::Held(entries) => entries,
        }
    }
}

impl<T: Pod> DerefMut for Pages<T> {
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
            let mut pages: Pages<u64> = Pages::zeroed(len);
            assert_eq!(pages.len(), len);
            assert!(pages.iter().all(|entry| *entry == 0));
            for (entry, value) in pages.iter_mut().zip(1..) {
                *entry = value;
            }
            assert_eq!(pages.iter().sum::<u64>(), (len as u64) * (len as u64 + 1) / 2);
        }
    }
}
