//! System-specific functions: systems other than Unix.

use std::io;
use std::path::Path;
use std::process::{Command, exit};

/// Signals are not handled.
pub(crate) mod signals {
    pub(crate) const fn keep_interrupts() {}

    pub(crate) const fn install() {}
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Runs the program, and ends with its exit code. Returns only if it cannot be started.
pub(crate) fn exec(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(cause) => cause,
    }
}
