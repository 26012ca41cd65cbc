//! `wharf put`: writes documents into a store.

use std::collections::HashSet;
use std::ffi::OsString;

use container_core::{Error, ErrorKind, Progress, Result, Unit};
use serde_json::json;
use zdx::CollectionWriter;
use zdx::wire::json::scan;
use zdx::wire::lines::{Line, lines};

use super::Outcome;
use super::display::counted;
use super::env::Env;
use super::inputs::{self, Location};
use super::progress::ProgressLine;
use super::records;
use super::zds::{self, Ids};

const EXAMPLES: &str = "\
Examples:
  echo '{\"_id\":\"oak\",\"height\":30}' | wharf put trees.d --table europe --create
  wharf put trees.d elm.json --key elm             one document with the given id
  wharf put trees.d more.jsonl --id name           a document per line, with the member \"name\" as its id";

/// Insert or replace documents in a ZDS store, in place
///
/// The input is one JSON document, which may span several lines, or JSON lines with one document per line. The operation is atomic: either all
/// documents are written or none, and readers see none of them before the end. It fails while another writer has the store open; readers do
/// not block it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Store, or the folder of one of its collections
    #[arg(value_name = "STORE")]
    store: OsString,

    /// Documents; - or omitted for standard input
    #[arg(value_name = "FILE")]
    file: Option<OsString>,

    /// The collection, if the store has several; with --create, possibly a new one
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Id of the document, if there is only one
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,

    /// Take the id from this member, a string or integer; a.b is the member b of the object a. "_id" is added in front [default: _id, or the
    /// document's number with ten digits, counting from the number of documents in the store]
    #[arg(long, value_name = "FIELD")]
    id: Option<String>,

    /// Fail if a document already exists
    #[arg(long)]
    new: bool,

    /// Create the store and the collection if they do not exist
    #[arg(long)]
    create: bool,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    // The store may not exist yet, so its path is not a pattern.
    let location = Location::Path(arguments.store.clone().into());
    let input = match &arguments.file {
        None => Location::Stdin,
        Some(file) => inputs::expand_single(file, "put")?,
    };
    let named = |error: Error| error.in_file(input.name());
    let read = input.input(&mut env.opener).map_err(named)?;
    let source = read.source().ok_or_else(|| named(Error::usage("expected a file of documents, found a folder")))?;
    let text = source.read(0..source.len()).map_err(named)?;
    let numbered_from = |first: u64| -> Result<(Vec<Document>, u64)> {
        let mut ids = Ids::of(arguments.id.as_deref());
        let documents = documents(&text, arguments.key.as_deref(), &mut ids, first).map_err(named)?;
        Ok((documents, ids.numbered()))
    };
    // Validate the documents before opening the store.
    let (mut documents, mut numbered) = numbered_from(0)?;

    let options = zds::writer_options(arguments.create);
    let (root, name) = zds::open_writer(&location, arguments.table.as_deref(), options, "put")?;
    let file = |error: Error| zds::located(error, &location, &name);
    let mut writer = root.collection(&name).map_err(file)?;
    if numbered > 0 && !writer.is_empty() {
        (documents, numbered) = numbered_from(unused_numbers(&writer, documents.len() as u64))?;
    }
    writer.begin().map_err(file)?;
    let progress = ProgressLine::new(env.report.terminal);
    progress.name(&location.name());
    progress.begin(Unit::Rows, Some(documents.len() as u64));
    let replaced = put(&mut writer, &documents, arguments.new, &progress).map_err(|error| match error.kind() {
        ErrorKind::Io => file(error),
        _ => named(error),
    })?;
    let rows = writer.len();
    let repaired = zds::repaired(&writer, &location);
    writer.finish().map_err(file)?;
    root.finish().map_err(file)?;
    progress.clear();
    repaired.iter().for_each(|note| env.report.lost(note));
    let put = documents.len() as u64;
    let object = json!({
        "file": location.name(), "table": name, "put": put, "replaced": replaced, "numbered": numbered, "rows": rows,
    });
    let mut line = format!("{}: {} put", location.name(), counted(put, "document"));
    if replaced > 0 {
        line.push_str(&format!(", {replaced} replaced"));
    }
    if numbered > 0 {
        line.push_str(&format!("; {numbered} without _id numbered"));
    }
    records::print_result(object, &line, env)?;
    Ok(Outcome::Done)
}

/// A document, and the line number of its first line.
type Document = (Vec<u8>, u64);

/// The first of `count` consecutive numbers that are not ids in the collection: a document without an id never replaces another.
fn unused_numbers(writer: &CollectionWriter, count: u64) -> u64 {
    let mut first = writer.len();
    let mut next = first;
    while next - first < count {
        if writer.contains(&zds::number_id(next)) {
            first = next + 1;
        }
        next += 1;
    }
    first
}

/// Parses the documents and adds missing ids. A document without an id gets its number, counted from `first_number`.
fn documents(text: &[u8], key: Option<&str>, ids: &mut Ids, first_number: u64) -> Result<Vec<Document>> {
    let mut all: Vec<Line<'_>> = lines(text).collect();
    let Some(first) = all.first().copied() else { return Err(Error::invalid("no documents")) };
    let in_line = |line: &Line<'_>, error: Error| error.shifted(line.offset).in_line(line.number);
    let start = usize::try_from(first.offset).unwrap_or(0); // the text is in memory
    let rest = text.get(start..).unwrap_or_default();
    if all.len() > 1 && scan(first.bytes).is_err() && scan(rest).is_ok() {
        all = vec![Line { bytes: rest, ..first }];
    }
    if let Some(key) = key {
        let [line] = all.as_slice() else {
            let detail = format!("--key requires a single document, found {}", all.len());
            return Err(Error::usage(detail));
        };
        let id = scan(line.bytes).map_err(|error| in_line(line, error))?.into_id();
        return match id.as_deref() {
            Some(id) if id != key => {
                Err(Error::usage(format!("--key is {key:?}, but the document has \"_id\" {id:?}")))
            }
            Some(_) => Ok(vec![(line.bytes.to_vec(), line.number)]),
            None => zds::with_id(line.bytes, key).map(|line| vec![(line, first.number)]),
        };
    }
    let mut documents = Vec::with_capacity(all.len());
    for (number, line) in (first_number..).zip(&all) {
        let document = ids.line(line.bytes, number).map_err(|error| in_line(line, error))?;
        documents.push((document.into_owned(), line.number));
    }
    Ok(documents)
}

/// Puts all documents into the open transaction. Returns how many existed before.
fn put(writer: &mut CollectionWriter, documents: &[Document], new: bool, progress: &ProgressLine) -> Result<u64> {
    let (mut replaced, mut ids) = (0, HashSet::new());
    // Check everything that can fail before writing.
    for (document, line) in documents {
        let id = scan(document)?.into_id().unwrap_or_default();
        if !ids.insert(id.clone()) {
            let error = Error::invalid("duplicate id");
            return Err(error.in_key(id.into_owned()).in_line(*line));
        }
        zdx::wire::id::check(&id).map_err(|error| error.in_line(*line))?;
        if writer.contains(&id) {
            if new {
                let error = Error::usage("the document already exists");
                return Err(error.in_key(id.into_owned()).in_line(*line));
            }
            replaced += 1;
        }
    }
    for (document, line) in documents {
        writer.put_line(document).map_err(|error| error.in_line(*line))?;
        progress.advance(1)?;
    }
    Ok(replaced)
}
