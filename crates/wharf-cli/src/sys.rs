//! System-specific functions: Unix. `sys/other.rs` has those of other systems.

pub(crate) mod signals;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Becomes the program. Returns only if it cannot be started.
pub(crate) fn exec(command: &mut Command) -> io::Error {
    command.exec()
}
