//! `wharf get FILE VARIABLE`: prints values as matrices or JSON.

use std::io::{BufWriter, Write};

use container_core::{Error, Result};
use dsfmt::{Array, Mask, Reader, Selection, Values};
use serde::Serialize;

use crate::Outcome;
use crate::display::clean;
use crate::env::{Env, Stdout};

/// Approximate elements per chunk. Columns are aligned within a chunk.
const CHUNK: u64 = 16 << 10;

/// Prints a variable, or the selected part of it.
pub(crate) fn get(reader: &Reader, name: &str, selection: Option<&Selection>, env: &mut Env<'_>) -> Result<Outcome> {
    let variable = reader.variable(name)?;
    if let Some(problem) = variable.problem() {
        return Err(problem);
    }
    if variable.shape().is_none() {
        env.stdout.print("null\n")?;
        return Ok(Outcome::Done);
    }
    match (selection, env.json()) {
        (None, true) => json(&variable.as_serialize(), &mut env.stdout)?,
        (None, false) => {
            let shape = variable.shape().unwrap_or_default();
            matrix(shape, CHUNK, &mut |range| variable.read_elements(range), &mut env.stdout)?;
        }
        (Some(selection), true) => json(&variable.select(selection)?, &mut env.stdout)?,
        (Some(selection), false) => {
            let array = variable.select(selection)?;
            let shape = array.shape().to_vec();
            let mut whole = Some(array);
            // The selection is in memory as a whole: a single chunk.
            let chunk = shape.iter().product::<u64>().max(CHUNK);
            let consumed = || Error::usage("the selection was already printed");
            matrix(&shape, chunk, &mut |_| whole.take().ok_or_else(consumed), &mut env.stdout)?;
        }
    }
    Ok(Outcome::Done)
}

fn json(value: &impl Serialize, stdout: &mut Stdout<'_>) -> Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let written = serde_json::to_writer(&mut out, value);
    let written = written.map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    written.map_err(|cause| match cause.kind() {
        // Serialization failed, not the output.
        std::io::ErrorKind::Other | std::io::ErrorKind::InvalidData => {
            Error::invalid("cannot read the values").caused_by(cause)
        }
        _ => Error::io("cannot write to standard output", cause),
    })
}

type Fetch<'f, 'a> = dyn FnMut(std::ops::Range<u64>) -> Result<Array<'a>> + 'f;

/// Prints a scalar, a list with a value per line, or matrices. With more than two dimensions each matrix has a heading such as `[0, 3, :, :]`.
fn matrix(shape: &[u64], chunk: u64, fetch: &mut Fetch<'_, '_>, stdout: &mut Stdout<'_>) -> Result<()> {
    let (outer, columns) = match shape {
        [outer @ .., _, columns] => (outer, *columns),
        _ => (&[][..], 1),
    };
    let total: u64 = shape.iter().product();
    let rows = match shape {
        [.., rows, _] => *rows,
        [rows] => *rows,
        [] => 1,
    };
    if total == 0 {
        return Ok(());
    }
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let failed = |cause| Error::io("cannot write to standard output", cause);
    let step = (chunk / columns).max(1) * columns;
    let (mut at, mut row) = (0, 0);
    while at < total {
        let end = total.min(at + step);
        let array = fetch(at..end)?;
        let cells: Vec<String> = (0..array.len()).map(|index| cell(&array, index)).collect();
        let cells_per_line = usize::try_from(columns).unwrap_or(usize::MAX);
        let mut widths = vec![0; cells_per_line.min(cells.len())];
        for line in cells.chunks(cells_per_line) {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in cells.chunks(cells_per_line) {
            if !outer.is_empty() && row % rows == 0 {
                let gap = if row > 0 { "\n" } else { "" };
                writeln!(out, "{gap}[{}, :, :]", outer_indexes(outer, row / rows)).map_err(failed)?;
            }
            let mut text = String::new();
            for (number, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = if number > 0 { "  " } else { "" };
                match columns {
                    1 => text.push_str(cell),
                    _ => text.push_str(&format!("{gap}{cell:>width$}")),
                }
            }
            writeln!(out, "{text}").map_err(failed)?;
            row += 1;
        }
        at = end;
    }
    out.flush().map_err(failed)
}

/// The indexes of the n-th matrix along the outer dimensions, such as `0, 3`.
fn outer_indexes(outer: &[u64], mut n: u64) -> String {
    let mut indexes = Vec::new();
    for size in outer.iter().rev() {
        indexes.push((n % size).to_string());
        n /= size;
    }
    indexes.reverse();
    indexes.join(", ")
}

/// A value as text.
fn cell(array: &Array<'_>, index: usize) -> String {
    if array.mask().is_some_and(|mask: &Mask<'_>| mask.is_missing(index)) {
        return "null".to_owned();
    }
    let number = |value: Option<String>| value.unwrap_or_default();
    match array.values() {
        Values::Float32(all) => number(all.get(index).map(|value| float(f64::from(*value), value))),
        Values::Float64(all) => number(all.get(index).map(|value| float(*value, value))),
        Values::Int8(all) => number(all.get(index).map(ToString::to_string)),
        Values::Int16(all) => number(all.get(index).map(ToString::to_string)),
        Values::Int32(all) => number(all.get(index).map(ToString::to_string)),
        Values::Int64(all) => number(all.get(index).map(ToString::to_string)),
        Values::Uint8(all) => number(all.get(index).map(ToString::to_string)),
        Values::Uint16(all) => number(all.get(index).map(ToString::to_string)),
        Values::Uint32(all) => number(all.get(index).map(ToString::to_string)),
        Values::Uint64(all) => number(all.get(index).map(ToString::to_string)),
        Values::Bool(all) => number(all.get(index).map(ToString::to_string)),
        Values::Str(all) | Values::Unicode(all) => {
            clean(&String::from_utf8_lossy(all.get(index).unwrap_or_default())).into_owned()
        }
    }
}

/// The shortest digits that identify the float in its own precision. `wide` is the same value.
fn float(wide: f64, value: &impl Serialize) -> String {
    match wide {
        wide if wide.is_nan() => "NaN".to_owned(),
        wide if wide.is_infinite() => if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => serde_json::to_string(value).unwrap_or_default(), // cannot fail for a finite float
    }
}
