//! Running programs, and paths of the workspace.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Cargo's metadata of the workspace, without dependencies.
pub(crate) fn metadata() -> Result<Value, String> {
    let metadata = text(cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: invalid JSON: {error}"))
}

/// Cargo's target directory, which holds all generated files.
pub(crate) fn target() -> Result<PathBuf, String> {
    let metadata = metadata()?;
    let directory = metadata.get("target_directory").and_then(Value::as_str);
    directory.map(PathBuf::from).ok_or_else(|| "cargo metadata has no target directory".to_owned())
}

/// A program run in the root, with no standard input.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this task.
pub(crate) fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Git, which otherwise refuses a tree of another owner, as in many containers.
pub(crate) fn git() -> Command {
    let mut git = program("git");
    git.args(["-c", "safe.directory=*"]);
    git
}

/// Tracked files that match a git pathspec, relative to the root.
pub(crate) fn tracked_files(pathspec: &str) -> Result<Vec<String>, String> {
    let mut list = git();
    list.args(["ls-files", pathspec]);
    Ok(text(list)?.lines().map(str::to_owned).collect())
}

/// Runs a program with its output on the terminal.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|error| start_error(&command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", command_line(&command))) }
}

/// A program whose success is not needed, and whose output is not shown. It is killed when this is dropped.
#[derive(Default)]
pub(crate) struct Background(Option<Child>);

impl Background {
    /// Starts a program that gets the processor time that others leave; none where there is no `nice`.
    pub(crate) fn start(command: &Command) -> Self {
        let mut nice = program("nice");
        nice.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
        nice.current_dir(command.get_current_dir().unwrap_or(root()));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => nice.env(name, value),
                None => nice.env_remove(name),
            };
        }
        Self(nice.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok())
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) {
        if let Some(mut child) = self.0.take() {
            child.wait().ok();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Variable with the program that Cargo runs instead of rustc for the crates of a workspace.
pub(crate) const WORKSPACE_WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// Whether clippy takes the place of the compiler, so that it sees whatever is built.
pub(crate) fn builds_with_clippy() -> bool {
    let wrapper = std::env::var_os(WORKSPACE_WRAPPER).unwrap_or_default();
    Path::new(&wrapper).file_stem().is_some_and(|name| name == "clippy-driver")
}

/// Lets clippy take the place of the compiler; its warnings are errors.
pub(crate) fn build_with_clippy(cargo: &mut Command) {
    // The driver beside the `cargo` that runs, or the one of the PATH.
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let own = Path::new(&std::env::var_os("CARGO").unwrap_or_default()).with_file_name(&name);
    cargo.env(WORKSPACE_WRAPPER, if own.is_file() { own } else { name.into() });
    // Arguments of clippy, in its own notation.
    cargo.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
}

/// Runs a program and captures its output, whatever its exit code.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| start_error(command, &error))
}

/// Runs a program and returns its standard output; standard error goes to the terminal.
pub(crate) fn text(mut command: Command) -> Result<String, String> {
    command.stderr(Stdio::inherit());
    let output = output(&mut command)?;
    if !output.status.success() {
        return Err(format!("`{}` ended with {}", command_line(&command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` printed invalid UTF-8", command_line(&command)))
}

/// Whether a program can be started and succeeds.
pub(crate) fn works(name: &str, arguments: &[&str]) -> bool {
    program(name).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The command line, for messages.
pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn start_error(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", command_line(command))
}

/// A program of the workspace as `cargo test --workspace` builds it, with the features of all members: after the tests, nothing is left to build.
/// It is not optimized, which suits tasks whose references are slower.
pub(crate) fn test_build(name: &str) -> Result<PathBuf, String> {
    run(cargo(["build", "--quiet", "--workspace", "--tests", "--examples"]))?;
    Ok(target()?.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the command `wharf` for tasks that start it many times, and returns its path.
pub(crate) fn build_wharf() -> Result<PathBuf, String> {
    let mut build = cargo(["build", "--quiet", "--release", "--package", "wharf-cli"]);
    // It is not measured: a short build matters more than the last percent of speed.
    for (name, value) in [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")] {
        if std::env::var_os(name).is_none() {
            build.env(name, value);
        }
    }
    run(build)?;
    Ok(target()?.join("release").join(format!("wharf{}", std::env::consts::EXE_SUFFIX)))
}

/// A temporary directory for many small files, in memory where possible.
pub(crate) fn fast_directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let directory = tempfile::Builder::new().prefix("xtask-").tempdir_in(&parent).or_else(|_| tempfile::tempdir());
    directory.map_err(|error| format!("cannot create a temporary directory: {error}"))
}

/// The entries of a directory, sorted by name.
pub(crate) fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let list_error = |error: std::io::Error| format!("cannot list {}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(list_error)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<Result<Vec<_>, _>>().map_err(list_error)?;
    paths.sort();
    Ok(paths)
}

/// The files of a directory with an extension, sorted by name.
pub(crate) fn files_with_extension(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = entries(directory)?;
    paths.retain(|path| path.extension().is_some_and(|actual| actual == extension));
    Ok(paths)
}

/// All files below a directory: relative paths with slashes.
pub(crate) fn files_below(directory: &Path) -> Result<BTreeSet<String>, String> {
    let mut files = BTreeSet::new();
    let mut pending = vec![(directory.to_owned(), String::new())];
    while let Some((directory, prefix)) = pending.pop() {
        for path in entries(&directory)? {
            let name = format!("{prefix}{}", file_name(&path));
            if path.is_dir() {
                pending.push((path, format!("{name}/")));
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

/// Creates an empty directory, replacing one that exists.
pub(crate) fn empty_directory(directory: &Path) -> Result<(), String> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| format!("cannot empty {}: {error}", directory.display()))?;
    }
    make_directory(directory)
}

/// Creates a directory and its parents.
pub(crate) fn make_directory(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("cannot create {}: {error}", directory.display()))
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a program and shows its output only if it fails.
pub(crate) fn run_quietly(command: &mut Command) -> Result<(), String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("`{}` ended with {}", command_line(command), output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_files_at_all_depths() {
        let directory = tempfile::tempdir().unwrap();
        make_directory(&directory.path().join("a/b/empty")).unwrap();
        for name in ["z", "a/y", "a/b/x"] {
            write(&directory.path().join(name), "").unwrap();
        }
        let files: Vec<_> = files_below(directory.path()).unwrap().into_iter().collect();
        assert_eq!(files, ["a/b/x", "a/y", "z"]);
    }
}
