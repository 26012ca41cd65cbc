//! Drives `zippy_data`, the reference implementation of ZDS: writes stores with it, and dumps what it reads.
//!
//! Documents are read from standard input, one per line: either a JSON object with `_id`, or an ID, a tab and the line to store under it.
//! Results are printed as JSON lines. Exit codes: 0 success, 1 failure, 2 wrong usage.

mod archive;
mod docs;
mod lines;
mod script;

use std::io::{BufRead, Write};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

/// Errors are messages.
type Outcome<T> = Result<T, String>;

const USAGE: &str = "usage: zippy-driver VERB ...
  write ROOT COLLECTION --mode put|raw|blob [--batch N]  documents from standard input; blobs are of N lines
  delete ROOT COLLECTION ID...
  compact ROOT COLLECTION
  ids ROOT COLLECTION                                     sorted
  get ROOT COLLECTION ID...
  dump ROOT                                               every document of every collection, sorted by id
  scan ROOT COLLECTION [--docs] [--where FIELD=JSON]... [--fields a,b.c]
  script ROOT COLLECTION [--batch N]                      operations from standard input, each answered by a line
  docs-write ROOT COLLECTION [--batch N]                  a file for each document; an id alone deletes
  docs-dump ROOT COLLECTION
  pack DIRECTORY ARCHIVE
  unpack ARCHIVE DIRECTORY
  archive-dump ARCHIVE                                    as dump
  lock ROOT                                               holds the write lock until standard input ends";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = Arguments::parse(rest).and_then(|arguments| run(verb, &arguments));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a verb; false if its arguments do not fit.
fn run(verb: &str, arguments: &Arguments) -> Outcome<bool> {
    let positional: Vec<&str> = arguments.positional.iter().map(String::as_str).collect();
    match (verb, positional.as_slice()) {
        ("write", [root, collection]) => lines::write(root, collection, &arguments.mode, arguments.batch),
        ("delete", [root, collection, ids @ ..]) => lines::delete(root, collection, ids),
        ("compact", [root, collection]) => lines::compact(root, collection),
        ("ids", [root, collection]) => lines::ids(root, collection),
        ("get", [root, collection, ids @ ..]) => lines::get(root, collection, ids),
        ("dump", [root]) => lines::dump_all(root),
        ("scan", [root, collection]) if arguments.docs => docs::scan(root, collection, arguments),
        ("scan", [root, collection]) => lines::scan(root, collection, arguments),
        ("script", [root, collection]) => script::run(root, collection, arguments.batch),
        ("lock", [root]) => script::lock(root),
        ("docs-write", [root, collection]) => docs::write(root, collection, arguments.batch),
        ("docs-dump", [root, collection]) => docs::dump(root, collection),
        ("pack", [directory, archive]) => archive::pack(directory, archive),
        ("unpack", [archive, directory]) => archive::unpack(archive, directory),
        ("archive-dump", [archive]) => archive::dump(archive),
        _ => return Ok(false),
    }?;
    Ok(true)
}

/// The arguments of a verb.
struct Arguments {
    positional: Vec<String>,
    batch: usize,
    mode: String,
    docs: bool,
    /// Fields and their required values.
    conditions: Vec<(String, Value)>,
    fields: Option<Vec<String>>,
}

impl Arguments {
    fn parse(words: &[String]) -> Outcome<Self> {
        let mut all = Self {
            positional: Vec::new(),
            batch: 1000,
            mode: "put".to_owned(),
            docs: false,
            conditions: Vec::new(),
            fields: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--batch" => all.batch = value()?.parse().map_err(|error| format!("--batch: {error}"))?,
                "--mode" => all.mode.clone_from(value()?),
                "--docs" => all.docs = true,
                "--where" => {
                    let (field, value) = value()?.split_once('=').ok_or("--where takes FIELD=JSON")?;
                    let value = serde_json::from_str(value).map_err(|error| format!("--where: {error}"))?;
                    all.conditions.push((field.to_owned(), value));
                }
                "--fields" => all.fields = Some(value()?.split(',').map(str::to_owned).collect()),
                _ => all.positional.push(word.clone()),
            }
        }
        Ok(all)
    }

    fn predicate(&self) -> Option<zippy_data::Predicate> {
        let all = self.conditions.iter().map(|(field, value)| zippy_data::Predicate::eq(field.clone(), value.clone()));
        (!self.conditions.is_empty()).then(|| zippy_data::Predicate::and(all.collect()))
    }
}

/// A document of the input: its ID, and the line to store.
struct InputDocument {
    id: String,
    line: Vec<u8>,
}

impl InputDocument {
    fn parse(line: &[u8]) -> Outcome<Self> {
        if line.first() == Some(&b'{') {
            let document: Value = serde_json::from_slice(line).map_err(|error| format!("a document: {error}"))?;
            let id = document.get("_id").and_then(Value::as_str).ok_or("a document without \"_id\"")?;
            return Ok(Self { id: id.to_owned(), line: line.to_vec() });
        }
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or("a line with neither an object nor a tab")?;
        let (id, rest) = line.split_at(tab);
        let id = str::from_utf8(id).map_err(|error| format!("an id: {error}"))?;
        Ok(Self { id: id.to_owned(), line: rest.get(1..).unwrap_or_default().to_vec() })
    }

    /// The document as a value, without an `_id` that equals its ID.
    fn value(&self) -> Outcome<Value> {
        let mut value: Value = serde_json::from_slice(&self.line).map_err(|error| format!("{}: {error}", self.id))?;
        if let Value::Object(members) = &mut value
            && members.get("_id").and_then(Value::as_str) == Some(&self.id)
        {
            members.remove("_id");
        }
        Ok(value)
    }
}

/// The lines of standard input.
fn input() -> impl Iterator<Item = Outcome<Vec<u8>>> {
    let lines = std::io::stdin().lock().split(b'\n');
    lines.map(|line| line.map_err(|error| format!("standard input: {error}")))
}

/// Prints a line and flushes it, as the caller may be waiting.
fn print_line(value: &Value) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    let result = writeln!(out, "{value}").and_then(|()| out.flush());
    result.map_err(|error| format!("standard output: {error}"))
}

/// A result or its error, as members of a line.
fn outcome(name: &str, outcome: zippy_data::Result<Value>) -> Map<String, Value> {
    let mut members = Map::new();
    match outcome {
        Ok(value) => members.insert(name.to_owned(), value),
        Err(error) => members.insert("error".to_owned(), json!(error.to_string())),
    };
    members
}

/// The message of a reference's error.
fn message(error: zippy_data::Error) -> String {
    error.to_string()
}
