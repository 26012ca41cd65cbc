//! Allocators other than that of glibc: nothing to configure.

pub(super) const fn keep_freed_memory() {}

#[allow(dead_code, reason = "for trimming, on Linux")]
pub(super) const fn release_freed_memory() {}
