//! `wharf put`: documents into a store.

use std::collections::HashSet;
use std::ffi::OsString;

use container_core::{Error, ErrorKind, Progress, Result, Source, Unit};
use serde_json::json;
use zdx::CollectionWriter;
use zdx::wire::json::scan;
use zdx::wire::lines::{Line, lines};

use super::Outcome;
use super::bar::Bar;
use super::env::Env;
use super::human::{clean, counted};
use super::inputs::{self, Location};
use super::zds::{self, Ids};

const EXAMPLES: &str = "\
Examples:
  echo '{\"_id\":\"oak\",\"height\":30}' | wharf put trees.d --table europe --create
  wharf put trees.d elm.json --key elm             one document, its id given
  wharf put trees.d more.jsonl --id name           a document in each line, named by a member";

/// Put documents into a ZDS store, in place: new ones, or in place of those with the same id
///
/// The input is one document, over as many lines as it has, or JSON lines, each a document. All of them are put or none, whatever happens:
/// a document that is refused, a full disk, a kill. Who reads meanwhile sees none of them until the end. A writer that holds the store keeps
/// this one out, readers do not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The store, or the folder of one of its collections
    #[arg(value_name = "STORE")]
    store: OsString,

    /// The documents; - or nothing is standard input
    #[arg(value_name = "FILE")]
    file: Option<OsString>,

    /// The collection, where the store has several, or a new one (with --create)
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// The id of the one document
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,

    /// The member whose texts or integers are the ids; it stays, and "_id" is added in front. Dots lead into objects [default: _id, and else
    /// the number of the document in ten digits, counted on from those that are there]
    #[arg(long, value_name = "FIELD")]
    id: Option<String>,

    /// Documents that are there already are an error
    #[arg(long)]
    new: bool,

    /// Make store and collection where there are none
    #[arg(long)]
    create: bool,
}

pub(crate) fn run(arguments: &Arguments, env: &mut Env<'_>) -> Result<Outcome> {
    // A store that is to be made is not there, and no pattern.
    let location = Location::Path(arguments.store.clone().into());
    let input = match &arguments.file {
        None => Location::Stdin,
        Some(file) => one(inputs::expand_one(file)?, file)?,
    };
    let named = |error: Error| error.in_file(input.name());
    let read = input.input(&mut env.opener).map_err(named)?;
    let source = read.source().ok_or_else(|| named(Error::usage("it is a folder where documents are wanted")))?;
    let text = whole(source).map_err(named)?;
    let numbered_from = |first: u64| -> Result<(Vec<Document>, u64)> {
        let mut ids = Ids::of(arguments.id.as_deref());
        let documents = documents(&text, arguments.key.as_deref(), &mut ids, first).map_err(named)?;
        Ok((documents, ids.numbered()))
    };
    // What is wrong with the documents is found before the store is touched.
    let (mut documents, mut numbered) = numbered_from(0)?;

    let options = zds::writer_options(arguments.create);
    let (root, name) = zds::open_writer(&location, arguments.table.as_deref(), options, "put")?;
    let file = |error: Error| zds::located(error, &location, &name);
    let mut writer = root.collection(&name).map_err(file)?;
    if numbered > 0 && !writer.is_empty() {
        (documents, numbered) = numbered_from(unused_numbers(&writer, documents.len() as u64))?;
    }
    writer.begin().map_err(file)?;
    let bar = Bar::new(env.report.terminal);
    bar.name(&location.name());
    bar.begin(Unit::Rows, Some(documents.len() as u64));
    let replaced = put(&mut writer, &documents, arguments.new, &bar).map_err(|error| match error.kind() {
        ErrorKind::Io => file(error),
        _ => named(error),
    })?;
    let rows = writer.len();
    let repaired = zds::repaired(&writer, &location);
    writer.finish().map_err(file)?;
    root.finish().map_err(file)?;
    bar.clear();
    repaired.iter().for_each(|note| env.report.lost(note));
    let put = documents.len() as u64;
    if env.json() {
        let object = json!({
            "file": location.name(), "table": name, "put": put, "replaced": replaced, "numbered": numbered, "rows": rows,
        });
        env.stdout.print(&format!("{object}\n"))?;
    } else {
        let mut line = format!("{}: {} put", location.name(), counted(put, "document"));
        if replaced > 0 {
            line.push_str(&format!(", {replaced} of them in place of others"));
        }
        if numbered > 0 {
            line.push_str(&format!("; {numbered} had no _id: their numbers became it"));
        }
        env.stdout.print(&format!("{}\n", clean(&line)))?;
    }
    Ok(Outcome::Done)
}

fn one(mut locations: Vec<Location>, argument: &OsString) -> Result<Location> {
    match (locations.pop(), locations.len()) {
        (Some(location), 0) => Ok(location),
        (_, others) => {
            let detail = format!("the pattern matches {} files; put reads one", others + 1);
            Err(Error::usage(detail).in_file(argument.display().to_string()))
        }
    }
}

fn whole(source: &Source) -> Result<container_core::Bytes> {
    source.read(0..source.len())
}

/// A document, and the line in which it begins.
type Document = (Vec<u8>, u64);

/// The first of `count` successive numbers that no document of the collection has as its id: those without an id never replace another.
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

/// The documents of a text, each checked and with its id. One without an id gets its number, counted from `first_number`.
fn documents(text: &[u8], key: Option<&str>, ids: &mut Ids, first_number: u64) -> Result<Vec<Document>> {
    let mut all: Vec<Line<'_>> = lines(text).collect();
    let Some(first) = all.first().copied() else { return Err(Error::invalid("there is no document")) };
    let placed = |line: &Line<'_>, error: Error| error.shifted(line.offset).in_line(line.number);
    let start = usize::try_from(first.offset).unwrap_or(0); // it lies in memory
    let rest = text.get(start..).unwrap_or_default();
    if all.len() > 1 && scan(first.bytes).is_err() && scan(rest).is_ok() {
        all = vec![Line { bytes: rest, ..first }];
    }
    if let Some(key) = key {
        let [line] = all.as_slice() else {
            let detail = format!("--key names one document, and there are {}", all.len());
            return Err(Error::usage(detail));
        };
        let own = scan(line.bytes).map_err(|error| placed(line, error))?.into_id();
        return match own.as_deref() {
            Some(own) if own != key => {
                Err(Error::usage(format!("the document has the \"_id\" {own:?}, and not {key:?}")))
            }
            Some(_) => Ok(vec![(line.bytes.to_vec(), line.number)]),
            None => zds::with_id(line.bytes, key).map(|line| vec![(line, first.number)]),
        };
    }
    let mut documents = Vec::with_capacity(all.len());
    for (number, line) in (first_number..).zip(&all) {
        let document = ids.line(line.bytes, number).map_err(|error| placed(line, error))?;
        documents.push((document.into_owned(), line.number));
    }
    Ok(documents)
}

/// Puts them all into a transaction; says how many existed already.
fn put(writer: &mut CollectionWriter, documents: &[Document], new: bool, bar: &Bar) -> Result<u64> {
    let (mut replaced, mut seen) = (0, HashSet::new());
    // What needs no change of the files is looked at first.
    for (document, line) in documents {
        let id = scan(document)?.into_id().unwrap_or_default();
        if !seen.insert(id.clone()) {
            let error = Error::invalid("a document before has the same id");
            return Err(error.in_key(id.into_owned()).in_line(*line));
        }
        zdx::wire::id::check(&id).map_err(|error| error.in_line(*line))?;
        if writer.contains(&id) {
            if new {
                let error = Error::usage("a document with the same id is there already");
                return Err(error.in_key(id.into_owned()).in_line(*line));
            }
            replaced += 1;
        }
    }
    for (document, line) in documents {
        writer.put_line(document).map_err(|error| error.in_line(*line))?;
        bar.advance(1);
    }
    Ok(replaced)
}
