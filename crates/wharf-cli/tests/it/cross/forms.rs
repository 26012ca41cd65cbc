//! The formats of the golden files, conversions between them, and reading the results.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value as Json};

use super::table::{Column, Table, folder};
use super::{batches, json_csv, time};

/// A format of the golden tables: its extension, and the format whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) extension: &'static str,
    pub(crate) rules: &'static str,
}

pub(crate) const FORMS: [Form; 11] = [
    Form { extension: "idv", rules: "idv" },
    Form { extension: "msgpack", rules: "datadings" },
    Form { extension: "ds", rules: "ds" },
    Form { extension: "zds", rules: "zds" },
    Form { extension: "store", rules: "zds" },
    Form { extension: "parquet", rules: "parquet" },
    Form { extension: "arrow", rules: "arrow" },
    Form { extension: "arrows", rules: "arrow" },
    Form { extension: "csv", rules: "csv" },
    Form { extension: "tsv", rules: "csv" },
    Form { extension: "jsonl", rules: "jsonl" },
];

impl Form {
    /// The file of a table written by the reference.
    pub(crate) fn golden(self, table: &str) -> PathBuf {
        folder().join(format!("{table}.{}", self.extension))
    }

    /// Options of `convert` to this format, for row names and nullable integers.
    fn options(self, from: Self, has_gaps: bool) -> Vec<&'static str> {
        let key = if from.rules == "zds" { "_id" } else { "key" };
        match self.extension {
            "msgpack" if from.extension != "msgpack" => vec!["--key", key],
            "ds" if from.extension != "ds" => vec!["--dim", "row"],
            "zds" if from.rules != "zds" => vec!["--id", key],
            "store" if from.rules != "zds" => vec!["--to", "zds", "--id", key],
            "store" => vec!["--to", "zds"],
            // Typed columns are read once, without checking for nulls before.
            "idv" if has_gaps && matches!(from.rules, "parquet" | "arrow") => vec!["--null-integers", "double"],
            _ => Vec::new(),
        }
    }

    /// Whether rows name their columns, so that a null may be omitted.
    pub(crate) fn is_schemaless(self) -> bool {
        matches!(self.rules, "datadings" | "zds" | "jsonl")
    }

    /// Whether types are inferred from values, so that lists of equal lengths are ordinary lists.
    pub(crate) fn is_typeless(self) -> bool {
        self.is_schemaless() || self.rules == "csv"
    }
}

/// Ok, or a description of the failure.
pub(crate) type Outcome<T> = Result<T, String>;

/// Converts a table, or some of its columns, to another format.
pub(crate) fn convert(
    table: &Table,
    target: &Path,
    (from, to): (Form, Form),
    columns: Option<&[&str]>,
) -> Outcome<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    let options = to.options(from, table.has_gaps());
    command.arg("convert").arg(from.golden(&table.name)).arg(target).args(options).stdin(Stdio::null());
    if let Some(columns) = columns {
        let quoted: Vec<_> = columns.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
        command.arg("--columns").arg(quoted.join(","));
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(code @ (0 | 3)) => Ok(code),
        code => {
            let said = said.trim_end();
            let said = said.strip_prefix("error: ").unwrap_or(said);
            Err(format!(
                "exit code {}: {}",
                code.unwrap_or(-1),
                said.rsplit_once("golden/cross/").map_or(said, |(_, said)| said)
            ))
        }
    }
}

/// Compares a file, converted or written by the reference, with a table.
pub(crate) fn check(path: &Path, form: Form, from: Form, table: &Table) -> Outcome<()> {
    match form.extension {
        "csv" => cells(path, b',', table),
        "tsv" => cells(path, b'\t', table),
        "jsonl" => {
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            let rows = text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}")));
            objects(&rows.collect::<Outcome<Vec<_>>>()?, form, table)
        }
        "parquet" | "arrow" | "arrows" => batches::check(path, form, from, table),
        _ => objects(&opened(path).map_err(|error| error.to_string())?, form, table),
    }
}

/// The rows of a container.
fn opened(path: &Path) -> wharf::Result<Vec<Map<String, Json>>> {
    let container = wharf::open(path)?;
    let (mut found, mut line) = (Vec::new(), Vec::new());
    for table in container.tables() {
        // Numbers that are times by the NetCDF conventions.
        let mut times = Vec::new();
        for (place, column) in table.columns().iter().enumerate() {
            let units = units(&table.column_details(place)?);
            times.extend(units.map(|units| (column.name.clone(), units)));
        }
        // A ds file without elements still has its variables.
        let mut rows = table.rows(&wharf::Scan::default())?;
        while rows.advance()? {
            line.clear();
            rows.json(&mut line)?;
            let mut row: Map<String, Json> =
                serde_json::from_slice(&line).map_err(|error| wharf::Error::invalid(error.to_string()))?;
            for (name, units) in &times {
                if let Some(number) = row[name].as_i64() {
                    row[name] = Json::from(match units {
                        Units::Micros(origin) => time::timestamp(number + origin),
                        Units::Days => time::date(number),
                        Units::Duration => time::duration(number),
                    });
                }
            }
            found.push(row);
        }
    }
    Ok(found)
}

/// The unit and epoch of a time column.
enum Units {
    /// Microseconds since 1970, after adding this.
    Micros(i64),
    /// Days since 1970.
    Days,
    /// Microseconds of a duration.
    Duration,
}

fn units(details: &Map<String, Json>) -> Option<Units> {
    let of = |members: &Map<String, Json>| Some(members.get("attributes")?.get("units")?.as_str()?.to_owned());
    let units = of(details)?;
    Some(match units.strip_prefix("microseconds since ").and_then(|origin| origin.get(..10)) {
        Some("0001-01-01") => Units::Micros(-719_162 * 86_400_000_000),
        Some("1970-01-01") => Units::Micros(0),
        None if units == "days since 1970-01-01" => Units::Days,
        None if units == "microseconds" => Units::Duration,
        _ => panic!("times in {units}"),
    })
}

/// Whether the column contains row names.
fn is_name(name: &str) -> bool {
    matches!(name, "key" | "_id")
}

fn objects(found: &[Map<String, Json>], form: Form, table: &Table) -> Outcome<()> {
    if found.len() != table.rows {
        return Err(format!("{} rows instead of {}", found.len(), table.rows));
    }
    let names = table.columns.iter().find(|column| is_name(&column.name));
    for (row, members) in found.iter().enumerate() {
        for column in &table.columns {
            let value = match members.get(&column.name) {
                Some(value) => value,
                None if form.is_schemaless() => &Json::Null,
                None => return Err(format!("no column {:?}", column.name)),
            };
            if !json_csv::is(&column.kind, &column.values[row], value) {
                return Err(unexpected(column, row, &value.to_string()));
            }
        }
        // Documents also have an id, samples a key.
        let more = members.iter().filter(|(name, _)| !table.columns.iter().any(|column| column.name == **name));
        for (name, value) in more {
            let column = names.filter(|_| form.is_schemaless() && is_name(name));
            if !column.is_some_and(|column| json_csv::is(&column.kind, &column.values[row], value)) {
                return Err(format!("row {row} has {name:?}: {value}"));
            }
        }
    }
    Ok(())
}

fn cells(path: &Path, delimiter: u8, table: &Table) -> Outcome<()> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).from_path(path).map_err(|error| error.to_string())?;
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut names: Vec<_> = header.iter().collect();
    let mut expected = table.names();
    names.sort_unstable();
    expected.sort_unstable();
    // Without rows there may be no columns, if the source format has no schema.
    if names != expected && !(table.rows == 0 && names.iter().all(|name| name.is_empty())) {
        return Err(format!("columns {names:?} instead of {expected:?}"));
    }
    let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if rows.len() != table.rows {
        return Err(format!("{} rows instead of {}", rows.len(), table.rows));
    }
    for column in &table.columns {
        let Some(place) = header.iter().position(|name| name == column.name) else { continue };
        for (row, record) in rows.iter().enumerate() {
            let cell = record.get(place).unwrap_or_default();
            if !json_csv::is_cell(&column.kind, &column.values[row], cell) {
                return Err(unexpected(column, row, cell));
            }
        }
    }
    Ok(())
}

fn unexpected(column: &Column, row: usize, found: &str) -> String {
    let shown: String = found.chars().take(200).collect();
    format!("row {row}, column {:?} ({}): {shown} instead of {:?}", column.name, column.kind, column.values[row])
}
