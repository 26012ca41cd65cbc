//! File operations without `openat`: entries are checked before they are used. On Windows, creating links takes a privilege.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use crate::write::folder::{Kind, Mode};

pub(crate) type Handle = ();
pub(crate) type Bits = ();

pub(crate) const CAN_RENAME_OPEN: bool = false;

pub(crate) const NEW_FILE: Bits = ();

pub(crate) fn with_owner_access((): Bits) -> Bits {}

pub(crate) fn open_root(path: &Path) -> io::Result<Handle> {
    match fs::metadata(path)?.is_dir() {
        true => Ok(()),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

pub(crate) fn open_folder(_: &Handle, folder: &Path, name: &str) -> io::Result<Handle> {
    open_root(&folder.join(name))
}

pub(crate) fn make_folder(_: &Handle, folder: &Path, name: &str) -> io::Result<()> {
    fs::create_dir(folder.join(name))
}

pub(crate) fn open_file(_: &Handle, folder: &Path, name: &str, mode: Mode) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    match mode {
        Mode::Read => &mut options,
        Mode::Append => options.append(true),
        Mode::AppendOrCreate => options.append(true).create(true),
        Mode::WriteOrCreate => options.write(true).create(true).truncate(false),
        Mode::CreateNew(_) => options.write(true).create_new(true),
    }
    .open(folder.join(name))
}

pub(crate) fn kind(_: &Handle, folder: &Path, name: &str) -> io::Result<Kind> {
    let metadata = fs::symlink_metadata(folder.join(name))?;
    Ok(if metadata.is_symlink() {
        Kind::Link
    } else if metadata.is_dir() {
        Kind::Folder
    } else if metadata.is_file() {
        Kind::File(())
    } else {
        Kind::Special
    })
}

pub(crate) fn set_mode(_: &File, (): Bits) {}

pub(crate) fn rename(_: &Handle, from: &Path, name: &str, _: &Handle, to: &Path, new_name: &str) -> io::Result<()> {
    fs::rename(from.join(name), to.join(new_name))
}

pub(crate) fn remove(_: &Handle, folder: &Path, name: &str) -> io::Result<()> {
    fs::remove_file(folder.join(name))
}

pub(crate) fn sync(_: &Handle) {}

/// A directory that contains an open file cannot be replaced.
pub(crate) fn is_at(_: &Handle, _: &Path) -> bool {
    true
}

/// An open file cannot be removed.
pub(crate) fn is_named(_: &Handle, _: &File, _: &str) -> bool {
    true
}

/// Files have no numbers.
pub(crate) const fn file_number(_: &Metadata) -> u64 {
    0
}

/// Hard links are not counted.

pub(crate) const fn name_count(_: &Metadata) -> u64 {
    1
}
