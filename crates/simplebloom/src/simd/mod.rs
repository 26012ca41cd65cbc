//! Kernels for particular instruction sets, the choice among them, and prefetching.
//!
//! # Safety
//!
//! Three things are unsafe here, and nowhere else in the crate:
//!
//! * Calling a function with `target_feature`, which is sound on a processor that has the features. A kernel is therefore
//!   a value (`avx2::Kernel`, `avx512::Kernel`, `neon::Kernel`) that can only be made where it has them.
//! * Loading and storing vectors through pointers. Every pointer comes from a reference to an array of exactly the
//!   vector's size, or to a slice that a mask confines the load to; the instructions are the unaligned ones, and any bit
//!   pattern is valid.
//! * Prefetching, which takes a pointer. It comes from a reference, and the instruction has no observable effect.
//!
//! Each kernel is tested against its safe twin, [`portable`](crate::digest::portable), and against the crate blake2.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod detect;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
pub(crate) mod neon;

use self::detect::{Best, best};
use crate::digest::group::{Digest, Group, LANES};
use crate::digest::portable;
use crate::probe::{GroupIndices, Row};

/// The digests of sixteen keys; `start` is the state before the first block.
#[inline]
pub(crate) fn digest_group(group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
    match best() {
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => kernel.digest(group, start),
        #[cfg(target_arch = "x86_64")]
        Best::Avx2(kernel) => kernel.digest(group, start),
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        Best::Neon(kernel) => kernel.digest(group, start),
        Best::Portable => portable::group(group, start),
    }
}

/// [`GroupIndices::next_rows`] with the vectors of this machine.
#[inline]
pub(crate) fn next_rows(indices: &mut GroupIndices, rows: &mut [Row]) {
    match best() {
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => kernel.next_rows(indices, rows),
        #[cfg(target_arch = "x86_64")]
        Best::Avx2(kernel) => kernel.next_rows(indices, rows),
        _ => indices.next_rows(rows),
    }
}

/// Hints that a byte will be accessed soon. Does nothing for an offset out of bounds, or without such an instruction.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], offset: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(byte) = bytes.get(offset) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and the pointer comes from a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(byte).cast()) }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    if let Some(byte) = bytes.get(offset) {
        let pointer = core::ptr::from_ref(byte);
        // SAFETY: every aarch64 processor has the instruction, the pointer comes from a reference, and nothing else is
        // touched. There is no stable intrinsic for it.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) pointer, options(nostack, readonly, preserves_flags));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (bytes, offset);
}
