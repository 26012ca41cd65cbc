//! Compares what ML.NET reads, and what we read, with what was written.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use container_core::{Error, Result};
use idv::{Compression, Reader};
use serde_json::Value;
use wharf_tests::idv_canonical;

use crate::Arguments;

/// Counts of equal values.
#[derive(Default)]
struct Equal {
    files: u64,
    /// Values that we read.
    values: u64,
    /// Values that ML.NET read.
    theirs: u64,
    /// Columns that ML.NET cannot read.
    unreadable: u64,
}

pub(crate) fn compare(arguments: &mut Arguments) -> Result<()> {
    let (directory, dumps) = (arguments.path("DIRECTORY")?, arguments.path("DUMPS")?);
    arguments.end()?;
    let mut equal = Equal::default();
    let mut failed = 0;
    for path in crate::files(&directory)? {
        let stem = path.file_stem().unwrap_or_default();
        let dump = dumps.join(stem).with_added_jsonl();
        if let Err(error) = compare_one(&path, &dump, &mut equal) {
            eprintln!("{}", error.in_file(path.display().to_string()));
            failed += 1;
        }
    }
    println!(
        "{}: {} files, {} values equal as we read them and {} as ML.NET does ({} columns with zlib not readable by it)",
        directory.display(),
        equal.files,
        equal.values,
        equal.theirs,
        equal.unreadable
    );
    if failed == 0 { Ok(()) } else { Err(Error::invalid(format!("{failed} files differ"))) }
}

/// Adds an extension instead of replacing one, as names contain dots.
trait WithAddedExtension {
    fn with_added_jsonl(&self) -> std::path::PathBuf;
}

impl WithAddedExtension for Path {
    fn with_added_jsonl(&self) -> std::path::PathBuf {
        let mut name = self.as_os_str().to_owned();
        name.push(".jsonl");
        name.into()
    }
}

fn compare_one(path: &Path, dump: &Path, equal: &mut Equal) -> Result<()> {
    let reader = Reader::open(path)?;
    let expected = path.with_extension("expected.jsonl");
    equal.values += idv_canonical::compare(&reader, lines_of(&expected)?)?;
    // ML.NET can read all columns without zlib.
    let readable: Vec<bool> =
        reader.columns().iter().map(|column| column.compression() != Some(Compression::Zlib)).collect();
    let (mut ours, mut theirs) = (lines_of(&expected)?.lines(), lines_of(dump)?.lines());
    for number in 1.. {
        let (our, their) = (ours.next().transpose(), theirs.next().transpose());
        let read_error = |cause| Error::io("cannot read a dump", cause);
        let (our, their) = match (our.map_err(read_error)?, their.map_err(read_error)?) {
            (None, None) => break,
            (Some(our), Some(their)) => (our, their),
            (our, _) => {
                let who = if our.is_some() { "ML.NET's dump" } else { "what was written" };
                return Err(Error::invalid(format!("{who} ends before line {number}")));
            }
        };
        let (our, their) = (filtered(&our, &readable)?, parsed(&their)?);
        if our != their {
            return Err(difference(&reader, &readable, &our, &their).in_line(number));
        }
        equal.theirs += if number > 1 { their.as_array().map_or(0, |row| row.len() as u64) } else { 0 };
    }
    equal.unreadable += readable.iter().filter(|&&readable| !readable).count() as u64;
    equal.files += 1;
    Ok(())
}

/// Names the first column that differs, with its codec.
fn difference(reader: &Reader, readable: &[bool], ours: &Value, theirs: &Value) -> Error {
    let cells = |line: &Value| line.get("columns").unwrap_or(line).as_array().cloned().unwrap_or_default();
    let (our, their) = (cells(ours), cells(theirs));
    let columns = reader.columns().iter().zip(readable).filter(|(_, readable)| **readable).map(|(column, _)| column);
    let mut differing = columns.zip(our.iter().zip(&their)).filter(|(_, (our, their))| our != their);
    match differing.next() {
        Some((column, (our, their))) => {
            let codec = column.codec_name();
            let detail = format!("expected {our}, ML.NET reads {their} (codec {codec})");
            Error::invalid(detail).in_column(column.unique_name().to_owned())
        }
        None => Error::invalid(format!("expected {ours}, ML.NET reads {theirs}")),
    }
}

fn lines_of(path: &Path) -> Result<BufReader<File>> {
    let file = File::open(path).map_err(|cause| Error::io(format!("cannot open {}", path.display()), cause))?;
    Ok(BufReader::new(file))
}

fn parsed(line: &str) -> Result<Value> {
    serde_json::from_str(line).map_err(|cause| Error::invalid("invalid JSON in a dump").caused_by(cause))
}

/// A line of a dump, with readable columns only.
fn filtered(line: &str, readable: &[bool]) -> Result<Value> {
    let mut line = parsed(line)?;
    let columns = match &mut line {
        Value::Array(row) => Some(row),
        first => first.get_mut("columns").and_then(Value::as_array_mut),
    };
    let mut readable = readable.iter();
    if let Some(columns) = columns {
        columns.retain(|_| readable.next().copied().unwrap_or(true));
    }
    Ok(line)
}
