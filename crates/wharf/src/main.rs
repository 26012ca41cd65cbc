//! The command `wharf`: see the library's page, and `wharf --help`.
#![forbid(unsafe_code)]

mod cli;
#[cfg(test)]
mod mock;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::main().code())
}
