//! The workspace of `wharf-sql`: clippy, its tests, and those of its Python package. A workspace of its own, as DataFusion takes minutes to compile.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::Python;
use crate::registry::Trouble;
use crate::shell::{self, Background};
use crate::wheel;

/// Its folder.
const FOLDER: &str = "crates/wharf-sql";

/// The module of the Python package.
const MODULE: &str = "wharf_data_sql";

/// Runs clippy and the tests with one build of the dependencies: `cargo clippy` would compile them a second time, since it checks without building.
/// So clippy takes the place of the compiler for these crates, as `cargo clippy` arranges it.
pub(crate) fn run() -> Result<(), String> {
    cargo(&["test", "--workspace"])?;
    match python() {
        Err(Trouble::Unreachable(why)) => {
            println!("SKIPPED: {MODULE} was not tested: a package registry cannot be reached: {why}");
            Ok(())
        }
        Err(Trouble::Failed(why)) => Err(why),
        Ok(()) => Ok(()),
    }
}

/// Builds what [`run`] builds first, in the background.
pub(crate) fn build_ahead() -> Background {
    cargo_command(&["test", "--workspace", "--no-run"])
        .map_or_else(|_| Background::default(), |cargo| Background::start(&cargo))
}

/// As [`run`], with the tests that take minutes: TPC-H over every format.
pub(crate) fn run_all() -> Result<(), String> {
    run()?;
    cargo(&["test", "--workspace", "--test", "it", "--", "--ignored"])
}

/// Tests the Python package. It is installed as maturin would, which would compile DataFusion a second time, with the features of this package alone.
fn python() -> Result<(), Trouble> {
    // With the tests, as dependencies have other features with them.
    cargo(&["build", "--workspace", "--lib", "--tests"])?;
    let (folder, target) = (shell::root().join(FOLDER).join("python"), target()?);
    let python = Python::with_packages(target.join("python"), &folder.join("tests/requirements.txt"))?;
    let mut site = shell::program(python.interpreter());
    site.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
    let package = PathBuf::from(shell::text(site)?.trim()).join(MODULE);
    shell::empty_directory(&package)?;
    let copy = |from: &Path, name: &str| {
        let to = package.join(name);
        fs::copy(from, &to).map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
    };
    for name in ["__init__.py", "_native.pyi", "py.typed"] {
        copy(&folder.join(MODULE).join(name), name)?;
    }
    let library = target.join("debug").join(format!("{DLL_PREFIX}{MODULE}{DLL_SUFFIX}"));
    copy(&library, if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" })?;
    wheel::check(&python, &folder, &target, MODULE, &format!("{MODULE}._native"))
}

/// The target directory of this workspace.
fn target() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("sql"))
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    shell::run(cargo_command(arguments)?)
}

fn cargo_command(arguments: &[&str]) -> Result<Command, String> {
    let (command, rest) = arguments.split_first().ok_or("no command of cargo")?;
    let mut cargo = shell::cargo([*command, "--quiet", "--locked"]);
    cargo.args(rest).current_dir(shell::root().join(FOLDER)).env("CARGO_TARGET_DIR", target()?);
    shell::build_with_clippy(&mut cargo);
    Ok(cargo)
}
