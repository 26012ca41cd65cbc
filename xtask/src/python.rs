//! The references that are Python packages: installed once, pinned, into a virtual environment below the target directory,
//! and driven by the scripts in `tests/reference/python`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::registry::{self, Trouble};
use crate::shell;

/// A Python with the reference packages.
pub(crate) struct Python {
    directory: PathBuf,
}

impl Python {
    /// The environment, if it has been installed before.
    pub(crate) fn installed() -> Result<Option<Self>, Trouble> {
        let directory = directory()?;
        Ok(is_current(&directory)?.then_some(Self { directory }))
    }

    /// The environment, installed now if it is not yet there.
    pub(crate) fn install() -> Result<Self, Trouble> {
        let directory = directory()?;
        if !is_current(&directory)? {
            println!("installing Python packages into {}", directory.display());
            make(&directory)?;
        }
        Ok(Self { directory })
    }

    /// The interpreter, which finds the packages.
    pub(crate) fn interpreter(&self) -> PathBuf {
        interpreter(&self.directory)
    }

    /// A script of `tests/reference/python` by its name, ready to be run or to be given more arguments.
    pub(crate) fn script(&self, name: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut python = shell::program(self.interpreter());
        // The tree stays as it is, and text is UTF-8 whatever the locale.
        python.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        python.arg(sources().join(name)).args(arguments);
        python
    }
}

/// Where the scripts are.
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

/// Written last of all: what it names is there.
fn stamp(directory: &Path) -> PathBuf {
    directory.join("installed.txt")
}

/// Whether these very packages are there. An interpreter that has gone since, or moved, is none.
fn is_current(directory: &Path) -> Result<bool, String> {
    let wanted = shell::read(&requirements())?;
    Ok(fs::read_to_string(stamp(directory)).is_ok_and(|found| found == wanted)
        && shell::output(shell::program(interpreter(directory)).arg("--version"))
            .is_ok_and(|output| output.status.success()))
}

fn make(directory: &Path) -> Result<(), Trouble> {
    if !shell::works("python3", "--version") {
        registry::apt_install("python3", "python3 is not there")?;
    }
    // An environment knows its own place: it is made there, and only what is stamped counts.
    let fresh = || -> Result<bool, String> {
        shell::empty_directory(directory)?;
        let mut venv = shell::program("python3");
        venv.args(["-m", "venv"]).arg(directory).env("LC_ALL", "C.UTF-8");
        Ok(shell::output(&mut venv)?.status.success())
    };
    if !fresh()? {
        registry::apt_install("python3-venv", "python3 cannot make virtual environments")?;
        if !fresh()? {
            return Err(Trouble::Failed("python3 -m venv fails; run it by hand to see why".to_owned()));
        }
    }
    let mut pip = shell::program(interpreter(directory));
    pip.args(["-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--no-deps", "--progress-bar=off"]);
    pip.arg("--requirement").arg(requirements()).env("LC_ALL", "C.UTF-8");
    registry::run(pip)?;
    shell::write(&stamp(directory), shell::read(&requirements())?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned() {
        let text = shell::read(&requirements()).unwrap();
        assert!(text.lines().count() >= 5);
        for line in text.lines() {
            let (name, version) = line.split_once("==").unwrap_or_else(|| panic!("{line}"));
            assert!(!name.is_empty() && version.starts_with(|digit: char| digit.is_ascii_digit()), "{line}");
        }
    }
}
