//! Kernels for particular instruction sets, the choice among them, and prefetching.
//!
//! # Safety
//!
//! Three things are unsafe here, and nowhere else in the crate:
//!
//! * Calling a function with `target_feature`, which is sound on a processor that has the features. A kernel is therefore
//!   a value of a type `Kernel` that can only be made where it has them.
//! * Loading and storing vectors through pointers. Every pointer comes from a reference to an array of exactly the
//!   vector's size, or to a slice that a mask confines the load to; the instructions are the unaligned ones, and any bit
//!   pattern is valid.
//! * Prefetching, which takes a pointer. It comes from a reference, and the instruction has no observable effect.
//!
//! Each kernel is tested against its safe twin, [`portable`](crate::digest::portable), and against the crate blake2.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"), path = "neon.rs")]
mod arch;

pub(crate) use self::arch::Kernel;
use crate::digest::group::{Digest, Group, LANES};
use crate::probe::{GroupIndices, Row};

/// The digests of sixteen keys; `start` is the state before the first block.
#[inline]
pub(crate) fn digest_group(group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
    Kernel::best().digest(group, start)
}

/// [`GroupIndices::next_rows`] with the vectors of this machine.
#[inline]
pub(crate) fn next_rows(indices: &mut GroupIndices, rows: &mut [Row]) {
    Kernel::best().next_rows(indices, rows);
}

/// Hints that a byte will be accessed soon. Does nothing for an offset out of bounds, or without such an instruction.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], offset: usize) {
    // Miri has no such instruction.
    if !cfg!(miri)
        && let Some(byte) = bytes.get(offset)
    {
        arch::prefetch(byte);
    }
}
