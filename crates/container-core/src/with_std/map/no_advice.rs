//! A system that takes no advice about memory.

pub(crate) const fn advise_huge_pages<T>(_: &mut [T]) {}

pub(crate) const fn advise_huge_pages_for_map(_: &memmap2::MmapMut) {}
