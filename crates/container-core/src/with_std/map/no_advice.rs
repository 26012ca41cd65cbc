//! A system that takes no advice about memory.

pub(crate) const fn want_large_pages<T>(_: &mut [T]) {}

pub(crate) const fn want_large_pages_of(_: &memmap2::MmapMut) {}
