//! Chores that need Linux on x86-64, on another system: there are none, and what calls them as a part says that it is skipped.

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Chore {}

#[derive(Subcommand)]
pub(crate) enum GoldenPart {}

pub(crate) const fn run(chore: &Chore) -> Result<(), String> {
    match *chore {}
}

pub(crate) const fn run_golden(part: &GoldenPart) -> Result<(), String> {
    match *part {}
}

#[expect(clippy::unnecessary_wraps, reason = "faults are found where they are tried")]
pub(crate) fn some_faults(_: u32) -> Result<(), String> {
    eprintln!("SKIPPED: no faults were tried: that takes Linux on x86-64");
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "routes differ where they are run")]
pub(crate) fn all_routes() -> Result<(), String> {
    eprintln!("SKIPPED: no routes were compared: that takes Linux on x86-64");
    Ok(())
}
