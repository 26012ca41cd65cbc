//! The same tables in every format, each written by its reference: one script and one command of the ML.NET driver.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::list;
use crate::mlnet::MlNet;
use crate::python::Python;
use crate::shell;
use crate::zippy::Zippy;

/// The references that have to be there.
pub(super) struct References<'a> {
    pub(super) mlnet: &'a MlNet,
    pub(super) python: &'a Python,
    pub(super) zippy: &'a Zippy,
}

/// What nobody writes but us.
const OURS: [&str; 2] = ["PROVENANCE.md", "allowances.json"];

/// The row of the list that is not the script's.
const ALLOWANCES: &str = "| `allowances` ";

impl References<'_> {
    /// Writes the files again, and compares every byte with those that are there.
    pub(super) fn compare(&self) -> Result<(), String> {
        let (fresh, rows) = self.made_again()?;
        let kept = folder();
        let page = shell::read(&kept.join("PROVENANCE.md"))?;
        if let Some(row) = rows.lines().find(|row| !page.lines().any(|line| line == *row)) {
            return Err(format!("golden/cross/PROVENANCE.md has no row \"{row}\""));
        }
        let (made, there) = (shell::files_below(&fresh)?, theirs(&kept)?);
        if let Some(name) = made.symmetric_difference(&there).next() {
            return Err(format!("golden/cross/{name} is there and is not made again, or the other way round"));
        }
        for name in &made {
            let (fresh, kept) = (fresh.join(name), kept.join(name));
            let same = if name.ends_with(".zds") {
                // Members come in the order of a directory: what the reference reads in the archive counts.
                self.documents(&fresh)? == self.documents(&kept)?
            } else {
                bytes(&fresh)? == bytes(&kept)?
            };
            if !same {
                return Err(format!("golden/cross/{name} is not what its reference writes now"));
            }
        }
        println!("golden/cross: {} files made again, the same", made.len());
        Ok(())
    }

    /// Puts what the references write now in the place of what is there.
    pub(super) fn replace(&self) -> Result<(), String> {
        let (fresh, rows) = self.made_again()?;
        let kept = folder();
        let page = kept.join("PROVENANCE.md");
        let text = shell::read(&page)?;
        let (before, listed, behind) = list(&text).map_err(|error| format!("{}: {error}", page.display()))?;
        let ours = listed.into_iter().filter(|row| row.starts_with(ALLOWANCES));
        let lines: Vec<_> = before.into_iter().chain(ours).chain(rows.lines()).chain(behind).collect();
        shell::write(&page, lines.join("\n") + "\n")?;
        for name in theirs(&kept)? {
            let old = kept.join(name);
            fs::remove_file(&old).map_err(|error| format!("cannot remove {}: {error}", old.display()))?;
        }
        let made = shell::files_below(&fresh)?;
        for name in &made {
            let path = kept.join(name);
            shell::make_directory(path.parent().unwrap_or(&kept))?;
            fs::copy(fresh.join(name), &path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        println!("golden/cross: {} files written; the page's words on versions are yours to check", made.len());
        Ok(())
    }

    /// Lets the references write into a directory; returns it and the rows of the list.
    fn made_again(&self) -> Result<(PathBuf, String), String> {
        let work = shell::target()?.join("interop/cross");
        let (fresh, tables) = (work.join("golden"), work.join("tables"));
        shell::empty_directory(&fresh)?;
        shell::empty_directory(&tables)?;
        let rows = shell::text(self.python.script("cross_golden.py", [self.zippy.program(), &fresh, &tables]))?;
        let mut driver = self.mlnet.driver("cross");
        driver.arg(&tables).arg(&fresh);
        shell::run(driver)?;
        Ok((fresh, rows))
    }

    fn documents(&self, archive: &Path) -> Result<String, String> {
        let mut dump = shell::program(self.zippy.program());
        dump.arg("archive-dump").arg(archive);
        shell::text(dump)
    }
}

fn folder() -> PathBuf {
    shell::root().join("tests/golden/cross")
}

/// The files that references wrote.
fn theirs(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut files = shell::files_below(folder)?;
    files.retain(|name| !name.starts_with('.') && !OURS.contains(&name.as_str()));
    Ok(files)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
