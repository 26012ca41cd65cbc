//! An allocator without such settings.

pub(super) const fn keep_freed_memory() {}

pub(super) const fn release_freed_memory() {}
