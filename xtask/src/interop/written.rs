//! What we write, read by ML.NET: its own files written again in every way, files from nothing, files joined, and files of
//! versions that it does not read any more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::mlnet::MlNet;
use crate::shell;

const COMPRESSIONS: [&str; 3] = ["none", "deflate", "zlib"];

/// Rows per block: of the last, all in one.
const ROWS: [&str; 4] = ["1", "7", "8192", "all"];

/// Files up to so many bytes are written again in each of the twelve ways, larger ones in three that take turns.
const SMALL: u64 = 4096;

/// Files whose rows per block ML.NET decides by bytes.
const LAYOUTS: u64 = 100;

/// The column of the files of older versions whose times .NET cannot hold, as they are before year 1 in UTC.
const NO_TIME: &str = "time";

/// Runs all of it over the directories of files with dumps, in a place to work in.
pub(super) fn run(mlnet: &MlNet, sources: &[&Path], work: &Path, seed: u64, count: u64) -> Result<(), String> {
    let all = Written { mlnet, program: shell::test_build("idv-rewrite")?, work };
    all.again(sources)?;
    all.generated(seed, count)?;
    all.merged(sources)?;
    all.older()?;
    all.layouts(seed)
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

    /// An empty directory below the place to work in.
    fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.work.join(name);
        shell::empty_directory(&directory)?;
        Ok(directory)
    }

    /// Lets ML.NET dump every file of a directory, and holds the dumps against those that are expected.
    fn compare(&self, name: &str, directory: &Path) -> Result<(), String> {
        let dumps = self.directory(&format!("{name}-dumps"))?;
        let mut driver = self.mlnet.driver("dump-many");
        driver.arg(&dumps).args(shell::files_with_extension(directory, "idv")?);
        let refused = shell::text(driver)?;
        if !refused.is_empty() {
            return Err(format!("ML.NET cannot read files in {}:\n{}", directory.display(), refused.trim_end()));
        }
        let mut compare = self.rewrite("compare");
        compare.arg(directory).arg(&dumps);
        shell::run(compare).map_err(|error| format!("not every value is what was written: {error}"))?;
        shell::empty_directory(&dumps)
    }

    /// Files that ML.NET wrote, read by us and written again.
    fn again(&self, sources: &[&Path]) -> Result<(), String> {
        let directory = self.directory("again")?;
        let mut ways = Ways::default();
        for source in files(sources)? {
            let len = fs::metadata(&source).map_or(u64::MAX, |metadata| metadata.len());
            for (compression, rows) in ways.next(len <= SMALL) {
                let target = directory.join(format!("{}.{compression}-{rows}.idv", stem(&source)));
                let mut again = self.rewrite("again");
                again.args(["--compression", compression, "--rows", rows]);
                // Of files with zlib, every other has one column left that ML.NET can read.
                if compression == "zlib" && ways.turn.is_multiple_of(2) {
                    again.args(["--first", "deflate"]);
                }
                shell::run(into(again, &source, &target))?;
                link(&source.with_extension("expected.jsonl"), &target)?;
            }
        }
        ways.check()?;
        self.compare("again", &directory)
    }

    /// Files that were made from nothing.
    fn generated(&self, seed: u64, count: u64) -> Result<(), String> {
        let directory = self.directory("ours")?;
        let mut generate = self.rewrite("generate");
        generate.args(["--seed", &seed.to_string(), "--count", &count.to_string()]).arg(&directory);
        shell::run(generate)?;
        self.compare("ours", &directory)
    }

    /// Files cut in two and joined, at the end of a block or not.
    fn merged(&self, sources: &[&Path]) -> Result<(), String> {
        let (directory, parts) = (self.directory("merged")?, self.directory("parts")?);
        let (mut carried, mut encoded) = (0, 0);
        for (index, source) in (0_u64..).zip(files(sources)?) {
            let halves = [0, 1].map(|half| parts.join(format!("{}.{half}.idv", stem(&source))));
            let at = (7 * (index % 50) + u64::from(index.is_multiple_of(3))).to_string();
            for (half, option) in halves.iter().zip(["--take", "--skip"]) {
                let mut again = self.rewrite("again");
                again.args([option, &at, "--rows", "7"]);
                shell::run(into(again, &source, half))?;
            }
            let target = directory.join(format!("{}.idv", stem(&source)));
            let mut merge = self.rewrite("merge");
            merge.arg(&target).args(&halves);
            let told: Value = serde_json::from_str(&shell::text(merge)?).map_err(|error| error.to_string())?;
            carried += told.get("carried").and_then(Value::as_u64).unwrap_or(0);
            encoded += told.get("encoded").and_then(Value::as_u64).unwrap_or(0);
            link(&source.with_extension("expected.jsonl"), &target)?;
        }
        if carried == 0 || encoded == 0 {
            return Err(format!(
                "of blocks joined, {carried} were carried over and {encoded} encoded: both are wanted"
            ));
        }
        println!("joined: {carried} blocks carried over, {encoded} encoded again");
        self.compare("merged", &directory)
    }

    /// Files of the versions 1.1.1.1 to 1.1.1.5, most of which ML.NET does not read, as files of version 1.1.1.6.
    fn older(&self) -> Result<(), String> {
        let directory = self.directory("upgraded")?;
        for source in files(&[&shell::root().join("tests/golden/idv-older")])? {
            let target = directory.join(shell::file_name(&source));
            let mut again = self.rewrite("again");
            again.args(["--compression", "deflate", "--without", NO_TIME]);
            shell::run(into(again, &source, &target))?;
            let mut show = self.rewrite("show");
            show.args(["--without", NO_TIME]);
            shell::run(into(show, &source, &target.with_extension("expected.jsonl")))?;
        }
        self.compare("upgraded", &directory)
    }

    /// Rows per block where bytes decide them: as many as ML.NET chooses for the same rows.
    fn layouts(&self, seed: u64) -> Result<(), String> {
        let directory = self.directory("layouts")?;
        let mut driver = self.mlnet.driver("layouts");
        driver.args(["--seed", &seed.to_string(), "--count", &LAYOUTS.to_string()]).arg(&directory);
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

/// Puts the dump that is expected beside a file.
fn link(dump: &Path, target: &Path) -> Result<(), String> {
    let place = target.with_extension("expected.jsonl");
    fs::hard_link(dump, &place).map_err(|error| format!("cannot link {}: {error}", place.display()))
}

/// Takes turns with the ways to write a file.
#[derive(Default)]
struct Ways {
    turn: usize,
    taken: [u64; COMPRESSIONS.len() * ROWS.len()],
}

impl Ways {
    /// The ways for the next file.
    fn next(&mut self, all: bool) -> Vec<(&'static str, &'static str)> {
        let every = || COMPRESSIONS.iter().flat_map(|one| ROWS.iter().map(move |rows| (*one, *rows)));
        let count = self.taken.len();
        // Three of twelve, another compression and other rows each: five has no factor in common with twelve.
        let picked = [0, 1, 2].map(|step| (self.turn + 5 * step) % count);
        self.turn += 1;
        let ways = every().zip(&mut self.taken).enumerate();
        let ways = ways.filter(|(place, _)| all || picked.contains(place));
        ways.map(|(_, (way, taken))| {
            *taken += 1;
            way
        })
        .collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.taken.contains(&0) {
            return Err("not every way to write a file was taken: there are too few files".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_its_turn() {
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
