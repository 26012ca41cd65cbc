//! Documents that have a file each.

use std::collections::HashSet;

use container_core::{Error, ErrorKind, Result, Unit, VerifyOptions};
use serde_json::value::RawValue;

use super::super::json::{Key, Wanted};
use super::super::table::CollectionTable;
use super::findings::{Batch, Findings, What};
use super::lines::side_by_side;
use crate::layout::{DOCS, DOCUMENT};
use crate::wire::id;

/// Files that are read before what was found is told.
const AT_ONCE: usize = 4096;

pub(super) fn check(table: &CollectionTable, options: &VerifyOptions, findings: &mut Findings<'_>) -> Result<()> {
    let collection = &table.collection;
    if !collection.paths.has_documents() {
        return Ok(());
    }
    let located = |error: Error| table.located(error);
    let mut names = collection.paths.documents().map_err(located)?;
    names.retain(|id| !collection.sources.removed.contains(id));
    let shown: HashSet<&str> = collection.files().map_err(located)?.ids.iter().map(String::as_str).collect();
    if let Some(progress) = &options.progress {
        progress.begin(Unit::Rows, Some(names.len() as u64));
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let wanted = Wanted::new([&Key::Member("_id".to_owned())]);
    for names in names.chunks(AT_ONCE) {
        let each = names.len().div_ceil(threads.max(1)).max(1);
        let checked = side_by_side(names.chunks(each).collect(), |names: &[String]| {
            let mut batch = Batch::default();
            for name in names {
                one(table, name, shown.contains(name.as_str()), &wanted, &mut batch)?;
            }
            Ok(batch)
        });
        for batch in checked {
            findings.take(batch.map_err(located)?, 0);
        }
        if let Some(progress) = &options.progress {
            progress.advance(names.len() as u64);
        }
    }
    Ok(())
}

fn one(table: &CollectionTable, name: &str, is_shown: bool, wanted: &Wanted, batch: &mut Batch) -> Result<()> {
    let named = |error: Error| error.in_key(name.to_owned()).in_file(format!("{DOCS}/{name}{DOCUMENT}"));
    if let Err(error) = id::check_file_name(name) {
        batch.push(What::Id, None, || named(error));
    }
    if !is_shown {
        let text = "the id has a line in data.jsonl, too, which holds";
        batch.push(What::Both, None, || named(Error::invalid(text)));
    }
    let bytes = match table.collection.paths.document(name, &table.collection.options) {
        Ok(Some(bytes)) => bytes,
        // Somebody deleted it meanwhile.
        Ok(None) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => {
            batch.push(What::File, None, || named(error));
            return Ok(());
        }
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            let error = Error::invalid("the document is not UTF-8").at(error.valid_up_to() as u64);
            batch.push(What::File, None, || named(error));
            return Ok(());
        }
    };
    match wanted.of(text) {
        Err(error) => {
            let place = format!("the document is no JSON object: {error}");
            batch.push(What::File, None, || named(Error::invalid(place)));
        }
        Ok(found) => {
            let own = found.first().copied().flatten().map(RawValue::get);
            let id = own.map(serde_json::from_str::<String>);
            if let Some(own) = own
                && !id.is_some_and(|id| id.is_ok_and(|id| id == name))
            {
                let text = format!("the document states the id {own}: it is the name of the file that counts");
                batch.push(What::FileId, None, || named(Error::invalid(text)));
            }
        }
    }
    Ok(())
}
