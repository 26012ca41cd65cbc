//! Measures reading, writing and verifying datasets. `cargo xtask bench datadings` creates the files, runs this and the Python package, and
//! prints the table.
//!
//! ```text
//! cargo bench -p datadings --features parallel --bench speed -- make DIRECTORY --tiny N --large N --huge N
//! cargo bench -p datadings --features parallel --bench speed -- run DIRECTORY [--only WORK] [--repeat N]
//! ```
//!
//! `make` writes three datasets of samples `{key, label}`, or `{key, image, label}` with an image of 10 KB. `run` repeats each measurement
//! listed in `works` and prints a line of JSON per repetition: the seconds, and a result that other implementations must reproduce. Without
//! arguments, everything runs once with small datasets.

// A benchmark may panic: its user reads the message.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failing benchmark should stop")]

#[path = "speed/reading.rs"]
mod reading;
#[path = "speed/samples.rs"]
mod samples;
#[path = "speed/writing.rs"]
mod writing;

#[allow(dead_code, unused_imports, reason = "its tests are compiled here but not run")]
#[path = "../src/md5/mod.rs"]
mod md5_stream;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

/// A measurement: sets up, then runs through the clock.
type Work = fn(&Clock<'_>);

/// All measurements, in order; the one that needs most memory is last.
fn works() -> [(&'static str, Work); 17] {
    [
        ("plain pass", reading::plain_pass),
        ("iterate", reading::iterate),
        ("touch", reading::touch),
        ("decode structs", reading::structs),
        ("decode values", reading::values),
        ("decode owned values", reading::owned_values),
        ("one field", reading::one_field),
        ("get by index", reading::by_index),
        ("get by key", reading::by_key),
        ("find many keys", reading::many_keys),
        ("write tiny", writing::tiny),
        ("write large", writing::large),
        ("md5 stream", writing::md5_stream),
        ("md5sum", writing::md5sum),
        ("verify large", writing::verify_large),
        ("verify tiny", writing::verify_tiny),
        ("open huge", reading::open_huge),
    ]
}

/// Times one measurement.
struct Clock<'a> {
    directory: &'a Path,
    work: &'static str,
    repeat: usize,
}

impl Clock<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Repeats `once`, printing time and result each time.
    fn time<T: Into<Value>>(&self, mut once: impl FnMut() -> T) {
        for _ in 0..self.repeat {
            let begin = Instant::now();
            let result = once();
            self.took(begin.elapsed().as_secs_f64(), result);
        }
    }

    /// Prints one measurement.
    fn took<T: Into<Value>>(&self, seconds: f64, result: T) {
        println!("{}", json!({"work": self.work, "seconds": seconds, "result": result.into()}));
    }
}

fn main() {
    // Cargo adds `--bench`.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(command) = words.next() else { return demonstrate() };
    let directory = PathBuf::from(words.next().unwrap_or_else(|| usage("missing DIRECTORY")));
    let (mut tiny, mut large, mut huge, mut repeat, mut only) = (1_000, 100, 10_000, 1, None);
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| usage(&format!("{option}: missing value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{option}: expected a number")));
        match option.as_str() {
            "--tiny" => tiny = number(),
            "--large" => large = number(),
            "--huge" => huge = number(),
            "--repeat" => repeat = usize::try_from(number()).unwrap(),
            "--only" => only = Some(value),
            _ => usage(&format!("unknown option {option}")),
        }
    }
    match command.as_str() {
        "make" => samples::make(&directory, [tiny, large, huge]),
        "run" => run(&directory, repeat, only.as_deref()),
        _ => usage(&format!("unknown command {command}")),
    }
}

fn usage(problem: &str) -> ! {
    eprintln!(
        "{problem}\nusage: make DIRECTORY --tiny N --large N --huge N, or run DIRECTORY [--only WORK] [--repeat N]"
    );
    std::process::exit(2)
}

fn run(directory: &Path, repeat: usize, only: Option<&str>) {
    for (name, work) in works() {
        if only.is_none_or(|only| only == name) {
            work(&Clock { directory, work: name, repeat });
        }
    }
}

/// Runs every measurement once, for a plain `cargo bench`.
fn demonstrate() {
    let folder = tempfile::tempdir().unwrap();
    samples::make(folder.path(), [1_000, 100, 10_000]);
    run(folder.path(), 1, None);
}
