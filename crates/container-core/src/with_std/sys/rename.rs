//! Renames that replace nothing, and that exchange two names.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Renames a file or folder, and replaces nothing. `None` where the system or the file system cannot.
pub(crate) fn rename_exclusive(from: &Path, to: &Path) -> Option<io::Result<()>> {
    rename(from, to, RenameFlags::NOREPLACE)
}

/// Gives each of two files or folders the name of the other. `None` where the system or the file system cannot.
pub(crate) fn exchange(one: &Path, other: &Path) -> Option<io::Result<()>> {
    rename(one, other, RenameFlags::EXCHANGE)
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Option<io::Result<()>> {
    match renameat_with(CWD, from, CWD, to, flags) {
        Err(cause) if [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&cause) => None,
        renamed => Some(renamed.map_err(io::Error::from)),
    }
}
