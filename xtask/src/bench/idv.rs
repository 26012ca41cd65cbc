//! Reading IDV files against ML.NET, on a table that its driver writes; processes alternate in every round.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::idv_write::Writing;
use super::table::{self, Row, median};
use crate::mlnet::MlNet;
use crate::shell;

/// Amount of work and output format.
#[derive(Args)]
pub(crate) struct Options {
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rows: u64,
    /// Rounds; in each, every process runs once
    #[arg(long, value_name = "R", default_value_t = 5)]
    runs: u32,
    /// Only reading or only writing
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// JSON lines instead of a table
    #[arg(long)]
    json: bool,
    /// Check assertions only, without showing timings.
    #[arg(skip)]
    smoke: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Reading,
    Writing,
}

impl Options {
    /// The smallest run that performs every check.
    pub(crate) fn smoke() -> Self {
        Self { rows: 20_000, runs: 1, only: None, json: false, smoke: true }
    }
}

/// Repetitions in one process; the first is a warm-up and does not count.
pub(super) const REPEATS: &str = "4";

/// Inflate backends and the crate features that select them. Targets apply to the first, the default.
const BACKENDS: [(&str, &str); 2] = [("miniz", "parallel"), ("zlib-rs", "zlib-rs,parallel")];

const COLUMNS: [&str; 4] = ["Price", "Name", "Number", "Features"];

/// The column that is compared with a plain copy of its bytes.
const FIXED: &str = "Number";

pub(crate) fn run(mlnet: &MlNet, options: &Options) -> Result<(), String> {
    let mut bench = Bench { backends: Vec::new(), samples: HashMap::new(), results: HashMap::new() };
    for (name, features) in BACKENDS {
        bench.backends.push((name, super::program("idv", "scan", features, options.smoke)?));
    }
    let directory = files(mlnet, options.rows, &["deflate", "none"])?;
    let (deflate, none) = (directory.join("bench-deflate.idv"), directory.join("bench-none.idv"));
    let selected = |part| options.only.is_none_or(|only| only == part);
    let writing = if selected(Part::Writing) { Some(Writing::new(&deflate, options.smoke)?) } else { None };
    for round in 1..=options.runs {
        eprintln!("round {round} of {}", options.runs);
        if selected(Part::Reading) {
            bench.round(mlnet, &deflate, &none)?;
        }
        if let Some(writing) = &writing {
            writing.round(&mut bench, mlnet)?;
        }
    }
    let mut rows = Vec::new();
    if selected(Part::Reading) {
        rows.extend(bench.rows(&deflate)?);
        // A tenth and ten times the rows: even the small file has more blocks than are decoded ahead.
        let small = files(mlnet, options.rows / 10, &["deflate"])?;
        let large = files(mlnet, options.rows * 10, &["deflate"])?;
        rows.push(bench.memory(&small.join("bench-deflate.idv"), &large.join("bench-deflate.idv"))?);
    }
    if let Some(writing) = &writing {
        rows.extend(writing.rows(&bench)?);
    }
    if options.smoke {
        println!("smoke run: all values agree with ML.NET ({} timings taken, not meaningful)", rows.len());
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

/// Lets ML.NET write the table with each compression, unless the file exists. Returns the directory.
pub(super) fn files(mlnet: &MlNet, rows: u64, compressions: &[&str]) -> Result<PathBuf, String> {
    let directory = shell::target()?.join(format!("bench/idv/{rows}"));
    for compression in compressions {
        let name = format!("bench-{compression}.idv");
        if directory.join(&name).exists() {
            continue;
        }
        eprintln!("ML.NET writes {rows} rows, {compression}");
        // Renamed when complete, as an existing file is not written again.
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

/// A measurement: contestant and task.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    who: &'static str,
    work: String,
}

pub(super) struct Bench {
    backends: Vec<(&'static str, PathBuf)>,
    /// Seconds, or another quantity, of all counted repetitions.
    samples: HashMap<Key, Vec<f64>>,
    /// Results per task, which must be the same for all contestants.
    results: HashMap<String, Value>,
}

/// Arguments of our benchmark that select threads or positional reads.
pub(super) const ALL_CORES: &str = "";
pub(super) const ONE_THREAD: &str = "--threads 1";
const POSITIONAL: &str = "--positional";

impl Bench {
    fn round(&mut self, mlnet: &MlNet, deflate: &Path, none: &Path) -> Result<(), String> {
        for (name, file) in [("deflate", deflate), ("none", none)] {
            self.mlnet(mlnet, name, file, None)?;
            for index in 0..self.backends.len() {
                // Uncompressed files do not use the backend.
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

    /// Runs a process, keeps one field of its counted repetitions as samples, and compares others with previous results.
    pub(super) fn measure(
        &mut self,
        process: &mut Command,
        who: &'static str,
        work: &str,
        equal: &[(&str, &str)],
        sample: &str,
    ) -> Result<Vec<Value>, String> {
        let command_line = shell::command_line(process);
        let mut lines = json_lines(process)?;
        for line in &lines {
            for (field, name) in equal {
                let value = line.get(*field).ok_or_else(|| format!("`{command_line}` printed no {field}"))?;
                let first = self.results.entry(format!("{field} of {name}")).or_insert_with(|| value.clone());
                if first != value {
                    return Err(format!("`{command_line}` has {field} {value}, another reader {first}"));
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

    /// Adds a sample measured elsewhere.
    pub(super) fn sample(&mut self, who: &'static str, work: &str, value: f64) {
        self.samples.entry(Key { who, work: work.to_owned() }).or_default().push(value);
    }

    /// Reads a written file and checks its values against the results of `work`.
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
            let (all_cores, one_thread) = if index == 0 { (Some(2.3), Some(0.75)) } else { (None, None) };
            rows.push(beside_mlnet(
                format!("DEFLATE, all columns, all cores, {who}"),
                None,
                "deflate",
                who,
                ALL_CORES,
                all_cores,
            )?);
            rows.push(beside_mlnet(
                format!("DEFLATE, all columns, one thread, {who}"),
                None,
                "deflate",
                who,
                ONE_THREAD,
                one_thread,
            )?);
            for (way, label) in [(ALL_CORES, "all cores"), (ONE_THREAD, "one thread")] {
                let theirs = self.median(who, &format!("inflate {way}"))?;
                let ours = self.median(who, &format!("{} {way}", work("deflate", None)))?;
                let target = (index == 0 && way == ALL_CORES).then_some(0.8);
                rows.push(seconds(format!("DEFLATE, {label}, {who}"), "flate2 inflating alone", theirs, ours, target));
            }
        }
        let (who, executable) = self.backends.first().ok_or("no backend")?;
        let positional = "DEFLATE, all columns, positional reads";
        rows.push(beside_mlnet(positional.to_owned(), None, "deflate", who, POSITIONAL, None)?);
        let none = |label: &str| format!("uncompressed, all columns, {label}");
        rows.push(beside_mlnet(none("all cores"), None, "none", who, ALL_CORES, Some(5.0))?);
        rows.push(beside_mlnet(none("one thread"), None, "none", who, ONE_THREAD, None)?);
        rows.push(beside_mlnet(none("positional reads"), None, "none", who, POSITIONAL, None)?);
        for column in COLUMNS {
            let work = format!("DEFLATE, column {column}, all cores");
            rows.push(beside_mlnet(work, Some(column), "deflate", who, ALL_CORES, None)?);
        }
        rows.extend(self.shares(who, executable, deflate)?);
        for (way, label) in [(ALL_CORES, "all cores"), (ONE_THREAD, "one thread")] {
            let (copy, fixed) =
                (self.median("copy", &format!("fixed {way}"))?, self.median(who, &format!("fixed {way}"))?);
            let work = format!("uncompressed, column {FIXED}, {label}");
            rows.push(seconds(work, "plain copy", copy, fixed, Some(1.0 / 1.5)));
        }
        Ok(rows)
    }

    /// Single columns against all columns, on one thread: each takes about its share of the bytes, though columns inflate at different speeds,
    /// and their sum is no more than the whole.
    fn shares(&self, who: &'static str, executable: &Path, deflate: &Path) -> Result<Vec<Row>, String> {
        let mut bytes = Vec::new();
        for column in COLUMNS {
            let mut inflate = shell::program(executable);
            inflate.arg("inflate").arg(deflate).args(["--columns", column]);
            let lines = json_lines(&mut inflate)?;
            bytes.push(number(lines.first().ok_or("the benchmark `scan` printed nothing")?, "bytes")?);
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

    /// Peak memory of reading a file and one with a hundred times the rows. Positional reads, as pages of a mapped file would count.
    fn memory(&self, small: &Path, large: &Path) -> Result<Row, String> {
        let (_, executable) = self.backends.first().ok_or("no backend")?;
        let peak = |file: &Path| {
            let mut peaks = Vec::new();
            for _ in 0..3 {
                let mut scan = shell::program(executable);
                scan.arg("read").arg(file).arg(POSITIONAL);
                let lines = json_lines(&mut scan)?;
                peaks.push(number(lines.first().ok_or("the benchmark `scan` printed nothing")?, "peak_kb")? / 1024.0);
            }
            median(peaks).ok_or_else(|| "no peak was measured".to_owned())
        };
        let (theirs, ours) = (peak(small)?, peak(large)?);
        let work = "peak memory, DEFLATE, all columns".to_owned();
        let beside = "1/100 of the rows".to_owned();
        // Tolerates a few MiB: the small file may not fill the queue of blocks decoded ahead.
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
    let command_line = shell::command_line(process);
    let output = shell::output(process)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{command_line}` ended with {}: {}", output.status, stderr.trim_end()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    lines.map_err(|error| format!("`{command_line}` printed invalid JSON: {error}"))
}

pub(super) fn number(line: &Value, field: &str) -> Result<f64, String> {
    line.get(field).and_then(Value::as_f64).ok_or_else(|| format!("no number {field} in {line}"))
}
