//! Names in a directory: given, taken away, and on the disk.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::with_std::sys;

/// Folders in the temporary folder of a folder that is replaced: the one that comes, and the one that goes.
pub(crate) const NEW: &str = "new";
pub(crate) const OLD: &str = "old";

pub(crate) fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the directory that a file stands in, so that its name, or that it is gone, outlasts a power cut.
///
/// An [`Output`](crate::Output) does it by itself. Some file systems cannot: that is no error.
pub fn sync_directory_of(file: &Path) {
    sync_directory(directory(file));
}

/// The rename is durable once the directory is. Some file systems cannot sync one; the rename itself has happened.
pub(crate) fn sync_directory(directory: &Path) {
    if cfg!(unix) {
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
}

/// Renames a file or folder, and replaces nothing.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(renamed) = sys::rename_exclusive(from, to) {
        return renamed;
    }
    // A second name is not given to a folder, nor on every file system.
    match fs::hard_link(from, to) {
        Ok(()) => {
            let _ = fs::remove_file(from); // the next process removes it
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

/// Puts a folder back that a dead process had moved aside for a new one that is not in place. False where the temporary folder
/// has to stay, as it holds what is nowhere else.
pub(crate) fn put_back(temporary: &Path, folder: &Path) -> bool {
    let Some(name) =
        fs::read_dir(temporary.join(OLD)).ok().and_then(|mut entries| Some(entries.next()?.ok()?.file_name()))
    else {
        return true;
    };
    let name: &OsStr = &name;
    // The new one has left: it is in place, or was.
    if fs::symlink_metadata(temporary.join(NEW).join(name)).is_err() {
        return true;
    }
    rename_new(&temporary.join(OLD).join(name), &folder.join(name)).is_ok()
}
