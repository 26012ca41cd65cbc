//! What the processor has: asked at run time with feature `std`, fixed at compile time without.

/// True where the processor has all the features.
macro_rules! has {
    ($($feature:tt),+ $(,)?) => {{
        #[cfg(feature = "std")]
        let has = true $(&& std::arch::is_x86_feature_detected!($feature))+;
        #[cfg(not(feature = "std"))]
        let has = true $(&& cfg!(target_feature = $feature))+;
        has
    }};
}
pub(super) use has;
