//! Exclusive renames and name exchanges.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Renames a file or folder without replacing anything. `None` if not supported by the system or file system.
pub(crate) fn rename_exclusive(from: &Path, to: &Path) -> Option<io::Result<()>> {
    rename(from, to, RenameFlags::NOREPLACE)
}

/// Exchanges the names of two files or folders. `None` if not supported by the system or file system.
pub(crate) fn exchange(one: &Path, other: &Path) -> Option<io::Result<()>> {
    rename(one, other, RenameFlags::EXCHANGE)
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Option<io::Result<()>> {
    match renameat_with(CWD, from, CWD, to, flags) {
        Err(cause) if [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&cause) => None,
        renamed => Some(renamed.map_err(io::Error::from)),
    }
}
