//! Our side of `cargo xtask interop datadings`: reads what Python wrote, and writes the same samples in every possible way.
//!
//! ```text
//! datadings-interop DIRECTORY
//! ```
//!
//! Each subdirectory holds a dataset written by `tests/reference/python/datadings_interop.py write`. The first difference, even in a single
//! byte, is printed and gives exit code 1; otherwise the counts of what was compared are printed as JSON.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

#[path = "datadings_interop/compare.rs"]
mod compare;
#[path = "datadings_interop/structs.rs"]
mod structs;
#[path = "datadings_interop/ways.rs"]
mod ways;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ways::Set;

/// Counts of what was compared.
#[derive(Default)]
struct Counts {
    /// Datasets written by Python.
    sets: u64,
    /// Datasets written by us.
    written: u64,
    /// Samples of Python's datasets.
    samples: u64,
    /// Identical files.
    files: u64,
    /// Samples of sharded datasets.
    sharded: u64,
}

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: datadings-interop DIRECTORY");
        return ExitCode::from(2);
    };
    match run(Path::new(&directory)) {
        Ok(Counts { sets, written, samples, files, sharded }) => {
            let counts = serde_json::json!({
                "sets": sets, "written": written, "samples": samples, "files": files, "sharded": sharded
            });
            println!("{counts}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &Path) -> Result<Counts, String> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
        folders.push(entry.map_err(|error| error.to_string())?.path());
    }
    folders.sort();
    let mut counts = Counts::default();
    for folder in folders {
        let outcome = match folder.join("python").is_dir() {
            true => compare_set(&folder, &mut counts),
            false => shards(&folder, &mut counts),
        };
        outcome.map_err(|error| format!("{}: {error}", folder.display()))?;
        counts.sets += 1;
    }
    Ok(counts)
}

/// Reads one dataset of Python, and writes ours beside it.
fn compare_set(folder: &Path, counts: &mut Counts) -> Result<(), String> {
    let set = Set::open(folder)?;
    counts.samples += set.read()?;
    for (name, write) in ways::WAYS {
        let target = folder.join(format!("ours-{name}"));
        fs::create_dir(&target).map_err(|error| format!("cannot create {}: {error}", target.display()))?;
        let path = target.join(ways::NAME);
        if write(&set, &path).map_err(|error| format!("{name}: {error}"))? {
            counts.files +=
                compare::same_files(&target, &folder.join("python")).map_err(|error| format!("{name}: {error}"))?;
            counts.written += 1;
        } else {
            fs::remove_dir(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        }
    }
    counts.files += set.raw()?;
    counts.files += set.convert()?;
    Ok(())
}

/// Reads several datasets as one, in Python's order.
fn shards(folder: &Path, counts: &mut Counts) -> Result<(), String> {
    counts.sharded += ways::shards(folder)?;
    Ok(())
}
