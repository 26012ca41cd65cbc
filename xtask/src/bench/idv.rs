//! IDV files beside ML.NET, on the table that its driver writes: processes take turns, round after round.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::idv_write::Writing;
use super::table::{self, Row, median};
use crate::mlnet::MlNet;
use crate::shell;

/// How much, and how it is shown.
#[derive(Args)]
pub(crate) struct Options {
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rows: u64,
    /// Rounds in which every process runs once
    #[arg(long, value_name = "R", default_value_t = 5)]
    runs: u32,
    /// Only reading, or only writing
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
    /// The figures mean nothing, and are not shown.
    #[arg(skip)]
    smoke: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Reading,
    Writing,
}

impl Options {
    /// As little as lets every check happen.
    pub(crate) fn smoke() -> Self {
        Self { rows: 20_000, runs: 1, only: None, json: false, smoke: true }
    }
}

/// Repetitions in one process; the first one warms up and is not counted.
pub(super) const REPEATS: &str = "4";

/// The backends of inflate, by the features of the crate. The first is the default, and what the targets speak of.
const BACKENDS: [(&str, &str); 2] = [("miniz", "parallel"), ("zlib-rs", "zlib-rs,parallel")];

const COLUMNS: [&str; 4] = ["Price", "Name", "Number", "Features"];

/// The column that is read beside a plain copy of its bytes.
const FIXED: &str = "Number";

pub(crate) fn run(mlnet: &MlNet, options: &Options) -> Result<(), String> {
    let mut bench = Bench { backends: Vec::new(), samples: HashMap::new(), results: HashMap::new() };
    for (name, features) in BACKENDS {
        bench.backends.push((name, super::program("idv", "scan", features, options.smoke)?));
    }
    let directory = files(mlnet, options.rows, &["deflate", "none"])?;
    let (deflate, none) = (directory.join("bench-deflate.idv"), directory.join("bench-none.idv"));
    let wanted = |part| options.only.is_none_or(|only| only == part);
    let writing = if wanted(Part::Writing) { Some(Writing::new(&deflate, options.smoke)?) } else { None };
    for round in 1..=options.runs {
        eprintln!("round {round} of {}", options.runs);
        if wanted(Part::Reading) {
            bench.round(mlnet, &deflate, &none)?;
        }
        if let Some(writing) = &writing {
            writing.round(&mut bench, mlnet)?;
        }
    }
    let mut rows = Vec::new();
    if wanted(Part::Reading) {
        rows.extend(bench.rows(&deflate)?);
        // Ten times fewer and ten times more: the smaller one, too, has more blocks than are decoded ahead.
        let small = files(mlnet, options.rows / 10, &["deflate"])?;
        let large = files(mlnet, options.rows * 10, &["deflate"])?;
        rows.push(bench.memory(&small.join("bench-deflate.idv"), &large.join("bench-deflate.idv"))?);
    }
    if let Some(writing) = &writing {
        rows.extend(writing.rows(&bench)?);
    }
    if options.smoke {
        println!(
            "every way of reading and writing gave what ML.NET read ({} figures taken, which mean nothing here)",
            rows.len()
        );
        return Ok(());
    }
    if !options.json {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!(
            "{} rows, {} rounds, {cores} cores; medians; ratio: how many times faster ours is",
            options.rows, options.runs
        );
    }
    table::print(&rows, options.json);
    Ok(())
}

/// The table in a file of each compression, written by ML.NET unless it was before. Returns their directory.
pub(super) fn files(mlnet: &MlNet, rows: u64, compressions: &[&str]) -> Result<PathBuf, String> {
    let directory = shell::target()?.join(format!("bench/idv/{rows}"));
    for compression in compressions {
        let name = format!("bench-{compression}.idv");
        if directory.join(&name).exists() {
            continue;
        }
        eprintln!("ML.NET writes {rows} rows, {compression}");
        // Whole or absent: a file that is there is not written again.
        let fresh = directory.join("fresh");
        shell::empty_directory(&fresh)?;
        let mut driver = mlnet.driver("bench-write");
        driver.arg(&fresh).arg(rows.to_string()).args(["--compression", compression]);
        shell::text(driver)?;
        let moved = std::fs::rename(fresh.join(&name), directory.join(&name));
        moved.map_err(|error| format!("cannot move {name} into {}: {error}", directory.display()))?;
    }
    Ok(directory)
}

/// What is measured: who, and which work on which file.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    who: &'static str,
    work: String,
}

pub(super) struct Bench {
    backends: Vec<(&'static str, PathBuf)>,
    /// Seconds, or what else was measured, of all counted repetitions.
    samples: HashMap<Key, Vec<f64>>,
    /// What has to be equal whoever does a work, by the work.
    results: HashMap<String, Value>,
}

/// The works that ML.NET does too: file, columns, and in which ways we do them (threads, or positional reading).
pub(super) const ALL_CORES: &str = "";
pub(super) const ONE_THREAD: &str = "--threads 1";
const POSITIONAL: &str = "--positional";

impl Bench {
    fn round(&mut self, mlnet: &MlNet, deflate: &Path, none: &Path) -> Result<(), String> {
        for (name, file) in [("deflate", deflate), ("none", none)] {
            self.mlnet(mlnet, name, file, None)?;
            for index in 0..self.backends.len() {
                // Without compression there is nothing to inflate: one backend will do.
                if index > 0 && name == "none" {
                    continue;
                }
                for way in [ALL_CORES, ONE_THREAD, POSITIONAL] {
                    self.read(index, name, file, None, way)?;
                }
            }
        }
        for column in COLUMNS {
            self.mlnet(mlnet, "deflate", deflate, Some(column))?;
            for way in [ALL_CORES, ONE_THREAD] {
                self.read(0, "deflate", deflate, Some(column), way)?;
            }
        }
        for index in 0..self.backends.len() {
            for way in [ALL_CORES, ONE_THREAD] {
                let mut inflate = self.ours(index, "inflate", deflate, way)?;
                self.measure(&mut inflate.1, inflate.0, &format!("inflate {way}"), &[("bytes", "inflate")], "seconds")?;
            }
        }
        for way in [ALL_CORES, ONE_THREAD] {
            let (who, mut fixed) = self.ours(0, "fixed", none, way)?;
            fixed.args(["--columns", FIXED]);
            let lines = self.measure(&mut fixed, who, &format!("fixed {way}"), &[("bytes", "fixed")], "seconds")?;
            let copies = lines.iter().map(|line| number(line, "copy_seconds")).collect::<Result<Vec<_>, _>>()?;
            self.samples.entry(Key { who: "copy", work: format!("fixed {way}") }).or_default().extend(copies);
        }
        Ok(())
    }

    fn mlnet(&mut self, mlnet: &MlNet, name: &str, file: &Path, column: Option<&str>) -> Result<(), String> {
        let mut driver = mlnet.driver("bench-read");
        driver.arg(file).args(["--repeat", REPEATS]).args(column.iter().flat_map(|column| ["--columns", column]));
        let work = work(name, column);
        self.measure(&mut driver, "ML.NET", &work, &[("checksum", &work), ("rows", "rows")], "seconds").map(drop)
    }

    fn read(&mut self, index: usize, name: &str, file: &Path, column: Option<&str>, way: &str) -> Result<(), String> {
        let (who, mut scan) = self.ours(index, "read", file, way)?;
        scan.args(column.iter().flat_map(|column| ["--columns", column]));
        let work = work(name, column);
        let equal = [("checksum", work.as_str()), ("rows", "rows")];
        self.measure(&mut scan, who, &format!("{work} {way}"), &equal, "seconds").map(drop)
    }

    fn ours(&self, index: usize, work: &str, file: &Path, way: &str) -> Result<(&'static str, Command), String> {
        let (who, executable) = self.backends.get(index).ok_or("no such backend")?;
        let mut scan = shell::program(executable);
        scan.arg(work).arg(file).args(["--repeat", REPEATS]).args(way.split_whitespace());
        Ok((who, scan))
    }

    /// Runs a process, keeps one field of its counted repetitions as samples, and compares others with what was seen before.
    pub(super) fn measure(
        &mut self,
        process: &mut Command,
        who: &'static str,
        work: &str,
        equal: &[(&str, &str)],
        sample: &str,
    ) -> Result<Vec<Value>, String> {
        let shown = shell::command_line(process);
        let mut lines = json_lines(process)?;
        for line in &lines {
            for (field, name) in equal {
                let found = line.get(*field).ok_or_else(|| format!("`{shown}` printed no {field}"))?;
                let first = self.results.entry(format!("{field} of {name}")).or_insert_with(|| found.clone());
                if first != found {
                    return Err(format!("`{shown}` has the {field} {found}, another reader {first}"));
                }
            }
        }
        if lines.len() > 1 {
            lines.remove(0);
        }
        let values = lines.iter().map(|line| number(line, sample)).collect::<Result<Vec<_>, _>>()?;
        self.samples.entry(Key { who, work: work.to_owned() }).or_default().extend(values);
        Ok(lines)
    }

    /// Keeps a figure that somebody else measured.
    pub(super) fn sample(&mut self, who: &'static str, work: &str, value: f64) {
        self.samples.entry(Key { who, work: work.to_owned() }).or_default().push(value);
    }

    /// Reads a file that was written, whose values must be those that all others read as `work`.
    pub(super) fn check(&mut self, file: &Path, work: &str) -> Result<(), String> {
        let (who, executable) = self.backends.first().ok_or("no backend")?;
        let (who, mut scan) = (*who, shell::program(executable));
        scan.arg("read").arg(file);
        self.measure(&mut scan, who, "what was written", &[("checksum", work), ("rows", "rows")], "seconds").map(drop)
    }

    pub(super) fn median(&self, who: &'static str, work: &str) -> Result<f64, String> {
        let samples = self.samples.get(&Key { who, work: work.to_owned() });
        samples.and_then(|samples| median(samples.clone())).ok_or_else(|| format!("{work} was not measured with {who}"))
    }

    fn rows(&self, deflate: &Path) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        let beside_mlnet = |work: String, column: Option<&str>, name: &str, who, way: &str, target| {
            let theirs = self.median("ML.NET", &self::work(name, column))?;
            let ours = self.median(who, &format!("{} {way}", self::work(name, column)))?;
            Ok::<_, String>(seconds(work, "ML.NET", theirs, ours, target))
        };
        for (index, (who, _)) in self.backends.iter().enumerate() {
            let (two, one) = if index == 0 { (Some(2.3), Some(0.75)) } else { (None, None) };
            rows.push(beside_mlnet(
                format!("DEFLATE, all columns, all cores, {who}"),
                None,
                "deflate",
                who,
                ALL_CORES,
                two,
            )?);
            rows.push(beside_mlnet(
                format!("DEFLATE, all columns, one thread, {who}"),
                None,
                "deflate",
                who,
                ONE_THREAD,
                one,
            )?);
            for (way, words) in [(ALL_CORES, "all cores"), (ONE_THREAD, "one thread")] {
                let theirs = self.median(who, &format!("inflate {way}"))?;
                let ours = self.median(who, &format!("{} {way}", work("deflate", None)))?;
                let target = (index == 0 && way == ALL_CORES).then_some(0.8);
                rows.push(seconds(format!("DEFLATE, {words}, {who}"), "flate2 inflating alone", theirs, ours, target));
            }
        }
        let (who, executable) = self.backends.first().ok_or("no backend")?;
        let positional = "DEFLATE, all columns, positional reads";
        rows.push(beside_mlnet(positional.to_owned(), None, "deflate", who, POSITIONAL, None)?);
        let none = |words: &str| format!("uncompressed, all columns, {words}");
        rows.push(beside_mlnet(none("all cores"), None, "none", who, ALL_CORES, Some(5.0))?);
        rows.push(beside_mlnet(none("one thread"), None, "none", who, ONE_THREAD, None)?);
        rows.push(beside_mlnet(none("positional reads"), None, "none", who, POSITIONAL, None)?);
        for column in COLUMNS {
            let work = format!("DEFLATE, column {column}, all cores");
            rows.push(beside_mlnet(work, Some(column), "deflate", who, ALL_CORES, None)?);
        }
        rows.extend(self.shares(who, executable, deflate)?);
        for (way, words) in [(ALL_CORES, "all cores"), (ONE_THREAD, "one thread")] {
            let (copy, fixed) =
                (self.median("copy", &format!("fixed {way}"))?, self.median(who, &format!("fixed {way}"))?);
            let work = format!("uncompressed, column {FIXED}, {words}");
            rows.push(seconds(work, "plain copy", copy, fixed, Some(1.0 / 1.5)));
        }
        Ok(rows)
    }

    /// Columns alone beside all together, by one thread: each costs about its share of the bytes (columns compress, and so
    /// inflate, differently), and their sum is no more than the whole.
    fn shares(&self, who: &'static str, executable: &Path, deflate: &Path) -> Result<Vec<Row>, String> {
        let mut bytes = Vec::new();
        for column in COLUMNS {
            let mut inflate = shell::program(executable);
            inflate.arg("inflate").arg(deflate).args(["--columns", column]);
            let lines = json_lines(&mut inflate)?;
            bytes.push(number(lines.first().ok_or("the benchmark scan printed nothing")?, "bytes")?);
        }
        let all: f64 = bytes.iter().sum();
        let whole = self.median(who, &format!("{} {ONE_THREAD}", work("deflate", None)))?;
        let (mut rows, mut sum) = (Vec::new(), 0.0);
        for (column, bytes) in COLUMNS.iter().zip(bytes) {
            let ours = self.median(who, &format!("{} {ONE_THREAD}", work("deflate", Some(column))))?;
            let share = bytes / all;
            let beside = format!("{:.1} % (its bytes) of all", 100.0 * share);
            rows.push(seconds(
                format!("DEFLATE, column {column}, one thread"),
                &beside,
                whole * share,
                ours,
                Some(0.5),
            ));
            sum += ours;
        }
        rows.push(seconds("DEFLATE, the four one by one, one thread".to_owned(), "all at once", whole, sum, Some(0.9)));
        Ok(rows)
    }

    /// The most memory of a process that reads a file, and one with a hundred times more rows. Read by position: pages of a
    /// mapped file would count.
    fn memory(&self, small: &Path, large: &Path) -> Result<Row, String> {
        let (_, executable) = self.backends.first().ok_or("no backend")?;
        let peak = |file: &Path| {
            let mut peaks = Vec::new();
            for _ in 0..3 {
                let mut scan = shell::program(executable);
                scan.arg("read").arg(file).arg(POSITIONAL);
                let lines = json_lines(&mut scan)?;
                peaks.push(number(lines.first().ok_or("the benchmark scan printed nothing")?, "peak_kb")? / 1024.0);
            }
            median(peaks).ok_or_else(|| "no peak was measured".to_owned())
        };
        let (theirs, ours) = (peak(small)?, peak(large)?);
        let work = "peak memory, DEFLATE, all columns".to_owned();
        let beside = "1/100 of the rows".to_owned();
        // The small file has too few blocks to fill the queue of those decoded ahead: a few MiB of difference are its.
        Ok(Row { work, beside, theirs, ours, unit: "MiB", ratio: theirs / ours, target: Some(0.8) })
    }
}

fn work(file: &str, column: Option<&str>) -> String {
    format!("{file} {}", column.unwrap_or("all"))
}

pub(super) fn seconds(work: String, beside: &str, theirs: f64, ours: f64, target: Option<f64>) -> Row {
    Row { work, beside: beside.to_owned(), theirs, ours, unit: "s", ratio: theirs / ours, target }
}

pub(super) fn json_lines(process: &mut Command) -> Result<Vec<Value>, String> {
    let shown = shell::command_line(process);
    let output = shell::output(process)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` ended with {}: {}", output.status, said.trim_end()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    lines.map_err(|error| format!("`{shown}` printed something that is not JSON: {error}"))
}

pub(super) fn number(line: &Value, field: &str) -> Result<f64, String> {
    line.get(field).and_then(Value::as_f64).ok_or_else(|| format!("no number {field} in {line}"))
}
