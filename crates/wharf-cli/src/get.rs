//! `wharf get`: one record.

use std::ffi::OsString;

use container_core::Input;
use container_core::{Error, Result, Rows, Table};
use wharf::convert::{Cells, column_names};

use super::Outcome;
use super::env::Env;
use super::human;
use super::inputs::{self, Location};
use super::report::Lost;
use super::select::{self, Reading, RowRange};

const EXAMPLES: &str = "\
Examples:
  wharf get adult.idv --row 41           the row with number 41, counted from 0
  wharf get adult.idv --row 41 --json    the same for a program
  wharf get train.msgpack cat-7          the sample with this key
  wharf get train.msgpack cat-7 --raw --field image > cat-7.jpg
  wharf get climate.ds temp --raw > temp.f64     its numbers, as they lie in the file
  wharf get climate.ds temp --sel time=-1 --at lat=51.5 --between lon=-10..10";

/// Print one record, by key or by row number
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: OsString,

    /// The record's key, where the format has keys; a variable's name (ds)
    #[arg(value_name = "KEY", required_unless_present = "row", conflicts_with = "row")]
    key: Option<String>,

    /// The record's row number, counted from 0
    #[arg(long, value_name = "N")]
    row: Option<u64>,

    /// A table for people, into a pipe too
    #[arg(long, conflicts_with = "json")]
    pretty: bool,

    /// Only these columns, in this order: names as `info` lists them, separated by commas; may be given several times
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,

    /// The bytes of the record as they lie in the file. datadings: its msgpack message. ds: numbers in the file's order of bytes, truth values
    /// as bits, one string; missing elements are not stored, and so are left out
    #[arg(long, conflicts_with_all = ["pretty", "columns", "json"])]
    raw: bool,

    /// With --raw: only this field, which holds bytes or a text, such as an image
    #[arg(long, value_name = "NAME", requires = "raw")]
    field: Option<String>,

    #[command(flatten)]
    part: super::ds::Part,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    if env.json() && arguments.pretty {
        // clap sees this only when --json stands behind the verb.
        return Err(Error::usage("--json cannot be used with --pretty"));
    }
    let locations = inputs::expand(std::slice::from_ref(&arguments.file))?;
    let [location] = locations.as_slice() else {
        return Err(Error::usage(format!("the pattern matches {} files; get reads one", locations.len()))
            .in_file(arguments.file.display().to_string()));
    };
    if arguments.raw && env.json() {
        // clap sees this only when --json stands behind the verb.
        return Err(Error::usage("--json cannot be used with --raw"));
    }
    let file = |error: Error| error.in_file(location.name());
    let input = location.input(&mut env.opener).map_err(file)?;
    if let Some(variable) = &arguments.key
        && let Some(reader) = super::netcdf::variables(&input, &env.opener).map_err(file)?
    {
        if !arguments.columns.is_empty() || arguments.reading.table.is_some() {
            return Err(file(Error::usage("a variable has no columns and no table: choose a part of it with --sel")));
        }
        if arguments.field.is_some() {
            return Err(file(Error::usage("a variable has no fields: choose a part of it with --sel")));
        }
        return match arguments.raw {
            true if reader.format() != dsfmt::FORMAT_NAME => {
                Err(Error::usage(format!("is for ds, and this one is {}", reader.format())).in_option("raw"))
            }
            true => super::ds::raw(&reader, variable, &arguments.part, env),
            false => super::ds::get(&reader, variable, &arguments.part, env),
        }
        .map_err(file);
    }
    arguments.part.refuse().map_err(file)?;
    if arguments.raw {
        return raw(arguments, location, &input, env);
    }
    env.opener.view.columns(&arguments.columns)?;
    let opened = location.open_input(&input, &env.opener)?;
    let table = select::table(opened.container.as_ref(), arguments.reading.table.as_deref()).map_err(file)?;
    record(arguments, location, table, env).map_err(file)
}

/// Prints bytes as they lie in the file.
fn raw(arguments: &Arguments, location: &Location, input: &Input, env: &mut Env<'_>) -> Result<Outcome> {
    use std::io::Write;

    use datadings::Kind;

    let dataset = super::dataset::Dataset::of(location, input, &env.opener, "--raw")?;
    let reader = &dataset.reader;
    let file = |error: Error| error.in_file(location.name());
    let row = row_of(arguments, |key| reader.find(key)).map_err(file)?;
    RowRange { rows: row..row.saturating_add(1), one: true }.check(reader.len()).map_err(file)?;
    let sample = reader.get(row).map_err(file)?;
    let field = match &arguments.field {
        None => None,
        Some(name) => {
            let found = sample.get(name).map_err(file)?;
            Some(found.ok_or_else(|| file(Error::usage(format!("the sample has no field {name:?}")).in_row(row)))?)
        }
    };
    let (bytes, text) = match field {
        None => (sample.as_bytes(), false),
        Some(value) => match value.kind().map_err(file)? {
            Kind::Bin => (value.bin().map_err(file)?, false),
            Kind::Str => (value.str().map_err(file)?.as_bytes(), true),
            other => {
                let name = arguments.field.as_deref().unwrap_or_default();
                let detail = format!("the field {name:?} is {}: --raw prints bytes and texts", kind_name(other));
                return Err(file(Error::usage(detail).in_row(row)));
            }
        },
    };
    if env.stdout.terminal.is_some() && !text {
        return Err(Error::usage("bytes are not for a terminal: print them into a file, or a pipe"));
    }
    let printed = env.stdout.write_all(bytes).and_then(|()| env.stdout.flush());
    printed.map_err(|cause| Error::io("cannot write to standard output", cause))?;
    Ok(Outcome::Done)
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

/// The names of a row's fields.
fn fields(rows: &dyn Rows) -> Result<Vec<String>> {
    let mut line = Vec::new();
    rows.json(&mut line)?;
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&line).map_err(|cause| Error::invalid("the row's JSON is no map").caused_by(cause))?;
    Ok(object.into_iter().map(|(name, _)| name).collect())
}

/// The row that is asked for, by number or by key.
fn row_of(arguments: &Arguments, find: impl FnOnce(&str) -> Result<Option<u64>>) -> Result<u64> {
    match &arguments.key {
        Some(key) => find(key)?.ok_or_else(|| Error::usage("there is no record with this key").in_key(key.clone())),
        None => Ok(arguments.row.unwrap_or(0)),
    }
}

fn record(arguments: &Arguments, location: &Location, table: &dyn Table, env: &mut Env<'_>) -> Result<Outcome> {
    let row = row_of(arguments, |key| table.find(key))?;
    let wanted = RowRange { rows: row..row.saturating_add(1), one: true };
    if let Some(len) = table.len() {
        wanted.check(len)?;
    }
    let mut scan = arguments.reading.scan().with_rows(wanted.rows.clone());
    scan.columns = select::columns(table, &arguments.columns)?;
    let mut rows = table.rows(&scan)?;
    if !rows.advance()? {
        return Err(Error::usage(format!("there is no row {row}")));
    }
    let text = if arguments.pretty || (env.stdout.terminal.is_some() && !env.json()) {
        let known = column_names(table, &scan);
        let mut cells = Cells::new(&known).with_limit(human::RECORD_CELL);
        let own = match cells.fill(rows.row())? {
            0 => Vec::new(),
            // A table without a schema, whose columns are not all known: the record knows its own.
            _ => fields(rows.as_ref())?,
        };
        let mut names = known;
        if !own.is_empty() {
            names = own.iter().map(String::as_str).collect();
            cells = Cells::new(&names).with_limit(human::RECORD_CELL);
            cells.fill(rows.row())?;
        }
        let kind = |name: &str| table.columns().iter().find(|column| column.name == name).map_or("", |c| &c.kind);
        let lines = names.iter().zip(cells.iter()).map(|(name, cell)| (*name, kind(name), cell));
        human::record(lines, env.stdout.terminal)
    } else {
        let mut line = Vec::new();
        rows.json(&mut line)?;
        line.push(b'\n');
        String::from_utf8(line).map_err(|cause| Error::invalid("the row's JSON is no text").caused_by(cause))?
    };
    env.stdout.print(&text)?;
    let told = rows.losses().into_iter().map(|loss| Lost { file: Some(location.name()), loss });
    let lost: Vec<_> = told.collect();
    for lost in &lost {
        env.report.lost(lost);
    }
    Ok(Outcome::after(&lost))
}
