//! Feature sets: each crate with none, each alone and all of its features.

use clap::Args;
use serde_json::Value;

use crate::shell;

/// Crates that are used on their own: their features are checked one by one.
pub(crate) const STANDALONE: [&str; 9] = [
    "deflate-lanes",
    "container-core",
    "leb128-codec",
    "simplebloom",
    "container-arrow",
    "datadings",
    "dsfmt",
    "idv",
    "zdx",
];

/// Cargo arguments that select the whole workspace with all features.
pub(crate) const ALL: [&str; 2] = ["--workspace", "--all-features"];

/// Selects crates.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these crates
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Run the tests too
    #[arg(long)]
    test: bool,
}

impl Options {
    /// Tests of all crates.
    pub(crate) const fn full() -> Self {
        Self { crates: Vec::new(), test: true }
    }
}

/// Compiles each crate and its tests without features, with each one alone, and with all, with clippy; runs the tests.
///
/// # Errors
/// When a set does not compile or a test fails, after all sets were tried.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let metadata = shell::metadata()?;
    let (mut count, mut failed) = (0, Vec::new());
    for package in
        STANDALONE.iter().filter(|name| options.crates.is_empty() || options.crates.iter().any(|one| one == *name))
    {
        let features = features_of(&metadata, package)?;
        let each = features.iter().filter(|name| !name.starts_with('_')).cloned();
        let mut sets: Vec<_> = std::iter::once(String::new()).chain(each).chain([features.join(",")]).collect();
        // A crate with at most one feature would be tried twice.
        sets.dedup();
        for set in sets {
            let command: &[&str] = if options.test { &["test"] } else { &["check", "--tests"] };
            let mut cargo =
                shell::cargo(command.iter().chain(&["--quiet", "--package", package, "--no-default-features"]));
            cargo.args(["--features", &set]);
            shell::build_with_clippy(&mut cargo);
            let label = format!("{package} with {}", if set.is_empty() { "no features" } else { &set });
            println!("{label}");
            count += 1;
            if let Err(error) = shell::run(cargo) {
                eprintln!("{error}");
                failed.push(label);
            }
        }
    }
    match failed.as_slice() {
        [] => {
            println!("features: {count} sets passed");
            Ok(())
        }
        failed => Err(format!("{} of {count} feature sets failed:\n{}", failed.len(), failed.join("\n"))),
    }
}

/// The features of a package, without its set of defaults.
fn features_of(metadata: &Value, package: &str) -> Result<Vec<String>, String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let package_metadata =
        packages.into_iter().find(|other| other.get("name").and_then(Value::as_str) == Some(package));
    let features = package_metadata.and_then(|found| found.get("features")).and_then(Value::as_object);
    let names = |features: &serde_json::Map<_, _>| features.keys().filter(|name| *name != "default").cloned().collect();
    features.map(names).ok_or_else(|| format!("unknown package {package}"))
}
