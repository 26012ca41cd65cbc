//! Measures reading and writing of ds files. `cargo xtask bench ds` creates the files, runs this next to Python, and prints the table.
//!
//! ```text
//! cargo bench -p dsfmt --features parallel --bench speed -- make DIRECTORY --rows N
//! cargo bench -p dsfmt --features parallel --bench speed -- run DIRECTORY [--only WORK] [--repeat N]
//! ```
//!
//! `make` writes files of N rows of up to 10,000 numbers. `run` repeats each item of `works`, and prints a JSON line per run: the seconds, and
//! a result that other implementations must match. Without arguments everything runs once on small files.

// Benchmarks may panic: their user reads the message.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark that fails is to stop")]
#![expect(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use container_core::{OutputOptions, SyncPolicy};
use dsfmt::{Array, Builder, Endian, Field, Mask, Reader, Select, Selection};
use serde_json::{Value, json};

/// Numbers per row.
const WIDE: u64 = 10_000;

/// Opens of small files per measurement.
const OPENED: usize = 500;

/// Writes per measurement.
const WRITTEN: usize = 200;

/// A measured task: sets up, then repeats the work, timing each run.
type Work = fn(&Clock<'_>);

fn works() -> [(&'static str, Work); 18] {
    [
        ("read tiny", read_tiny),
        ("read 1000", read_thousand),
        ("write tiny", write_tiny),
        ("write 1000", write_thousand),
        ("write tiny, bare", write_bare),
        ("first value", first_value),
        ("plain pass", plain_pass),
        ("pass over view", view_pass),
        ("one row", one_row),
        ("stats", stats),
        ("read owned", read_owned),
        ("write", write),
        ("write bytes", write_bytes),
        ("copy", copy),
        ("read swapped", read_swapped),
        ("unpack", unpack),
        ("unpack again", unpack_again),
        ("expand", expand),
    ]
}

/// Times one task.
struct Clock<'a> {
    directory: &'a Path,
    work: &'static str,
    repeat: usize,
}

impl Clock<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn open(&self, name: &str) -> Reader {
        mapped(self.path(name))
    }

    /// Repeats the work, and prints the time and the result of `check`.
    fn time<T, R: Into<Value>>(&self, mut once: impl FnMut() -> T, result: impl Fn(&T) -> R) {
        for _ in 0..self.repeat {
            let begin = Instant::now();
            let done = once();
            let seconds = begin.elapsed().as_secs_f64();
            println!("{}", json!({"work": self.work, "seconds": seconds, "result": result(&done).into()}));
        }
    }
}

fn unsynced() -> OutputOptions {
    OutputOptions::default().with_sync(SyncPolicy::Never).with_overwrite(container_core::Overwrite::Replace)
}

/// The sum of numbers, eight at a time.
fn sum(numbers: &[f64]) -> f64 {
    let (lanes, rest) = numbers.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for lane in lanes {
        sums.iter_mut().zip(lane).for_each(|(sum, number)| *sum += number);
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

fn numbers(count: u64) -> Vec<f64> {
    (0..count).map(|at| (at % 1000) as f64).collect()
}

fn one(name: &str, array: Array<'_>, endian: Endian, path: &Path) {
    let names = array.shape().iter().enumerate().map(|(at, _)| format!("d{at}")).collect::<Vec<_>>();
    let mut builder = Builder::new();
    builder.attribute("title", "numbers");
    builder.field(name, Field::new(array).with_dimensions(names).with_endian(endian).with_attribute("units", "K"));
    builder.write(path, unsynced()).unwrap();
}

fn make(directory: &Path, rows: u64) {
    let path = |name: &str| directory.join(name);
    let native = Endian::NATIVE;
    one("x", Array::new([3], vec![1.0, 2.0, 3.0]).unwrap(), native, &path("tiny.ds"));
    one("x", Array::new([1000], (0..1000i64).collect::<Vec<_>>()).unwrap(), native, &path("thousand.ds"));
    let all = numbers(rows * WIDE);
    one("x", Array::new([rows, WIDE], &all[..]).unwrap(), native, &path("big.ds"));
    let some = &all[..all.len() / 2];
    let other = if native == Endian::Big { Endian::Little } else { Endian::Big };
    one("x", Array::new([some.len() as u64], some).unwrap(), other, &path("swapped.ds"));
    let bools: Vec<bool> = (0..rows * WIDE).map(|at| at % 3 == 0).collect();
    one("x", Array::new([rows * WIDE], bools).unwrap(), native, &path("bools.ds"));
    // Half of them are missing, without a pattern.
    let some = &all[..all.len() / 4];
    let mut state = 1u64;
    let missing = some.iter().map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    });
    let mask = Mask::from_bools(missing);
    let masked = Array::new([some.len() as u64], some).unwrap().with_mask(mask).unwrap();
    one("x", masked, native, &path("masked.ds"));
}

fn read_tiny(clock: &Clock<'_>) {
    let path = clock.path("tiny.ds");
    let once = || -> f64 { (0..OPENED).map(|_| sum(&mapped(&path).variable("x").unwrap().values().unwrap())).sum() };
    clock.time(once, |sum| *sum);
}

fn read_thousand(clock: &Clock<'_>) {
    let path = clock.path("thousand.ds");
    let once = || -> i64 {
        let sums =
            (0..OPENED).map(|_| mapped(&path).variable("x").unwrap().values::<i64>().unwrap().iter().sum::<i64>());
        sums.sum()
    };
    clock.time(once, |sum| *sum);
}

/// Overwrites a file; the result is its length.
fn write_small(clock: &Clock<'_>, array: &Array<'_>) {
    let path = clock.path("ours-small.ds");
    let once = || (0..WRITTEN).for_each(|_| one("x", array.clone(), Endian::NATIVE, &path));
    clock.time(once, |()| std::fs::metadata(&path).unwrap().len());
    std::fs::remove_file(path).unwrap();
}

fn write_tiny(clock: &Clock<'_>) {
    write_small(clock, &Array::new([3], vec![1.0, 2.0, 3.0]).unwrap());
}

fn write_thousand(clock: &Clock<'_>) {
    write_small(clock, &Array::new([1000], (0..1000i64).collect::<Vec<_>>()).unwrap());
}

/// The system's cost alone: creates a file, writes the bytes in one call, and renames it.
fn write_bare(clock: &Clock<'_>) {
    let bytes = std::fs::read(clock.path("tiny.ds")).unwrap();
    let (path, beside) = (clock.path("ours-small.ds"), clock.path("ours-beside.ds"));
    let once = || {
        for _ in 0..WRITTEN {
            let mut file = std::fs::File::create_new(&beside).unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            std::fs::rename(&beside, &path).unwrap();
        }
    };
    clock.time(once, |()| std::fs::metadata(&path).unwrap().len());
    std::fs::remove_file(path).unwrap();
}

/// Opens a large file and reads a number in its middle.
fn first_value(clock: &Clock<'_>) {
    let once = || {
        let reader = clock.open("big.ds");
        let view = reader.variable("x").unwrap().view::<f64>().unwrap().unwrap();
        view.get(view.len() / 2).unwrap()
    };
    clock.time(once, |value| *value);
}

/// Scans the mapped file's numbers without our code.
fn plain_pass(clock: &Clock<'_>) {
    let source = container_core::Source::open_with(clock.path("big.ds"), container_core::testkit::mapped()).unwrap();
    let bytes = source.as_slice().unwrap();
    let body =
        bytes.len() - usize::try_from(mapped(clock.path("big.ds")).variable("x").unwrap().stored_bytes()).unwrap();
    let pass = || {
        let (words, _) = bytes[body..].as_chunks::<8>();
        let (lanes, rest) = words.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for lane in lanes {
            sums.iter_mut().zip(lane).for_each(|(sum, word)| *sum += f64::from_ne_bytes(*word));
        }
        sums.iter().sum::<f64>() + rest.iter().map(|word| f64::from_ne_bytes(*word)).sum::<f64>()
    };
    black_box(pass()); // pages are mapped
    clock.time(pass, |sum| *sum);
}

fn view_pass(clock: &Clock<'_>) {
    let reader = clock.open("big.ds");
    let pass = || {
        let (lanes, rest) = reader.variable("x").unwrap().view::<f64>().unwrap().unwrap().chunks::<8>();
        let mut sums = [0.0; 8];
        for lane in lanes {
            sums.iter_mut().zip(lane).for_each(|(sum, number)| *sum += number);
        }
        sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
    };
    black_box(pass());
    clock.time(pass, |sum| *sum);
}

/// Opens the file, and computes all statistics.
fn stats(clock: &Clock<'_>) {
    let once = || clock.open("big.ds").variable("x").unwrap().stats().unwrap();
    clock.time(once, |stats| stats.median.unwrap().as_f64());
}

/// Opens the file for a single row.
fn one_row(clock: &Clock<'_>) {
    let once = || {
        let reader = clock.open("big.ds");
        let row = reader.variable("x").unwrap().select(&Selection::new().with("d0", Select::Index(-3))).unwrap();
        sum(row.values().as_slice().unwrap())
    };
    clock.time(once, |sum| *sum);
}

fn read_owned(clock: &Clock<'_>) {
    let reader = clock.open("big.ds");
    clock.time(|| reader.variable("x").unwrap().filled::<f64>(f64::NAN).unwrap(), |all| sum(all));
}

fn write(clock: &Clock<'_>) {
    let reader = clock.open("big.ds");
    let all = reader.variable("x").unwrap().values::<f64>().unwrap().into_owned();
    let path = clock.path("ours-big.ds");
    for _ in 0..clock.repeat {
        let once = Clock { repeat: 1, ..*clock };
        let shape = [all.len() as u64 / WIDE, WIDE];
        once.time(
            || one("x", Array::new(shape, &all[..]).unwrap(), Endian::NATIVE, &path),
            |()| std::fs::metadata(&path).unwrap().len(),
        );
        std::fs::remove_file(&path).unwrap();
    }
}

/// The same bytes with one system call each.
fn write_bytes(clock: &Clock<'_>) {
    let bytes = std::fs::read(clock.path("big.ds")).unwrap();
    let path = clock.path("ours-bytes");
    for _ in 0..clock.repeat {
        let once = Clock { repeat: 1, ..*clock };
        once.time(|| std::fs::write(&path, &bytes).unwrap(), |()| std::fs::metadata(&path).unwrap().len());
        std::fs::remove_file(&path).unwrap();
    }
}

/// Copies as many bytes as the swapped numbers have into new memory.
fn copy(clock: &Clock<'_>) {
    let reader = clock.open("swapped.ds");
    let source = reader.source().as_slice().unwrap();
    let body = &source[source.len() - usize::try_from(reader.variable("x").unwrap().stored_bytes()).unwrap()..];
    black_box(body.iter().step_by(4096).fold(0u8, |all, byte| all ^ byte)); // pages are mapped
    clock.time(|| body.to_vec(), |copy| copy.len());
}

fn read_swapped(clock: &Clock<'_>) {
    let reader = clock.open("swapped.ds");
    black_box(reader.source().as_slice().unwrap().iter().step_by(4096).fold(0u8, |all, byte| all ^ byte));
    clock.time(|| reader.variable("x").unwrap().values::<f64>().unwrap(), |all| sum(all));
}

fn unpack(clock: &Clock<'_>) {
    let reader = clock.open("bools.ds");
    black_box(reader.source().as_slice().unwrap().iter().step_by(4096).fold(0u8, |all, byte| all ^ byte));
    clock.time(|| reader.variable("x").unwrap().bools().unwrap(), |all| all.iter().filter(|one| **one).count());
}

/// The same into reused memory.
fn unpack_again(clock: &Clock<'_>) {
    let reader = clock.open("bools.ds");
    let variable = reader.variable("x").unwrap();
    let mut out = variable.bools().unwrap();
    let count = |out: &[bool]| out.iter().filter(|one| **one).count();
    let expected = count(&out);
    clock.time(|| variable.bools_into(0..variable.len(), &mut out).unwrap(), |()| expected);
    assert_eq!(count(&out), expected);
}

fn expand(clock: &Clock<'_>) {
    let path = clock.path("masked.ds");
    let once = || mapped(&path).variable("x").unwrap().filled::<f64>(0.0).unwrap();
    clock.time(once, |all| sum(all));
}

fn main() {
    // Cargo adds this argument.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(command) = words.next() else { return demonstrate() };
    let directory = PathBuf::from(words.next().unwrap_or_else(|| usage("DIRECTORY is missing")));
    let (mut rows, mut repeat, mut only) = (100, 1, None);
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| usage(&format!("{option} wants a value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{option} wants a number")));
        match option.as_str() {
            "--rows" => rows = number(),
            "--repeat" => repeat = usize::try_from(number()).unwrap(),
            "--only" => only = Some(value),
            _ => usage(&format!("unknown option {option}")),
        }
    }
    match command.as_str() {
        "make" => make(&directory, rows),
        "run" => run(&directory, repeat, only.as_deref()),
        _ => usage(&format!("unknown command {command}")),
    }
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: make DIRECTORY --rows N, or run DIRECTORY [--only WORK] [--repeat N]");
    std::process::exit(2)
}

fn run(directory: &Path, repeat: usize, only: Option<&str>) {
    for (work, does) in works() {
        if only.is_none_or(|only| only == work) {
            does(&Clock { directory, work, repeat });
        }
    }
}

/// Runs each task once, so that a plain `cargo bench` covers them.
fn demonstrate() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 20);
    run(folder.path(), 1, None);
}

/// Opens a file as the command does.
fn mapped(path: impl AsRef<std::path::Path>) -> Reader {
    Reader::open_with(path, container_core::OpenOptions::default().with_access(container_core::testkit::mapped()))
        .unwrap()
}
