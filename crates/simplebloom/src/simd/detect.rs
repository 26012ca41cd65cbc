//! What the processor has: asked once at run time with feature `std`, fixed at compile time without.

use super::{avx2, avx512};

/// The best kernel.
#[derive(Clone, Copy)]
pub(crate) enum Best {
    Portable,
    Avx2(avx2::Kernel),
    Avx512(avx512::Kernel),
}

fn ask() -> Best {
    match (avx512::Kernel::new(), avx2::Kernel::new()) {
        (Some(kernel), _) => Best::Avx512(kernel),
        (None, Some(kernel)) => Best::Avx2(kernel),
        (None, None) => Best::Portable,
    }
}

/// The best kernel of this machine.
#[cfg(feature = "std")]
#[inline]
pub(super) fn best() -> Best {
    // Asking may be slow on virtual machines, which answer some questions themselves.
    static BEST: std::sync::OnceLock<Best> = std::sync::OnceLock::new();
    *BEST.get_or_init(ask)
}

/// The best kernel of the machine compiled for.
#[cfg(not(feature = "std"))]
#[inline]
pub(super) fn best() -> Best {
    ask()
}
