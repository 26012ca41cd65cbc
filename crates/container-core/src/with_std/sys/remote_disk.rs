//! File systems of one machine: this system does not say which they are.

/// Any file may be on a file system that other machines write to.
pub(crate) const fn is_local(_: &std::fs::File) -> bool {
    false
}
