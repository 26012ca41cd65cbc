//! `zippy_data`, the reference of ZDS: a crate, with the program in `tests/reference/zippy` that drives it, built below the target directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::registry::{self, Trouble};
use crate::shell;

/// The driver, built.
pub(crate) struct Zippy {
    program: PathBuf,
}

impl Zippy {
    /// The driver, if it has been built before; it is built anew when its sources have changed.
    pub(crate) fn installed() -> Result<Option<Self>, Trouble> {
        let directory = directory()?;
        if !is_current(&directory)? {
            return Ok(None);
        }
        // Its crates are there, as a rule: no registry is asked then.
        build(&directory).map(Some)
    }

    /// The driver, built now if it is not yet there.
    pub(crate) fn install() -> Result<Self, Trouble> {
        let directory = directory()?;
        if let Some(there) = Self::installed()? {
            return Ok(there);
        }
        println!("building the driver of zippy_data into {}", directory.display());
        let zippy = build(&directory)?;
        shell::write(&stamp(&directory), shell::read(&sources().join("Cargo.lock"))?)?;
        Ok(zippy)
    }

    /// The driver itself, for scripts that run it.
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

/// Written after the first build: the crates that it names were there.
fn stamp(directory: &Path) -> PathBuf {
    directory.join("installed.txt")
}

fn is_current(directory: &Path) -> Result<bool, String> {
    let wanted = shell::read(&sources().join("Cargo.lock"))?;
    Ok(fs::read_to_string(stamp(directory)).is_ok_and(|found| found == wanted))
}

fn build(directory: &Path) -> Result<Zippy, Trouble> {
    built(&sources(), directory, "zippy-driver", &["--locked"]).map(|program| Zippy { program })
}

/// The program that does the same works with zdx and with the reference. Its lock file names what our crates depend on, too, and follows
/// them: it is not locked.
pub(crate) fn benchmark() -> Result<PathBuf, Trouble> {
    built(&shell::root().join("tests/reference/zippy-bench"), &directory()?, "zippy-bench", &[])
}

fn built(sources: &Path, directory: &Path, name: &str, more: &[&str]) -> Result<PathBuf, Trouble> {
    let mut cargo = shell::cargo(["build", "--quiet", "--release", "--manifest-path"]);
    cargo.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(directory).args(more);
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
    fn the_reference_is_pinned() {
        let manifest = shell::read(&sources().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\nzippy_data = \"=0.1.2\"\n"));
        let lock = shell::read(&sources().join("Cargo.lock")).unwrap();
        assert!(lock.contains("name = \"zippy_data\"\nversion = \"0.1.2\"\n"));
    }
}
