//! Our side of `cargo xtask interop datadings`: reads what Python wrote, and writes the same samples in every way there is.
//!
//! ```text
//! datadings-interop DIRECTORY
//! ```
//!
//! Each folder in the directory holds a set as `tests/reference/python/datadings_interop.py write` leaves it. Whatever differs, in a single
//! byte of any file, is told and ends the program with 1; else it prints as JSON what was compared.
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

/// What was compared.
#[derive(Default)]
struct Counts {
    /// Sets of samples.
    sets: u64,
    /// Datasets that we wrote.
    written: u64,
    /// Samples that we read of Python's.
    samples: u64,
    /// Files that were found equal, byte for byte.
    files: u64,
    /// Samples of datasets that were read as one.
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
        let done = match folder.join("python").is_dir() {
            true => set(&folder, &mut counts),
            false => shards(&folder, &mut counts),
        };
        done.map_err(|error| format!("{}: {error}", folder.display()))?;
        counts.sets += 1;
    }
    Ok(counts)
}

/// One set: Python's files read, and ours beside them.
fn set(folder: &Path, counts: &mut Counts) -> Result<(), String> {
    let set = Set::open(folder)?;
    counts.samples += set.read()?;
    for (name, write) in ways::WAYS {
        let target = folder.join(format!("ours-{name}"));
        fs::create_dir(&target).map_err(|error| format!("cannot make {}: {error}", target.display()))?;
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

/// Many datasets as one, in Python's order.
fn shards(folder: &Path, counts: &mut Counts) -> Result<(), String> {
    counts.sharded += ways::shards(folder)?;
    Ok(())
}
