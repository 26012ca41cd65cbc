//! Our side of `cargo xtask interop ds`: reads what Python wrote, and writes the same datasets in every possible way.
//!
//! ```text
//! ds-interop DIRECTORY
//! ```
//!
//! Each `NAME.ds` in the directory is a dataset written by `tests/reference/python/ds_interop.py write`, described by `NAME.expected.json`.
//! The first difference is printed and gives exit code 1; otherwise the counts of what was compared are printed as JSON.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

#[path = "../crates/dsfmt/tests/it/described/mod.rs"]
mod described;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use container_core::{OutputOptions, SyncPolicy};
use described::{Described, DescribedVariable, Outcome};
use dsfmt::{Builder, DataType, Field, Reader};

/// Counts of what was compared.
#[derive(Default)]
struct Counts {
    datasets: u64,
    /// Elements of Python's datasets.
    elements: u64,
    /// Elements at other offsets than Python's header states, after text variables with missing values.
    misplaced: u64,
    /// Files written by us.
    written: u64,
    /// Files identical to Python's.
    equal: u64,
}

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        eprintln!("usage: ds-interop DIRECTORY");
        return ExitCode::from(2);
    };
    match run(Path::new(&directory)) {
        Ok(Counts { datasets, elements, misplaced, written, equal }) => {
            let counts = serde_json::json!({
                "datasets": datasets, "elements": elements, "misplaced": misplaced, "written": written, "equal": equal
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

fn run(directory: &Path) -> Outcome<Counts> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())? {
        paths.push(entry.map_err(|error| error.to_string())?.path());
    }
    paths.sort();
    let mut counts = Counts::default();
    for path in paths.iter().filter(|path| path.to_string_lossy().ends_with(".expected.json")) {
        // Removes both extensions.
        let python = path.with_extension("").with_extension("ds");
        dataset(path, &python, &mut counts).map_err(|error| format!("{}: {error}", python.display()))?;
        counts.datasets += 1;
    }
    Ok(counts)
}

/// Whether Python misstates the length of a variable, and so the offsets of all later ones.
fn misstated(expected: &DescribedVariable) -> bool {
    expected.data_type == Some(DataType::Unicode) && expected.values.iter().any(|value| value.as_json().is_null())
}

fn dataset(description: &Path, python: &Path, counts: &mut Counts) -> Outcome<()> {
    let text = fs::read_to_string(description).map_err(|error| error.to_string())?;
    let described = Described::parse(&text)?;
    let reader = Reader::open(python).map_err(|error| error.to_string())?;
    let first = described.variables.iter().position(misstated);
    let later = described.variables.get(first.map_or(usize::MAX, |first| first + 1)..).unwrap_or_default();
    let misplaced = |name: &str| later.iter().any(|variable| variable.name == name);
    counts.elements += described.compare(&reader, |variable| misplaced(&variable.name))? as u64;
    counts.misplaced += later.iter().map(|variable| variable.values.len() as u64).sum::<u64>();

    let ours = python.with_extension("ours.ds");
    let options = OutputOptions::default().with_sync(SyncPolicy::Never);
    described.builder()?.write(&ours, options).map_err(|error| error.to_string())?;
    let mut written = vec![ours.clone()];
    let streams = python.with_extension("streams.ds");
    stream(&described, &ours, &streams).map_err(|error| format!("streaming: {error}"))?;
    written.push(streams);
    if later.is_empty() {
        let copy = python.with_extension("copy.ds");
        let mut builder = Builder::new();
        builder.copy_attributes(&reader);
        for variable in reader.variables() {
            builder.field(variable.name(), Field::copy(&variable));
        }
        builder.write(&copy, options).map_err(|error| error.to_string())?;
        written.push(copy);
    }
    let expected = fs::read(if first.is_none() { python } else { &ours }).map_err(|error| error.to_string())?;
    for path in written {
        let reader = Reader::open(&path).map_err(|error| error.to_string())?;
        described.compare(&reader, |_| false).map_err(|error| format!("{}: {error}", path.display()))?;
        if fs::read(&path).map_err(|error| error.to_string())? != expected {
            return Err(format!("{}: bytes differ", path.display()));
        }
        counts.written += 1;
        counts.equal += u64::from(first.is_none());
    }
    Ok(())
}

/// Copies the dataset by streaming rows.
fn stream(described: &Described, from: &Path, to: &Path) -> dsfmt::Result<()> {
    let reader = Reader::open(from)?;
    let mut builder = Builder::new();
    builder.copy_attributes(&reader);
    for expected in &described.variables {
        let variable = reader.variable(&expected.name)?;
        let field = match (variable.data_type(), variable.shape()) {
            (Some(data_type), Some(shape)) => Field::stream(data_type, shape).with_missing(variable.is_masked()),
            _ => Field::empty(),
        };
        builder.field(&expected.name, expected.with_metadata(field));
    }
    let mut writer = builder.begin(to, OutputOptions::default().with_sync(SyncPolicy::Never))?;
    while let Some(name) = writer.current() {
        let variable = reader.variable(name)?;
        let rows = variable.shape().and_then(|shape| shape.first()).copied().unwrap_or(1);
        let (start, rest) = (rows - writer.rows_left(), writer.rows_left());
        writer.append(&variable.read_rows(start..start + rest.min(3))?)?;
    }
    writer.finish().map(drop)
}
