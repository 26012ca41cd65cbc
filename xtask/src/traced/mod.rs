//! Chores that stop a program at its system calls, or limit what it may take: they need Linux on x86-64. `elsewhere.rs` stands for them on
//! other systems.

mod faults;
mod mutate;
mod nightly;
mod routes;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Chore {
    /// Runs every command that writes with kills and faults at each of its system calls
    Faults(faults::Options),
    /// Runs every verb on damaged golden files
    Mutate(mutate::Options),
    /// What takes too long for every change: every fault, every case, many damaged files, long fuzzing
    Nightly(nightly::Options),
}

/// A part of the golden files that is checked by itself.
#[derive(Subcommand)]
pub(crate) enum GoldenPart {
    /// Runs every conversion and every verb on small inputs, and compares how they end with what was recorded
    Routes(routes::Options),
}

pub(crate) fn run(chore: &Chore) -> Result<(), String> {
    match chore {
        Chore::Faults(options) => faults::run(options).map(drop),
        Chore::Mutate(options) => mutate::run(options).map(drop),
        Chore::Nightly(options) => nightly::run(options),
    }
}

pub(crate) fn run_golden(GoldenPart::Routes(options): &GoldenPart) -> Result<(), String> {
    routes::run(options)
}

/// As many faults as CI has time for.
pub(crate) fn some_faults(seed: u32) -> Result<(), String> {
    let wharf = crate::shell::tested_program("wharf")?;
    faults::run(&faults::Options::brief(seed, wharf)).map(drop)
}

pub(crate) fn all_routes() -> Result<(), String> {
    routes::run(&routes::Options::default())
}
