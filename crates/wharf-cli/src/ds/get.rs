//! `wharf get FILE VARIABLE`: values, as a matrix or as JSON.

use std::io::{BufWriter, Write};

use container_core::{Error, Result};
use dsfmt::{Array, Mask, Reader, Values};
use serde::Serialize;

use super::Part;
use crate::Outcome;
use crate::env::{Env, Stdout};
use crate::human::clean;

/// Elements that are laid out together.
const TOGETHER: u64 = 16 << 10;

pub(crate) fn get(reader: &Reader, name: &str, part: &Part, env: &mut Env<'_>) -> Result<Outcome> {
    let variable = reader.variable(name)?;
    if let Some(problem) = variable.problem() {
        return Err(problem);
    }
    if variable.shape().is_none() {
        part.selection(reader)?; // what is asked for wrongly is wrong here, too
        env.stdout.print("null\n")?;
        return Ok(Outcome::Done);
    }
    let selection = part.selection(reader)?;
    match (part.is_all(), env.json()) {
        (true, true) => json(&variable.as_serialize(), &mut env.stdout)?,
        (true, false) => {
            let shape = variable.shape().unwrap_or_default();
            text(shape, &mut |range| variable.read_elements(range), &mut env.stdout)?;
        }
        (false, true) => json(&variable.select(&selection)?, &mut env.stdout)?,
        (false, false) => {
            let array = variable.select(&selection)?;
            let shape = array.shape().to_vec();
            let mut whole = Some(array);
            // One part, which is the whole: it is in memory.
            let most = shape.iter().product::<u64>().max(TOGETHER);
            let gone = || Error::usage("a part is read once");
            matrix(&shape, most, &mut |_| whole.take().ok_or_else(gone), &mut env.stdout)?;
        }
    }
    Ok(Outcome::Done)
}

fn json(value: &impl Serialize, stdout: &mut Stdout<'_>) -> Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let written = serde_json::to_writer(&mut out, value);
    let written = written.map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    written.map_err(|cause| match cause.kind() {
        // What is no failure of the output is one of the values.
        std::io::ErrorKind::Other | std::io::ErrorKind::InvalidData => {
            Error::invalid("the values cannot be shown").caused_by(cause)
        }
        _ => Error::io("cannot write to standard output", cause),
    })
}

type Fetch<'f, 'a> = dyn FnMut(std::ops::Range<u64>) -> Result<Array<'a>> + 'f;

fn text(shape: &[u64], fetch: &mut Fetch<'_, '_>, stdout: &mut Stdout<'_>) -> Result<()> {
    matrix(shape, TOGETHER, fetch, stdout)
}

/// A value, a list with a value a line, or matrices, which are headed by their place where there are more than two dimensions.
fn matrix(shape: &[u64], most: u64, fetch: &mut Fetch<'_, '_>, stdout: &mut Stdout<'_>) -> Result<()> {
    let (outer, wide) = match shape {
        [outer @ .., _, columns] => (outer, *columns),
        _ => (&[][..], 1),
    };
    let total: u64 = shape.iter().product();
    let high = match shape {
        [.., rows, _] => *rows,
        [rows] => *rows,
        [] => 1,
    };
    if total == 0 {
        return Ok(()); // there is nothing to see
    }
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let failed = |cause| Error::io("cannot write to standard output", cause);
    let some = (most / wide).max(1) * wide;
    // Values that were fetched, and the place of the first.
    let (mut at, mut row) = (0, 0);
    while at < total {
        let end = total.min(at + some);
        let array = fetch(at..end)?;
        let cells: Vec<String> = (0..array.len()).map(|index| cell(&array, index)).collect();
        let width = usize::try_from(wide).unwrap_or(usize::MAX);
        let mut widths = vec![0; width.min(cells.len())];
        for line in cells.chunks(width) {
            for (most, cell) in widths.iter_mut().zip(line) {
                *most = (*most).max(cell.chars().count());
            }
        }
        for line in cells.chunks(width) {
            if !outer.is_empty() && row % high == 0 {
                let gap = if row > 0 { "\n" } else { "" };
                writeln!(out, "{gap}[{}, :, :]", place(outer, row / high)).map_err(failed)?;
            }
            let mut text = String::new();
            for (number, (cell, most)) in line.iter().zip(&widths).enumerate() {
                let gap = if number > 0 { "  " } else { "" };
                match wide {
                    1 => text.push_str(cell),
                    _ => text.push_str(&format!("{gap}{cell:>most$}")),
                }
            }
            writeln!(out, "{text}").map_err(failed)?;
            row += 1;
        }
        at = end;
    }
    out.flush().map_err(failed)
}

/// `0, 3` of a matrix's number among all.
fn place(outer: &[u64], mut number: u64) -> String {
    let mut places = Vec::new();
    for size in outer.iter().rev() {
        places.push((number % size).to_string());
        number /= size;
    }
    places.reverse();
    places.join(", ")
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

/// By its own shortest digits.
fn float(wide: f64, own: &impl Serialize) -> String {
    match wide {
        wide if wide.is_nan() => "NaN".to_owned(),
        wide if wide.is_infinite() => if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => serde_json::to_string(own).unwrap_or_default(), // a finite float is always JSON
    }
}
