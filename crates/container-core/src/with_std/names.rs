//! Directory entries: renaming without replacing, and syncing.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use crate::with_std::sys;

/// Subdirectories of the temporary folder of an [`OutputFolder`](crate::OutputFolder): the new folder, and the one it replaces.
pub(crate) const NEW: &str = "new";
pub(crate) const OLD: &str = "old";

pub(crate) fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the directory of a file, so that creating, renaming or removing it survives a power failure.
///
/// [`Output`](crate::Output) does so itself. File systems that cannot sync directories are ignored.
pub fn sync_directory_of(file: &Path) {
    sys::sync_directory(directory(file));
}

/// Renames a file or folder without replacing anything.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(renamed) = sys::rename_exclusive(from, to) {
        return renamed;
    }
    // Folders and some file systems have no hard links.
    match fs::hard_link(from, to) {
        Ok(()) => {
            let _ = fs::remove_file(from); // a temporary file, removed by the next process
            return Ok(());
        }
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Err(cause),
        Err(_) => {}
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Moves back a folder that a dead process had set aside for a replacement it never put in place. Returns false if the temporary folder must
/// stay, because it holds the only copy.
pub(crate) fn restore_replaced(temporary: &Path, folder: &Path) -> bool {
    let Some(name) =
        fs::read_dir(temporary.join(OLD)).ok().and_then(|mut entries| Some(entries.next()?.ok()?.file_name()))
    else {
        return true;
    };
    let name: &OsStr = &name;
    // The replacement has been moved into place.
    if fs::symlink_metadata(temporary.join(NEW).join(name)).is_err() {
        return true;
    }
    rename_new(&temporary.join(OLD).join(name), &folder.join(name)).is_ok()
}
