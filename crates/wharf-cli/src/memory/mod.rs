//! The memory of this process, which is the command's alone: how files are mapped, and how much of what is of no use stays with it.
#![allow(unsafe_code, reason = "the system's calls have no safe form; the argument stands at each")]

mod map;
mod resident;

#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), path = "no_allocator.rs")]
#[cfg_attr(all(target_os = "linux", target_env = "gnu"), path = "glibc.rs")]
mod allocator;

pub(crate) use map::mapped;

/// What is to be set up before the work begins.
pub(crate) fn prepare() {
    allocator::keep_freed_memory();
    resident::watch();
}
