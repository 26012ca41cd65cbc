//! Drives `zippy_data`, the reference implementation of ZDS: writes stores with it, and tells what it reads in others.
//!
//! Documents come on standard input, one in a line: either a JSON object whose `_id` names it, or an id, a tab and the line to be stored
//! under it. What is told goes to standard output as lines of JSON. Exit codes: 0 done, 1 failed, 2 wrong usage.

mod archive;
mod docs;
mod lines;
mod script;

use std::io::{BufRead, Write};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

/// Anything that fails is told in words.
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

/// Runs a verb; false where its arguments are not those it takes.
fn run(verb: &str, arguments: &Arguments) -> Outcome<bool> {
    let places: Vec<&str> = arguments.places.iter().map(String::as_str).collect();
    match (verb, places.as_slice()) {
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

/// What a verb was given.
struct Arguments {
    places: Vec<String>,
    batch: usize,
    mode: String,
    docs: bool,
    /// Fields and the values that they must have.
    wanted: Vec<(String, Value)>,
    fields: Option<Vec<String>>,
}

impl Arguments {
    fn parse(words: &[String]) -> Outcome<Self> {
        let mut all = Self {
            places: Vec::new(),
            batch: 1000,
            mode: "put".to_owned(),
            docs: false,
            wanted: Vec::new(),
            fields: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
            match word.as_str() {
                "--batch" => all.batch = value()?.parse().map_err(|error| format!("--batch: {error}"))?,
                "--mode" => all.mode.clone_from(value()?),
                "--docs" => all.docs = true,
                "--where" => {
                    let (field, value) = value()?.split_once('=').ok_or("--where takes FIELD=JSON")?;
                    let value = serde_json::from_str(value).map_err(|error| format!("--where: {error}"))?;
                    all.wanted.push((field.to_owned(), value));
                }
                "--fields" => all.fields = Some(value()?.split(',').map(str::to_owned).collect()),
                _ => all.places.push(word.clone()),
            }
        }
        Ok(all)
    }

    fn predicate(&self) -> Option<zippy_data::Predicate> {
        let all = self.wanted.iter().map(|(field, value)| zippy_data::Predicate::eq(field.clone(), value.clone()));
        (!self.wanted.is_empty()).then(|| zippy_data::Predicate::and(all.collect()))
    }
}

/// A document as it comes in: its id, and the line that is to be stored.
struct Given {
    id: String,
    line: Vec<u8>,
}

impl Given {
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

    /// The document as a value. Where its own `_id` is the one that names it, it goes without.
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

/// Prints a line at once: somebody may wait for it.
fn tell(value: &Value) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{value}").and_then(|()| out.flush());
    told.map_err(|error| format!("standard output: {error}"))
}

/// What was asked for, or why there is none, as members of a line.
fn outcome(name: &str, outcome: zippy_data::Result<Value>) -> Map<String, Value> {
    let mut members = Map::new();
    match outcome {
        Ok(value) => members.insert(name.to_owned(), value),
        Err(error) => members.insert("error".to_owned(), json!(error.to_string())),
    };
    members
}

/// The reference's errors, in its words.
fn said(error: zippy_data::Error) -> String {
    error.to_string()
}
