//! Details of a store and its collections.

use container_core::{Source, Table};
use serde_json::{Map, Value};

use super::table::CollectionTable;
use crate::read::{IndexState, Store};

/// Name of an index state.
const fn state_name(state: &IndexState) -> &'static str {
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

/// Details shown by `info`: of a single collection at the top level, of several by name.
pub(super) fn details(store: &Store, tables: &[CollectionTable]) -> Map<String, Value> {
    let mut details = Map::new();
    // Invalid metadata is reported by `verify`.
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
    details.insert("index".to_owned(), state_name(&condition.index).into());
    let size = |source: &Option<Source>| source.as_ref().map_or(0, Source::len);
    let data = size(&collection.data);
    details.insert("data_bytes".to_owned(), data.into());
    if let Some(index) = &collection.sources.index {
        details.insert("index_bytes".to_owned(), (index.len() as u64).into());
    }
    if let Ok(lines) = collection.line_refs() {
        let live = lines.iter().fold(0, |sum: u64, line| sum.saturating_add(line.length.into()));
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
