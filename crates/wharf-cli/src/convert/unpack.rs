//! Datasets of datadings as JSON lines in a temporary file: what types IDV gets is then found as for any text.

use std::fs::File;
use std::io::{BufWriter, Write};

use container_core::{Access, Error, Input, Limits, OpenOptions, Progress, Result, Source, Unit};
use datadings::numpy::Numpy;
use datadings::{RawValue, Reader, json};

use super::super::bar::Bar;
use super::source::Opened;

/// Samples between two words to the bar.
const STRIDE: u64 = 256;

/// Turns datasets into texts of the same names. Arrays of numpy become arrays of JSON, all else what `cat` prints; of `columns`, where there are
/// some, these alone.
pub(super) fn lines(inputs: Vec<Opened>, columns: Option<&[String]>, access: Access, bar: &Bar) -> Result<Vec<Opened>> {
    inputs.into_iter().map(|input| one(input, columns, access, bar)).collect()
}

fn one(input: Opened, columns: Option<&[String]>, access: Access, bar: &Bar) -> Result<Opened> {
    let named = |error: Error| error.in_file(input.name.clone());
    let temporary = |cause| Error::io("cannot keep the rows in a temporary file", cause);
    let options = OpenOptions::default().with_access(access);
    let reader = match input.input.path() {
        Some(path) => Reader::open_with(path, options),
        None => Reader::walk(input.source()?.clone(), options),
    };
    let reader = reader.map_err(named)?;
    bar.name(format!("{}: reading", input.name));
    bar.begin(Unit::Rows, Some(reader.len()));
    let mut file = BufWriter::with_capacity(1 << 18, tempfile::tempfile().map_err(temporary)?);
    let mut line = Vec::new();
    for sample in &reader {
        let sample = sample.map_err(named)?;
        line.clear();
        put(sample.raw(), columns, &mut line).map_err(|error| named(error.in_row(sample.index())))?;
        line.push(b'\n');
        file.write_all(&line).map_err(temporary)?;
        if (sample.index() + 1).is_multiple_of(STRIDE) {
            bar.advance(STRIDE);
        }
    }
    let file: File = file.into_inner().map_err(|error| temporary(error.into_error()))?;
    Ok(Opened { input: Input::Stream(Source::from_file_with(file, access)?), name: input.name })
}

fn put(sample: RawValue<'_>, columns: Option<&[String]>, out: &mut Vec<u8>) -> Result<()> {
    let limits = Limits::default();
    out.push(b'{');
    let start = out.len();
    for entry in sample.entries()? {
        let (name, value) = entry?;
        if let (Some(columns), Ok(name)) = (columns, name.str())
            && !columns.iter().any(|column| column == name)
        {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        match name.str() {
            Ok(_) => json::write(name, out, &limits)?,
            // A name that is no text is called by its own.
            Err(_) => {
                let mut text = Vec::new();
                json::write(name, &mut text, &limits)?;
                serde_json::to_writer(&mut *out, &String::from_utf8_lossy(&text)).map_err(no_json)?;
            }
        }
        out.push(b':');
        match value.numpy()? {
            Some(Numpy::Array(_)) => {
                let list: serde_json::Value = value.decode()?;
                serde_json::to_writer(&mut *out, &list).map_err(no_json)?;
            }
            _ => json::write(value, out, &limits)?,
        }
    }
    out.push(b'}');
    Ok(())
}

#[cold]
fn no_json(cause: serde_json::Error) -> Error {
    Error::invalid("the value cannot be written as JSON").caused_by(cause)
}
