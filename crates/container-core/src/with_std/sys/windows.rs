//! System-specific functions: Windows, which has no modes and cannot rename open folders.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

#[path = "remote_disk.rs"]
mod remote_disk;
#[path = "plain_rename.rs"]
mod rename;

pub(crate) use remote_disk::is_local;
pub(crate) use rename::{exchange, rename_exclusive};

/// See [`remove_stale_temporaries`](crate::remove_stale_temporaries).
pub(crate) const CAN_LOCK: bool = false;

pub(crate) const REPLACES_EMPTY_FOLDERS: bool = false;

pub(crate) const fn sync_directory(_: &Path) {}

pub(crate) fn read_exact_at(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                offset += n as u64;
                buffer = buffer.get_mut(n..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) const fn is_out_of_files(_: &io::Error) -> bool {
    false
}

pub(crate) const fn set_creation_mode(_: &mut OpenOptions, _: u32) {}

pub(crate) fn private_folders() -> DirBuilder {
    DirBuilder::new()
}

pub(crate) const fn mode_of(_: &Metadata) -> Option<u32> {
    None
}

pub(crate) const fn set_mode(_: &File, _: u32) {}

pub(crate) fn open_to_lock(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) const fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
