//! A system with one way to rename.

use std::io;
use std::path::Path;

/// It does not rename and replace nothing.
pub(crate) const fn rename_exclusive(_: &Path, _: &Path) -> Option<io::Result<()>> {
    None
}

/// It does not exchange names.
pub(crate) const fn exchange(_: &Path, _: &Path) -> Option<io::Result<()>> {
    None
}
