//! Benchmarks zdx against `zippy_data`, alternating in one process. `cargo xtask bench zdx` creates the stores, runs this and prints the table.
//!
//! ```text
//! zippy-bench make DIRECTORY --documents N
//! zippy-bench check DIRECTORY
//! zippy-bench run DIRECTORY [--only WORK] [--by ours|zippy_data] [--repeat N]
//! ```
//!
//! `make` writes one collection three times: with its index in data order, as zdx writes it; in hash map order, as the reference does; and
//! without an index. `check` compares every document as read by both. `run` runs each task once with the reference and `--repeat` times with
//! zdx, and prints a JSON line per run: who, the seconds, and a result that must be the same for both.

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

/// A task: sets up and calls the clock.
type Task = fn(&Clock);

/// All tasks.
const TASKS: [(&str, Task); 17] = [
    ("open, ordered", |clock| reading::open(clock, "ordered")),
    ("open, hashed", |clock| reading::open(clock, "hashed")),
    ("first get, ordered", |clock| reading::first_get(clock, "ordered")),
    ("first get, hashed", |clock| reading::first_get(clock, "hashed")),
    ("get raw, ordered", |clock| reading::get_raw(clock, "ordered")),
    ("get raw, hashed", |clock| reading::get_raw(clock, "hashed")),
    ("get, ordered", |clock| reading::get(clock, "ordered")),
    ("get, hashed", |clock| reading::get(clock, "hashed")),
    ("scan raw, ordered", |clock| reading::scan_raw(clock, "ordered")),
    ("scan raw, hashed", |clock| reading::scan_raw(clock, "hashed")),
    ("open and scan raw, ordered", |clock| reading::open_and_scan_raw(clock, "ordered")),
    ("open and scan raw, hashed", |clock| reading::open_and_scan_raw(clock, "hashed")),
    ("scan", reading::scan),
    ("scan, 4 threads", reading::scan_by_threads),
    ("rebuild", reading::rebuild),
    ("put", writing::put),
    ("load", writing::load),
];

/// Measures one task.
struct Clock {
    directory: PathBuf,
    work: &'static str,
    repeat: usize,
    by: Option<String>,
}

impl Clock {
    fn path(&self, store: &str) -> PathBuf {
        self.directory.join(store)
    }

    fn is_selected(&self, who: &str) -> bool {
        self.by.as_deref().is_none_or(|by| by == who)
    }

    /// Times ours, `repeat` times. The second value that `once` returns is dropped outside the measurement.
    fn ours<T>(&self, once: impl FnMut() -> (Value, T)) {
        self.time(OURS, self.work, self.repeat, once);
    }

    /// Times the reference, once.
    fn theirs<T>(&self, once: impl FnMut() -> (Value, T)) {
        self.time(THEIRS, self.work, 1, once);
    }

    fn time<T>(&self, who: &str, work: &str, repeat: usize, mut once: impl FnMut() -> (Value, T)) {
        for _ in 0..if self.is_selected(who) { repeat } else { 0 } {
            let begin = Instant::now();
            let (result, kept) = once();
            let seconds = begin.elapsed().as_secs_f64();
            drop(kept);
            self.print(who, work, seconds, &result);
        }
    }

    /// Prints one measurement.
    fn print(&self, who: &str, work: &str, seconds: f64, result: &Value) {
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
            for (work, run) in TASKS.iter().filter(|(work, _)| only.as_deref().is_none_or(|only| only == *work)) {
                run(&Clock { directory: directory.clone(), work, repeat, by: by.clone() });
            }
        }
        _ => usage(&format!("unknown command {command}")),
    }
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\n{USAGE}");
    std::process::exit(2)
}
