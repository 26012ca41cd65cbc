//! Which kernel this machine runs. x86-64: asked once at run time with feature `std`, fixed at compile time without.
//! aarch64: fixed at compile time, as NEON is part of the architecture.

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// True if the processor has all of the features.
#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($feature:tt),+ $(,)?) => {{
        #[cfg(feature = "std")]
        let has = true $(&& std::arch::is_x86_feature_detected!($feature))+;
        #[cfg(not(feature = "std"))]
        let has = true $(&& cfg!(target_feature = $feature))+;
        has
    }};
}
#[cfg(target_arch = "x86_64")]
pub(super) use has;

/// The fastest kernel of a machine.
#[derive(Clone, Copy)]
pub(super) enum Best {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Kernel),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Kernel),
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    Neon(neon::Kernel),
}

fn detect() -> Best {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = avx512::Kernel::new() {
        return Best::Avx512(kernel);
    } else if let Some(kernel) = avx2::Kernel::new() {
        return Best::Avx2(kernel);
    }
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    if let Some(kernel) = neon::Kernel::new() {
        return Best::Neon(kernel);
    }
    Best::Portable
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(super) fn best() -> Best {
    // `cpuid` is slow on virtual machines, which emulate it.
    static BEST: std::sync::OnceLock<Best> = std::sync::OnceLock::new();
    *BEST.get_or_init(detect)
}

#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
pub(super) fn best() -> Best {
    detect()
}
