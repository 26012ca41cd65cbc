//! Creates the documents, as in the reference's own benchmarks, and the stores.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use zdx::wire::index::{Entry, Index, head, put};
use zippy_data::{FastStore, OpenMode};

/// The one collection of each store.
pub(crate) const COLLECTION: &str = "bench";

pub(crate) fn id(number: usize) -> String {
    format!("doc_{number:06}")
}

/// A document without its ID; its line has about 205 bytes.
pub(crate) fn document(number: usize) -> Value {
    json!({
        "id": number,
        "name": format!("user_{number}"),
        "email": format!("user{number}@example.com"),
        "age": 20 + number % 60,
        "active": number.is_multiple_of(2),
        "score": number as f64 * 1.5,
        "tags": ["tag1", "tag2", "tag3"],
        "metadata": {"created": "2025-01-01", "version": 1}
    })
}

/// The document's line, with the ID as the first member.
fn line(number: usize) -> String {
    let members = document(number).to_string();
    format!("{{\"_id\":\"{}\",{}\n", id(number), &members[1..])
}

/// Creates the stores: the reference writes one, and the others are derived from it.
pub(crate) fn make(directory: &Path, count: usize) {
    let ids: Vec<_> = (0..count).map(id).collect();
    let lines: String = (0..count).map(line).collect();
    let mut theirs = FastStore::open_with_mode(directory.join("hashed"), COLLECTION, usize::MAX, OpenMode::ReadWrite)
        .expect("a new store");
    assert_eq!(theirs.write_jsonl_blob(lines.as_bytes(), &ids).expect("lines are written"), count);
    theirs.flush().expect("the index is written");
    drop(theirs);

    let meta = |store: &str| directory.join(store).join("collections").join(COLLECTION).join("meta");
    let index = fs::read(meta("hashed").join("index.bin")).expect("the index is there");
    let index = Index::parse(&index).expect("it is one");
    let mut entries: Vec<Entry<'_>> = index.entries().map(|entry| entry.expect("an entry")).collect();
    assert!(!entries.is_sorted_by_key(|entry| entry.offset) || count < 10, "a hash map has another order");
    entries.sort_by_key(|entry| entry.offset);
    let mut ordered = head(index.len()).to_vec();
    entries.iter().for_each(|entry| put(entry, &mut ordered).expect("ids are short"));
    for store in ["ordered", "bare"] {
        fs::create_dir_all(meta(store)).expect("a folder");
        fs::write(meta(store).join("data.jsonl"), &lines).expect("data are written");
    }
    fs::write(meta("ordered").join("index.bin"), ordered).expect("an index is written");
}
