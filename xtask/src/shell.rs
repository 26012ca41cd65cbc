//! Other programs, and the places of the workspace.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// What cargo knows of the workspace.
pub(crate) fn metadata() -> Result<Value, String> {
    let metadata = text(cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_str(&metadata).map_err(|error| format!("cargo's metadata are not JSON: {error}"))
}

/// Cargo's target directory, in which everything goes that is made and not kept.
pub(crate) fn target() -> Result<PathBuf, String> {
    let metadata = metadata()?;
    let directory = metadata.get("target_directory").and_then(Value::as_str);
    directory.map(PathBuf::from).ok_or_else(|| "cargo's metadata name no target directory".to_owned())
}

/// A program that runs in the root and waits for no input.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this chore.
pub(crate) fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a program whose output belongs on the terminal.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|error| not_started(&command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", shown(&command))) }
}

/// Runs a program and returns what it printed, whatever its exit code.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| not_started(command, &error))
}

/// Runs a program and returns its standard output; errors go to the terminal.
pub(crate) fn text(mut command: Command) -> Result<String, String> {
    command.stderr(Stdio::inherit());
    let output = output(&mut command)?;
    if !output.status.success() {
        return Err(format!("`{}` ended with {}", shown(&command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` printed something that is not UTF-8", shown(&command)))
}

/// Whether a program can be started and ends well.
pub(crate) fn works(name: &str, argument: &str) -> bool {
    program(name).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", shown(command))
}

/// A program of the workspace as `cargo test --workspace` builds it, with the features of all members: after the tests nothing
/// has to be built. It is not optimized. That suits chores whose references take longer than it does.
pub(crate) fn tested_program(name: &str) -> Result<PathBuf, String> {
    run(cargo(["build", "--quiet", "--workspace", "--tests", "--examples"]))?;
    Ok(target()?.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the command `wharf` for the chores that start it many times, and returns where it is.
pub(crate) fn build_wharf() -> Result<PathBuf, String> {
    let mut build = cargo(["build", "--quiet", "--release", "--package", "wharf-cli"]);
    // Started often and not measured: a short build matters more than the last percent of speed.
    for (name, value) in [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")] {
        if std::env::var_os(name).is_none() {
            build.env(name, value);
        }
    }
    run(build)?;
    Ok(target()?.join("release").join(format!("wharf{}", std::env::consts::EXE_SUFFIX)))
}

/// A temporary directory for many small files: in memory where the system has such a place.
pub(crate) fn fast_directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let beside = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let made = tempfile::Builder::new().prefix("xtask-").tempdir_in(&beside).or_else(|_| tempfile::tempdir());
    made.map_err(|error| format!("cannot make a temporary directory: {error}"))
}

/// The entries of a directory, sorted by name.
pub(crate) fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error: std::io::Error| format!("cannot list {}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    paths.sort();
    Ok(paths)
}

/// The files of a directory with an extension, sorted by name.
pub(crate) fn files_with_extension(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = entries(directory)?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    Ok(paths)
}

/// All files in a directory and those below it, by their paths from there, with slashes.
pub(crate) fn files_below(directory: &Path) -> Result<BTreeSet<String>, String> {
    let mut files = BTreeSet::new();
    let mut open = vec![(directory.to_owned(), String::new())];
    while let Some((directory, before)) = open.pop() {
        for path in entries(&directory)? {
            let name = format!("{before}{}", file_name(&path));
            if path.is_dir() {
                open.push((path, format!("{name}/")));
            } else {
                files.insert(name);
            }
        }
    }
    Ok(files)
}

/// The name of a file, without its directory.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An empty directory in the place of whatever is there.
pub(crate) fn empty_directory(directory: &Path) -> Result<(), String> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| format!("cannot empty {}: {error}", directory.display()))?;
    }
    make_directory(directory)
}

/// A directory and those above it.
pub(crate) fn make_directory(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))
}

/// A file's text.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a program whose output matters only when it fails.
pub(crate) fn run_quietly(command: &mut Command) -> Result<(), String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("`{}` ended with {}", shown(command), output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_depths() {
        let directory = tempfile::tempdir().unwrap();
        make_directory(&directory.path().join("a/b/empty")).unwrap();
        for name in ["z", "a/y", "a/b/x"] {
            write(&directory.path().join(name), "").unwrap();
        }
        let files: Vec<_> = files_below(directory.path()).unwrap().into_iter().collect();
        assert_eq!(files, ["a/b/x", "a/y", "z"]);
    }
}
