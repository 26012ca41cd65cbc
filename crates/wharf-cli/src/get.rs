//! `wharf get`: prints one record or variable.

use std::ffi::OsString;

use container_core::{Error, Input, Loss, Position, Result, Rows, Scan, Table};
use serde_json::{Map, Value};
use wharf::convert::{Cells, column_names};

use super::Outcome;
use super::display;
use super::env::Env;
use super::inputs::{self, Location};
use super::report::Lost;
use super::select::{self, Reading, RowRange};

const EXAMPLES: &str = "\
Examples:
  wharf get adult.idv --row 41           row 41, counted from 0
  wharf get adult.idv --row 41 --json    the same as JSON
  wharf get train.msgpack cat-7          the sample with the key cat-7
  wharf get train.msgpack cat-7 --raw --field image > cat-7.jpg
  wharf get climate.ds temp --raw > temp.f64     the stored bytes of a variable
  wharf get climate.ds temp --sel time=-1 --at lat=51.5 --between lon=-10..10";

/// Print one record by key or row number, or a variable of a ds or NetCDF file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input file; - for standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// Key of the record (datadings, ZDS), or name of a variable (ds, NetCDF)
    #[arg(value_name = "KEY", required_unless_present = "row", conflicts_with = "row")]
    key: Option<String>,

    /// Row number, counted from 0
    #[arg(long, value_name = "N")]
    row: Option<u64>,

    /// Print a human-readable table even into a pipe
    #[arg(long, conflicts_with = "json")]
    pretty: bool,

    /// Only these columns, in this order: comma-separated names as listed by `info`. Repeatable
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,

    /// Print the stored bytes. datadings: the msgpack message of the sample. ds: numbers in the byte order of the file, booleans as bits, or one
    /// string, without missing elements
    #[arg(long, conflicts_with_all = ["pretty", "columns", "json"])]
    raw: bool,

    /// With --raw: only this field, which contains bytes or a string (datadings)
    #[arg(long, value_name = "NAME", requires = "raw")]
    field: Option<String>,

    #[command(flatten)]
    slice: super::ds::SliceOptions,

    #[command(flatten)]
    packed: super::ds::PackedOption,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    if env.json() && arguments.pretty {
        // clap reports this conflict only if --json follows the verb.
        return Err(Error::usage("--json cannot be used with --pretty"));
    }
    if arguments.raw && env.json() {
        return Err(Error::usage("--json cannot be used with --raw"));
    }
    let location = &inputs::expand_single(&arguments.file, "get")?;
    let file = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(file)?;
    env.opener.packed = arguments.packed.packed;
    if let Some(variable) = &arguments.key
        && let Some(reader) = env.opener.variables(&input).map_err(file)?
    {
        if !arguments.columns.is_empty() || arguments.reading.table.is_some() {
            return Err(file(Error::usage("a variable has no columns or tables; select a part of it with --sel")));
        }
        if arguments.field.is_some() {
            return Err(file(Error::usage("a variable has no fields; select a part of it with --sel")));
        }
        return match arguments.raw {
            true if reader.format() != dsfmt::FORMAT_NAME => {
                Err(Error::usage(format!("requires ds, found {}", reader.format())).in_option("raw"))
            }
            true => super::ds::raw(&reader, variable, &arguments.slice, env),
            false => {
                let selection = selection(arguments, &reader, &input, env).map_err(file)?;
                super::ds::get(&reader, variable, selection.as_ref(), env)
            }
        }
        .map_err(file);
    }
    arguments.slice.refuse().map_err(file)?;
    if arguments.raw {
        return raw(arguments, location, &input, env);
    }
    env.opener.view.columns(&arguments.columns)?;
    let opened = location.open_input(&input, &env.opener)?;
    let table = select::table(opened.container.as_ref(), arguments.reading.table.as_deref()).map_err(file)?;
    record(arguments, location, table, env).map_err(file)
}

/// The selected part of variables; `None` when all is selected. Coordinates are looked up as they are stored: unpacking rounds.
fn selection(
    arguments: &Arguments,
    reader: &dsfmt::Reader,
    input: &Input,
    env: &mut Env<'_>,
) -> Result<Option<dsfmt::Selection>> {
    if arguments.slice.is_all() {
        return Ok(None);
    }
    env.opener.packed = true;
    let coordinates = match reader.format() == dsfmt::FORMAT_NAME {
        true => None,
        false => env.opener.variables(input)?,
    };
    arguments.slice.selection(coordinates.as_ref().unwrap_or(reader)).map(Some)
}

/// Prints the stored bytes of a sample or of one field.
fn raw(arguments: &Arguments, location: &Location, input: &Input, env: &mut Env<'_>) -> Result<Outcome> {
    use std::io::Write;

    use datadings::Kind;

    let dataset = super::records::Dataset::of(location, input, &env.opener, "--raw")?;
    let reader = &dataset.reader;
    let file = |error: Error| error.in_file(location.name());
    let row = row_of(arguments, |key| reader.find(key)).map_err(file)?;
    RowRange { rows: row..row.saturating_add(1), one: true }.check(reader.len()).map_err(file)?;
    let sample = reader.get(row).map_err(file)?;
    let field = match &arguments.field {
        None => None,
        Some(name) => {
            let value = sample.get(name).map_err(file)?;
            Some(value.ok_or_else(|| file(Error::usage(format!("the sample has no field {name:?}")).in_row(row)))?)
        }
    };
    let (bytes, is_text) = match field {
        None => (sample.as_bytes(), false),
        Some(value) => match value.kind().map_err(file)? {
            Kind::Bin => (value.bin().map_err(file)?, false),
            Kind::Str => (value.str().map_err(file)?.as_bytes(), true),
            other => {
                let name = arguments.field.as_deref().unwrap_or_default();
                let detail = format!("--raw prints bytes or a string, but the field {name:?} is {}", kind_name(other));
                return Err(file(Error::usage(detail).in_row(row)));
            }
        },
    };
    if env.stdout.terminal.is_some() && !is_text {
        return Err(Error::usage("cannot write binary data to a terminal; use a file or a pipe"));
    }
    let printed = env.stdout.write_all(bytes).and_then(|()| env.stdout.flush());
    printed.map_err(|cause| Error::io("cannot write to standard output", cause))?;
    let other_key = arguments.key.as_ref().and_then(|key| key_mismatch(row, key, sample.key().ok()?));
    Ok(finish(other_key, location, env))
}

/// Reports losses.
fn finish(losses: impl IntoIterator<Item = Loss>, location: &Location, env: &mut Env<'_>) -> Outcome {
    let losses: Vec<_> = losses.into_iter().map(|loss| Lost { file: Some(location.name()), loss }).collect();
    env.lost(&losses)
}

const fn kind_name(kind: datadings::Kind) -> &'static str {
    use datadings::Kind;
    match kind {
        Kind::Nil => "nil",
        Kind::Bool => "a bool",
        Kind::Integer => "an integer",
        Kind::Float => "a float",
        Kind::Str => "a str",
        Kind::Bin => "a bin",
        Kind::Array => "an array",
        Kind::Map => "a map",
        _ => "an extension",
    }
}

/// The row as JSON.
fn object(rows: &dyn Rows) -> Result<Map<String, Value>> {
    let mut line = Vec::new();
    rows.json(&mut line)?;
    serde_json::from_slice(&line).map_err(|cause| Error::invalid("the row is not a JSON object").caused_by(cause))
}

/// The number of the requested row.
fn row_of(arguments: &Arguments, find: impl FnOnce(&str) -> Result<Option<u64>>) -> Result<u64> {
    match &arguments.key {
        Some(key) => find(key)?.ok_or_else(|| Error::usage("no record has this key").in_key(key.clone())),
        None => Ok(arguments.row.unwrap_or(0)),
    }
}

/// That a row has another key than the one that led to it, if its format keeps keys in a column: the index lists the key of another row.
fn other_key(table: &dyn Table, row: u64, key: &str) -> Result<Option<Loss>> {
    let Some(name) = table.key_column() else { return Ok(None) };
    let Some(column) = table.columns().iter().position(|column| column.name == name) else { return Ok(None) };
    let mut rows = table.rows(&Scan::default().with_rows(row..row.saturating_add(1)).with_columns([column]))?;
    if !rows.advance()? {
        return Ok(None);
    }
    let found = object(rows.as_ref())?.remove(name);
    Ok(found.as_ref().and_then(Value::as_str).and_then(|found| key_mismatch(row, key, found)))
}

fn key_mismatch(row: u64, key: &str, found: &str) -> Option<Loss> {
    let what = format!("the index lists another key than the row has: {found:?}");
    (found != key).then(|| Loss::new(what, 1, Position::of_key(key.to_owned()).in_row(row)))
}

fn record(arguments: &Arguments, location: &Location, table: &dyn Table, env: &mut Env<'_>) -> Result<Outcome> {
    let row = row_of(arguments, |key| table.find(key))?;
    let range = RowRange { rows: row..row.saturating_add(1), one: true };
    if let Some(len) = table.len() {
        range.check(len)?;
    }
    let mut scan = arguments.reading.scan().with_rows(range.rows);
    scan.columns = select::columns(table, &arguments.columns)?;
    let mut rows = table.rows(&scan)?;
    if !rows.advance()? {
        return Err(Error::usage(format!("there is no row {row}")));
    }
    let text = if arguments.pretty || (env.stdout.terminal.is_some() && !env.json()) {
        let known = column_names(table, &scan);
        let mut cells = Cells::new(&known).with_limit(display::MAX_CELL_BYTES);
        let row_fields = match cells.fill(rows.row())? {
            0 => Vec::new(),
            // Without a schema, the record may have fields outside the inferred columns.
            _ => object(rows.as_ref())?.into_iter().map(|(name, _)| name).collect(),
        };
        let mut names = known;
        if !row_fields.is_empty() {
            names = row_fields.iter().map(String::as_str).collect();
            cells = Cells::new(&names).with_limit(display::MAX_CELL_BYTES);
            cells.fill(rows.row())?;
        }
        let kind = |name: &str| table.columns().iter().find(|column| column.name == name).map_or("", |c| &c.kind);
        let lines = names.iter().zip(cells.iter()).map(|(name, cell)| (*name, kind(name), cell));
        display::record(lines, env.stdout.terminal)
    } else {
        let mut line = Vec::new();
        rows.json(&mut line)?;
        line.push(b'\n');
        String::from_utf8(line).map_err(|cause| Error::invalid("the row is not UTF-8").caused_by(cause))?
    };
    env.stdout.print(&text)?;
    let other_key = arguments.key.as_ref().map_or(Ok(None), |key| other_key(table, row, key))?;
    Ok(finish(rows.losses().into_iter().chain(other_key), location, env))
}
