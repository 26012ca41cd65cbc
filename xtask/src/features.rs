//! All features of the workspace, as far as this machine can build them.

use clap::Args;
use serde_json::Value;

use crate::{registry, shell};

/// Crates whose features are tried one by one: those that are taken alone.
pub(crate) const ALONE: [&str; 9] = [
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

/// What is tried.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these crates
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Run the tests, too
    #[arg(long)]
    test: bool,
}

impl Options {
    /// Tests of all crates.
    pub(crate) const fn full() -> Self {
        Self { crates: Vec::new(), test: true }
    }
}

/// Compiles each crate and its tests without features, with each one alone, and with all; runs the tests.
///
/// # Errors
/// When one does not compile, or a test fails: all are tried.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let metadata = shell::metadata()?;
    let has_cmake = shell::works("cmake", "--version");
    if !has_cmake {
        println!("SKIPPED: feature {NEEDS_CMAKE}, which is built with cmake");
    }
    let (mut tried, mut failed) = (0, Vec::new());
    for package in
        ALONE.iter().filter(|name| options.crates.is_empty() || options.crates.iter().any(|one| one == *name))
    {
        let features = features_of(&metadata, package)?;
        let features: Vec<_> = features.into_iter().filter(|name| has_cmake || name != NEEDS_CMAKE).collect();
        let each = features.iter().filter(|name| !name.starts_with('_') && *name != "default").cloned();
        let sets = std::iter::once(String::new()).chain(each).chain([features.join(",")]);
        for set in sets {
            let work: &[&str] = if options.test { &["test"] } else { &["check", "--tests"] };
            let mut cargo =
                shell::cargo(work.iter().chain(&["--quiet", "--package", package, "--no-default-features"]));
            cargo.args(["--features", &set]);
            let shown = format!("{package} with {}", if set.is_empty() { "none" } else { &set });
            println!("{shown}");
            tried += 1;
            if let Err(error) = shell::run(cargo) {
                eprintln!("{error}");
                failed.push(shown);
            }
        }
    }
    match failed.as_slice() {
        [] => {
            println!("features: {tried} sets");
            Ok(())
        }
        failed => Err(format!("{} of {tried} sets of features fail:\n{}", failed.len(), failed.join("\n"))),
    }
}

/// The features of a package.
fn features_of(metadata: &Value, package: &str) -> Result<Vec<String>, String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let found = packages.into_iter().find(|found| found.get("name").and_then(Value::as_str) == Some(package));
    let features = found.and_then(|found| found.get("features")).and_then(Value::as_object);
    features.map(|features| features.keys().cloned().collect()).ok_or_else(|| format!("there is no package {package}"))
}

/// The one feature that needs more than Rust and a C compiler: its build asks for cmake.
const NEEDS_CMAKE: &str = "zlib-ng";

/// The arguments that make cargo build the whole workspace with all features. Without cmake, which is installed where that can
/// be done, they leave out what needs it, and a line says so.
pub(crate) fn all() -> Result<Vec<String>, String> {
    if shell::works("cmake", "--version") {
        return Ok(vec!["--workspace".to_owned(), "--all-features".to_owned()]);
    }
    match registry::apt_install("cmake", &format!("feature {NEEDS_CMAKE} is built with it")) {
        Ok(()) => all(),
        Err(trouble) => {
            println!("SKIPPED: feature {NEEDS_CMAKE}: {trouble}");
            let features = without(&shell::metadata()?, NEEDS_CMAKE);
            Ok(vec!["--workspace".to_owned(), "--features".to_owned(), features.join(",")])
        }
    }
}

/// All features of all packages but one, as `package/feature`.
fn without(metadata: &Value, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let features = package.get("features").and_then(Value::as_object);
        let Some((features, package)) = features.zip(package.get("name").and_then(Value::as_str)) else { continue };
        all.extend(features.keys().filter(|feature| *feature != name).map(|feature| format!("{package}/{feature}")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "features": {"default": ["std"], "std": []}},
            {"name": "b", "features": {"zlib-ng": [], "zlib-rs": []}},
            {"name": "c", "features": {}},
        ]});
        assert_eq!(without(&metadata, "zlib-ng"), ["a/default", "a/std", "b/zlib-rs"]);
    }

    #[test]
    fn the_workspace_has_that_feature() {
        let metadata = shell::metadata().unwrap();
        assert!(without(&metadata, "").contains(&format!("idv/{NEEDS_CMAKE}")));
    }
}
