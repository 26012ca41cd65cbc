//! The kernels that need certain processors, and the choice among them.
//!
//! # Safety
//!
//! Two things are unsafe here, and both are only in this folder.
//!
//! * Kernels are functions with `target_feature`. Calling one is sound where the processor has the features. A kernel
//!   is therefore a value ([`avx2::Kernel`], [`avx512::Kernel`]) whose only constructor asks the processor.
//! * Kernels load and store vectors through pointers. Each pointer comes from a reference to an array whose length is
//!   the vector's size, checked by the type; the instructions are the unaligned ones. Loads read bytes and stores write
//!   integers: any bits are valid in both.
//!
//! Everything else is the compiler's to check: windows, rooms and the places in them are array types. Each kernel is
//! tested against [`portable`](crate::bulk::portable), its safe twin.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
mod detect;
#[cfg(target_arch = "x86_64")]
mod features;

use crate::bulk::done::Done;
use crate::bulk::portable;
use crate::integer::Integer;

/// The best kernel of this machine for types of 32 and 64 bits; see [`Done`].
pub(crate) fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Done {
    #[cfg(target_arch = "x86_64")]
    match detect::best() {
        detect::Best::Avx512(kernel) => return kernel.run(input, out),
        detect::Best::Avx2(kernel) => return kernel.run(input, out),
        detect::Best::Portable => {}
    }
    portable::run(input, out)
}

/// How many values end in the bytes.
pub(crate) fn count(bytes: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    match detect::best() {
        detect::Best::Avx512(kernel) => return kernel.count(bytes),
        detect::Best::Avx2(kernel) => return kernel.count(bytes),
        detect::Best::Portable => {}
    }
    portable::count(bytes)
}
