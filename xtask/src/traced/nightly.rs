//! Checks that take too long for CI: exhaustive tests, faults at every system call, tens of thousands of damaged files, long fuzzing.
//!
//! All steps run even if one fails; a table of the results comes last.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};

use crate::traced::{faults, mutate};
use crate::{features, fuzz, golden, package, portable, shell, sql, versions};

/// Selects steps, and how long they run.
#[derive(Args)]
pub(crate) struct Options {
    /// Skip these steps
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
    /// Only these steps
    #[arg(long, value_name = "STEP", conflicts_with = "skip")]
    only: Vec<Step>,
    /// Run time of each fuzz target
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    fuzz_seconds: u64,
    /// Number of damaged files
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    mutants: u64,
    /// Random seed [default: the number of the day]
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// All tests, including exhaustive ones
    Tests,
    /// All tests of wharf-sql, with TPC-H over every format
    Sql,
    /// Tests of each crate without features, with each one alone, and with all
    Features,
    /// Tests of the packed crates
    Package,
    /// Declared rust-version, minimal dependency versions, semantic versioning
    Versions,
    /// Golden files, written again by their references
    Golden,
    /// Kills and faults at every system call
    Faults,
    /// The same with all cores, where the order of calls varies
    FaultsThreads,
    /// Every verb on damaged golden files
    Mutate,
    /// Each fuzz target
    Fuzz,
    /// Tests of the format crates for a big-endian, a 32-bit and an ARM processor, emulated
    Portable,
    /// Tests of the smallest crates under Miri
    Miri,
}

/// Environment variable that makes tests exhaustive.
const EXHAUSTIVE: &str = "WHARF_EXHAUSTIVE";

/// Runs the steps.
///
/// # Errors
/// When one of them fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let today = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() / 86_400);
    let seed = options.seed.unwrap_or_else(|| u32::try_from(today()).unwrap_or(1));
    println!("seed {seed}");
    let mut rows = Vec::new();
    for &step in Step::value_variants() {
        let name = step.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        if options.skip.contains(&step) || !(options.only.is_empty() || options.only.contains(&step)) {
            continue;
        }
        println!("== {name}");
        let start = Instant::now();
        let outcome = perform(step, options, seed);
        if let Err(error) = &outcome {
            eprintln!("== {name}: {error}");
        }
        rows.push((name, start.elapsed().as_secs_f64(), outcome));
    }
    println!("{:<16} {:>8}  result", "step", "seconds");
    for (name, seconds, outcome) in &rows {
        let result = match outcome {
            Ok(summary) => summary.clone(),
            Err(error) => format!("FAILED: {error}"),
        };
        println!("{name:<16} {seconds:>8.0}  {result}");
    }
    let failed = rows.iter().filter(|(_, _, outcome)| outcome.is_err()).count();
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", rows.len())) }
}

/// Runs one step and returns its result for the table.
fn perform(step: Step, options: &Options, seed: u32) -> Result<String, String> {
    match step {
        Step::Tests => {
            let mut tests = shell::cargo(["test", "--workspace", "--release"]);
            tests.env(EXHAUSTIVE, "1");
            shell::run(tests).map(|()| "passed".to_owned())
        }
        Step::Sql => sql::run_all().map(|()| "passed".to_owned()),
        Step::Features => features::run(&features::Options::full()).map(|()| "passed".to_owned()),
        Step::Package => package::run(&package::Options::full()).map(|()| "passed".to_owned()),
        Step::Versions => versions::run(),
        Step::Golden => golden::run(&golden::Options::full()).map(|()| "passed".to_owned()),
        Step::Faults => faults::run(&faults::Options::default()),
        Step::FaultsThreads => faults::run(&faults::Options::all_threads()),
        Step::Mutate => mutate::run(&mutate::Options::new(options.mutants, seed)),
        Step::Fuzz => {
            let seconds = options.fuzz_seconds;
            fuzz::run(&fuzz::Options { seconds, seed: Some(seed), quick: false, targets: Vec::new() })
                .map(|()| format!("{seconds} s each"))
        }
        Step::Portable => portable::targets(),
        Step::Miri => portable::miri(),
    }
}
