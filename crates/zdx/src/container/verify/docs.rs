//! Verification of file-per-document documents.

use std::collections::HashSet;

use container_core::{Error, ErrorKind, Result, Unit, VerifyOptions};
use serde_json::value::RawValue;

use super::super::json::{Key, Projection};
use super::super::table::CollectionTable;
use super::findings::{Batch, FindingKind, Findings};
use super::lines::on_threads;
use crate::layout::{DOCS, DOCUMENT};
use crate::wire::id;

/// Files read before findings are reported.
const BATCH_FILES: usize = 4096;

pub(super) fn check(table: &CollectionTable, options: &VerifyOptions, findings: &mut Findings<'_>) -> Result<()> {
    let collection = &table.collection;
    if !collection.paths.has_documents() {
        return Ok(());
    }
    let located = |error: Error| table.located(error);
    let mut names = collection.paths.documents().map_err(located)?;
    names.retain(|id| !collection.sources.removed.contains(id));
    let visible: HashSet<&str> = collection.files().map_err(located)?.ids.iter().map(String::as_str).collect();
    if let Some(progress) = &options.progress {
        progress.begin(Unit::Rows, Some(names.len() as u64));
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let projection = Projection::new([&Key::Member("_id".to_owned())]);
    for names in names.chunks(BATCH_FILES) {
        let each = names.len().div_ceil(threads.max(1)).max(1);
        let checked = on_threads(names.chunks(each).collect(), |names: &[String]| {
            let mut batch = Batch::default();
            for name in names {
                check_file(table, name, visible.contains(name.as_str()), &projection, &mut batch)?;
            }
            Ok(batch)
        });
        for batch in checked {
            findings.add(batch.map_err(located)?, 0);
        }
        if let Some(progress) = &options.progress {
            progress.advance(names.len() as u64)?;
        }
    }
    Ok(())
}

fn check_file(
    table: &CollectionTable,
    name: &str,
    is_visible: bool,
    projection: &Projection,
    batch: &mut Batch,
) -> Result<()> {
    let named = |error: Error| error.in_key(name.to_owned()).in_file(format!("{DOCS}/{name}{DOCUMENT}"));
    if let Err(error) = id::check_file_name(name) {
        batch.push(FindingKind::Id, None, || named(error));
    }
    if !is_visible {
        let text = "data.jsonl has a line with the same id, which takes precedence";
        batch.push(FindingKind::Shadowed, None, || named(Error::invalid(text)));
    }
    let bytes = match table.collection.paths.document(name, &table.collection.options) {
        Ok(Some(bytes)) => bytes,
        // Deleted in the meantime.
        Ok(None) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => {
            batch.push(FindingKind::File, None, || named(error));
            return Ok(());
        }
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            let error = Error::invalid("the document is not valid UTF-8").at(error.valid_up_to() as u64);
            batch.push(FindingKind::File, None, || named(error));
            return Ok(());
        }
    };
    match projection.of(text) {
        Err(error) => {
            let detail = format!("the document is not a JSON object: {error}");
            batch.push(FindingKind::File, None, || named(Error::invalid(detail)));
        }
        Ok(values) => {
            let own = values.first().copied().flatten().map(RawValue::get);
            let id = own.map(serde_json::from_str::<String>);
            if let Some(own) = own
                && !id.is_some_and(|id| id.is_ok_and(|id| id == name))
            {
                let text = format!("the document has \"_id\" {own}, but its file name counts");

                batch.push(FindingKind::FileId, None, || named(Error::invalid(text)));
            }
        }
    }
    Ok(())
}
