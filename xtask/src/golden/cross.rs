//! The same tables in every format, each written by its reference: by one script and one command of the ML.NET driver.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::split_at_list;
use crate::mlnet::MlNet;
use crate::python::Python;
use crate::shell;
use crate::zippy::Zippy;

/// The required references.
pub(super) struct References<'a> {
    pub(super) mlnet: &'a MlNet,
    pub(super) python: &'a Python,
    pub(super) zippy: &'a Zippy,
}

/// Files that no reference writes.
const OURS: [&str; 2] = ["PROVENANCE.md", "allowances.json"];

/// Start of the one row of the list that is not the script's.
const ALLOWANCES_ROW: &str = "| `allowances` ";

impl References<'_> {
    /// Writes the files again, and compares every byte with the golden files.
    pub(super) fn compare(&self) -> Result<(), String> {
        let (fresh, rows) = self.regenerate()?;
        let golden = golden_directory();
        let page = shell::read(&golden.join("PROVENANCE.md"))?;
        if let Some(row) = rows.lines().find(|row| !page.lines().any(|line| line == *row)) {
            return Err(format!("golden/cross/PROVENANCE.md has no row \"{row}\""));
        }
        let (written, expected) = (shell::files_below(&fresh)?, reference_files(&golden)?);
        if let Some(name) = written.symmetric_difference(&expected).next() {
            return Err(format!("golden/cross/{name} is committed but not written now, or the reverse"));
        }
        for name in &written {
            let (fresh, golden) = (fresh.join(name), golden.join(name));
            let same = if name.ends_with(".zds") {
                // The order of members depends on the file system: compare what the reference reads.
                self.documents(&fresh)? == self.documents(&golden)?
            } else {
                bytes(&fresh)? == bytes(&golden)?
            };
            if !same {
                return Err(format!("golden/cross/{name} differs from what its reference writes now"));
            }
        }
        println!("golden/cross: {} files written again, identical", written.len());
        Ok(())
    }

    /// Replaces the golden files with what the references write now.
    pub(super) fn replace(&self) -> Result<(), String> {
        let (fresh, rows) = self.regenerate()?;
        let golden = golden_directory();
        let page = golden.join("PROVENANCE.md");
        let text = shell::read(&page)?;
        let (before, listed, after) = split_at_list(&text).map_err(|error| format!("{}: {error}", page.display()))?;
        let ours = listed.into_iter().filter(|row| row.starts_with(ALLOWANCES_ROW));
        let lines: Vec<_> = before.into_iter().chain(ours).chain(rows.lines()).chain(after).collect();
        shell::write(&page, lines.join("\n") + "\n")?;
        for name in reference_files(&golden)? {
            let old = golden.join(name);
            fs::remove_file(&old).map_err(|error| format!("cannot remove {}: {error}", old.display()))?;
        }
        let written = shell::files_below(&fresh)?;
        for name in &written {
            let path = golden.join(name);
            shell::make_directory(path.parent().unwrap_or(&golden))?;
            fs::copy(fresh.join(name), &path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        println!("golden/cross: {} files written; check what the page says about versions", written.len());
        Ok(())
    }

    /// Lets the references write into a directory; returns it and the rows of the list.
    fn regenerate(&self) -> Result<(PathBuf, String), String> {
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

fn golden_directory() -> PathBuf {
    shell::root().join("tests/golden/cross")
}

/// The files written by references.
fn reference_files(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut files = shell::files_below(folder)?;
    files.retain(|name| !name.starts_with('.') && !OURS.contains(&name.as_str()));
    Ok(files)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
