//! File operations on Unix, relative to open directories.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, mkdirat, openat, renameat, statat, unlinkat};

use crate::write::folder::{Kind, Mode};

pub(crate) type Handle = OwnedFd;
pub(crate) type Bits = rustix::fs::Mode;

/// Whether a directory that contains an open file can be renamed.
pub(crate) const CAN_RENAME_OPEN: bool = true;

/// Permissions of new files, subject to the process's umask.
pub(crate) const NEW_FILE: Bits =
    Bits::RUSR.union(Bits::WUSR).union(Bits::RGRP).union(Bits::WGRP).union(Bits::ROTH).union(Bits::WOTH);

pub(crate) fn with_owner_access(mode: Bits) -> Bits {
    mode.union(Bits::RUSR).union(Bits::WUSR)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Does not block on a pipe that has taken a file's name.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

pub(crate) fn open_root(path: &Path) -> io::Result<Handle> {
    Ok(rustix::fs::open(path, FOLDER, Bits::empty())?)
}

pub(crate) fn open_folder(folder: &Handle, _: &Path, name: &str) -> io::Result<Handle> {
    Ok(openat(folder, name, FOLDER.union(OFlags::NOFOLLOW), Bits::empty())?)
}

pub(crate) fn make_folder(folder: &Handle, _: &Path, name: &str) -> io::Result<()> {
    Ok(mkdirat(folder, name, Bits::RWXU.union(Bits::RWXG).union(Bits::RWXO))?)
}

pub(crate) fn open_file(folder: &Handle, _: &Path, name: &str, mode: Mode) -> io::Result<File> {
    let (flags, bits) = match mode {
        Mode::Read => (OFlags::RDONLY, Bits::empty()),
        Mode::Append => (OFlags::RDWR.union(OFlags::APPEND), Bits::empty()),
        Mode::AppendOrCreate => (OFlags::RDWR.union(OFlags::APPEND).union(OFlags::CREATE), NEW_FILE),
        Mode::WriteOrCreate => (OFlags::RDWR.union(OFlags::CREATE), NEW_FILE),
        Mode::CreateNew(bits) => (OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL), bits),
    };
    Ok(openat(folder, name, flags.union(FILE), bits)?.into())
}

pub(crate) fn kind(folder: &Handle, _: &Path, name: &str) -> io::Result<Kind> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File(Bits::from_raw_mode(stat.st_mode)),
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    })
}

pub(crate) fn set_mode(file: &File, mode: Bits) {
    // The umask may have removed bits. Ignore errors, as some file systems have no permissions.
    if !rustix::fs::fstat(file).is_ok_and(|now| Bits::from_raw_mode(now.st_mode) == mode) {
        let _ = rustix::fs::fchmod(file, mode);
    }
}

pub(crate) fn rename(from: &Handle, _: &Path, name: &str, to: &Handle, _: &Path, new_name: &str) -> io::Result<()> {
    Ok(renameat(from, name, to, new_name)?)
}

pub(crate) fn remove(folder: &Handle, _: &Path, name: &str) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

pub(crate) fn sync(folder: &Handle) {
    let _ = rustix::fs::fsync(folder);
}

pub(crate) fn is_at(folder: &Handle, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (rustix::fs::fstat(folder), rustix::fs::stat(path)) else { return false };
    (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
}

pub(crate) fn is_named(folder: &Handle, file: &File, name: &str) -> bool {
    let (Ok(own), Ok(there)) = (rustix::fs::fstat(file), statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)) else {
        return false;
    };
    (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
}

/// A number that identifies a file while it is open.
pub(crate) fn file_number(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// Number of hard links of a file.
pub(crate) fn name_count(metadata: &Metadata) -> u64 {
    metadata.nlink()
}
