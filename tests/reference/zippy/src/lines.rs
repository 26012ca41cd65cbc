//! The mode in which a collection's documents are lines of one file.

use std::mem::ManuallyDrop;

use serde_json::{Value, json};
use zippy_data::{Codec, FastStore, ZDSRoot};

use crate::{Arguments, InputDocument, Outcome, docs, input, message, outcome, print_line};

/// A batch that is never full, so that only explicit flushes happen.
const NO_BATCH: usize = usize::MAX;

/// Opens a store for reading. It is never dropped, as that would rewrite its index file, even if it was opened for reading.
fn reader(root: &str, collection: &str) -> Outcome<ManuallyDrop<FastStore>> {
    let opened = ZDSRoot::open_readonly(root, NO_BATCH).and_then(|root| root.collection(collection));
    opened.map(ManuallyDrop::new).map_err(message)
}

pub(crate) fn write(root: &str, collection: &str, mode: &str, batch: usize) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, batch).map_err(message)?;
    let mut store = root.collection(collection).map_err(message)?;
    let (mut blob, mut ids) = (Vec::new(), Vec::new());
    let mut count = 0_u64;
    for line in input() {
        let document = InputDocument::parse(&line?)?;
        match mode {
            "put" => store.put(document.id.clone(), document.value()?).map_err(message)?,
            "raw" => store.put_raw_line(document.id, &document.line).map_err(message)?,
            "blob" => {
                blob.extend_from_slice(&document.line);
                blob.push(b'\n');
                ids.push(document.id);
                if ids.len() >= batch {
                    store.write_jsonl_blob(&blob, &ids).map_err(message)?;
                    blob.clear();
                    ids.clear();
                }
            }
            _ => return Err(format!("unknown mode \"{mode}\"")),
        }
        count += 1;
    }
    // Without the last line feed, which the reference adds.
    blob.pop();
    if !ids.is_empty() {
        store.write_jsonl_blob(&blob, &ids).map_err(message)?;
    }
    store.flush().map_err(message)?;
    print_line(&json!({"written": count, "documents": store.len()}))
}

pub(crate) fn delete(root: &str, collection: &str, ids: &[&str]) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, NO_BATCH).map_err(message)?;
    let mut store = root.collection(collection).map_err(message)?;
    for id in ids {
        store.delete(id).map_err(message)?;
    }
    store.flush().map_err(message)?;
    print_line(&json!({"deleted": ids.len(), "documents": store.len()}))
}

pub(crate) fn compact(root: &str, collection: &str) -> Outcome<()> {
    let root = ZDSRoot::open_rw(root, NO_BATCH).map_err(message)?;
    let mut store = root.collection(collection).map_err(message)?;
    store.compact().map_err(message)?;
    print_line(&json!({"documents": store.len()}))
}

fn sorted(store: &FastStore) -> Vec<String> {
    let mut ids = store.doc_ids();
    ids.sort();
    ids
}

pub(crate) fn ids(root: &str, collection: &str) -> Outcome<()> {
    let store = reader(root, collection)?;
    sorted(&store).iter().try_for_each(|id| print_line(&json!({"id": id})))
}

pub(crate) fn get(root: &str, collection: &str, ids: &[&str]) -> Outcome<()> {
    let store = reader(root, collection)?;
    for id in ids {
        let mut members = outcome("document", store.get(id));
        members.insert("id".to_owned(), json!(id));
        print_line(&Value::Object(members))?;
    }
    Ok(())
}

/// Dumps every document of every collection, in both modes.
pub(crate) fn dump_all(root: &str) -> Outcome<()> {
    let opened = ZDSRoot::open_readonly(root, NO_BATCH).map_err(message)?;
    for collection in opened.list_collections().map_err(message)? {
        dump(root, &collection)?;
        docs::dump(root, &collection)?;
    }
    Ok(())
}

/// Dumps every document that is a line: the parsed document and the line itself.
fn dump(root: &str, collection: &str) -> Outcome<()> {
    let store = reader(root, collection)?;
    // Both iterate over the same hash map, in the same order. Lines beyond the end of the file are omitted; then the others cannot be assigned.
    let ids = store.doc_ids();
    let raw = store.scan_raw().map_err(message)?;
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
        print_line(&Value::Object(members))?;
    }
    Ok(())
}

/// Prints documents that match all conditions, with the selected fields.
pub(crate) fn scan(root: &str, collection: &str, arguments: &Arguments) -> Outcome<()> {
    let store = reader(root, collection)?;
    let predicate = arguments.predicate();
    for id in sorted(&store) {
        let document = store.get(&id).map_err(message)?;
        if let Some(predicate) = &predicate
            && !Codec::apply_predicate(&document, predicate).map_err(message)?
        {
            continue;
        }
        print_line(&json!({"id": id, "document": project(document, arguments)?}))?;
    }
    Ok(())
}

fn project(document: Value, arguments: &Arguments) -> Outcome<Value> {
    let Some(fields) = &arguments.fields else { return Ok(document) };
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    Codec::extract_fields(&document, &fields).map_err(message)
}
