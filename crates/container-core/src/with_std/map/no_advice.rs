//! A system that takes no advice about memory.

/// Nothing happens.
///
/// # Safety
/// Any argument is safe.
pub(super) const unsafe fn release(_: *mut std::ffi::c_void, _: usize) {}

pub(crate) const fn want_large_pages<T>(_: &mut [T]) {}

pub(crate) const fn want_large_pages_of(_: &memmap2::MmapMut) {}
