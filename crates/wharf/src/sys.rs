//! System-specific functions: Unix. `sys/other.rs` has those of other systems.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device and inode.
pub(crate) type Identity = (u64, u64);

/// The identity of a folder, independent of its path.
pub(crate) type FolderIdentity = Identity;

/// The identity of a file, independent of its name.
pub(crate) fn identity(metadata: &Metadata) -> Option<Identity> {
    Some((metadata.dev(), metadata.ino()))
}

pub(crate) fn folder_identity(folder: &Path) -> io::Result<FolderIdentity> {
    fs::metadata(folder).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Whether a file has several names.
pub(crate) fn has_links(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

/// The file or pipe behind standard input.
pub(crate) fn stdin() -> Option<Metadata> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata()).ok()
}
