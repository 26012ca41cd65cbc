//! Verification of a store: every line, file and index entry, and the metadata.

mod docs;
mod findings;
mod lines;

use container_core::{Error, Finding, Result, VerifyOptions};
use serde_json::{Map, Value};

use super::table::CollectionTable;
use crate::FORMAT_NAME;
use crate::layout::{DATA, INDEX, MANIFEST, META, ORDER, STORE_METADATA};
use crate::read::{Condition, IndexState, Store};
use findings::{FindingKind, Findings};

/// Verifies everything, one collection after another, each with several threads.
pub(super) fn store(
    store: &Store,
    tables: &[CollectionTable],
    options: &VerifyOptions,
    report: &mut dyn FnMut(Finding),
) -> Result<()> {
    if let Some(archive) = store.archive() {
        archive.verify(report)?;
    }
    let mut findings = Findings::new(report);
    let metadata = match store.metadata() {
        Ok(metadata) => metadata.unwrap_or_default(),
        Err(error) => {
            findings.push(FindingKind::Metadata, || Ok(error))?;
            Map::new()
        }
    };
    let counts = metadata.get("collections").and_then(Value::as_object);
    for name in counts.into_iter().flat_map(Map::keys) {
        if !tables.iter().any(|table| table.collection.name() == name) {
            let error = || Error::invalid(format!("{STORE_METADATA} lists collection {name:?}, which does not exist"));
            findings.push(FindingKind::Count, || Ok(error().in_file(STORE_METADATA).in_format(FORMAT_NAME)))?;
        }
    }
    for table in tables {
        let mut own = findings.for_table(table);
        let stated = counts.and_then(|counts| counts.get(table.collection.name())?.get("count")?.as_u64());
        collection(table, stated, options, &mut own)?;
        own.finish();
    }
    Ok(())
}

fn collection(
    table: &CollectionTable,
    stated: Option<u64>,
    options: &VerifyOptions,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let collection = &table.collection;
    let condition = collection.condition().map_err(|error| table.located(error))?;
    notes(&condition, findings)?;
    lines::check(table, &condition, options, findings)?;
    docs::check(table, options, findings)?;
    let len = collection.len().map_err(|error| table.located(error))?;
    let wrong_count = |what: &str, stated: u64, file: &str| {
        let plural = if len == 1 { "document" } else { "documents" };
        let error = Error::invalid(format!("{what} is {stated}, but there are {len} {plural}"));
        error.in_file(file.to_owned()).in_format(FORMAT_NAME)
    };
    match collection.manifest() {
        Err(error) => findings.push(FindingKind::Metadata, || Ok(error))?,
        Ok(manifest) => {
            let manifest = manifest.unwrap_or_default();
            let file = format!("{META}/{MANIFEST}");
            if let Some(count) = manifest.get("doc_count").and_then(Value::as_u64).filter(|count| *count != len) {
                findings.push(FindingKind::Count, || Ok(wrong_count("doc_count", count, &file)))?;
            }
            let other = manifest.get("collection").and_then(Value::as_str).filter(|name| *name != collection.name());
            if let Some(other) = other {
                let error = Error::invalid(format!("the manifest belongs to collection {other:?}"));
                findings.push(FindingKind::Count, || Ok(error.in_file(file)))?;
            }
        }
    }
    if let Some(stated) = stated.filter(|stated| *stated != len) {
        let what = format!("the count of collection {:?}", collection.name());
        findings.push(FindingKind::Count, || Ok(wrong_count(&what, stated, STORE_METADATA)))?;
    }
    Ok(())
}

/// Reports the condition of a collection; lines without a document are reported elsewhere.
fn notes(condition: &Condition, findings: &mut Findings<'_>) -> Result<()> {
    let in_meta = |text: String, file: &str| Error::invalid(text).in_file(format!("{META}/{file}"));
    let state = match &condition.index {
        IndexState::NoData | IndexState::Valid => None,
        IndexState::Text => Some((FindingKind::State, "the index is a text index of an older store".to_owned(), INDEX)),
        IndexState::Missing => Some((FindingKind::State, "no index".to_owned(), INDEX)),
        IndexState::Stale => {
            let documents = condition.unindexed;
            let text = format!("the index is older than the data: {documents} documents are past its end");
            Some((FindingKind::State, text, INDEX))
        }
        IndexState::Journal => {
            let text = "a writer is at work or was interrupted: there is a journal".to_owned();
            Some((FindingKind::State, text, crate::layout::JOURNAL))
        }
        IndexState::Damaged(error) => {
            let error = Error::new(error.kind(), format!("the index is damaged: {}", error.detail()));
            let error = match condition_byte(condition) {
                Some(byte) => error.at(byte),
                None => error,
            };
            findings.push(FindingKind::Index, || Ok(error.in_file(format!("{META}/{INDEX}"))))?;
            None
        }
    };
    if let Some((what, text, file)) = state {
        findings.push(what, || Ok(in_meta(text, file)))?;
    }
    if let Some(at) = condition.torn {
        findings.push(FindingKind::Line, || Ok(in_meta("the last line is torn".to_owned(), DATA).at(at)))?;
    }
    if condition.missing_files > 0 {
        let text = format!("{} ids are listed without a file", condition.missing_files);
        findings.push(FindingKind::State, || Ok(in_meta(text, ORDER)))?;
    }
    if condition.superseded > 0 && matches!(condition.index, IndexState::Valid | IndexState::Text) {
        let text = format!("{} entries are replaced by a later one with the same id", condition.superseded);
        findings.push(FindingKind::State, || Ok(in_meta(text, INDEX)))?;
    }
    Ok(())
}

fn condition_byte(condition: &Condition) -> Option<u64> {
    match &condition.index {
        IndexState::Damaged(error) => error.position().byte,
        _ => None,
    }
}
