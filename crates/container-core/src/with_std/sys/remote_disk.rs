//! This system cannot tell local file systems from shared ones.

/// Assumes that other machines can write to the file system.
pub(crate) const fn is_local(_: &std::fs::File) -> bool {
    false
}
