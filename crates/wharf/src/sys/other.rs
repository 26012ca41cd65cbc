//! System-specific functions: systems other than Unix, where files have no identity but their path.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) type Identity = (u64, u64);

/// The canonical path.
pub(crate) type FolderIdentity = PathBuf;

pub(crate) const fn identity(_: &Metadata) -> Option<Identity> {
    None
}

pub(crate) fn folder_identity(folder: &Path) -> io::Result<FolderIdentity> {
    folder.canonicalize()
}

pub(crate) const fn has_links(_: &Metadata) -> bool {
    false
}

pub(crate) const fn stdin() -> Option<Metadata> {
    None
}
