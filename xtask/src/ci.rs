//! The steps that must pass before a change is merged, in order.

use std::fs;
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::registry::{self, Trouble};
use crate::shell::{self, Background};
use crate::{bench, capi, docs, features, fuzz, golden, interop, sql, traced, wheel};

/// Selects steps.
#[derive(Args)]
pub(crate) struct Options {
    /// Skip these steps
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
    /// Only these steps
    #[arg(long, value_name = "STEP", conflicts_with = "skip")]
    only: Vec<Step>,
    /// Remove what is compiled and not used any more: all steps together need much disk
    #[arg(long)]
    tidy: bool,
}

/// The test command that the README shows.
const TEST_COMMAND: &str = "cargo test --workspace";

/// Files that each reference generates in the interop step.
const GENERATED_FILES: u64 = 24;

/// Run time of each fuzz target.
const FUZZ_SECONDS: u64 = 3;

/// Crates that must compile without the standard library.
const NO_STD: [&str; 3] = ["container-core", "leb128-codec", "simplebloom"];

/// Feature sets of `wharf` that clippy checks: nothing, one format, one with a file format of Arrow.
const WHARF_FEATURES: [&str; 3] = ["", "zds", "idv,parquet"];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Up-to-date Cargo.lock files
    Locks,
    /// Test command of the README
    Tests,
    /// Formatting
    Fmt,
    /// Clippy on several feature sets, warnings denied
    Clippy,
    /// Documentation with warnings denied, and the commands shown in pages
    Docs,
    /// Comparison with the reference implementations
    Interop,
    /// Golden files; after interop, which installs the references
    Golden,
    /// Header of the C ABI, and programs in C and Python; after interop too
    Capi,
    /// The Python package: its wheel, installed, with its tests and type checks
    Wheel,
    /// Clippy and tests of wharf-sql, which has a workspace of its own
    Sql,
    /// Kills and faults at a sample of the system calls of writing commands
    Faults,
    /// One small round of each benchmark, to check its assertions
    Bench,
    /// A few seconds of each fuzz target
    Fuzz,
    /// No changes left in the working tree
    Clean,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let before = status()?;
    let selected = |step| !options.skip.contains(&step) && (options.only.is_empty() || options.only.contains(&step));
    let mut times = Vec::new();
    // The steps from interop on wait for other programs much of the time. The longest build of a later step takes what they leave.
    let mut ahead = Background::default();
    for step in Step::value_variants().iter().copied().filter(|step| selected(*step)) {
        let name = step.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        println!("== {name}");
        let start = Instant::now();
        match step {
            Step::Interop if selected(Step::Sql) => ahead = sql::build_ahead(),
            Step::Sql => ahead.finish(),
            _ => {}
        }
        perform(step, &before).map_err(|error| format!("step {name}: {error}"))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("== {name}: passed in {seconds:.1} s{}", free_space());
        if options.tidy {
            tidy(step)?;
        }
        times.push((name, seconds));
    }
    let total: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    let steps: Vec<_> = times.iter().map(|(name, seconds)| format!("{name} {seconds:.0} s")).collect();
    println!("== all passed in {total:.0} s: {}", steps.join(", "));
    Ok(())
}

/// Removes what has been compiled and no later step uses.
fn tidy(step: Step) -> Result<(), String> {
    let directories: &[&str] = match step {
        Step::Sql => &["sql"],
        // Fuzz targets have a directory of their own, and are the last to be compiled.
        Step::Bench => &["debug/deps", "debug/build", "debug/.fingerprint", "debug/examples", "release"],
        Step::Fuzz => &["fuzz"],
        _ => return Ok(()),
    };
    for directory in directories {
        let directory = shell::target()?.join(directory);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
        }
    }
    Ok(())
}

/// The free space of the disk, where `df` tells: a full one shows itself as anything, such as a linker that dies of a bus error.
fn free_space() -> String {
    let tell = || {
        let mut df = shell::program("df");
        df.arg("-Pk").arg(shell::target().ok()?);
        let kilobytes: u64 = shell::text(df).ok()?.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
        Some(format!(", {:.1} GB of disk free", kilobytes as f64 / 1e6))
    };
    tell().unwrap_or_default()
}

fn perform(step: Step, status_before: &str) -> Result<(), String> {
    match step {
        Step::Locks => locks(),
        Step::Tests => {
            let readme = shell::root().join("README.md");
            if !docs::shows(&readme, TEST_COMMAND)? {
                return Err(format!("{} does not show `{TEST_COMMAND}`", readme.display()));
            }
            shell::run(shell::cargo(TEST_COMMAND.split(' ').skip(1)))
        }
        Step::Fmt => {
            shell::run(shell::cargo(["fmt", "--all", "--check"]))?;
            for manifest in manifests()?.iter().filter(|manifest| *manifest != "Cargo.toml") {
                shell::run(shell::cargo(["fmt", "--check", "--manifest-path", manifest]))?;
            }
            Ok(())
        }
        Step::Clippy => clippy(),
        Step::Docs => docs::run(&docs::Options::default()),
        Step::Interop => interop::run(&interop::Options::brief(GENERATED_FILES)),
        Step::Golden => golden::run(&golden::Options::default()),
        Step::Capi => capi::run(&capi::Options::default()),
        Step::Wheel => match wheel::run() {
            Ok(()) => Ok(()),
            Err(Trouble::Unreachable(why)) => {
                println!("SKIPPED: the Python package was not tested: a package registry cannot be reached: {why}");
                Ok(())
            }
            Err(Trouble::Failed(why)) => Err(why),
        },
        Step::Sql => sql::run(),
        Step::Fuzz => {
            let seed = seed();
            println!("seed {seed}; to repeat: cargo xtask fuzz --quick --seconds {FUZZ_SECONDS} --seed {seed}");
            fuzz::run(&fuzz::Options { seconds: FUZZ_SECONDS, seed: Some(seed), quick: true, targets: Vec::new() })
        }
        Step::Faults => traced::some_faults(seed()),
        Step::Bench => bench::smoke(),
        Step::Clean => clean(status_before),
    }
}

/// The manifest of every workspace in the repository: the ones with a tracked lock file.
fn manifests() -> Result<Vec<String>, String> {
    let locks = shell::tracked_files("*Cargo.lock")?;
    Ok(locks.iter().map(|lock| lock.replace("Cargo.lock", "Cargo.toml")).collect())
}

/// Checks that every lock file agrees with its manifests. Separate workspaces lock the dependencies of our crates too, and go stale unnoticed.
fn locks() -> Result<(), String> {
    for manifest in manifests()? {
        let metadata = ["metadata", "--quiet", "--locked", "--format-version", "1", "--manifest-path", &manifest];
        match registry::run(shell::cargo(metadata)) {
            Ok(()) => {}
            Err(Trouble::Unreachable(why)) => {
                println!("SKIPPED: {manifest}: a package registry cannot be reached: {why}")
            }
            Err(Trouble::Failed(why)) => {
                let lock = manifest.replace("Cargo.toml", "Cargo.lock");
                let remedy = format!("cargo update --workspace --manifest-path {manifest}");
                return Err(format!("{lock} may be stale ({why}); to update it: {remedy}"));
            }
        }
    }
    Ok(())
}

/// A seed derived from the tree: it varies between changes and is reproducible for each.
fn seed() -> u32 {
    let mut tree = shell::git();
    tree.args(["rev-parse", "HEAD^{tree}"]);
    let hash = shell::text(tree).unwrap_or_default();
    hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).filter(|seed| *seed > 0).unwrap_or(1)
}

fn clippy() -> Result<(), String> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut all = words(&["--all-targets"]);
    all.extend(features::ALL.map(str::to_owned));
    // Tests once, with all features.
    let mut sets = vec![all];
    if !shell::builds_with_clippy() {
        sets.push(words(&["--workspace"]));
    }
    // Without test targets, which use the standard library.
    sets.extend(NO_STD.map(|name| words(&["--package", name, "--no-default-features"])));
    let library = |features| words(&["--package", "wharf", "--no-default-features", "--features", features]);
    sets.extend(WHARF_FEATURES.map(library));
    for set in sets {
        let mut clippy = shell::cargo(["clippy", "--quiet"]);
        clippy.args(&set).args(["--", "-D", "warnings"]);
        println!("{}", set.join(" "));
        shell::run(clippy)?;
    }
    Ok(())
}

/// Changed and untracked files.
fn status() -> Result<String, String> {
    let mut git = shell::git();
    git.args(["status", "--porcelain"]);
    shell::text(git)
}

/// Checks that the working tree is clean in CI, and unchanged by the steps elsewhere.
fn clean(before: &str) -> Result<(), String> {
    let after = status()?;
    let allowed = if std::env::var_os("CI").is_some() { "" } else { before };
    if after == allowed {
        return Ok(());
    }
    Err(format!("the working tree has changed:\n{}", after.trim_end()))
}
