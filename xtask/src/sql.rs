//! The workspace of `wharf-sql`: clippy and its tests. A workspace of its own, as DataFusion takes minutes to compile.

use std::path::Path;

use crate::shell;

/// Its folder.
const FOLDER: &str = "crates/wharf-sql";

/// Runs clippy and the tests with one build of the dependencies: `cargo clippy` would compile them a second time, since it checks without building.
/// So clippy takes the place of the compiler for this crate, as `cargo clippy` arranges it.
pub(crate) fn run() -> Result<(), String> {
    run_with(&[])
}

/// As [`run`], with the tests that take minutes: TPC-H over every format.
pub(crate) fn run_all() -> Result<(), String> {
    run()?;
    run_with(&["--test", "it", "--", "--ignored"])
}

fn run_with(arguments: &[&str]) -> Result<(), String> {
    let folder = shell::root().join(FOLDER);
    let target = shell::target()?.join("sql");
    let mut test = shell::cargo(["test", "--quiet", "--locked"]);
    test.args(arguments);
    test.current_dir(&folder).env("CARGO_TARGET_DIR", &target);
    test.env("RUSTC_WORKSPACE_WRAPPER", clippy_driver());
    // Arguments of clippy, in its own notation.
    test.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    shell::run(test)
}

/// The driver beside the `cargo` that runs, or the one of the PATH.
fn clippy_driver() -> std::path::PathBuf {
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let cargo = std::env::var_os("CARGO").unwrap_or_default();
    let own = Path::new(&cargo).with_file_name(&name);
    if own.is_file() { own } else { name.into() }
}
