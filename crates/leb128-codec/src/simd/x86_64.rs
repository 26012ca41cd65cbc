//! x86-64: kernels for AVX2 and AVX-512.

mod avx2;
mod avx512;
#[cfg_attr(not(feature = "std"), path = "detect_without_std.rs")]
mod detect;
mod shuffles;

use crate::bulk::portable;
use crate::bulk::progress::Progress;
use crate::integer::Integer;

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
    pub(super) fn best() -> Self {
        detect::once(|| {
            let [(_, avx2), (_, avx512)] = Self::all();
            avx512.or(avx2).unwrap_or(Self::Portable)
        })
    }

    /// Decodes the beginning of a run.
    pub(crate) fn run<T: Integer>(self, input: &[u8], out: &mut [T]) -> Progress {
        match self {
            Self::Avx512(kernel) => kernel.run(input, out),
            Self::Avx2(kernel) => kernel.run(input, out),
            Self::Portable => portable::run(input, out),
        }
    }

    /// Counts the values that end in the bytes.
    pub(super) fn count(self, bytes: &[u8]) -> usize {
        match self {
            Self::Avx512(kernel) => kernel.count(bytes),
            Self::Avx2(kernel) => kernel.count(bytes),
            Self::Portable => portable::count(bytes),
        }
    }
}
