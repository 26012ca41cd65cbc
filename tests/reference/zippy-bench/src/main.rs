//! How fast stores are read and written with zdx and with `zippy_data`, turn by turn in one process. `cargo xtask bench zdx` makes the stores, runs this
//! and prints the table.
//!
//! ```text
//! zippy-bench make DIRECTORY --documents N
//! zippy-bench check DIRECTORY
//! zippy-bench run DIRECTORY [--only WORK] [--by ours|zippy_data] [--repeat N]
//! ```
//!
//! `make` writes one collection three times: with its index in the order of the data, as zdx writes it; in the order of a hash map, as the
//! reference does; and without. `check` compares every document as both give it. `run` does each work once by the reference and as often as
//! asked by zdx, and prints a line of JSON for each time: by whom, the seconds, and a result that has to be the same for both.

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

/// What is measured: sets up, and has the clock do it.
type Work = fn(&Clock);

/// All of it.
const WORKS: [(&str, Work); 17] = [
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

/// Takes the times of one work.
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

    fn is_wanted(&self, who: &str) -> bool {
        self.by.as_deref().is_none_or(|by| by == who)
    }

    /// Our work, as often as asked. What comes out beside the result goes away when the clock stands.
    fn ours<T>(&self, once: impl FnMut() -> (Value, T)) {
        self.time(OURS, self.work, self.repeat, once);
    }

    /// Theirs, once.
    fn theirs<T>(&self, once: impl FnMut() -> (Value, T)) {
        self.time(THEIRS, self.work, 1, once);
    }

    fn time<T>(&self, who: &str, work: &str, repeat: usize, mut once: impl FnMut() -> (Value, T)) {
        for _ in 0..if self.is_wanted(who) { repeat } else { 0 } {
            let begin = Instant::now();
            let (result, kept) = once();
            let seconds = begin.elapsed().as_secs_f64();
            drop(kept);
            self.took(who, work, seconds, &result);
        }
    }

    /// Prints one measurement.
    fn took(&self, who: &str, work: &str, seconds: f64, result: &Value) {
        println!("{}", json!({"who": who, "work": work, "seconds": seconds, "result": result}));
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(command), Some(directory)) = (words.next(), words.next()) else { usage("words are missing") };
    let directory = PathBuf::from(directory);
    let (mut documents, mut repeat, mut only, mut by) = (10_000, 1, None, None);
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| usage(&format!("{option} wants a value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{option} wants a number")));
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
            for (work, run) in WORKS.iter().filter(|(work, _)| only.as_deref().is_none_or(|only| only == *work)) {
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
