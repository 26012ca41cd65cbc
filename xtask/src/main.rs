//! The tasks of the workspace: `cargo xtask TASK`.

mod bench;
mod capi;
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
mod sql;
#[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), path = "traced/mod.rs")]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), path = "traced/elsewhere.rs")]
mod traced;
mod versions;
mod wheel;
mod zippy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Compare every value with the reference implementations, in both directions
    Interop(interop::Options),
    /// Check the golden files: their values, their provenance, and that the references still write them
    Golden(golden::Options),
    /// Compile each crate without features, with each one alone, and with all
    Features(features::Options),
    /// Pack the crates as for a registry, and test the packages
    Package(package::Options),
    /// Run the fuzz targets
    Fuzz(fuzz::Options),
    #[command(flatten)]
    Traced(traced::Task),
    /// Benchmark against the references and rivals, and report which targets are met
    Bench(bench::Options),
    /// Check the header of the C ABI, and run programs in C and Python against the library
    Capi(capi::Options),
    /// Build the documentation, and run the commands that the pages show
    Docs(docs::Options),
    /// Build the wheel of the Python package, install it into a virtual environment, and test it
    Wheel,
    /// Run everything that must pass before a change is merged
    Ci(ci::Options),
}

fn main() -> ExitCode {
    if let Some(compiled) = fuzz::as_rustc() {
        return match compiled {
            Ok(status) if status.success() => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(error) => failed(&error),
        };
    }
    let outcome = match Arguments::parse().task {
        Task::Interop(options) => interop::run(&options),
        Task::Golden(options) => golden::run(&options),
        Task::Features(options) => features::run(&options),
        Task::Package(options) => package::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Traced(task) => traced::run(&task),
        Task::Bench(options) => bench::run(&options),
        Task::Capi(options) => capi::run(&options),
        Task::Docs(options) => docs::run(&options),
        Task::Wheel => wheel::run().map_err(|trouble| trouble.to_string()),
        Task::Ci(options) => ci::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}
