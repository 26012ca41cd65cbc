//! Conversions between containers and Parquet against ML.NET and pyarrow. The command `wharf` is timed as a whole process; the others report
//! the time of the conversion alone.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::contest::{Bench, Contest, OURS, Options, bench_directory};
use super::table::Row;
use super::{idv, peak};
use crate::mlnet::MlNet;
use crate::python::Python;
use crate::shell;

/// Rows of the ML.NET table, and number of documents.
const FULL: u64 = 1_000_000;
const QUICK: u64 = 20_000;

/// Rows of four 8-byte numbers in the largest file: 20 GB.
const FULL_LARGE: u64 = 625_000_000;
const QUICK_LARGE: u64 = 1_000_000;

/// Memory limit of a conversion, in MiB.
const MEMORY_LIMIT: f64 = 500.0;

/// Repetitions of each of our tasks in a round.
const REPEATS: u32 = 3;

const MLNET: &str = "ML.NET";
const PYARROW: &str = "pyarrow";

const fn beside(
    label: &'static str,
    work: &'static str,
    (beside, who, theirs): (&'static str, &'static str, &'static str),
    target: Option<f64>,
) -> Contest {
    Contest { label, work, beside, who, theirs, target }
}

/// Comparing two files takes at most 1.3 times as long as reading both.
const READING_BOTH: f64 = 1.0 / 1.3;

/// Measurably faster.
const FASTER: f64 = 1.01;

const READING: (&str, &str, &str) = ("ML.NET reading it", MLNET, "read idv");
const FROM_JSON: (&str, &str, &str) = ("pyarrow, JSON to Parquet", PYARROW, "documents to parquet");

const FROM_CSV: (&str, &str, &str) = ("pyarrow, CSV to Parquet", PYARROW, "csv to parquet");

const CONTESTS: [Contest; 9] = [
    beside("IDV to Parquet", "idv to parquet", READING, Some(FASTER)),
    beside("uncompressed IDV to Parquet", "plain idv to parquet", READING, None),
    beside("the Parquet file to IDV", "parquet to idv", READING, None),
    beside("ZDS to Parquet", "zds to parquet", FROM_JSON, Some(2.0)),
    beside("JSON lines to Parquet", "json to parquet", FROM_JSON, None),
    beside("CSV to Parquet", "csv to parquet", FROM_CSV, None),
    beside("uncompressed IDV to Arrow IPC", "plain idv to arrow", READING, None),
    beside("diff of IDV and Parquet", "diff", ("reading both", OURS, "read both"), Some(READING_BOTH)),
    beside("start and end", "start", ("Python with pyarrow", PYARROW, "start"), None),
];

pub(crate) fn run(mlnet: &MlNet, python: &Python, options: &Options) -> Result<(), String> {
    let rows = if options.quick { QUICK } else { FULL };
    let files = Files::create(mlnet, python, rows, options.quick)?;
    let mut bench = Bench::default();
    for round in 1..=options.rounds() {
        eprintln!("round {round} of {}", options.rounds());
        files.round(&mut bench, mlnet, python, if options.quick { 1 } else { REPEATS })?;
    }
    files.check(mlnet, python)?;
    let mut lines = CONTESTS.iter().map(|contest| bench.row(contest)).collect::<Result<Vec<_>, _>>()?;
    lines.extend(files.memory(python, if options.quick { QUICK_LARGE } else { FULL_LARGE })?);
    options.print(&lines, &format!("{rows} rows and documents, "));
    Ok(())
}

/// The program and its input files.
struct Files {
    wharf: PathBuf,
    /// The benchmark of comparing files.
    query: PathBuf,
    /// The table of ML.NET, compressed and uncompressed.
    deflate: PathBuf,
    none: PathBuf,
    /// Documents, and all output.
    directory: tempfile::TempDir,
    rows: u64,
}

impl Files {
    fn create(mlnet: &MlNet, python: &Python, rows: u64, smoke: bool) -> Result<Self, String> {
        let wharf = if smoke { shell::test_build("wharf")? } else { build_optimized()? };
        let tables = idv::files(mlnet, rows, &["deflate", "none"])?;
        let directory = bench_directory("arrow")?;
        let (deflate, none) = (tables.join("bench-deflate.idv"), tables.join("bench-none.idv"));
        let features = if smoke { super::TEST_FEATURE } else { "parallel,convert" };
        let query = super::program("wharf", "query", features, smoke)?;
        let files = Self { wharf, query, deflate, none, directory, rows };
        eprintln!("creating the documents in {}", files.directory.path().display());
        let mut make = python.script("arrow_bench.py", ["make".as_ref(), files.directory.path().as_os_str()]);
        make.args(["--documents", &rows.to_string()]);
        shell::run(make)?;
        shell::run_quietly(&mut files.convert(&files.path("documents.jsonl"), &files.path("documents.zds"), &[]))?;
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn convert(&self, from: &Path, to: &Path, arguments: &[&str]) -> Command {
        let mut wharf = shell::program(&self.wharf);
        wharf.arg("convert").args([from.as_os_str(), to.as_os_str()]).args(["--force", "--json"]).args(arguments);
        wharf
    }

    fn round(&self, bench: &mut Bench, mlnet: &MlNet, python: &Python, repeats: u32) -> Result<(), String> {
        let mut read = mlnet.driver("bench-read");
        read.arg(&self.deflate).args(["--repeat", idv::REPEATS]);
        // The first repetition warms up the runtime.
        for line in idv::json_lines(&mut read)?.iter().skip(1) {
            let rows = line.get("rows").cloned().unwrap_or_default();
            bench.take(MLNET, &result_line("read idv", idv::number(line, "seconds")?, &json!({ "rows": rows })))?;
        }
        let directory = self.directory.path().as_os_str();
        let mut theirs = python.script("arrow_bench.py", ["run".as_ref(), directory]);
        theirs.args(["--repeat", &repeats.to_string()]);
        bench.take(PYARROW, &shell::text(theirs)?)?;
        let begin = Instant::now();
        shell::run_quietly(&mut python.script("arrow_bench.py", ["start"]))?;
        bench.take(PYARROW, &result_line("start", begin.elapsed().as_secs_f64(), &json!("started")))?;
        let works = [
            ("idv to parquet", self.deflate.clone(), "idv.parquet"),
            ("plain idv to parquet", self.none.clone(), "plain.parquet"),
            ("plain idv to arrow", self.none.clone(), "plain.arrow"),
            ("parquet to idv", self.path("idv.parquet"), "back.idv"),
            ("zds to parquet", self.path("documents.zds"), "zds.parquet"),
            ("json to parquet", self.path("documents.jsonl"), "json.parquet"),
            ("csv to parquet", self.path("table.csv"), "csv.parquet"),
        ];
        for _ in 0..repeats {
            let begin = Instant::now();
            shell::run_quietly(shell::program(&self.wharf).arg("--version"))?;
            bench.take(OURS, &result_line("start", begin.elapsed().as_secs_f64(), &json!("started")))?;
            for (work, from, to) in &works {
                let mut convert = self.convert(from, &self.path(to), &[]);
                let begin = Instant::now();
                let lines = idv::json_lines(&mut convert)?;
                let seconds = begin.elapsed().as_secs_f64();
                let rows = lines.first().and_then(|line| line.get("rows")).cloned().unwrap_or_default();
                if rows.as_u64() != Some(self.rows) {
                    return Err(format!("{work}: {rows} of {} rows were converted", self.rows));
                }
                bench.take(OURS, &result_line(work, seconds, &json!({ "rows": rows })))?;
            }
        }
        let mut diff = shell::program(&self.query);
        diff.arg(&self.deflate).arg(self.path("idv.parquet")).args(["--repeat", &repeats.to_string()]);
        bench.take(OURS, &shell::text(diff)?)
    }

    /// Checks that the written files hold what the others read and write.
    fn check(&self, mlnet: &MlNet, python: &Python) -> Result<(), String> {
        for (ours, theirs) in [
            ("zds.parquet", "theirs-json.parquet"),
            ("json.parquet", "theirs-json.parquet"),
            ("csv.parquet", "theirs-csv.parquet"),
            ("plain.parquet", "idv.parquet"),
        ] {
            let arguments = ["check".into(), self.path(ours).into_os_string(), self.path(theirs).into_os_string()];
            let report = one_line(&mut python.script("arrow_bench.py", arguments))?;
            if report.get("rows").and_then(Value::as_u64) != Some(self.rows) {
                return Err(format!("{ours} has other rows: {report}"));
            }
        }
        // To Parquet and back: ML.NET reads the same values from its file and ours.
        let checksum = |file: &Path| {
            let mut read = mlnet.driver("bench-read");
            let line = one_line(read.arg(file).args(["--repeat", "1"]))?;
            line.get("checksum").cloned().ok_or_else(|| "ML.NET reported no checksum".to_owned())
        };
        let (before, after) = (checksum(&self.deflate)?, checksum(&self.path("back.idv"))?);
        match before == after {
            true => Ok(()),
            false => {
                Err(format!("ML.NET reads checksum {after} from the IDV file made of Parquet, {before} from its own"))
            }
        }
    }

    /// Peak memory while a large sparse file of zeros is converted to Parquet.
    fn memory(&self, python: &Python, rows: u64) -> Result<Vec<Row>, String> {
        // Not in memory, where reading holes allocates pages.
        let directory = shell::target()?.join("bench/arrow");
        shell::empty_directory(&directory)?;
        let (from, to) = (directory.join("large.ds"), directory.join("large.parquet"));
        let bytes = write_zeros(&from, rows)?;
        eprintln!("converting {bytes} bytes");
        let begin = Instant::now();
        let peak = peak::measure(self.convert(&from, &to, &[]))?;
        eprintln!("converted in {:.1} s", begin.elapsed().as_secs_f64());
        let arguments = [OsStr::new("sums"), to.as_os_str()];
        let report = one_line(&mut python.script("arrow_bench.py", arguments))?;
        let sums = report.get("sums").and_then(Value::as_object);
        // A sum may be 0 or 0.0.
        let zero = sums.is_some_and(|sums| sums.len() == 4 && sums.values().all(|sum| sum.as_f64() == Some(0.0)));
        if report.get("rows").and_then(Value::as_u64) != Some(rows) || !zero {
            return Err(format!("expected {rows} rows of zeros, found {report}"));
        }
        let removed = std::fs::remove_dir_all(&directory);
        removed.map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
        let Some(peak) = peak else {
            eprintln!("this system does not report the memory of a process");
            return Ok(Vec::new());
        };
        let row = |label: &str, ours: f64, target| Row {
            work: format!("{:.1} GB of ds to Parquet, {label}", gigabytes(bytes)),
            beside: "limit".to_owned(),
            theirs: MEMORY_LIMIT,
            ours,
            unit: "MiB",
            ratio: MEMORY_LIMIT / ours,
            target,
        };
        Ok(vec![
            row("peak of anonymous memory", peak.own, Some(1.0)),
            row("including pages of mapped files", peak.resident, None),
        ])
    }
}

/// Writes a sparse ds file with four columns of zeros and returns its size in bytes.
fn write_zeros(path: &Path, rows: u64) -> Result<u64, String> {
    let write_error = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let column = rows * 8;
    let mut header = serde_json::Map::new();
    for (number, name) in (0_u64..).zip(["a", "b", "c", "d"]) {
        header.insert(
            name.to_owned(),
            json!({".dims": ["row"], ".size": [rows], ".type": "float64", ".offset": number * column, ".len": column,
                ".missing": false, ".endian": "l"}),
        );
    }
    header.insert(".".to_owned(), json!({}));
    let header = format!("ds-1.0\n{}\n", Value::Object(header));
    let mut file = File::create(path).map_err(write_error)?;
    file.write_all(header.as_bytes()).map_err(write_error)?;
    let bytes = header.len() as u64 + 4 * column;
    file.set_len(bytes).map_err(write_error)?;
    Ok(bytes)
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn result_line(work: &str, seconds: f64, result: &Value) -> String {
    json!({"work": work, "seconds": seconds, "result": result}).to_string()
}

fn one_line(process: &mut Command) -> Result<Value, String> {
    idv::json_lines(process)?
        .into_iter()
        .next()
        .ok_or_else(|| format!("`{}` printed nothing", shell::command_line(process)))
}

/// Builds the optimized command and returns its path.
fn build_optimized() -> Result<PathBuf, String> {
    shell::run(shell::cargo(["build", "--quiet", "--release", "--package", "wharf-cli"]))?;
    Ok(shell::target()?.join("release").join(format!("wharf{}", std::env::consts::EXE_SUFFIX)))
}
