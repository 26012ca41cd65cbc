//! A program over `zdx` with the verbs of the driver in `tests/reference/zippy`, so that a script can run the same operations on both.
//!
//! ```text
//! zdx-driver dump STORE                     prints every document of a store or archive
//! zdx-driver scan STORE COLLECTION [--where FIELD=JSON]... [--fields a,b.c]
//! zdx-driver pack STORE ARCHIVE [--method store|deflate]
//! zdx-driver bulk STORE COLLECTION          adds documents from standard input
//! zdx-driver script STORE COLLECTION [--every]  runs operations from standard input, each answered by a line; `--every` makes each durable
//! zdx-driver lock STORE                     holds the write lock until standard input ends
//! zdx-driver unpack ARCHIVE DIRECTORY
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

#[path = "zdx_driver/write.rs"]
mod write;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use container_core::{OutputOptions, SyncPolicy};
use serde_json::{Value, json};
use wharf_tests::zdx_dump;
use zdx::archive::{Archive, Compression, PackOptions, UnpackOptions, pack, unpack};
use zdx::{Durability, Fields, Filter, OpenOptions, Predicate, Store};

/// Errors are messages.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["dump", store] => dump(store),
        ["pack", tree, archive] | ["pack", tree, archive, "--method", "store"] => {
            pack_store(tree, archive, Compression::Store)
        }
        ["pack", tree, archive, "--method", "deflate"] => pack_store(tree, archive, Compression::Deflate(6)),
        ["scan", store, collection, options @ ..] => scan(store, collection, options),
        ["bulk", root, collection] => write::bulk(root, collection),
        // `--batch` is ignored: only `flush` flushes.
        ["script", root, collection] | ["script", root, collection, "--batch", _] => {
            write::script(root, collection, Durability::None)
        }
        ["script", root, collection, "--every"] => write::script(root, collection, Durability::EveryPut),
        ["lock", root] => write::lock(root),
        ["unpack", archive, directory] => unpack_archive(archive, directory),
        _ => {
            eprintln!("usage: zdx-driver VERB ... (see the source)");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dump(store: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    for entry in zdx_dump::dump(Path::new(store))? {
        writeln!(out, "{}", entry.to_json()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Prints documents that match all conditions, sorted by ID, with the selected fields.
fn scan(store: &str, collection: &str, options: &[&str]) -> Outcome {
    let (mut conditions, mut fields) = (Vec::new(), None);
    for pair in options.chunks(2) {
        match pair {
            ["--where", one] => {
                let (field, value) = one.split_once('=').ok_or("--where takes FIELD=JSON")?;
                let value = serde_json::from_str(value).map_err(|error| format!("--where: {error}"))?;
                conditions.push(Predicate::Eq(field.to_owned(), value));
            }
            ["--fields", paths] => fields = Some(Fields::new(paths.split(','))),
            _ => return Err(format!("unknown option {pair:?}")),
        }
    }
    let filter = Filter::new(&Predicate::And(conditions));
    let failed = |error: zdx::Error| error.to_string();
    let collection = Store::open(store).and_then(|store| store.collection(collection)).map_err(failed)?;
    let mut matches = BTreeMap::new();
    for document in collection.documents().map_err(failed)? {
        let document = document.map_err(failed)?;
        if filter.holds(document.bytes()).map_err(|error| error.to_string())? {
            let value = match &fields {
                Some(fields) => document.fields(fields).map(Value::Object),
                None => document.value(),
            };
            matches.insert(document.id().to_owned(), value.map_err(failed)?);
        }
    }
    let mut out = std::io::stdout().lock();
    for (id, document) in matches {
        writeln!(out, "{}", json!({"id": id, "document": document})).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn pack_store(tree: &str, archive: &str, compression: Compression) -> Outcome {
    let output = OutputOptions::default().with_sync(SyncPolicy::Never);
    let options = PackOptions::default().with_compression(compression).with_output(output);
    pack(tree, archive, &options).map(drop).map_err(|error| error.to_string())
}

fn unpack_archive(archive: &str, directory: &str) -> Outcome {
    let archive = Archive::open(archive, &OpenOptions::default()).map_err(|error| error.to_string())?;
    let options = UnpackOptions::default().with_sync(SyncPolicy::Never);
    unpack(&archive, directory, &options).map(drop).map_err(|error| error.to_string())
}
