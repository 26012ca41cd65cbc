//! Reads stores written by the reference, and compares with what the reference reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use zdx::{Collection, Document, OpenOptions, Store};

/// A line of `NAME.expected.jsonl`.
#[derive(Deserialize)]
struct Expected {
    collection: String,
    id: String,
    /// Without its `_id`, if it has a line.
    document: Value,
    line: Option<String>,
    position: Option<u64>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/zds")
}

fn expected(name: &str) -> BTreeMap<String, Vec<Expected>> {
    let text = fs::read_to_string(folder().join(format!("{name}.expected.jsonl"))).unwrap();
    let mut found: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for line in text.lines() {
        let line: Expected = serde_json::from_str(line).unwrap();
        found.entry(line.collection.clone()).or_default().push(line);
    }
    found
}

fn without_id(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.remove("_id");
    }
    value
}

/// Compares a document with what the reference reads.
fn check(expected: &Expected, document: &Document<'_>) {
    let id = &expected.id;
    assert_eq!(document.id(), id);
    match &expected.line {
        Some(line) => {
            // The reference keeps the CR as part of the line.
            assert_eq!(String::from_utf8_lossy(document.bytes()), line.trim_end_matches('\r'), "{id}");
            assert_eq!(without_id(document.value().unwrap()), expected.document, "{id}");
        }
        None => assert_eq!(document.decode::<Value>().unwrap(), expected.document, "{id}"),
    }
}

/// Checks every document of a collection by every access method; returns their number.
fn check_collection(collection: &Collection, expected: &[Expected]) -> usize {
    // If a line and a file have the same id, the line is read.
    let with_line: BTreeSet<&str> =
        expected.iter().filter(|one| one.line.is_some()).map(|one| one.id.as_str()).collect();
    let wanted: BTreeMap<&str, &Expected> = expected
        .iter()
        .filter(|one| one.line.is_some() || !with_line.contains(one.id.as_str()))
        .map(|one| (one.id.as_str(), one))
        .collect();
    let iterated: Vec<_> = collection.documents().unwrap().map(Result::unwrap).collect();
    let ids: BTreeSet<&str> = iterated.iter().map(Document::id).collect();
    assert_eq!(ids, wanted.keys().copied().collect(), "{}", collection.name());
    assert_eq!(iterated.len(), ids.len());
    iterated.iter().for_each(|document| check(wanted[document.id()], document));
    for (id, one) in &wanted {
        match collection.get(id) {
            Ok(document) => check(one, &document.unwrap()),
            // A line indexed under another id; the reference relies on the index alone.
            Err(error) => {
                assert!(
                    one.line.as_deref().is_some_and(|line| !line.contains(&format!("\"_id\":\"{id}\""))),
                    "{error}"
                );
            }
        }
    }
    // Files follow the lines, in the reference's order.
    let mut files: Vec<_> = wanted.values().filter(|one| one.line.is_none()).collect();
    files.sort_by_key(|one| one.position);
    assert!(files.iter().map(|one| one.id.as_str()).eq(iterated.iter().skip(with_line.len()).map(Document::id)));
    iterated.len()
}

fn check_store(path: &Path, name: &str, options: OpenOptions) -> usize {
    let store = Store::open_with(path, options).unwrap();
    let mut count = 0;
    let mut expected = expected(name);
    for collection in store.names().unwrap() {
        let wanted = expected.remove(&collection).unwrap_or_default();
        count += check_collection(&store.collection(&collection).unwrap(), &wanted);
    }
    assert!(expected.is_empty(), "{:?}", expected.keys());
    count
}

#[test]
fn agrees_with_the_reference() {
    let (mut stores, mut documents) = (0, 0);
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = match name.strip_suffix(".zds") {
            Some(name) => name,
            None if path.is_dir() => name,
            None => continue,
        };
        for access in
            [container_core::testkit::mapped(), container_core::Access::Auto, container_core::Access::Positional]
        {
            println!("{name}");
            documents += check_store(&path, name, OpenOptions::default().with_access(access));
        }
        stores += 1;
    }
    assert_eq!((stores, documents), (27, 3 * 968));
}
