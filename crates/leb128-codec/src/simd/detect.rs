//! Detects at run time what the processor has. `detect_without_std.rs` has the features that it is compiled for.

use std::sync::OnceLock;

use super::Kernel;

/// True if the processor has all of the features.
macro_rules! has {
    ($($feature:tt),+ $(,)?) => { true $(&& std::arch::is_x86_feature_detected!($feature))+ };
}
pub(super) use has;

/// Detects the kernel once: `cpuid` is slow on virtual machines, which emulate it.
pub(super) fn once(detect: fn() -> Kernel) -> Kernel {
    static BEST: OnceLock<Kernel> = OnceLock::new();
    *BEST.get_or_init(detect)
}
