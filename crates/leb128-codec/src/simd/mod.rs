//! Kernels for particular instruction sets, and the choice among them.
//!
//! # Safety
//!
//! Two things are unsafe here, and nowhere else in the crate:
//!
//! * Calling a function with `target_feature`, which is sound on a processor that has the features. A kernel is therefore
//!   a value (`avx2::Kernel`, `avx512::Kernel`, `neon::Kernel`) that can only be made where it has them.
//! * Loading and storing vectors through pointers. Every pointer comes from a reference to an array of exactly the
//!   vector's size, and the instructions are the unaligned ones. Loads read bytes and stores write integers, for which
//!   any bit pattern is valid.
//!
//! Windows, output arrays and offsets in them are checked by the compiler. Each kernel is tested against
//! [`portable`](crate::bulk::portable), its safe twin.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod detect;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
pub(crate) mod neon;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")))]
mod shuffles;

use self::detect::{Best, best};
use crate::bulk::portable;
use crate::bulk::progress::Progress;
use crate::integer::Integer;

/// Decodes the beginning of a run of 32- or 64-bit values with the fastest kernel of this machine.
pub(crate) fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Progress {
    match best() {
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => kernel.run(input, out),
        #[cfg(target_arch = "x86_64")]
        Best::Avx2(kernel) => kernel.run(input, out),
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        Best::Neon(kernel) => kernel.run(input, out),
        Best::Portable => portable::run(input, out),
    }
}

/// Counts the values that end in the bytes.
pub(crate) fn count(bytes: &[u8]) -> usize {
    match best() {
        #[cfg(target_arch = "x86_64")]
        Best::Avx512(kernel) => kernel.count(bytes),
        #[cfg(target_arch = "x86_64")]
        Best::Avx2(kernel) => kernel.count(bytes),
        // The portable loop is compiled to the vectors of the target: nothing is left to do by hand on aarch64.
        _ => portable::count(bytes),
    }
}
