//! `wharf info`: describes files.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufWriter, Write};

use container_core::{ColumnInfo, Container, Error, Result, Table};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::Outcome;
use super::display::{self, abbreviated, clean, counted};
use super::env::Env;
use super::inputs::{self, Location, Opened};
use super::report::error_object;

const EXAMPLES: &str = "\
Examples:
  wharf info adult.idv
  wharf info train.msgpack
  wharf info model.nc
  wharf info people.csv
  wharf info adult.idv --json | jq '.tables[0].columns[].name'";

/// Show the format, tables, columns, types and metadata of files
///
/// Reads only headers and indexes, so it is fast for files of any size. For formats without a schema (datadings, CSV, JSON lines), columns are
/// inferred from a sample of a few thousand rows, or from all rows of a small file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Input files, or quoted glob patterns such as 'day-*.idv'; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    let locations = inputs::expand(&arguments.files)?;
    let several = locations.len() > 1;
    let mut outcome = Outcome::Done;
    for (number, location) in locations.iter().enumerate() {
        if env.stdout.closed {
            break;
        }
        let input = location.input(&mut env.opener).map_err(|error| error.in_file(location.name()))?;
        let errors = RefCell::new(Vec::new());
        if env.json() {
            let opened = location.open_input(&input, &env.opener)?;
            let file = several.then(|| location.name());
            let info = Info { file, container: opened.container.as_ref(), errors: &errors };
            print_json(&info, env)?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            let netcdf = super::netcdf::reader(&input, &env.opener).map_err(|error| error.in_file(location.name()))?;
            let text = if let Some(reader) = netcdf {
                super::netcdf::describe(location, &reader)
            } else if let Some(reader) = super::ds::reader(&input, &env.opener)? {
                super::ds::describe(location, &reader)
            } else {
                describe(location, &location.open_input(&input, &env.opener)?, &errors, env.stdout.terminal)
            };
            env.stdout.print(&format!("{gap}{text}"))?;
        }
        for error in errors.into_inner() {
            env.report.error(&error.in_file(location.name()));
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

fn print_json(info: &Info<'_>, env: &mut Env<'_>) -> Result<()> {
    let pretty = env.stdout.terminal.is_some() && info.file.is_none();
    let mut out = BufWriter::with_capacity(64 << 10, &mut env.stdout);
    let written =
        if pretty { serde_json::to_writer_pretty(&mut out, info) } else { serde_json::to_writer(&mut out, info) };
    let written = written.map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    drop(out);
    env.stdout.unless_closed(written)
}

/// Serializes the description of a container column by column, so that only the metadata of one column is in memory.
struct Info<'a> {
    file: Option<String>,
    container: &'a dyn Container,
    errors: &'a RefCell<Vec<Error>>,
}

impl Serialize for Info<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(file) = &self.file {
            map.serialize_entry("file", file)?;
        }
        map.serialize_entry("format", self.container.format())?;
        map.serialize_entry("version", &self.container.version())?;
        for (name, value) in self.container.details() {
            map.serialize_entry(&name, &value)?;
        }
        map.serialize_entry(
            "tables",
            &Each(self.container.tables(), |table| TableInfo { table, errors: self.errors }),
        )?;
        map.end()
    }
}

struct TableInfo<'a> {
    table: &'a dyn Table,
    errors: &'a RefCell<Vec<Error>>,
}

impl Serialize for TableInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let broken = self.table.columns_error();
        map.serialize_entry("name", self.table.name())?;
        map.serialize_entry("rows", &self.table.len().filter(|_| broken.is_none()))?;
        if let Some(error) = broken {
            map.serialize_entry("error", &error_object(&error))?;
            self.errors.borrow_mut().push(error);
        }
        let columns = 0..self.table.columns().len();
        let column = |index| ColumnEntry { table: self.table, index, errors: self.errors };
        map.serialize_entry("columns", &Each(columns, column))?;
        map.end()
    }
}

struct ColumnEntry<'a> {
    table: &'a dyn Table,
    index: usize,
    errors: &'a RefCell<Vec<Error>>,
}

impl Serialize for ColumnEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(column) = self.table.columns().get(self.index) {
            map.serialize_entry("name", &column.name)?;
            map.serialize_entry("type", &column.kind)?;
            for (name, value) in &column.details {
                map.serialize_entry(name, value)?;
            }
            for (name, value) in self.table.column_summary(self.index) {
                map.serialize_entry(&name, &value)?;
            }
            match self.table.column_details(self.index) {
                Ok(details) => {
                    for (name, value) in details {
                        map.serialize_entry(&name, &value)?;
                    }
                }
                Err(error) => {
                    let error = error.in_column(column.name.clone());
                    map.serialize_entry("error", &error_object(&error))?;
                    self.errors.borrow_mut().push(error);
                }
            }
            if let Some(why) = &column.unreadable {
                map.serialize_entry("unreadable", why)?;
            }
        }
        map.end()
    }
}

/// A list whose items are created while it is serialized.
struct Each<T, F>(T, F);

impl<T: Clone + IntoIterator, U: Serialize, F: Fn(T::Item) -> U> Serialize for Each<T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone().into_iter().map(&self.1))
    }
}

/// The human-readable description. Long values are abbreviated; `--json` has them in full.
fn describe(location: &Location, opened: &Opened, errors: &RefCell<Vec<Error>>, width: Option<u16>) -> String {
    let container = opened.container.as_ref();
    let version = container.version();
    let size = opened.bytes.map(|bytes| format!(", {}", display::size(bytes))).unwrap_or_default();
    let format = format!("{} {}", container.format(), clean(&version));
    let mut text = format!("{}: {}{size}\n", clean(&location.name()), format.trim_end());
    for (key, value) in container.details() {
        // The first line already has the size and version.
        let of_tables = key == COLLECTIONS && value.is_object();
        if key != "bytes" && value != *version && !of_tables && !JSON_ONLY_DETAILS.contains(&key.as_str()) {
            text.push_str(&format!("{}: {}\n", spaced(&key), brief(&value)));
        }
    }
    let tables = container.tables();
    for table in &tables {
        let name = if tables.len() == 1 { String::new() } else { format!("\ntable {}: ", clean(table.name())) };
        text.push_str(&name);
        let mut described = describe_table(*table, errors, width);
        if let Some(details) = container.details().get(COLLECTIONS).and_then(|all| all.get(table.name())?.as_object()) {
            // After the line with the row count.
            let end = described.find('\n').map_or(described.len(), |feed| feed + 1);
            let lines: String =
                details.iter().map(|(key, value)| format!("{}: {}\n", spaced(key), brief(value))).collect();
            described.insert_str(end, &lines);
        }
        text.push_str(&described);
    }
    text
}

/// The container detail that has details of each table.
const COLLECTIONS: &str = "collections";

/// Container details shown only with `--json`.
const JSON_ONLY_DETAILS: [&str; 2] = ["salt", "legacy"];

/// Maximum columns listed without `--json`.
const MAX_LISTED: usize = 20_000;

fn describe_table(table: &dyn Table, errors: &RefCell<Vec<Error>>, width: Option<u16>) -> String {
    let broken = table.columns_error();
    let count = table.len().filter(|_| broken.is_none());
    let rows = count.map_or_else(|| "rows not counted".to_owned(), |rows| counted(rows, "row"));
    let columns = table.columns();
    let mut text = format!("{rows}, {}", counted(columns.len(), "column"));
    // Read all columns, to find common details and errors, but keep only the listed ones.
    let mut profiles = Profiles::default();
    let mut described = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let column = Described::new(table, index, column, errors);
        profiles.add(&column.plain);
        if index < MAX_LISTED {
            described.push(column);
        }
    }
    text.push_str(&profiles.take_sample_note(count));
    errors.borrow_mut().extend(broken);
    let (common, differing) = profiles.common();
    let common: Vec<String> = common.iter().map(|(key, value)| format!("{} {}", spaced(key), scalar(value))).collect();
    if !common.is_empty() {
        text.push_str(&format!("; all columns: {}", common.join(", ")));
    }
    text.push('\n');
    if columns.is_empty() {
        return text;
    }
    text.push('\n');
    let mut lines = display::table(width);
    let noted = described.iter().any(|column| !column.note.is_empty());
    let header = ["column", "type"].into_iter().chain(differing.iter().map(String::as_str));
    lines.set_header(header.chain(noted.then_some("note")).map(spaced));
    for column in &described {
        let cells = differing.iter().map(|key| column.plain.get(key).map(scalar).unwrap_or_default());
        let line = [column.name.clone(), column.kind.clone()].into_iter().chain(cells);
        lines.add_row(line.chain(noted.then(|| column.note.clone())));
    }
    for (key, column) in differing.iter().zip(lines.column_iter_mut().skip(2)) {
        if described.iter().filter_map(|column| column.plain.get(key)).all(Value::is_number) {
            column.set_cell_alignment(display::ALIGN_RIGHT);
        }
    }
    text.push_str(&display::render(&mut lines));
    if let Some(more @ 1..) = columns.len().checked_sub(MAX_LISTED) {
        text.push_str(&format!("… and {}\n", counted(more, "more column")));
    }
    if described.iter().any(|column| !column.nested.is_empty()) {
        text.push('\n');
        text.push_str(&metadata(&described, width));
    }
    text
}

/// Profile of a detail across the columns of a table.
struct Profile {
    /// The value of the first column that has it.
    first: Value,
    /// Number of columns that have it.
    columns: usize,
    /// Whether its values are all equal.
    is_constant: bool,
}

impl Profile {
    /// Whether all `columns` columns have the same value.
    fn is_common(&self, columns: usize) -> bool {
        self.is_constant && self.columns == columns
    }
}

/// The details of all columns, in order of first appearance. A format has few distinct keys.
#[derive(Default)]
struct Profiles {
    columns: usize,
    details: Vec<(String, Profile)>,
}

impl Profiles {
    fn add(&mut self, details: &Map<String, Value>) {
        self.columns += 1;
        for (key, value) in details {
            match self.details.iter_mut().find(|(own, _)| own == key) {
                Some((_, profile)) => {
                    profile.columns += 1;
                    profile.is_constant &= profile.first == *value;
                }
                None => {
                    self.details.push((key.clone(), Profile { first: value.clone(), columns: 1, is_constant: true }));
                }
            }
        }
    }

    /// Removes the sample size from the details, and the counts of columns that occur in every sampled row. Returns a note if the columns
    /// were inferred from fewer than all rows.
    fn take_sample_note(&mut self, rows: Option<u64>) -> String {
        for noun in ["samples", "documents", "rows"] {
            let key = format!("{noun}_looked_at");
            let Some(index) = self.details.iter().position(|(other, _)| *other == key) else { continue };
            let (_, sampled) = self.details.remove(index);
            let columns = self.columns;
            self.details
                .retain(|(key, profile)| key != noun || !profile.is_common(columns) || profile.first != sampled.first);
            return match sampled.first.as_u64() {
                Some(sampled @ 1..) if rows != Some(sampled) => format!(" in a sample of {}", counted(sampled, "row")),
                _ => String::new(),
            };
        }
        String::new()
    }

    /// Details with the same value in all columns, and the keys of all others.
    fn common(self) -> (Map<String, Value>, Vec<String>) {
        let columns = self.columns;
        let (mut common, mut differing) = (Map::new(), Vec::new());
        for (key, profile) in self.details {
            match columns > 1 && profile.is_common(columns) && key != "bytes" {
                true => drop(common.insert(key, profile.first)),
                false => differing.push(key),
            }
        }
        (common, differing)
    }
}

/// A table of the columns' metadata, one line per item.
fn metadata(described: &[Described], width: Option<u16>) -> String {
    let mut lines = display::table(width);
    lines.set_header(["column", "metadata", "value"]);
    for column in described {
        for (index, (kind, value)) in column.nested.iter().enumerate() {
            let name = if index == 0 { column.name.as_str() } else { "" };
            lines.add_row([name, kind, value]);
        }
    }
    display::render(&mut lines)
}

/// The human-readable description of a column.
struct Described {
    name: String,
    kind: String,
    plain: Map<String, Value>,
    nested: Vec<(String, String)>,
    note: String,
}

/// Column details shown only with `--json`, because the type or another detail implies them.
const JSON_ONLY: [&str; 7] =
    ["codec", "item_codec", "dimensions", "key_count", "blocks", "decompressed_bytes", "metadata_types"];

impl Described {
    fn new(table: &dyn Table, index: usize, column: &ColumnInfo, errors: &RefCell<Vec<Error>>) -> Self {
        let mut details: Map<String, Value> = column.details.iter().cloned().collect();
        details.extend(table.column_summary(index));
        let mut note = column.unreadable.as_ref().map(|why| format!("cannot be read: {}", clean(why)));
        match table.column_details(index) {
            Ok(more) => details.extend(more),
            Err(error) => {
                let error = error.in_column(column.name.clone());
                note = Some(format!("damaged: {}", clean(error.detail())));
                errors.borrow_mut().push(error);
            }
        }
        let mut plain = Map::new();
        let mut nested = Vec::new();
        for (key, value) in details {
            match value {
                _ if JSON_ONLY.contains(&key.as_str()) => {}
                Value::Object(members) if key == "metadata" => {
                    let named = |(kind, value): (String, Value)| (short(&kind), brief(&value));
                    nested.extend(members.into_iter().map(named));
                }
                Value::Array(_) | Value::Object(_) => nested.push((spaced(&key), brief(&value))),
                plain_value => drop(plain.insert(key, plain_value)),
            }
        }
        Self { name: short(&column.name), kind: short(&column.kind), plain, nested, note: note.unwrap_or_default() }
    }
}

fn spaced(key: &str) -> String {
    short(&key.replace('_', " "))
}

/// Text of a file, escaped and abbreviated.
fn short(text: &str) -> String {
    abbreviated(&clean(text), 60).into_owned()
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => short(text),
        Value::Null => String::new(),
        Value::Number(number) if number.is_u64() => display::grouped(number),
        other => other.to_string(),
    }
}

/// The value, abbreviated to its beginning and its number of items.
fn brief(value: &Value) -> String {
    /// Approximate maximum characters of a list or map.
    const MAX_CHARS: usize = 60;
    // The library abbreviates very long values itself: to their beginning and count.
    let (value, count) = match value.get("$beginning") {
        Some(beginning) => (beginning.get("value").unwrap_or(value), beginning.get("count").and_then(Value::as_u64)),
        None => (value, None),
    };
    if let Some(sparse) = display::sparse_text(value) {
        let stored = count.map(|count| format!(" ({} stored)", counted(count, "item")));
        return short(&sparse) + &stored.unwrap_or_default();
    }
    let members: Box<dyn Iterator<Item = String> + '_> = match value {
        Value::Array(items) => Box::new(items.iter().map(brief)),
        Value::Object(members) => {
            Box::new(members.iter().map(|(key, value)| format!("{}: {}", short(key), brief(value))))
        }
        Value::String(text) => {
            let bytes = count.map(|count| format!(" ({})", counted(count, "byte")));
            return format!("\"{}\"{}", short(text).replace('"', "\\\""), bytes.unwrap_or_default());
        }
        other => return other.to_string(),
    };
    let (open, close, shown) = match value {
        Value::Array(items) => ('[', ']', items.len()),
        Value::Object(members) => ('{', '}', members.len()),
        _ => return String::new(),
    };
    let all = count.unwrap_or(shown as u64);
    let cut = |text: &str| format!("{text}…{close} ({})", counted(all, "item"));
    let mut text = String::from(open);
    for (index, member) in members.enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        if text.chars().count() > MAX_CHARS {
            return cut(&text);
        }
        text.push_str(&member);
    }
    if all > shown as u64 {
        return cut(&(text + ", "));
    }
    text.push(close);
    text
}
