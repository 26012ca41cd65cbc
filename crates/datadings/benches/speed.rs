//! How fast datasets are read, written and verified. `cargo xtask bench datadings` makes the files, runs this beside Python and prints
//! the table.
//!
//! ```text
//! cargo bench -p datadings --features parallel --bench speed -- make DIRECTORY --tiny N --large N --huge N
//! cargo bench -p datadings --features parallel --bench speed -- run DIRECTORY [--only WORK] [--repeat N]
//! ```
//!
//! `make` writes three datasets of samples `{key, label}`, or `{key, image, label}` with 10 KB of image. `run` does each work of the list
//! in `works` so often, one after another, and prints a line of JSON for each time: the seconds, and a result that whoever
//! else does the same work has to have, too. Without arguments everything is done once with small datasets.

// Measurements may panic: whoever runs them reads the message.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a benchmark that fails is to stop")]

#[path = "speed/reading.rs"]
mod reading;
#[path = "speed/samples.rs"]
mod samples;
#[path = "speed/writing.rs"]
mod writing;

#[allow(dead_code, unused_imports, reason = "its tests are built here, too, but not run")]
#[path = "../src/md5/mod.rs"]
mod md5_stream;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

/// What is measured: sets up, and does the work as often as asked, each time calling the clock.
type Work = fn(&Clock<'_>);

/// All of it, in the order in which it is done: what needs most memory comes last.
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

/// Takes the time of one work.
struct Clock<'a> {
    directory: &'a Path,
    work: &'static str,
    repeat: usize,
}

impl Clock<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Does something as often as asked and prints how long it took and what came out.
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
    // Cargo adds this word.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(command) = words.next() else { return demonstrate() };
    let directory = PathBuf::from(words.next().unwrap_or_else(|| usage("DIRECTORY is missing")));
    let (mut tiny, mut large, mut huge, mut repeat, mut only) = (1_000, 100, 10_000, 1, None);
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| usage(&format!("{option} wants a value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{option} wants a number")));
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

/// Each work once, so that a plain `cargo bench` runs this too.
fn demonstrate() {
    let folder = tempfile::tempdir().unwrap();
    samples::make(folder.path(), [1_000, 100, 10_000]);
    run(folder.path(), 1, None);
}
