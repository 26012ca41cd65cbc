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
    if let Some(kernel) = avx512::Kernel::new() {
        Best::Avx512(kernel)
    } else if let Some(kernel) = avx2::Kernel::new() {
        Best::Avx2(kernel)
    } else {
        Best::Portable
    }
}

/// The best kernel of this machine.
#[cfg(feature = "std")]
pub(super) fn best() -> Best {
    // Asking may be slow on virtual machines, which answer some questions themselves.
    static BEST: std::sync::OnceLock<Best> = std::sync::OnceLock::new();
    *BEST.get_or_init(ask)
}

/// The best kernel of the machine compiled for.
#[cfg(not(feature = "std"))]
pub(super) fn best() -> Best {
    ask()
}
