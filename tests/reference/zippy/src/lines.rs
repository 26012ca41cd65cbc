//! The mode in which a collection's documents are lines of one file.

use std::mem::ManuallyDrop;

use serde_json::{Value, json};
use zippy_data::{Codec, FastStore, ZDSRoot};

use crate::{Arguments, Given, Outcome, docs, input, outcome, said, tell};

/// A batch that is never full: only what is asked for is flushed.
const NO_BATCH: usize = usize::MAX;

/// A store for reading. It is never dropped: dropping one writes its index file again, even where it was opened for reading alone.
fn reader(root: &str, collection: &str) -> Outcome<ManuallyDrop<FastStore>> {
    let opened = ZDSRoot::open_readonly(root, NO_BATCH).and_then(|root| root.collection(collection));
    opened.map(ManuallyDrop::new).map_err(said)
}

pub(crate) fn write(root: &str, collection: &str, mode: &str, batch: usize) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, batch).map_err(said)?;
    let mut store = root.collection(collection).map_err(said)?;
    let (mut blob, mut ids) = (Vec::new(), Vec::new());
    let mut count = 0_u64;
    for line in input() {
        let given = Given::parse(&line?)?;
        match mode {
            "put" => store.put(given.id.clone(), given.value()?).map_err(said)?,
            "raw" => store.put_raw_line(given.id, &given.line).map_err(said)?,
            "blob" => {
                blob.extend_from_slice(&given.line);
                blob.push(b'\n');
                ids.push(given.id);
                if ids.len() >= batch {
                    store.write_jsonl_blob(&blob, &ids).map_err(said)?;
                    blob.clear();
                    ids.clear();
                }
            }
            _ => return Err(format!("no mode \"{mode}\"")),
        }
        count += 1;
    }
    // The last blob goes without its line feed, which the reference adds.
    blob.pop();
    if !ids.is_empty() {
        store.write_jsonl_blob(&blob, &ids).map_err(said)?;
    }
    store.flush().map_err(said)?;
    tell(&json!({"written": count, "documents": store.len()}))
}

pub(crate) fn delete(root: &str, collection: &str, ids: &[&str]) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, NO_BATCH).map_err(said)?;
    let mut store = root.collection(collection).map_err(said)?;
    for id in ids {
        store.delete(id).map_err(said)?;
    }
    store.flush().map_err(said)?;
    tell(&json!({"deleted": ids.len(), "documents": store.len()}))
}

pub(crate) fn compact(root: &str, collection: &str) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, NO_BATCH).map_err(said)?;
    let mut store = root.collection(collection).map_err(said)?;
    store.compact().map_err(said)?;
    tell(&json!({"documents": store.len()}))
}

fn sorted(store: &FastStore) -> Vec<String> {
    let mut ids = store.doc_ids();
    ids.sort();
    ids
}

pub(crate) fn ids(root: &str, collection: &str) -> Outcome<()> {
    let store = reader(root, collection)?;
    sorted(&store).iter().try_for_each(|id| tell(&json!({"id": id})))
}

pub(crate) fn get(root: &str, collection: &str, ids: &[&str]) -> Outcome<()> {
    let store = reader(root, collection)?;
    for id in ids {
        let mut members = outcome("document", store.get(id));
        members.insert("id".to_owned(), json!(id));
        tell(&Value::Object(members))?;
    }
    Ok(())
}

/// Every document of every collection, in both modes.
pub(crate) fn dump_all(root: &str) -> Outcome<()> {
    let opened = ZDSRoot::open_readonly(root, NO_BATCH).map_err(said)?;
    for collection in opened.list_collections().map_err(said)? {
        dump(root, &collection)?;
        docs::dump(root, &collection)?;
    }
    Ok(())
}

/// Every document that is a line: as it is got, and the line itself.
fn dump(root: &str, collection: &str) -> Outcome<()> {
    let store = reader(root, collection)?;
    // Both go through one hash map, and so in one order. A line beyond the file's end is left out, and then nobody knows whose are the others.
    let ids = store.doc_ids();
    let raw = store.scan_raw().map_err(said)?;
    let raw = if raw.len() == ids.len() { raw.into_iter().map(Some).collect() } else { vec![None; ids.len()] };
    let mut all: Vec<_> = ids.into_iter().zip(raw).collect();
    all.sort();
    for (id, raw) in all {
        let mut members = outcome("document", store.get(&id));
        members.insert("collection".to_owned(), json!(collection));
        members.insert("id".to_owned(), json!(id));
        members.insert("mode".to_owned(), json!("lines"));
        if let Some(raw) = raw {
            members.insert("line".to_owned(), json!(String::from_utf8_lossy(&raw)));
        }
        tell(&Value::Object(members))?;
    }
    Ok(())
}

/// Documents that have certain values, and of each only some fields.
pub(crate) fn scan(root: &str, collection: &str, arguments: &Arguments) -> Outcome<()> {
    let store = reader(root, collection)?;
    let predicate = arguments.predicate();
    for id in sorted(&store) {
        let document = store.get(&id).map_err(said)?;
        if let Some(predicate) = &predicate
            && !Codec::apply_predicate(&document, predicate).map_err(said)?
        {
            continue;
        }
        tell(&json!({"id": id, "document": projected(document, arguments)?}))?;
    }
    Ok(())
}

fn projected(document: Value, arguments: &Arguments) -> Outcome<Value> {
    let Some(fields) = &arguments.fields else { return Ok(document) };
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    Codec::extract_fields(&document, &fields).map_err(said)
}
