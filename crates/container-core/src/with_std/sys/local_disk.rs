//! File systems of one machine: Linux says which they are.

use std::fs::File;

/// Is it on a file system of this machine alone, whatever the machine's name is today or in this container?
pub(crate) fn is_local(file: &File) -> bool {
    // ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs
    const LOCAL: [u64; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];
    let kind = rustix::fs::fstatfs(file).ok().and_then(|found| u64::try_from(found.f_type).ok());
    kind.is_some_and(|kind| LOCAL.contains(&kind))
}
