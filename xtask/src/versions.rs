//! Version promises of the published libraries: the declared `rust-version`, the lowest declared dependency versions, and semantic versioning
//! since the last release, or since the commit in the environment variable `WHARF_SEMVER_BASELINE`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::registry::{self, Trouble};
use crate::{features, shell};

/// Environment variable: the commit to compare the public API with.
const BASELINE: &str = "WHARF_SEMVER_BASELINE";

/// Runs the three checks, all of them even if one fails, and returns a summary.
///
/// # Errors
/// When a check fails. A check that lacks its tools is not a failure: the summary reports it as NOT CHECKED.
pub(crate) fn run() -> Result<String, String> {
    let metadata = shell::metadata()?;
    let libraries = libraries(&metadata);
    let packages: Vec<&str> = libraries.iter().flat_map(|name| ["--package", name]).collect();
    let outcomes = [rust_version(&metadata, &packages), minimal_versions(), semver(&packages)];
    let failed = outcomes.iter().any(Result::is_err);
    let lines: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|error| error)).collect();
    let summary = lines.join("; ");
    if failed { Err(summary) } else { Ok(summary) }
}

/// Published packages with a library target.
fn libraries(metadata: &Value) -> Vec<&str> {
    let has_library = |package: &&Value| {
        let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
        let mut kinds = targets.filter_map(|target| target.get("kind")?.as_array()).flatten();
        kinds.any(|kind| kind == "lib")
    };
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    // `publish = false` is an empty list of registries.
    let published = packages.filter(|package| package.get("publish").is_none_or(Value::is_null));
    published.filter(has_library).filter_map(|package| package.get("name")?.as_str()).collect()
}

/// Checks the libraries with the oldest supported toolchain.
fn rust_version(metadata: &Value, packages: &[&str]) -> Result<String, String> {
    let all = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let version = all.into_iter().find_map(|package| package.get("rust_version")?.as_str());
    let version = version.ok_or("no package declares a rust-version")?;
    let toolchain = format!("+{version}");
    if !shell::works("cargo", &[&toolchain, "--version"]) {
        let mut install = shell::program("rustup");
        install.args(["toolchain", "install", version, "--profile", "minimal"]);
        if let Err(trouble) = registry::run(install) {
            return Ok(not_checked(&format!("rust-version {version}"), &trouble.to_string()));
        }
    }
    let mut check = shell::program("cargo");
    check.args([&toolchain, "check", "--quiet", "--locked", "--keep-going"]).args(packages);
    check.env("CARGO_TARGET_DIR", shell::target()?.join("versions/rust-version"));
    shell::run(check).map_err(|error| format!("rust-version {version}: {error}"))?;
    Ok(format!("rust-version {version} compiles"))
}

/// Checks a copy of the workspace with all features and the lowest direct dependency versions that the manifests allow.
fn minimal_versions() -> Result<String, String> {
    const WHAT: &str = "minimal versions";
    if !shell::works("cargo", &["+nightly", "--version"]) {
        return Ok(not_checked(WHAT, "no nightly toolchain"));
    }
    let copy = tempfile::tempdir().map_err(|error| format!("cannot make a temporary directory: {error}"))?;
    copy_workspace(copy.path())?;
    let mut update = shell::program("cargo");
    update.args(["+nightly", "update", "--quiet", "-Z", "direct-minimal-versions"]).current_dir(copy.path());
    match registry::run(update) {
        Ok(()) => {}
        Err(trouble @ Trouble::Unreachable(_)) => return Ok(not_checked(WHAT, &trouble.to_string())),
        Err(trouble @ Trouble::Failed(_)) => return Err(format!("{WHAT}: {trouble}")),
    }
    let mut check = shell::cargo(["check", "--quiet", "--locked", "--keep-going"]);
    check.args(features::ALL).current_dir(copy.path());
    check.env("CARGO_TARGET_DIR", shell::target()?.join("versions/minimal"));
    shell::run(check).map_err(|error| format!("{WHAT}: {error}"))?;
    Ok(format!("{WHAT} compile"))
}

/// Copies the tracked files that Cargo needs.
fn copy_workspace(to: &Path) -> Result<(), String> {
    const NOT_NEEDED: [&str; 2] = ["tests/golden/", "tests/reference/"];
    for name in shell::tracked_files(".")? {
        if NOT_NEEDED.iter().any(|folder| name.starts_with(folder)) {
            continue;
        }
        let (from, to) = (shell::root().join(&name), to.join(&name));
        shell::make_directory(to.parent().unwrap_or(&to))?;
        fs::copy(&from, &to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    Ok(())
}

/// The commit to compare the public API with: the one in the environment, else the last tag, if there is one.
fn baseline() -> Result<Option<String>, String> {
    if let Ok(commit) = std::env::var(BASELINE) {
        return Ok(Some(commit));
    }
    let mut describe = shell::git();
    describe.args(["describe", "--tags", "--abbrev=0"]);
    let described = shell::output(&mut describe)?;
    let tag = String::from_utf8_lossy(&described.stdout).trim().to_owned();
    Ok(described.status.success().then_some(tag))
}

/// Compares the public API with an earlier one.
fn semver(packages: &[&str]) -> Result<String, String> {
    let Some(baseline) = baseline()? else {
        return Ok(format!("semver: no release to compare with ({BASELINE} names a commit)"));
    };
    if !shell::works("cargo", &["semver-checks", "--version"]) {
        let install = shell::cargo(["install", "--quiet", "--locked", "cargo-semver-checks"]);
        if let Err(trouble) = registry::run(install) {
            return Ok(not_checked("semver", &trouble.to_string()));
        }
    }
    let mut check = shell::cargo(["semver-checks", "--baseline-rev", &baseline]);
    check.args(packages);
    shell::run(check).map_err(|error| format!("semver: {error}"))?;
    Ok(format!("semver: compatible with {baseline}"))
}

fn not_checked(what: &str, why: &str) -> String {
    eprintln!("SKIPPED: {what}: {why}");
    format!("{what} NOT CHECKED: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_published_libraries() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "publish": null, "targets": [{"kind": ["lib"]}, {"kind": ["test"]}]},
            {"name": "b", "publish": [], "targets": [{"kind": ["lib"]}]},
            {"name": "c", "publish": null, "targets": [{"kind": ["bin"]}]},
        ]});
        assert_eq!(libraries(&metadata), ["a"]);
    }
}
