//! The command `wharf`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    wharf_cli::main(&wharf::Registry::builtin())
}
