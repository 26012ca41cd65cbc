//! The Python package `wharf-data`: builds its wheel, installs it into a virtual environment, and tests it there, as other packages are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::python::Python;
use crate::registry::{self, Trouble};
use crate::shell;

/// Builds the wheel with the profile `dev`, in the target directory of the workspace, and runs its tests and type checks.
///
/// # Errors
/// [`Trouble::Unreachable`] if packages cannot be downloaded; a failed build, test or check.
pub(crate) fn run() -> Result<(), Trouble> {
    let target = shell::target()?;
    let python = Python::with_packages(target.join("wheel/python"), &package().join("tests/requirements.txt"))?;
    let wheel = build(&python, &target)?;
    let mut install = shell::program(python.interpreter());
    install.args(["-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]);
    install.arg("--force-reinstall").arg(&wheel);
    shell::run(install)?;
    check(&python, &package(), &target.join("wheel"), "wharf_data", "wharf_data._native")
}

/// Runs the tests and type checks of the package in `folder`, which is installed. `elsewhere` is a directory without it: what is installed is tested.
/// `native` is the module that the stubs describe.
///
/// # Errors
/// A test or check that fails.
pub(crate) fn check(
    python: &Python,
    folder: &Path,
    elsewhere: &Path,
    package: &str,
    native: &str,
) -> Result<(), Trouble> {
    let run = |arguments: &[&str]| {
        let mut command = shell::program(python.interpreter());
        command.args(["-m"]).args(arguments).current_dir(elsewhere);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("WHARF_GOLDEN", shell::root().join("tests/golden"));
        shell::run(command)
    };
    let (tests, config) = (folder.join("tests"), folder.join("pyproject.toml"));
    let (Some(tests), Some(config)) = (tests.to_str(), config.to_str()) else {
        return Err(Trouble::Failed("the path of the workspace is not UTF-8".to_owned()));
    };
    run(&["pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, tests])?;
    run(&["mypy", "--config-file", config, "--package", package])?;
    run(&["mypy.stubtest", native])?;
    Ok(())
}

/// The folder of the package.
fn package() -> PathBuf {
    shell::root().join("crates/wharf-python")
}

/// Builds the wheel and returns its path.
fn build(python: &Python, target: &Path) -> Result<PathBuf, Trouble> {
    let out = target.join("wheel/dist");
    shell::empty_directory(&out)?;
    let mut maturin = shell::program(python.program("maturin"));
    maturin.args(["build", "--locked", "--interpreter"]).arg(python.interpreter()).arg("--target-dir").arg(target);
    maturin.arg("--out").arg(&out).current_dir(package());
    registry::run(maturin)?;
    let entries = fs::read_dir(&out).map_err(|error| format!("cannot list {}: {error}", out.display()))?;
    let wheel =
        entries.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "whl"));
    wheel.ok_or_else(|| Trouble::Failed(format!("maturin made no wheel in {}", out.display())))
}
