//! Opening a store for writing in various states.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{check_tidy, options, read};
use crate::{IndexState, StoreWriter};

fn meta(root: &Path) -> std::path::PathBuf {
    root.join("collections/c/meta")
}

fn test_store(data: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(meta(folder.path())).unwrap();
    fs::write(meta(folder.path()).join("data.jsonl"), data).unwrap();
    folder
}

fn ids(root: &Path) -> Vec<String> {
    read(root).into_keys().collect()
}

const THREE: &str = "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"n\":3,\"_id\":\"c\"}\n";

#[test]
fn rebuilds_missing_index_and_cuts_torn_line() {
    let folder = test_store(&[THREE, "{\"_id\":\"d\",\"x"].concat());
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    assert!(matches!(writer.recovered().index, IndexState::Missing));
    assert_eq!(writer.recovered().torn, Some(THREE.len() as u64));
    // Opening changes nothing.
    assert_eq!(fs::read_dir(meta(folder.path())).unwrap().count(), 1);
    assert!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap().ends_with("\"x"));
    writer.flush().unwrap();
    check_tidy(folder.path());
    assert_eq!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap(), THREE);
    writer.put("d", &json!({})).unwrap();
    writer.finish().unwrap();
    assert_eq!(ids(folder.path()), ["a", "b", "c", "d"]);
    check_tidy(folder.path());
}

#[test]
fn adds_missing_last_line_feed() {
    let folder = test_store(THREE.trim_end());
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    writer.put("d", &json!({})).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap(),
        [THREE, "{\"_id\":\"d\"}\n"].concat()
    );
    assert_eq!(ids(folder.path()), ["a", "b", "c", "d"]);
}

#[test]
fn keeps_invalid_lines_but_refuses_data_without_documents() {
    let folder = test_store(&[THREE, "x\n"].concat());
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let writer = store.collection("c").unwrap();
    assert_eq!(writer.recovered().skipped_lines, 1);
    writer.finish().unwrap();
    assert_eq!(ids(folder.path()), ["a", "b", "c"]);
    check_tidy(folder.path());
    assert!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap().contains("\nx\n"));
    let text = "{\"n\":1}\n{\"n\":2}\n";
    let folder = test_store(text);
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let error = store.collection("c").unwrap_err().to_string();
    assert!(error.starts_with("zds: meta/data.jsonl: the data contain no documents: "), "{error}");
    assert!(error.contains("the document has no \"_id\" (byte 0, line 1)"), "{error}");
    assert_eq!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap(), text);
    // The collection can be opened again.
    assert!(!store.collection("c").unwrap_err().to_string().contains("already"));
}

#[test]
fn rebuilds_valid_index_only_on_request() {
    let folder = test_store(THREE);
    let root = folder.path();
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    writer.delete("a").unwrap();
    writer.finish().unwrap();
    store.finish().unwrap();
    let index = fs::read(meta(root).join("index.bin")).unwrap();
    let store = StoreWriter::open(root, options()).unwrap();
    let writer = store.collection("c").unwrap();
    assert!(matches!(writer.recovered().index, IndexState::Valid));
    writer.finish().unwrap();
    store.finish().unwrap();
    assert_eq!(fs::read(meta(root).join("index.bin")).unwrap(), index);
    assert_eq!(ids(root), ["b", "c"]);
    let store = StoreWriter::open(root, options().with_rebuild(true)).unwrap();
    store.collection("c").unwrap().finish().unwrap();
    store.finish().unwrap();
    assert_eq!(ids(root), ["a", "b", "c"]);
    // The lines past the end of the data are lost: nothing may be appended in their place.
    fs::write(meta(root).join("data.jsonl"), &THREE[..36]).unwrap();
    let store = StoreWriter::open(root, options()).unwrap();
    let error = store.collection("c").unwrap_err().to_string();
    let expected = "zds: meta/data.jsonl: the index lists lines up to byte 54, past the end of the data; it can be rebuilt from what is left (byte 36)";
    assert_eq!(error, expected);
    drop(store);
    let store = StoreWriter::open(root, options().with_rebuild(true)).unwrap();
    assert_eq!(store.collection("c").unwrap().len(), 2);
}

#[test]
fn last_line_is_always_live() {
    let folder = test_store(THREE);
    let root = folder.path();
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    writer.delete("c").unwrap();
    writer.flush().unwrap();
    check_tidy(root);
    let data = || fs::read_to_string(meta(root).join("data.jsonl")).unwrap();
    assert_eq!(data(), [THREE, "{\"_id\":\"b\",\"n\":2}\n"].concat());
    let mapped = crate::Store::open(root).unwrap().collection("c").unwrap();
    writer.delete("a").unwrap();
    writer.delete("b").unwrap();
    writer.flush().unwrap();
    assert_eq!(data(), "");
    assert_eq!(fs::read(meta(root).join("index.bin")).unwrap(), crate::wire::index::header(0));
    // A reader that opened it before still reads the old data.
    assert_eq!(mapped.documents().unwrap().map(Result::unwrap).count(), 2);
    writer.put("z", &json!({})).unwrap();
    writer.finish().unwrap();
    assert_eq!(data(), "{\"_id\":\"z\"}\n");
    check_tidy(root);
}

#[test]
fn deletes_and_shadows_file_per_document_documents() {
    let folder = test_store(THREE);
    let root = folder.path();
    let docs = root.join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    for id in ["a", "x", "y", "z"] {
        fs::write(docs.join(format!("{id}.json")), "{\n  \"file\": true\n}").unwrap();
    }
    fs::write(meta(root).join("order.ids"), "z\ny\na\nx\n").unwrap();
    let list = ["{\"doc_id\":\"y\",\"size\":1}\n", "{\"size\":1,\"doc_id\":\"\\u007a\"}\n", "no list\n"];
    fs::write(meta(root).join("doc_index.jsonl"), list.concat()).unwrap();
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    assert_eq!(writer.len(), 6);
    assert!(writer.contains("x") && writer.get("x").unwrap().unwrap().starts_with(b"{\n"));
    // A line over a file.
    writer.put("x", &json!({"line": 1})).unwrap();
    assert_eq!((writer.len(), writer.get("x").unwrap().unwrap().as_slice()), (6, &b"{\"_id\":\"x\",\"line\":1}"[..]));
    // Deletes both line and file.
    for id in ["x", "a", "y"] {
        assert!(writer.delete(id).unwrap() && !writer.contains(id) && !writer.delete(id).unwrap(), "{id}");
    }
    writer.finish().unwrap();
    store.finish().unwrap();
    assert_eq!(ids(root), ["b", "c", "z"]);
    assert_eq!(fs::read_to_string(meta(root).join("order.ids")).unwrap(), "z\n");
    assert_eq!(fs::read_to_string(meta(root).join("doc_index.jsonl")).unwrap(), list[1..].concat());
    let notes = crate::Store::open(root).unwrap().collection("c").unwrap().condition().unwrap().notes();
    assert_eq!(notes, [""; 0]);
}

#[test]
fn accepts_and_rejects_forms_of_documents() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new/store");
    let store = StoreWriter::open(&root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    #[derive(serde::Serialize)]
    struct Own<'a> {
        z: u8,
        _id: &'a str,
        a: Vec<Option<&'a str>>,
    }
    let own = Own { z: 1, _id: "own", a: vec![Some("_id\":"), None] };
    writer.put("own", &own).unwrap();
    writer.put("empty", &json!({})).unwrap();
    writer.put("nested", &json!({"a": {"_id": 5}})).unwrap();
    assert_eq!(writer.put_line(b"{ \"n\" : 1.0,\r\n\t\"_id\":\"li\\u006ee\" }\r\n").unwrap(), "line");
    writer.put_raw("raw", b"{\"a\": 1e2, \"_id\": \"raw\"}").unwrap();
    for (error, expected) in [
        (
            writer.put("a b", &json!({})),
            "zds: invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\") (key \"a b\")",
        ),
        (writer.put("x", &json!([1])), "zds: the document is not an object (key \"x\")"),
        (writer.put("x", &own), "zds: the document has another \"_id\", \"own\" (key \"x\")"),
        (writer.put("x", &json!({"_id": 1})), "zds: expected a string (\"_id\"), found '1' (key \"x\")"),
        (writer.put_raw("x", b"{\"_id\":\"y\"}"), "zds: the line has another \"_id\", \"y\" (key \"x\")"),
        (writer.put_raw("x", b"{}"), "zds: the document has no \"_id\" (byte 0, key \"x\")"),
        (writer.put_line(b"{\"_id\":\"y\"").map(drop), "zds: \"}\": needs 1 byte, 0 available (byte 10)"),
        (writer.put_line(b"{\"_id\":\"\"}").map(drop), "zds: the id is empty (key \"\")"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    let mut deep = json!(1);
    (0..128).for_each(|_| deep = json!([deep]));
    let error = writer.put("deep", &json!({"d": deep})).unwrap_err().to_string();
    assert_eq!(error, "zds: the nesting of values 129 exceeds the limit 128 (key \"deep\")");
    // None of them left a trace.
    assert_eq!(writer.len(), 5);
    assert!(store.collection("c").unwrap_err().to_string().contains("is already open for writing"));
    let other = store.collection("d").unwrap();
    assert!(StoreWriter::open(&root, options()).unwrap_err().to_string().contains("another writer holds the lock"));
    other.finish().unwrap();
    writer.finish().unwrap();
    store.finish().unwrap();
    let data = fs::read_to_string(meta(&root).join("data.jsonl")).unwrap();
    let expected = [
        r#"{"_id":"own","z":1,"a":["_id\":",null]}"#,
        r#"{"_id":"empty"}"#,
        r#"{"_id":"nested","a":{"_id":5}}"#,
        r#"{"n":1.0,"_id":"li\u006ee"}"#,
        r#"{"a": 1e2, "_id": "raw"}"#,
    ];
    assert_eq!(data.lines().collect::<Vec<_>>(), expected);
    assert_eq!(read(&root).len(), 5);
}
