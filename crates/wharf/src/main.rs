//! The command `wharf`: see the library's page, and `wharf --help`.
#![forbid(unsafe_code)]

mod cli;
#[cfg(test)]
mod mock;

use std::process::ExitCode;

/// Panics that become errors are not printed: they are reported as errors.
#[cfg(feature = "netcdf")]
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !dsfmt::netcdf::is_guarded() {
            usual(panic);
        }
    }));
}

fn main() -> ExitCode {
    #[cfg(feature = "netcdf")]
    quieten();
    ExitCode::from(cli::main().code())
}
