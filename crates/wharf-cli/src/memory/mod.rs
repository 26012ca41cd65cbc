//! Memory of the process: how files are mapped, and returning memory that is no longer used to the system.
#![allow(unsafe_code, reason = "system calls without a safe wrapper; each call states why it is sound")]

#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), path = "other_allocator.rs")]
mod allocator;
mod mapped_files;
#[cfg_attr(not(target_os = "linux"), path = "no_trim.rs")]
mod trim;

pub(crate) use mapped_files::mapped;

/// Configures the allocator and starts trimming. Call once, before any other work.
pub(crate) fn configure() {
    allocator::keep_freed_memory();
    trim::start();
}
