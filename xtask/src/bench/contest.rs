//! What the benchmarks beside Python share: who took how long for which work, what it came to, and the lines of the table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use tempfile::TempDir;

use super::table::{self, Row, median};
use crate::shell;

/// Files are made here where that is memory: disks measure themselves.
const MEMORY: &str = "/dev/shm";

/// Whose works are ours.
pub(super) const OURS: &str = "ours";

/// How much, and how it is shown.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds in which everybody does every work once, and we each of ours several times
    #[arg(long, value_name = "R", default_value_t = 3)]
    rounds: u32,
    /// Small files, one round: for what is asserted, and not for the figures
    #[arg(long)]
    pub(super) quick: bool,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
}

impl Options {
    /// A small round, for what it asserts.
    pub(super) const SMOKE: Self = Self { rounds: 1, quick: true, json: false };

    pub(super) fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    /// What the contests came to; `sizes` says what they were held on.
    pub(super) fn show(&self, bench: &Bench, contests: &[Contest], sizes: &str) -> Result<(), String> {
        let rows = contests.iter().map(|contest| bench.row(contest)).collect::<Result<Vec<_>, _>>()?;
        self.print(&rows, sizes);
        Ok(())
    }

    /// The lines themselves.
    pub(super) fn print(&self, rows: &[Row], sizes: &str) {
        if self.quick {
            println!(
                "every work came to the same wherever it was done ({} figures, which mean nothing here)",
                rows.len()
            );
            return;
        }
        if !self.json {
            let (rounds, cores) = (self.rounds(), std::thread::available_parallelism().map_or(0, usize::from));
            println!("{sizes}{rounds} rounds, {cores} cores; medians; ratio: how many times faster ours is");
        }
        table::print(rows, self.json);
    }
}

/// A line of the table: our work, and who did which other work, and the least ratio.
pub(super) struct Contest {
    pub(super) words: &'static str,
    pub(super) work: &'static str,
    pub(super) beside: &'static str,
    pub(super) who: &'static str,
    pub(super) theirs: &'static str,
    pub(super) target: Option<f64>,
}

/// A directory in memory where there is such a place, that goes away again; else below the target directory.
pub(super) fn place(name: &str) -> Result<TempDir, String> {
    let mut parent = PathBuf::from(MEMORY);
    if !parent.is_dir() {
        parent = shell::target()?.join("bench").join(name);
        shell::make_directory(&parent)?;
    }
    let made = tempfile::Builder::new().prefix("wharf-bench-").tempdir_in(&parent);
    made.map_err(|error| format!("cannot make a directory in {}: {error}", parent.display()))
}

/// All that was measured, by who did it and the work.
#[derive(Default)]
pub(super) struct Bench {
    seconds: BTreeMap<(&'static str, String), Vec<f64>>,
    /// What a work came to, whoever did it.
    results: BTreeMap<String, Value>,
}

impl Bench {
    /// Takes the lines that somebody printed.
    pub(super) fn take(&mut self, who: &'static str, lines: &str) -> Result<(), String> {
        for line in lines.lines() {
            let wrong = || format!("{who} printed \"{line}\"");
            let told: Value = serde_json::from_str(line).map_err(|_| wrong())?;
            let work = told.get("work").and_then(Value::as_str).ok_or_else(wrong)?;
            let seconds = told.get("seconds").and_then(Value::as_f64).ok_or_else(wrong)?;
            let result = told.get("result").filter(|result| !result.is_null()).ok_or_else(wrong)?;
            let first = self.results.entry(work.to_owned()).or_insert_with(|| result.clone());
            if first != result {
                return Err(format!("{work}: {who} comes to {result}, and somebody before to {first}"));
            }
            self.seconds.entry((who, work.to_owned())).or_default().push(seconds);
        }
        Ok(())
    }

    /// Works that are the same by another name have come to the same.
    pub(super) fn check(&self, same: &[&[&str]]) -> Result<(), String> {
        for works in same {
            let mut results = works.iter().map(|work| self.results.get(*work));
            let first = results.next().flatten();
            if first.is_none() || results.any(|result| result != first) {
                return Err(format!("not all of {} came to the same", works.join(", ")));
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
        let (work, beside) = (contest.words.to_owned(), contest.beside.to_owned());
        Ok(Row { work, beside, theirs, ours, unit: "s", ratio: theirs / ours, target: contest.target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME: &[&[&str]] = &[&["touch", "touch views"], &["decode"]];
    const CONTEST: Contest =
        Contest { words: "touch", work: "touch", beside: "Python", who: "python", theirs: "touch", target: Some(50.0) };

    fn line(work: &str, seconds: f64, result: u64) -> String {
        format!("{{\"work\":\"{work}\",\"seconds\":{seconds},\"result\":{result}}}\n")
    }

    #[test]
    fn results_have_to_agree() {
        let mut bench = Bench::default();
        bench.take(OURS, &line("touch", 1.0, 7)).unwrap();
        bench.take("python", &line("touch", 60.0, 7)).unwrap();
        let told = bench.take("python", &line("touch", 60.0, 8)).unwrap_err();
        assert_eq!(told, "touch: python comes to 8, and somebody before to 7");
        assert!(bench.take("python", "nothing").is_err());
        assert!(bench.check(SAME).is_err(), "works are missing");
        let row = bench.row(&CONTEST).unwrap();
        assert_eq!((row.ratio, row.met()), (60.0, Some(true)));
        assert!(bench.row(&Contest { work: "decode", ..CONTEST }).is_err());
    }

    #[test]
    fn works_of_other_names_have_to_agree() {
        let mut bench = Bench::default();
        for works in SAME {
            works.iter().for_each(|work| bench.take(OURS, &line(work, 1.0, 7)).unwrap());
        }
        bench.check(SAME).unwrap();
        bench.results.insert("touch views".to_owned(), 8.into());
        assert!(bench.check(SAME).unwrap_err().contains("touch views"));
    }
}
