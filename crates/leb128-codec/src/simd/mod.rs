//! Kernels for particular instruction sets, and the choice among them.
//!
//! # Safety
//!
//! Two things are unsafe here, and nowhere else in the crate:
//!
//! * Calling a function with `target_feature`, which is sound on a processor that has the features. A kernel is therefore
//!   a value of a type `Kernel` that can only be made where it has them.
//! * Loading and storing vectors through pointers. Every pointer comes from a reference to an array of exactly the
//!   vector's size, and the instructions are the unaligned ones. Loads read bytes and stores write integers, for which
//!   any bit pattern is valid.
//!
//! Windows, output arrays and offsets in them are checked by the compiler. Each kernel is tested against
//! [`portable`](crate::bulk::portable), its safe twin.
#![allow(unsafe_code, reason = "see above; the crate denies it elsewhere")]

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"), path = "neon.rs")]
mod arch;

pub(crate) use self::arch::Kernel;
use crate::bulk::progress::Progress;
use crate::integer::Integer;

/// Decodes the beginning of a run of 32- or 64-bit values with the fastest kernel of this machine.
pub(crate) fn run<T: Integer>(input: &[u8], out: &mut [T]) -> Progress {
    Kernel::best().run(input, out)
}

/// Counts the values that end in the bytes.
pub(crate) fn count(bytes: &[u8]) -> usize {
    Kernel::best().count(bytes)
}
