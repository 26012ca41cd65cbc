//! Every chore of the workspace: `cargo xtask CHORE`.

mod bench;
mod ci;
mod docs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod features;
mod fuzz;
mod golden;
mod interop;
mod mlnet;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod mutate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod nightly;
mod python;
mod random;
mod registry;
mod shell;
mod zippy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Every chore of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Lets a format's reference and ours read the same files, and compares every value
    Interop(interop::Options),
    /// Checks the golden files: what is read from them, their provenance, and that the reference still makes them
    Golden(golden::Options),
    /// Runs the fuzz targets
    Fuzz(fuzz::Options),
    /// Runs every command that writes with kills and faults at each of its system calls
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Faults(faults::Options),
    /// Runs every verb on damaged golden files
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Mutate(mutate::Options),
    /// Measures beside the references and rivals, and says which targets are met
    Bench(bench::Options),
    /// Builds the documentation, and runs the commands that the pages show
    Docs(docs::Options),
    /// What takes too long for every change: every fault, every case, many damaged files, long fuzzing
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Nightly(nightly::Options),
    /// Everything that has to pass before a change is taken
    Ci(ci::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Interop(options) => interop::run(&options),
        Chore::Golden(options) => golden::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Chore::Faults(options) => faults::run(&options).map(drop),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Chore::Mutate(options) => mutate::run(&options).map(drop),
        Chore::Bench(options) => bench::run(&options),
        Chore::Docs(options) => docs::run(&options),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Chore::Nightly(options) => nightly::run(&options),
        Chore::Ci(options) => ci::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
