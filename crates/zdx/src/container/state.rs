//! What is said of a store and its collections as a whole.

use container_core::{Loss, Position, Source, Table};
use serde_json::{Map, Value};

use super::ZdsContainer;
use super::table::CollectionTable;
use crate::read::{Condition, IndexState};

/// What of a collection in this condition is not shown (lines that hold no document, a torn end, documents and files whose id comes again),
/// and, counted as none, how its documents were found where the index alone does not say it.
#[must_use]
pub fn losses(condition: &Condition) -> Vec<Loss> {
    let first = |byte: Option<u64>, line: Option<u64>| {
        let mut first = Position::default();
        (first.byte, first.line) = (byte, line);
        first
    };
    let mut losses: Vec<_> = condition.found().map(|how| Loss::new(how, 0, Position::default())).into_iter().collect();
    if condition.passed_over > 0 {
        let at = condition.first_passed_over.as_ref().map(|error| error.position().clone()).unwrap_or_default();
        let why = condition.first_passed_over.as_ref().map(|error| format!(": {}", error.detail())).unwrap_or_default();
        let what = format!("line passed over that holds no document{why}");
        losses.push(Loss::new(what, condition.passed_over, first(at.byte, at.line)));
    }
    // Where there is no index, older lines of a document are as they should be.
    if condition.superseded > 0 && matches!(condition.index, IndexState::Valid | IndexState::Text) {
        let what = "document left out whose id comes again later";
        losses.push(Loss::new(what, condition.superseded, first(None, None)));
    }
    if let Some(at) = condition.torn {
        losses.push(Loss::new("the last line is torn and left out", 1, first(Some(at), None)));
    }
    if condition.shadowed > 0 {
        let what = "file left out whose id has a line in data.jsonl";
        losses.push(Loss::new(what, condition.shadowed, first(None, None)));
    }
    losses
}

/// A word for what the index is.
const fn word(state: &IndexState) -> &'static str {
    match state {
        IndexState::NoData => "no data",
        IndexState::Valid => "valid",
        IndexState::Text => "text",
        IndexState::Missing => "missing",
        IndexState::Damaged(_) => "damaged",
        IndexState::Stale => "older than the data",
        IndexState::Journal => "journal",
    }
}

/// What `info` shows beside the tables: of one collection flat, of several by name.
pub(super) fn details(container: &ZdsContainer) -> Map<String, Value> {
    let mut details = Map::new();
    // What is wrong with it is told where it is checked.
    if let Ok(Some(metadata)) = container.store.metadata() {
        for name in ["name", "description", "created", "modified"] {
            if let Some(value) = metadata.get(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty()))
            {
                details.insert(name.to_owned(), value.clone());
            }
        }
    }
    if let Some(archive) = container.store.archive() {
        details.insert("archive_files".to_owned(), archive.len().into());
    }
    match container.tables.as_slice() {
        [one] => details.extend(collection(one)),
        several => {
            let each = several.iter().map(|table| (table.name().to_owned(), Value::Object(collection(table))));
            details.insert("collections".to_owned(), Value::Object(each.collect()));
        }
    }
    details
}

fn collection(table: &CollectionTable) -> Map<String, Value> {
    let collection = &table.collection;
    let mut details = Map::new();
    let condition = match collection.condition() {
        Ok(condition) => condition,
        Err(error) => {
            details.insert("error".to_owned(), error.to_string().into());
            return details;
        }
    };
    details.insert("index".to_owned(), word(&condition.index).into());
    let size = |source: &Option<Source>| source.as_ref().map_or(0, Source::len);
    let data = size(&collection.data);
    details.insert("data_bytes".to_owned(), data.into());
    if let Some(index) = &collection.found.index {
        details.insert("index_bytes".to_owned(), (index.len() as u64).into());
    }
    if let Ok(places) = collection.places() {
        let live = places.iter().fold(0, |sum: u64, place| sum.saturating_add(place.length.into()));
        details.insert("dead_bytes".to_owned(), data.saturating_sub(live).into());
    }
    if let Ok(files) = collection.files()
        && !files.ids.is_empty()
    {
        details.insert("documents_in_files".to_owned(), files.ids.len().into());
    }
    if let Ok(Some(manifest)) = collection.manifest() {
        details.insert("manifest".to_owned(), Value::Object(manifest));
    }
    let notes = condition.notes();
    if !notes.is_empty() {
        details.insert("notes".to_owned(), notes.into());
    }
    details
}
