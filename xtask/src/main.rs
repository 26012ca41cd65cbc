//! Every chore of the workspace: `cargo xtask CHORE`.

mod bench;
mod ci;
mod docs;
mod features;
mod fuzz;
mod golden;
mod interop;
mod mlnet;
mod package;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod portable;
mod python;
mod random;
mod registry;
mod shell;
#[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), path = "traced/mod.rs")]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), path = "traced/elsewhere.rs")]
mod traced;
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
    /// Compiles each crate without features, with each one alone, and with all
    Features(features::Options),
    /// Packs the crates as a registry has them, and runs their tests there
    Package(package::Options),
    /// Runs the fuzz targets
    Fuzz(fuzz::Options),
    #[command(flatten)]
    Traced(traced::Chore),
    /// Measures beside the references and rivals, and says which targets are met
    Bench(bench::Options),
    /// Builds the documentation, and runs the commands that the pages show
    Docs(docs::Options),
    /// Everything that has to pass before a change is taken
    Ci(ci::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Interop(options) => interop::run(&options),
        Chore::Golden(options) => golden::run(&options),
        Chore::Features(options) => features::run(&options),
        Chore::Package(options) => package::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Traced(chore) => traced::run(&chore),
        Chore::Bench(options) => bench::run(&options),
        Chore::Docs(options) => docs::run(&options),
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
