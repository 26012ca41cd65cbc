//! ML.NET reads what we write: copies of its own files with every option, generated files, joined files, and upgrades of file versions that it
//! no longer reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::mlnet::MlNet;
use crate::shell;

const COMPRESSIONS: [&str; 3] = ["none", "deflate", "zlib"];

/// Rows per block; the last puts all rows into one.
const ROWS: [&str; 4] = ["1", "7", "8192", "all"];

/// Files up to this size, in bytes, are copied in all twelve ways; larger ones in three that alternate.
const SMALL_FILE: u64 = 4096;

/// A column of files of older versions, with times that .NET cannot represent: they are before year 1 in UTC.
const EARLY_TIMES: &str = "time";

/// Runs all comparisons on the files with dumps in `sources`; `work` is the working directory.
pub(super) fn run(mlnet: &MlNet, sources: &[&Path], work: &Path, seed: u64, count: u64) -> Result<(), String> {
    let comparison = Written { mlnet, program: shell::test_build("idv-rewrite")?, work };
    comparison.copies(sources)?;
    comparison.generated(seed, count)?;
    comparison.merged(sources)?;
    comparison.older()?;
    comparison.layouts(seed, count)
}

struct Written<'a> {
    mlnet: &'a MlNet,
    program: PathBuf,
    work: &'a Path,
}

impl Written<'_> {
    fn rewrite(&self, command: &str) -> Command {
        let mut rewrite = shell::program(&self.program);
        rewrite.arg(command);
        rewrite
    }

    /// An empty directory in the working directory.
    fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.work.join(name);
        shell::empty_directory(&directory)?;
        Ok(directory)
    }

    /// Lets ML.NET dump every file of a directory, and compares with the expected dumps.
    fn compare(&self, name: &str, directory: &Path) -> Result<(), String> {
        let dumps = self.directory(&format!("{name}-dumps"))?;
        let mut driver = self.mlnet.driver("dump-many");
        driver.arg(&dumps).args(shell::files_with_extension(directory, "idv")?);
        let errors = shell::text(driver)?;
        if !errors.is_empty() {
            return Err(format!("ML.NET cannot read files in {}:\n{}", directory.display(), errors.trim_end()));
        }
        let mut compare = self.rewrite("compare");
        compare.arg(directory).arg(&dumps);
        shell::run(compare).map_err(|error| format!("values differ from what was written: {error}"))?;
        shell::empty_directory(&dumps)
    }

    /// Copies of files that ML.NET wrote.
    fn copies(&self, sources: &[&Path]) -> Result<(), String> {
        let directory = self.directory("copies")?;
        let mut ways = Ways::default();
        for source in files(sources)? {
            let len = fs::metadata(&source).map_or(u64::MAX, |metadata| metadata.len());
            for (compression, rows) in ways.next(len <= SMALL_FILE) {
                let target = directory.join(format!("{}.{compression}-{rows}.idv", stem(&source)));
                let mut copy = self.rewrite("copy");
                copy.args(["--compression", compression, "--rows", rows]);
                // ML.NET cannot read zlib: in every other file, one column is readable.
                if compression == "zlib" && ways.turn.is_multiple_of(2) {
                    copy.args(["--first", "deflate"]);
                }
                shell::run(into(copy, &source, &target))?;
                link(&source.with_extension("expected.jsonl"), &target)?;
            }
        }
        ways.check()?;
        self.compare("copies", &directory)
    }

    /// Files with generated schemas and values.
    fn generated(&self, seed: u64, count: u64) -> Result<(), String> {
        let directory = self.directory("ours")?;
        let mut generate = self.rewrite("generate");
        generate.args(["--seed", &seed.to_string(), "--count", &count.to_string()]).arg(&directory);
        shell::run(generate)?;
        self.compare("ours", &directory)
    }

    /// Files split in two and joined, at block ends and elsewhere.
    fn merged(&self, sources: &[&Path]) -> Result<(), String> {
        let (directory, parts) = (self.directory("merged")?, self.directory("parts")?);
        let (mut carried, mut encoded) = (0, 0);
        for (index, source) in (0_u64..).zip(files(sources)?) {
            let halves = [0, 1].map(|half| parts.join(format!("{}.{half}.idv", stem(&source))));
            let at = (7 * (index % 50) + u64::from(index.is_multiple_of(3))).to_string();
            for (half, option) in halves.iter().zip(["--take", "--skip"]) {
                let mut copy = self.rewrite("copy");
                copy.args([option, &at, "--rows", "7"]);
                shell::run(into(copy, &source, half))?;
            }
            let target = directory.join(format!("{}.idv", stem(&source)));
            let mut merge = self.rewrite("merge");
            merge.arg(&target).args(&halves);
            let report: Value = serde_json::from_str(&shell::text(merge)?).map_err(|error| error.to_string())?;
            carried += report.get("carried").and_then(Value::as_u64).unwrap_or(0);
            encoded += report.get("encoded").and_then(Value::as_u64).unwrap_or(0);
            link(&source.with_extension("expected.jsonl"), &target)?;
        }
        if carried == 0 || encoded == 0 {
            return Err(format!("joined blocks: {carried} copied, {encoded} re-encoded; expected some of both"));
        }
        println!("joined: {carried} blocks copied, {encoded} re-encoded");
        self.compare("merged", &directory)
    }

    /// Upgrades of files of versions 1.1.1.1 to 1.1.1.5, most of which ML.NET cannot read, to version 1.1.1.6.
    fn older(&self) -> Result<(), String> {
        let directory = self.directory("upgraded")?;
        for source in files(&[&shell::root().join("tests/golden/idv-older")])? {
            let target = directory.join(shell::file_name(&source));
            let mut copy = self.rewrite("copy");
            copy.args(["--compression", "deflate", "--without", EARLY_TIMES]);
            shell::run(into(copy, &source, &target))?;
            let mut show = self.rewrite("show");
            show.args(["--without", EARLY_TIMES]);
            shell::run(into(show, &source, &target.with_extension("expected.jsonl")))?;
        }
        self.compare("upgraded", &directory)
    }

    /// Compares the rows per block of `count` files, derived from a size limit, with ML.NET's.
    fn layouts(&self, seed: u64, count: u64) -> Result<(), String> {
        let directory = self.directory("layouts")?;
        let mut driver = self.mlnet.driver("layouts");
        driver.args(["--seed", &seed.to_string(), "--count", &count.to_string()]).arg(&directory);
        shell::run(driver)?;
        let mut layouts = self.rewrite("layouts");
        layouts.arg(&directory);
        shell::run(layouts)
    }
}

/// The files of all directories.
fn files(directories: &[&Path]) -> Result<Vec<PathBuf>, String> {
    let all = directories.iter().map(|directory| shell::files_with_extension(directory, "idv"));
    Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn into(mut command: Command, source: &Path, target: &Path) -> Command {
    command.arg(source).arg(target);
    command
}

/// Links the expected dump beside a file.
fn link(dump: &Path, target: &Path) -> Result<(), String> {
    let link = target.with_extension("expected.jsonl");
    fs::hard_link(dump, &link).map_err(|error| format!("cannot link {}: {error}", link.display()))
}

/// Alternates between the ways to write a file.
#[derive(Default)]
struct Ways {
    turn: usize,
    taken: [u64; COMPRESSIONS.len() * ROWS.len()],
}

impl Ways {
    /// The ways for the next file.
    fn next(&mut self, all: bool) -> Vec<(&'static str, &'static str)> {
        let all_ways = || COMPRESSIONS.iter().flat_map(|one| ROWS.iter().map(move |rows| (*one, *rows)));
        let count = self.taken.len();
        // Three of twelve, which differ in compression and rows, as 5 and 12 have no common factor.
        let selected = [0, 1, 2].map(|step| (self.turn + 5 * step) % count);
        self.turn += 1;
        let ways = all_ways().zip(&mut self.taken).enumerate();
        let ways = ways.filter(|(index, _)| all || selected.contains(index));
        ways.map(|(_, (way, taken))| {
            *taken += 1;
            way
        })
        .collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.taken.contains(&0) {
            return Err("too few files to use every way of writing".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_between_all_ways() {
        let mut ways = Ways::default();
        assert!(ways.check().is_err());
        for _ in 0..12 {
            let three = ways.next(false);
            assert_eq!(three.len(), 3);
            assert!(three.iter().any(|way| way.0 != three[0].0));
        }
        assert_eq!(ways.taken, [3; 12]);
        ways.check().unwrap();
        assert_eq!(ways.next(true).len(), 12);
    }
}
