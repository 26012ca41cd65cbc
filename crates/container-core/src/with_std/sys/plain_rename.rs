//! This system has only plain renames.

use std::io;
use std::path::Path;

/// Not supported.
pub(crate) const fn rename_exclusive(_: &Path, _: &Path) -> Option<io::Result<()>> {
    None
}

/// Not supported.
pub(crate) const fn exchange(_: &Path, _: &Path) -> Option<io::Result<()>> {
    None
}
