//! Tasks that stop a program at its system calls or limit its resources. They need Linux on x86-64; `elsewhere.rs` stands in for them on
//! other systems.

mod faults;
mod mutate;
mod nightly;
mod routes;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Run every writing command with a kill or fault at each of its system calls
    Faults(faults::Options),
    /// Run every verb on damaged golden files
    Mutate(mutate::Options),
    /// Run what takes too long for CI: every fault, every case, many damaged files, long fuzzing
    Nightly(nightly::Options),
}

/// A part of the golden files that has its own task.
#[derive(Subcommand)]
pub(crate) enum GoldenPart {
    /// Run every conversion and every verb on small inputs, and compare the outcomes with the record
    Routes(routes::Options),
}

pub(crate) fn run(task: &Task) -> Result<(), String> {
    match task {
        Task::Faults(options) => faults::run(options).map(drop),
        Task::Mutate(options) => mutate::run(options).map(drop),
        Task::Nightly(options) => nightly::run(options),
    }
}

pub(crate) fn run_golden(GoldenPart::Routes(options): &GoldenPart) -> Result<(), String> {
    routes::run(options)
}

/// A sample of the faults that fits into CI.
pub(crate) fn some_faults(seed: u32) -> Result<(), String> {
    let wharf = crate::shell::test_build("wharf")?;
    faults::run(&faults::Options::brief(seed, wharf)).map(drop)
}

pub(crate) fn all_routes() -> Result<(), String> {
    routes::run(&routes::Options::default())
}
