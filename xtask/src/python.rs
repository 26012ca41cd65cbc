//! Virtual environments with pinned packages in the target directory: that of the references, which are run by the scripts in
//! `tests/reference/python`, and that of the tests of the package `wharf-data`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::registry::{self, Trouble};
use crate::shell::{self, WORKSPACE_WRAPPER};

/// A Python with pinned packages.
pub(crate) struct Python {
    directory: PathBuf,
}

impl Python {
    /// The environment of the references, if it is installed.
    pub(crate) fn installed() -> Result<Option<Self>, Trouble> {
        let directory = directory()?;
        Ok(is_current(&directory, &requirements())?.then_some(Self { directory }))
    }

    /// The environment of the references, installed now if it is missing.
    pub(crate) fn install() -> Result<Self, Trouble> {
        Self::with_packages(directory()?, &requirements())
    }

    /// An environment with the packages that a file lists, installed now if it is missing.
    pub(crate) fn with_packages(directory: PathBuf, requirements: &Path) -> Result<Self, Trouble> {
        if !is_current(&directory, requirements)? {
            println!("installing Python packages into {}", directory.display());
            create(&directory, requirements)?;
        }
        Ok(Self { directory })
    }

    /// A program of the environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }

    /// The interpreter of the environment.
    pub(crate) fn interpreter(&self) -> PathBuf {
        interpreter(&self.directory)
    }

    /// A script of `tests/reference/python`, to which the caller may add arguments.
    pub(crate) fn script(&self, name: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut python = shell::program(self.interpreter());
        // Leave no bytecode in the tree, and use UTF-8 whatever the locale.
        python.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        python.arg(sources().join(name)).args(arguments);
        python
    }
}

/// The directory of the scripts.
fn sources() -> PathBuf {
    shell::root().join("tests/reference/python")
}

fn requirements() -> PathBuf {
    sources().join("requirements.txt")
}

fn directory() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("reference/python"))
}

fn interpreter(directory: &Path) -> PathBuf {
    directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// A copy of the requirements, written after everything else: if it is current, so is the installation.
fn stamp_path(directory: &Path) -> PathBuf {
    directory.join("installed.txt")
}

/// Whether exactly the required packages are installed, and the interpreter still runs.
fn is_current(directory: &Path, requirements: &Path) -> Result<bool, String> {
    let required = shell::read(requirements)?;
    Ok(fs::read_to_string(stamp_path(directory)).is_ok_and(|installed| installed == required)
        && shell::output(shell::program(interpreter(directory)).arg("--version"))
            .is_ok_and(|output| output.status.success()))
}

fn create(directory: &Path, requirements: &Path) -> Result<(), Trouble> {
    if !shell::works("python3", &["--version"]) {
        registry::apt_install("python3", "python3 is missing")?;
    }
    // An environment cannot be moved, so it is created in place; the stamp marks a complete one.
    let fresh = || -> Result<bool, String> {
        shell::empty_directory(directory)?;
        let mut venv = shell::program("python3");
        venv.args(["-m", "venv"]).arg(directory).env("LC_ALL", "C.UTF-8");
        Ok(shell::output(&mut venv)?.status.success())
    };
    if !fresh()? {
        registry::apt_install("python3-venv", "python3 cannot create virtual environments")?;
        if !fresh()? {
            return Err(Trouble::Failed("python3 -m venv fails; run it manually to see why".to_owned()));
        }
    }
    let mut pip = shell::program(interpreter(directory));
    pip.args(["-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--no-deps", "--progress-bar=off"]);
    pip.arg("--requirement").arg(requirements).env("LC_ALL", "C.UTF-8");
    // Some packages are compiled, whose warnings are not ours.
    pip.env_remove(WORKSPACE_WRAPPER);
    registry::run(pip)?;
    shell::write(&stamp_path(directory), shell::read(requirements)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned() {
        let text = shell::read(&requirements()).unwrap();
        assert!(text.lines().count() >= 5);
        for line in text.lines() {
            let (name, version) = line.split_once("==").unwrap_or_else(|| panic!("{line}"));
            assert!(!name.is_empty() && version.starts_with(|digit: char| digit.is_ascii_digit()), "{line}");
        }
    }
}
