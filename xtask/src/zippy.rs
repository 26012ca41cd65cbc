//! The crate `zippy_data`, reference of ZDS: the driver in `tests/reference/zippy`, built in the target directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::registry::{self, Trouble};
use crate::shell;

/// The compiled driver.
pub(crate) struct Zippy {
    program: PathBuf,
}

impl Zippy {
    /// The driver, if it was built before. It is rebuilt if its sources have changed.
    pub(crate) fn installed() -> Result<Option<Self>, Trouble> {
        let directory = directory()?;
        if !is_current(&directory)? {
            return Ok(None);
        }
        // Its dependencies are usually cached, so this needs no registry.
        build(&directory).map(Some)
    }

    /// The driver, built now if it is missing.
    pub(crate) fn install() -> Result<Self, Trouble> {
        let directory = directory()?;
        if let Some(zippy) = Self::installed()? {
            return Ok(zippy);
        }
        println!("building the driver of zippy_data into {}", directory.display());
        let zippy = build(&directory)?;
        shell::write(&stamp_path(&directory), shell::read(&sources().join("Cargo.lock"))?)?;
        Ok(zippy)
    }

    /// The path of the driver, for scripts that run it.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}

/// The driver's sources.
fn sources() -> PathBuf {
    shell::root().join("tests/reference/zippy")
}

fn directory() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("reference/zippy"))
}

/// A copy of the lock file, written after the first build: while it is current, the dependencies are cached.
fn stamp_path(directory: &Path) -> PathBuf {
    directory.join("installed.txt")
}

fn is_current(directory: &Path) -> Result<bool, String> {
    let required = shell::read(&sources().join("Cargo.lock"))?;
    Ok(fs::read_to_string(stamp_path(directory)).is_ok_and(|installed| installed == required))
}

fn build(directory: &Path) -> Result<Zippy, Trouble> {
    build_program(&sources(), directory, "zippy-driver", &["--locked"]).map(|program| Zippy { program })
}

/// The program that runs the same benchmarks with zdx and the reference. Not `--locked`: its lock file also covers our crates.
pub(crate) fn benchmark() -> Result<PathBuf, Trouble> {
    build_program(&shell::root().join("tests/reference/zippy-bench"), &directory()?, "zippy-bench", &[])
}

fn build_program(sources: &Path, directory: &Path, name: &str, arguments: &[&str]) -> Result<PathBuf, Trouble> {
    let mut cargo = shell::cargo(["build", "--quiet", "--release", "--manifest-path"]);
    cargo.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(directory).args(arguments);
    registry::run(cargo)?;
    let program = directory.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    match program.exists() {
        true => Ok(program),
        false => Err(Trouble::Failed(format!("{} was not built", program.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_pinned() {
        let manifest = shell::read(&sources().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\nzippy_data = \"=0.1.2\"\n"));
        let lock = shell::read(&sources().join("Cargo.lock")).unwrap();
        assert!(lock.contains("name = \"zippy_data\"\nversion = \"0.1.2\"\n"));
    }
}
