//! What is said of a store and its collections as a whole.

use container_core::{Source, Table};
use serde_json::{Map, Value};

use super::table::CollectionTable;
use crate::read::{IndexState, Store};

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
pub(super) fn details(store: &Store, tables: &[CollectionTable]) -> Map<String, Value> {
    let mut details = Map::new();
    // What is wrong with it is told where it is checked.
    if let Ok(Some(metadata)) = store.metadata() {
        for name in ["name", "description", "created", "modified"] {
            if let Some(value) = metadata.get(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty()))
            {
                details.insert(name.to_owned(), value.clone());
            }
        }
    }
    if let Some(archive) = store.archive() {
        details.insert("archive_files".to_owned(), archive.len().into());
    }
    match tables {
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
    if let Some(index) = &collection.sources.index {
        details.insert("index_bytes".to_owned(), (index.len() as u64).into());
    }
    if let Ok(places) = collection.line_refs() {
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
