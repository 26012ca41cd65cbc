//! Detects local file systems on Linux.

use std::fs::File;

/// Returns true if the file is on a file system that no other machine can write to.
pub(crate) fn is_local(file: &File) -> bool {
    // Magic numbers of ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs
    const LOCAL: [u64; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];
    let magic = rustix::fs::fstatfs(file).ok().and_then(|stat| u64::try_from(stat.f_type).ok());
    magic.is_some_and(|magic| LOCAL.contains(&magic))
}
