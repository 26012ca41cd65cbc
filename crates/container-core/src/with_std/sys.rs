//! System-specific functions: Unix. `sys/windows.rs` has those of Windows.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

#[cfg_attr(not(target_os = "linux"), path = "sys/remote_disk.rs")]
mod local_disk;
#[cfg_attr(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")), path = "sys/plain_rename.rs")]
mod rename;

pub(crate) use local_disk::is_local;
pub(crate) use rename::{exchange, rename_exclusive};

/// Whether temporary files are locked, and those of dead processes removed.
pub(crate) const CAN_LOCK: bool = true;

/// Whether renaming a folder replaces an empty one.
pub(crate) const REPLACES_EMPTY_FOLDERS: bool = true;

/// Makes renames in a directory durable. Failure is ignored: some file systems cannot sync directories.
pub(crate) fn sync_directory(directory: &Path) {
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
}

pub(crate) fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// Returns true if the process or the system has reached its limit of open files.
pub(crate) fn is_out_of_files(cause: &io::Error) -> bool {
    matches!(Errno::from_io_error(cause), Some(Errno::MFILE | Errno::NFILE))
}

/// Sets the mode of a created file, before the umask.
pub(crate) fn set_creation_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Builds folders accessible to this user only.
pub(crate) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// The permission bits of a file.
pub(crate) fn mode_of(metadata: &Metadata) -> Option<u32> {
    Some(metadata.permissions().mode() & 0o777)
}

/// Sets the permission bits. Ignored by file systems without modes.
pub(crate) fn set_mode(file: &File, mode: u32) {
    let _ = file.set_permissions(Permissions::from_mode(mode));
}

/// Opens a file or folder for locking, without following links. Some network file systems require write access for locks.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags | OFlags::RDWR, Mode::empty()) {
        Err(Errno::ISDIR) => rustix::fs::open(path, flags | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// Opens a folder for locking.
pub(crate) fn open_folder(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}
