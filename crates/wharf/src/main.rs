//! The command `wharf`: see the library's page, and `wharf --help`.
#![forbid(unsafe_code)]

mod cli;
#[cfg(test)]
mod mock;
mod resident;

use std::process::ExitCode;

/// Panics that become errors are not printed: they are reported as errors.
#[cfg(any(feature = "netcdf", feature = "arrow"))]
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        #[cfg(feature = "netcdf")]
        if dsfmt::netcdf::is_guarded() {
            return;
        }
        #[cfg(feature = "arrow")]
        if wharf::is_guarded() {
            return;
        }
        usual(panic);
    }));
}

fn main() -> ExitCode {
    container_core::keep_freed_memory();
    resident::watch();
    #[cfg(any(feature = "netcdf", feature = "arrow"))]
    quieten();
    ExitCode::from(cli::main().code())
}
