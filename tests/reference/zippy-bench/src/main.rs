//! Compares zdx with `zippy_data` in one process. `cargo xtask bench zdx` makes the stores, runs this and prints the table.
//!
//! ```text
//! zippy-bench make DIRECTORY --documents N
//! zippy-bench check DIRECTORY
//! zippy-bench run DIRECTORY [--only WORK] [--by ours|zippy_data] [--repeat N]
//! ```
//!
//! `make` writes one collection three times: with its index in data order, as zdx writes it; in hash map order, as the reference does; and
//! without index. `check` compares every document read by both. `run` runs each benchmark once with the reference and several times with zdx,
//! and prints one line of JSON per run: who, seconds, and a result that must be the same for both.

mod check;
mod documents;
mod reading;
mod writing;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

const OURS: &str = "ours";
const THEIRS: &str = "zippy_data";

const USAGE: &str = "usage: zippy-bench make DIRECTORY --documents N
       zippy-bench check DIRECTORY
       zippy-bench run DIRECTORY [--only WORK] [--by ours|zippy_data] [--repeat N]";

/// A benchmark: sets up, then passes the measured part to [`Bench`].
type Benchmark = fn(&Bench);

const BENCHMARKS: [(&str, Benchmark); 21] = [
    ("open, ordered", |bench| reading::open(bench, "ordered")),
    ("open, hashed", |bench| reading::open(bench, "hashed")),
    ("first get, ordered", |bench| reading::first_get(bench, "ordered")),
    ("first get, hashed", |bench| reading::first_get(bench, "hashed")),
    ("first get, unmapped", reading::first_get_unmapped),
    ("get raw, ordered", |bench| reading::get_raw(bench, "ordered")),
    ("get raw, hashed", |bench| reading::get_raw(bench, "hashed")),
    ("get raw, unmapped", reading::get_raw_unmapped),
    ("get, ordered", |bench| reading::get(bench, "ordered")),
    ("get, hashed", |bench| reading::get(bench, "hashed")),
    ("scan raw, ordered", |bench| reading::scan_raw(bench, "ordered")),
    ("scan raw, hashed", |bench| reading::scan_raw(bench, "hashed")),
    ("scan raw, unmapped", reading::scan_raw_unmapped),
    ("open and scan raw, ordered", |bench| reading::open_and_scan_raw(bench, "ordered")),
    ("open and scan raw, hashed", |bench| reading::open_and_scan_raw(bench, "hashed")),
    ("scan", reading::scan),
    ("scan, unmapped", reading::scan_unmapped),
    ("scan, 4 threads", reading::scan_by_threads),
    ("rebuild", reading::rebuild),
    ("put", writing::put),
    ("load", writing::load),
];

/// Measures one benchmark.
struct Bench {
    directory: PathBuf,
    work: &'static str,
    repeat: usize,
    by: Option<String>,
}

impl Bench {
    fn path(&self, store: &str) -> PathBuf {
        self.directory.join(store)
    }

    fn runs(&self, who: &str) -> bool {
        self.by.as_deref().is_none_or(|by| by == who)
    }

    /// Measures zdx, several times. The second part of the result is dropped outside of the measurement.
    fn ours<T>(&self, run_once: impl FnMut() -> (Value, T)) {
        self.time(OURS, self.work, self.repeat, run_once);
    }

    /// Measures the reference, once.
    fn theirs<T>(&self, run_once: impl FnMut() -> (Value, T)) {
        self.time(THEIRS, self.work, 1, run_once);
    }

    fn time<T>(&self, who: &str, work: &str, repeat: usize, mut run_once: impl FnMut() -> (Value, T)) {
        for _ in 0..if self.runs(who) { repeat } else { 0 } {
            let begin = Instant::now();
            let (result, keep_alive) = run_once();
            let seconds = begin.elapsed().as_secs_f64();
            drop(keep_alive);
            self.report(who, work, seconds, &result);
        }
    }

    /// Prints one measurement.
    fn report(&self, who: &str, work: &str, seconds: f64, result: &Value) {
        println!("{}", json!({"who": who, "work": work, "seconds": seconds, "result": result}));
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(command), Some(directory)) = (words.next(), words.next()) else { usage("missing arguments") };
    let directory = PathBuf::from(directory);
    let (mut documents, mut repeat, mut only, mut by) = (10_000, 1, None, None);
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| usage(&format!("{option} needs a value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{option} needs a number")));
        match option.as_str() {
            "--documents" => documents = number(),
            "--repeat" => repeat = number(),
            "--only" => only = Some(value),
            "--by" => by = Some(value),
            _ => usage(&format!("unknown option {option}")),
        }
    }
    match command.as_str() {
        "make" => documents::make(&directory, documents),
        "check" => check::run(&directory),
        "run" => {
            for (work, run) in BENCHMARKS.iter().filter(|(work, _)| only.as_deref().is_none_or(|only| only == *work)) {
                run(&Bench { directory: directory.clone(), work, repeat, by: by.clone() });
            }
        }
        _ => usage(&format!("unknown command {command}")),
    }
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\n{USAGE}");
    std::process::exit(2)
}
