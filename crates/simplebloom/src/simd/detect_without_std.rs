//! The features that the crate is compiled for.

use super::Kernel;

/// True if the processor has all of the features.
macro_rules! has {
    ($($feature:tt),+ $(,)?) => { true $(&& cfg!(target_feature = $feature))+ };
}
pub(super) use has;

#[inline]
pub(super) fn once(detect: fn() -> Kernel) -> Kernel {
    detect()
}
