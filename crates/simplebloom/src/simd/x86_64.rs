//! x86-64: kernels for AVX2 and AVX-512.

mod avx2;
mod avx512;
#[cfg_attr(not(feature = "std"), path = "detect_without_std.rs")]
mod detect;

use crate::digest::group::{Digest, Group, LANES};
use crate::digest::portable;
use crate::probe::{GroupIndices, Row};

/// A kernel that this machine can run.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    Portable,
    Avx2(avx2::Kernel),
    Avx512(avx512::Kernel),
}

impl Kernel {
    /// The kernels with their names, slowest first; `None` for those that this machine cannot run.
    pub(crate) fn all() -> [(&'static str, Option<Self>); 2] {
        [("avx2", avx2::Kernel::new().map(Self::Avx2)), ("avx512", avx512::Kernel::new().map(Self::Avx512))]
    }

    /// The fastest kernel of this machine.
    #[inline]
    pub(super) fn best() -> Self {
        detect::once(|| {
            let [(_, avx2), (_, avx512)] = Self::all();
            avx512.or(avx2).unwrap_or(Self::Portable)
        })
    }

    /// The digests of sixteen keys; `start` is the state before the first block.
    #[inline]
    pub(crate) fn digest(self, group: &Group<'_>, start: &[u32; 8]) -> [Digest; LANES] {
        match self {
            Self::Avx512(kernel) => kernel.digest(group, start),
            Self::Avx2(kernel) => kernel.digest(group, start),
            Self::Portable => portable::group(group, start),
        }
    }

    /// [`GroupIndices::next_rows`], vectorized.
    #[inline]
    pub(super) fn next_rows(self, indices: &mut GroupIndices, rows: &mut [Row]) {
        match self {
            Self::Avx512(kernel) => kernel.next_rows(indices, rows),
            Self::Avx2(kernel) => kernel.next_rows(indices, rows),
            Self::Portable => indices.next_rows(rows),
        }
    }
}

/// Hints that the byte will be accessed soon.
#[inline(always)]
pub(super) fn prefetch(byte: &u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 processor has the instruction, and the pointer comes from a reference.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(byte).cast()) }
}
