//! Packs the crates as for a registry, unpacks them outside the workspace, and tests them there.

use std::fs;
use std::path::Path;

use clap::Args;
use serde_json::Value;

use crate::features::STANDALONE;
use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// Pack and unpack only, without running the tests
    #[arg(long)]
    no_test: bool,
}

impl Options {
    /// Runs the tests.
    pub(crate) const fn full() -> Self {
        Self { no_test: false }
    }
}

/// Packs the crates and tests the packages.
///
/// # Errors
/// When a crate cannot be packed or a test fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let packages = STANDALONE.iter().flat_map(|name| ["--package", name]);
    shell::run(shell::cargo(["package", "--quiet", "--no-verify", "--allow-dirty"].into_iter().chain(packages)))?;
    let target = shell::target()?;
    let folder = tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let metadata = shell::metadata()?;
    let mut workspace = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\n\n[patch.crates-io]\n");
    for name in STANDALONE {
        let version = version_of(&metadata, name)?;
        let package = format!("{name}-{version}");
        let packed = target.join("package").join(format!("{package}.crate"));
        let mut tar = shell::program("tar");
        // `-m`: Cargo detects changes by modification times, which are all the same in packages.
        tar.arg("-xmzf").arg(&packed).arg("-C").arg(folder.path());
        shell::run(tar)?;
        workspace.push_str(&format!("{name} = {{ path = \"{package}\" }}\n"));
        let bytes = fs::metadata(&packed).map_err(|error| format!("{}: {error}", packed.display()))?.len();
        println!(
            "{package}: {} files, {} KiB packed",
            count_files(&folder.path().join(&package))?,
            bytes.div_ceil(1024)
        );
    }
    let manifest = folder.path().join("Cargo.toml");
    fs::write(&manifest, workspace).map_err(|error| format!("{}: {error}", manifest.display()))?;
    // The locked versions of the workspace; Cargo drops what is not needed.
    let lock = fs::copy(shell::root().join("Cargo.lock"), folder.path().join("Cargo.lock"));
    lock.map_err(|error| format!("Cargo.lock: {error}"))?;
    if options.no_test {
        return Ok(());
    }
    let mut test = shell::cargo(["test", "--quiet", "--workspace"]);
    test.current_dir(folder.path()).env("CARGO_TARGET_DIR", target.join("packaged"));
    shell::run(test)
}

fn version_of(metadata: &Value, name: &str) -> Result<String, String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let package = packages.into_iter().find(|package| package.get("name").and_then(Value::as_str) == Some(name));
    let version = package.and_then(|package| package.get("version")).and_then(Value::as_str);
    version.map(str::to_owned).ok_or_else(|| format!("unknown package {name}"))
}

/// Counts the files of a directory, at any depth.
fn count_files(folder: &Path) -> Result<usize, String> {
    let list_error = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut count = 0;
    for entry in fs::read_dir(folder).map_err(list_error)? {
        let path = entry.map_err(list_error)?.path();
        count += if path.is_dir() { count_files(&path)? } else { 1 };
    }
    Ok(count)
}
