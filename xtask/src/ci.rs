//! Everything that has to pass before a change is taken, in order.

use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::{bench, docs, features, fuzz, golden, interop, shell, traced};

/// Which steps.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave these steps out
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
    /// Only these steps
    #[arg(long, value_name = "STEP", conflicts_with = "skip")]
    only: Vec<Step>,
}

/// The command that the README names for all tests.
const TEST_COMMAND: &str = "cargo test --workspace";

/// Files that the reference generates for the interop step.
const GENERATED_FILES: u64 = 24;

/// How long each fuzz target runs.
const FUZZ_SECONDS: u64 = 3;

/// Crates that have to do without the standard library.
const WITHOUT_STD: [&str; 3] = ["container-core", "leb128-codec", "simplebloom"];

/// The library with some formats, and with none.
const FORMATS: [&str; 7] = ["", "idv", "datadings", "ds", "zds", "arrow", "idv,parquet"];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The README's test command
    Tests,
    /// Formatting
    Fmt,
    /// Clippy over the feature sets, warnings denied
    Clippy,
    /// Documentation with warnings denied, and the README's commands
    Docs,
    /// The references, live
    Interop,
    /// Golden files; after interop, because the reference is there then
    Golden,
    /// Each fuzz target for a short time
    Fuzz,
    /// Kills and faults at some system calls of the commands that write
    Faults,
    /// One small round of each benchmark, for what it asserts
    Bench,
    /// Nothing was left behind in the working tree
    Clean,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let before = status()?;
    let mut times = Vec::new();
    for &step in Step::value_variants() {
        let name = step.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        if options.skip.contains(&step) || !(options.only.is_empty() || options.only.contains(&step)) {
            continue;
        }
        println!("== {name}");
        let start = Instant::now();
        perform(step, &before).map_err(|error| format!("step {name}: {error}"))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("== {name}: passed in {seconds:.1} s");
        times.push((name, seconds));
    }
    let total: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    let steps: Vec<_> = times.iter().map(|(name, seconds)| format!("{name} {seconds:.0} s")).collect();
    println!("== all passed in {total:.0} s: {}", steps.join(", "));
    Ok(())
}

fn perform(step: Step, status_before: &str) -> Result<(), String> {
    match step {
        Step::Tests => {
            let readme = shell::root().join("README.md");
            if !docs::shows(&readme, TEST_COMMAND)? {
                return Err(format!("{} does not show `{TEST_COMMAND}`", readme.display()));
            }
            shell::run(shell::cargo(TEST_COMMAND.split(' ').skip(1)))
        }
        Step::Fmt => {
            shell::run(shell::cargo(["fmt", "--all", "--check"]))?;
            // They have workspaces of their own.
            for apart in
                ["fuzz/Cargo.toml", "tests/reference/zippy/Cargo.toml", "tests/reference/zippy-bench/Cargo.toml"]
            {
                let mut fmt = shell::cargo(["fmt", "--check", "--manifest-path"]);
                fmt.arg(shell::root().join(apart));
                shell::run(fmt)?;
            }
            Ok(())
        }
        Step::Clippy => clippy(),
        Step::Docs => docs::run(&docs::Options::default()),
        Step::Interop => interop::run(&interop::Options::brief(GENERATED_FILES)),
        Step::Golden => golden::run(&golden::Options::default()),
        Step::Fuzz => {
            let seed = seed();
            println!("the seed is {seed}: cargo xtask fuzz --seconds {FUZZ_SECONDS} --seed {seed}");
            fuzz::run(&fuzz::Options { seconds: FUZZ_SECONDS, seed: Some(seed), targets: Vec::new() })
        }
        Step::Faults => traced::some_faults(seed()),
        Step::Bench => bench::smoke(),
        Step::Clean => clean(status_before),
    }
}

/// A number that every change has another of, and always the same: what is found can be found again, and is not found in one run of two.
fn seed() -> u32 {
    let mut tree = shell::program("git");
    tree.args(["rev-parse", "HEAD^{tree}"]);
    let name = shell::text(tree).unwrap_or_default();
    name.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).filter(|seed| *seed > 0).unwrap_or(1)
}

fn clippy() -> Result<(), String> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut all = words(&["--all-targets"]);
    all.extend(features::all()?);
    let mut sets = vec![words(&["--all-targets", "--workspace"]), all];
    // The library alone: tests are free to use what it does without.
    sets.extend(WITHOUT_STD.map(|name| words(&["--package", name, "--no-default-features"])));
    let library = |features| words(&["--package", "wharf", "--no-default-features", "--features", features]);
    sets.extend(FORMATS.map(library));
    for set in sets {
        let mut clippy = shell::cargo(["clippy", "--quiet"]);
        clippy.args(&set).args(["--", "-D", "warnings"]);
        println!("{}", set.join(" "));
        shell::run(clippy)?;
    }
    Ok(())
}

/// What git sees as changed or new.
fn status() -> Result<String, String> {
    let mut git = shell::program("git");
    // The tree may belong to somebody else than who runs this, as in many containers.
    git.args(["-c", "safe.directory=*", "status", "--porcelain"]);
    shell::text(git)
}

/// In CI the tree is clean; on a desk, where work is under way, these steps have changed nothing.
fn clean(before: &str) -> Result<(), String> {
    let now = status()?;
    let allowed = if std::env::var_os("CI").is_some() { "" } else { before };
    if now == allowed {
        return Ok(());
    }
    Err(format!("the working tree is not as it was:\n{}", now.trim_end()))
}
