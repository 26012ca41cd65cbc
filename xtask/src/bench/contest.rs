//! Shared by the benchmarks against references: timings and results per contestant and task, and the rows of the table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use tempfile::TempDir;

use super::table::{self, Row, median};
use crate::shell;

/// Where files are created if possible: a disk would distort the timings.
const MEMORY: &str = "/dev/shm";

/// The contestant that is this workspace.
pub(super) const OURS: &str = "ours";

/// Amount of work and output format.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; in each, every reference runs every task once, and ours run several times
    #[arg(long, value_name = "R", default_value_t = 3)]
    rounds: u32,
    /// Small files and one round, to check assertions only
    #[arg(long)]
    pub(super) quick: bool,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
}

impl Options {
    /// One small round, to check assertions.
    pub(super) const SMOKE: Self = Self { rounds: 1, quick: true, json: false };

    pub(super) fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    /// Prints the results; `sizes` describes the data.
    pub(super) fn show(&self, bench: &Bench, contests: &[Contest], sizes: &str) -> Result<(), String> {
        let rows = contests.iter().map(|contest| bench.row(contest)).collect::<Result<Vec<_>, _>>()?;
        self.print(&rows, sizes);
        Ok(())
    }

    /// Prints rows.
    pub(super) fn print(&self, rows: &[Row], sizes: &str) {
        if self.quick {
            println!("smoke run: all results agree ({} timings taken, not meaningful)", rows.len());
            return;
        }
        if !self.json {
            let (rounds, cores) = (self.rounds(), std::thread::available_parallelism().map_or(0, usize::from));
            println!("{sizes}{rounds} rounds, {cores} cores; medians; ratio: how many times faster ours is");
        }
        table::print(rows, self.json);
    }
}

/// A row of the table: our task, the contestant and task it is compared with, and the minimum ratio.
pub(super) struct Contest {
    pub(super) label: &'static str,
    pub(super) work: &'static str,
    pub(super) beside: &'static str,
    pub(super) who: &'static str,
    pub(super) theirs: &'static str,
    pub(super) target: Option<f64>,
}

/// A temporary directory, in memory where possible, otherwise in the target directory.
pub(super) fn bench_directory(name: &str) -> Result<TempDir, String> {
    let mut parent = PathBuf::from(MEMORY);
    if !parent.is_dir() {
        parent = shell::target()?.join("bench").join(name);
        shell::make_directory(&parent)?;
    }
    let directory = tempfile::Builder::new().prefix("wharf-bench-").tempdir_in(&parent);
    directory.map_err(|error| format!("cannot create a directory in {}: {error}", parent.display()))
}

/// All timings, by contestant and task.
#[derive(Default)]
pub(super) struct Bench {
    seconds: BTreeMap<(&'static str, String), Vec<f64>>,
    /// The result of each task, which must be the same for all contestants.
    results: BTreeMap<String, Value>,
}

impl Bench {
    /// Adds the lines that a contestant printed.
    pub(super) fn take(&mut self, who: &'static str, lines: &str) -> Result<(), String> {
        for line in lines.lines() {
            let invalid = || format!("{who} printed \"{line}\"");
            let entry: Value = serde_json::from_str(line).map_err(|_| invalid())?;
            let work = entry.get("work").and_then(Value::as_str).ok_or_else(invalid)?;
            let seconds = entry.get("seconds").and_then(Value::as_f64).ok_or_else(invalid)?;
            let result = entry.get("result").filter(|result| !result.is_null()).ok_or_else(invalid)?;
            let first = self.results.entry(work.to_owned()).or_insert_with(|| result.clone());
            if first != result {
                return Err(format!("{work}: {who} returns {result}, another contestant {first}"));
            }
            self.seconds.entry((who, work.to_owned())).or_default().push(seconds);
        }
        Ok(())
    }

    /// Checks that the tasks of each group have the same result.
    pub(super) fn check(&self, same: &[&[&str]]) -> Result<(), String> {
        for works in same {
            let mut results = works.iter().map(|work| self.results.get(*work));
            let first = results.next().flatten();
            if first.is_none() || results.any(|result| result != first) {
                return Err(format!("results of {} differ", works.join(", ")));
            }
        }
        Ok(())
    }

    fn median(&self, who: &'static str, work: &str) -> Result<f64, String> {
        let seconds = self.seconds.get(&(who, work.to_owned()));
        seconds.and_then(|seconds| median(seconds.clone())).ok_or_else(|| format!("{work} was not measured with {who}"))
    }

    pub(super) fn row(&self, contest: &Contest) -> Result<Row, String> {
        let (theirs, ours) = (self.median(contest.who, contest.theirs)?, self.median(OURS, contest.work)?);
        let (work, beside) = (contest.label.to_owned(), contest.beside.to_owned());
        Ok(Row { work, beside, theirs, ours, unit: "s", ratio: theirs / ours, target: contest.target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME: &[&[&str]] = &[&["touch", "touch views"], &["decode"]];
    const CONTEST: Contest =
        Contest { label: "touch", work: "touch", beside: "Python", who: "python", theirs: "touch", target: Some(50.0) };

    fn line(work: &str, seconds: f64, result: u64) -> String {
        format!("{{\"work\":\"{work}\",\"seconds\":{seconds},\"result\":{result}}}\n")
    }

    #[test]
    fn rejects_results_that_differ() {
        let mut bench = Bench::default();
        bench.take(OURS, &line("touch", 1.0, 7)).unwrap();
        bench.take("python", &line("touch", 60.0, 7)).unwrap();
        let error = bench.take("python", &line("touch", 60.0, 8)).unwrap_err();
        assert_eq!(error, "touch: python returns 8, another contestant 7");
        assert!(bench.take("python", "nothing").is_err());
        assert!(bench.check(SAME).is_err(), "tasks are missing");
        let row = bench.row(&CONTEST).unwrap();
        assert_eq!((row.ratio, row.met()), (60.0, Some(true)));
        assert!(bench.row(&Contest { work: "decode", ..CONTEST }).is_err());
    }

    #[test]
    fn compares_tasks_of_a_group() {
        let mut bench = Bench::default();
        for works in SAME {
            works.iter().for_each(|work| bench.take(OURS, &line(work, 1.0, 7)).unwrap());
        }
        bench.check(SAME).unwrap();
        bench.results.insert("touch views".to_owned(), 8.into());
        assert!(bench.check(SAME).unwrap_err().contains("touch views"));
    }
}
