//! What differs between systems: Unix.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

#[cfg_attr(not(target_os = "linux"), path = "remote_disk.rs")]
mod local_disk;
#[cfg_attr(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")), path = "plain_rename.rs")]
mod rename;

pub(crate) use local_disk::is_local;
pub(crate) use rename::{exchange, rename_exclusive};

pub(crate) fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// Has the process, or the system, as many open files as it may have?
pub(crate) fn is_out_of_files(cause: &io::Error) -> bool {
    matches!(Errno::from_io_error(cause), Some(Errno::MFILE | Errno::NFILE))
}

/// Sets the mode that a file is created with, before the process's mask.
pub(crate) fn set_creation_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Makes folders for this user alone.
pub(crate) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Who may read, write and execute a file.
pub(crate) fn mode_of(metadata: &Metadata) -> Option<u32> {
    Some(metadata.permissions().mode() & 0o777)
}

/// Some file systems have no modes: then nothing changes.
pub(crate) fn set_mode(file: &File, mode: u32) {
    let _ = file.set_permissions(Permissions::from_mode(mode));
}

/// Opens a file as a lock needs it (some network file systems lock only what may be written), or a folder. A link is not followed.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags | OFlags::RDWR, Mode::empty()) {
        Err(Errno::ISDIR) => rustix::fs::open(path, flags | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// Opens a folder to lock it, as every system can that locks folders.
pub(crate) fn open_folder(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}
