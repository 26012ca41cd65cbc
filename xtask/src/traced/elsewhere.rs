//! Stands in for `traced` on other systems than Linux on x86-64: no tasks of its own, and a notice where another task would run one.

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Task {}

#[derive(Subcommand)]
pub(crate) enum GoldenPart {}

pub(crate) const fn run(task: &Task) -> Result<(), String> {
    match *task {}
}

pub(crate) const fn run_golden(part: &GoldenPart) -> Result<(), String> {
    match *part {}
}

#[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
pub(crate) fn some_faults(_: u32) -> Result<(), String> {
    eprintln!("SKIPPED: faults: they need Linux on x86-64");
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
pub(crate) fn all_routes() -> Result<(), String> {
    eprintln!("SKIPPED: routes: they need Linux on x86-64");
    Ok(())
}
