//! `wharf info`: what is in files.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufWriter, Write};

use container_core::{ColumnInfo, Container, Error, Result, Table};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::Outcome;
use super::env::Env;
use super::human::{self, abbreviated, clean, counted};
use super::inputs::{self, Location, Opened};
use super::report::error_object;

const EXAMPLES: &str = "\
Examples:
  wharf info adult.idv
  wharf info train.msgpack
  wharf info model.nc
  wharf info people.csv
  wharf info adult.idv --json | jq '.tables[0].columns[].name'";

/// Show what is in files: format, tables, columns with types, metadata
///
/// Only headers and indexes are read, so this is quick for files of any size. Columns of a format without a schema (datadings, text) are looked
/// for in some thousand rows, or in all of a small file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files, or patterns in quotes such as 'day-*.idv' (sorted); - is standard input
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
            if let Some(reader) = netcdf {
                env.stdout.print(&format!("{gap}{}", super::netcdf::describe(location, &reader)))?;
                continue;
            }
            if let Some(reader) = super::ds::reader(&input, &env.opener)? {
                let text = format!("{gap}{}", super::ds::describe(location, &reader));
                env.stdout.print(&text)?;
                continue;
            }
            let opened = location.open_input(&input, &env.opener)?;
            let text = format!("{gap}{}", describe(location, &opened, &errors, env.stdout.terminal));
            env.stdout.print(&text)?;
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

/// A container's description, made while it is printed: memory grows with one column's metadata.
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

/// A list whose items are made while it is printed.
struct Each<T, F>(T, F);

impl<T: Clone + IntoIterator, U: Serialize, F: Fn(T::Item) -> U> Serialize for Each<T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone().into_iter().map(&self.1))
    }
}

/// The description for people: what fits a line. Programs get everything.
fn describe(location: &Location, opened: &Opened, errors: &RefCell<Vec<Error>>, width: Option<u16>) -> String {
    let container = opened.container.as_ref();
    let version = container.version();
    let size = opened.bytes.map(|bytes| format!(", {}", human::size(bytes))).unwrap_or_default();
    let format = format!("{} {}", container.format(), clean(&version));
    let mut text = format!("{}: {}{size}\n", clean(&location.name()), format.trim_end());
    for (key, value) in container.details() {
        // The size is said already, and so is a version that is no other.
        let of_tables = key == COLLECTIONS && value.is_object();
        if key != "bytes" && value != *version && !of_tables && !OF_THE_WHOLE_FOR_PROGRAMS.contains(&key.as_str()) {
            text.push_str(&format!("{}: {}\n", spaced(&key), brief(&value)));
        }
    }
    let tables = container.tables();
    for table in &tables {
        let name = if tables.len() == 1 { String::new() } else { format!("\ntable {}: ", clean(table.name())) };
        text.push_str(&name);
        let mut described = describe_table(*table, errors, width);
        if let Some(own) = container.details().get(COLLECTIONS).and_then(|all| all.get(table.name())?.as_object()) {
            // Behind the line that tells how many rows there are.
            let line = described.find('\n').map_or(described.len(), |feed| feed + 1);
            let said: String = own.iter().map(|(key, value)| format!("{}: {}\n", spaced(key), brief(value))).collect();
            described.insert_str(line, &said);
        }
        text.push_str(&described);
    }
    text
}

/// The detail of a container that tells of each of its tables.
const COLLECTIONS: &str = "collections";

/// Details of a container that say nothing to people, or what its version says already.
const OF_THE_WHOLE_FOR_PROGRAMS: [&str; 2] = ["salt", "legacy"];

/// Columns of a table that are listed for people, at most.
const LISTED: usize = 20_000;

fn describe_table(table: &dyn Table, errors: &RefCell<Vec<Error>>, width: Option<u16>) -> String {
    let broken = table.columns_error();
    let count = table.len().filter(|_| broken.is_none());
    let rows = count.map_or_else(|| "rows not counted".to_owned(), |rows| counted(rows, "row"));
    let columns = table.columns();
    let mut text = format!("{rows}, {}", counted(columns.len(), "column"));
    // All columns are looked at, for what they have in common and for what is wrong, and only those that are listed are held.
    let mut profiles = Profiles::default();
    let mut described = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let column = Described::new(table, index, column, errors);
        profiles.add(&column.plain);
        if index < LISTED {
            described.push(column);
        }
    }
    text.push_str(&profiles.take_looked_at(count));
    errors.borrow_mut().extend(broken);
    let (common, differing) = profiles.common();
    let said: Vec<String> = common.iter().map(|(key, value)| format!("{} {}", spaced(key), scalar(value))).collect();
    if !said.is_empty() {
        text.push_str(&format!("; all columns: {}", said.join(", ")));
    }
    text.push('\n');
    if columns.is_empty() {
        return text;
    }
    text.push('\n');
    let mut lines = human::table(width);
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
            column.set_cell_alignment(human::RIGHT);
        }
    }
    text.push_str(&human::print(&mut lines));
    if let Some(more @ 1..) = columns.len().checked_sub(LISTED) {
        text.push_str(&format!("… and {}\n", counted(more, "more column")));
    }
    if described.iter().any(|column| !column.nested.is_empty()) {
        text.push('\n');
        text.push_str(&metadata(&described, width));
    }
    text
}

/// A detail over all columns of a table.
struct Profile {
    /// The value of the first column that has it.
    first: Value,
    /// Columns that have it.
    columns: usize,
    /// All of them have the first value.
    same: bool,
}

impl Profile {
    /// All columns of so many have the first value.
    fn is_of_all(&self, columns: usize) -> bool {
        self.same && self.columns == columns
    }
}

/// The details of all columns, in the order of their first appearance. Their keys are those of a format, which are few.
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
                    profile.same &= profile.first == *value;
                }
                None => {
                    self.details.push((key.clone(), Profile { first: value.clone(), columns: 1, same: true }));
                }
            }
        }
    }

    /// Where columns were looked for: said unless it is in all rows, as is how many of those have each.
    fn take_looked_at(&mut self, rows: Option<u64>) -> String {
        for what in ["samples", "documents", "rows"] {
            let key = format!("{what}_looked_at");
            let Some(location) = self.details.iter().position(|(own, _)| *own == key) else { continue };
            let (_, looked) = self.details.remove(location);
            let columns = self.columns;
            self.details
                .retain(|(own, profile)| own != what || !profile.is_of_all(columns) || profile.first != looked.first);
            return match looked.first.as_u64() {
                Some(looked @ 1..) if rows != Some(looked) => format!(" in the {} looked at", counted(looked, "row")),
                _ => String::new(),
            };
        }
        String::new()
    }

    /// What is the same for all columns is said once, the rest has a place of its own in the table.
    fn common(self) -> (Map<String, Value>, Vec<String>) {
        let columns = self.columns;
        let (mut common, mut differing) = (Map::new(), Vec::new());
        for (key, profile) in self.details {
            match columns > 1 && profile.is_of_all(columns) && key != "bytes" {
                true => drop(common.insert(key, profile.first)),
                false => differing.push(key),
            }
        }
        (common, differing)
    }
}

/// A line for everything else that columns say of themselves.
fn metadata(described: &[Described], width: Option<u16>) -> String {
    let mut lines = human::table(width);
    lines.set_header(["column", "metadata", "value"]);
    for column in described {
        for (index, (kind, value)) in column.nested.iter().enumerate() {
            let name = if index == 0 { column.name.as_str() } else { "" };
            lines.add_row([name, kind, value]);
        }
    }
    human::print(&mut lines)
}

/// A column as people see it.
struct Described {
    name: String,
    kind: String,
    plain: Map<String, Value>,
    nested: Vec<(String, String)>,
    note: String,
}

/// Details that say to a program what the type or another detail says to people.
const FOR_PROGRAMS: [&str; 7] =
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
                _ if FOR_PROGRAMS.contains(&key.as_str()) => {}
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

/// A text of a file, short and harmless.
fn short(text: &str) -> String {
    abbreviated(&clean(text), 60).into_owned()
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => short(text),
        Value::Null => String::new(),
        Value::Number(number) if number.is_u64() => human::grouped(number),
        other => other.to_string(),
    }
}

/// The beginning of a value, and how much there is of it.
fn brief(value: &Value) -> String {
    /// Characters of a list or a map that are shown, about.
    const SHOWN: usize = 60;
    // What is too long to be shown whole has its beginning, and how much there is.
    let (value, count) = match value.get("$beginning") {
        Some(beginning) => (beginning.get("value").unwrap_or(value), beginning.get("count").and_then(Value::as_u64)),
        None => (value, None),
    };
    if let Some(sparse) = human::sparse(value) {
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
        if text.chars().count() > SHOWN {
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
