//! The kernels that need certain processors, the choice among them, and the hint that a byte will be wanted soon.
//!
//! # Safety
//!
//! Three things are unsafe here, and all are only in this folder.
//!
//! * Kernels are functions with `target_feature`. Calling one is sound where the processor has the features. A kernel
//!   is therefore a value ([`avx2::Kernel`], [`avx512::Kernel`]) whose only constructor asks the processor.
//! * Kernels load and store vectors through pointers. Each pointer comes from a reference to an array of the vector's
//!   size, or to a slice whose bytes alone a mask lets in; the instructions are the unaligned ones, and any bits are valid.
//! * A prefetch takes a pointer. It comes from a reference, and the instruction changes nothing that a program could see.
//!
//! Each kernel is tested against its safe twin, [`portable`](crate::digest::portable), and against the blake2 crate.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
mod detect;
#[cfg(target_arch = "x86_64")]
mod features;

use crate::digest::group::{Digest, Group, LANES};
use crate::digest::portable;
use crate::probe::{Row, Walk};

/// The digests of sixteen keys; `start` is the state before the first block.
#[inline]
pub(crate) fn digest_group(group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
    #[cfg(target_arch = "x86_64")]
    match detect::best() {
        detect::Best::Avx512(kernel) => return kernel.digest(group, start),
        detect::Best::Avx2(kernel) => return kernel.digest(group, start),
        detect::Best::Portable => {}
    }
    portable::group(group, start)
}

/// As [`Walk::rows`].
#[inline]
pub(crate) fn walk(walk: &mut Walk, rows: &mut [Row]) {
    #[cfg(target_arch = "x86_64")]
    match detect::best() {
        detect::Best::Avx512(kernel) => return kernel.walk(walk, rows),
        detect::Best::Avx2(kernel) => return kernel.walk(walk, rows),
        detect::Best::Portable => {}
    }
    walk.rows(rows);
}

/// Tells the processor that a byte will be wanted soon. Nothing where there is no such byte or no such hint.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this architecture has the instruction, and the pointer is a reference's.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(byte).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
