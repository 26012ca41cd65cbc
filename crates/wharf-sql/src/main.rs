//! The program `wharf-sql`, which `wharf sql` runs.
#![forbid(unsafe_code)]

mod program;

use std::process::ExitCode;

use wharf::Registry;

fn main() -> ExitCode {
    if program::is_prompt() {
        wharf_cli::program::keep_interrupts();
    }
    wharf_cli::program::run(&Registry::builtin(), program::run)
}
