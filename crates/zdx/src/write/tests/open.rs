//! What is found when a store is opened for writing.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{options, read, tidy};
use crate::{IndexState, StoreWriter};

fn meta(root: &Path) -> std::path::PathBuf {
    root.join("collections/c/meta")
}

fn made(data: &str) -> tempfile::TempDir {
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
fn a_missing_index_is_made_and_a_torn_end_cut_off() {
    let folder = made(&[THREE, "{\"_id\":\"d\",\"x"].concat());
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    assert!(matches!(writer.recovered().index, IndexState::Missing));
    assert_eq!(writer.recovered().torn, Some(THREE.len() as u64));
    // Opening changes nothing.
    assert_eq!(fs::read_dir(meta(folder.path())).unwrap().count(), 1);
    assert!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap().ends_with("\"x"));
    writer.flush().unwrap();
    tidy(folder.path());
    assert_eq!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap(), THREE);
    writer.put("d", &json!({})).unwrap();
    writer.finish().unwrap();
    assert_eq!(ids(folder.path()), ["a", "b", "c", "d"]);
    tidy(folder.path());
}

#[test]
fn a_last_line_without_a_line_feed_gets_one() {
    let folder = made(THREE.trim_end());
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
fn lines_that_are_no_documents_stay_and_alone_are_refused() {
    let folder = made(&[THREE, "x\n"].concat());
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let writer = store.collection("c").unwrap();
    assert_eq!(writer.recovered().skipped_lines, 1);
    writer.finish().unwrap();
    assert_eq!(ids(folder.path()), ["a", "b", "c"]);
    tidy(folder.path());
    assert!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap().contains("\nx\n"));
    let text = "{\"n\":1}\n{\"n\":2}\n";
    let folder = made(text);
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let error = store.collection("c").unwrap_err().to_string();
    assert!(error.starts_with("zds: meta/data.jsonl: no line of the data is a document: "), "{error}");
    assert!(error.contains("the document has no \"_id\" (byte 0, line 1)"), "{error}");
    assert_eq!(fs::read_to_string(meta(folder.path()).join("data.jsonl")).unwrap(), text);
    // The name is free again.
    assert!(!store.collection("c").unwrap_err().to_string().contains("already"));
}

#[test]
fn a_valid_index_is_not_made_anew_unless_that_is_wanted() {
    let folder = made(THREE);
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
    // What lies behind the end of the data is lost: nothing is put on its place.
    fs::write(meta(root).join("data.jsonl"), &THREE[..36]).unwrap();
    let store = StoreWriter::open(root, options()).unwrap();
    let error = store.collection("c").unwrap_err().to_string();
    let wanted = "zds: meta/data.jsonl: the index names lines up to byte 54 of the data: they end before; an index of what is there can be made anew (byte 36)";
    assert_eq!(error, wanted);
    drop(store);
    let store = StoreWriter::open(root, options().with_rebuild(true)).unwrap();
    assert_eq!(store.collection("c").unwrap().len(), 2);
}

#[test]
fn the_last_line_is_never_a_dead_one() {
    let folder = made(THREE);
    let root = folder.path();
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    writer.delete("c").unwrap();
    writer.flush().unwrap();
    tidy(root);
    let data = || fs::read_to_string(meta(root).join("data.jsonl")).unwrap();
    assert_eq!(data(), [THREE, "{\"_id\":\"b\",\"n\":2}\n"].concat());
    let mapped = crate::Store::open(root).unwrap().collection("c").unwrap();
    writer.delete("a").unwrap();
    writer.delete("b").unwrap();
    writer.flush().unwrap();
    assert_eq!(data(), "");
    assert_eq!(fs::read(meta(root).join("index.bin")).unwrap(), crate::wire::index::header(0));
    // Who has opened it before still reads what there was.
    assert_eq!(mapped.documents().unwrap().map(Result::unwrap).count(), 2);
    writer.put("z", &json!({})).unwrap();
    writer.finish().unwrap();
    assert_eq!(data(), "{\"_id\":\"z\"}\n");
    tidy(root);
}

#[test]
fn documents_in_files_are_deleted_and_shadowed() {
    let folder = made(THREE);
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
    // Deleted are both: nothing comes to light.
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
fn forms_of_documents() {
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
    for (error, wanted) in [
        (
            writer.put("a b", &json!({})),
            "zds: ' ' is no character of an id: they are a-z, A-Z, 0-9, \"_\", \"-\" and \".\" (key \"a b\")",
        ),
        (writer.put("x", &json!([1])), "zds: the document is no object (key \"x\")"),
        (writer.put("x", &own), "zds: the document has another \"_id\": \"own\" (key \"x\")"),
        (
            writer.put("x", &json!({"_id": 1})),
            "zds: '1' stands where the string that an _id is is expected (key \"x\")",
        ),
        (writer.put_raw("x", b"{\"_id\":\"y\"}"), "zds: the line has another \"_id\": \"y\" (key \"x\")"),
        (writer.put_raw("x", b"{}"), "zds: the document has no \"_id\" (byte 0, key \"x\")"),
        (writer.put_line(b"{\"_id\":\"y\"").map(drop), "zds: \"}\": needs 1 byte, 0 available (byte 10)"),
        (writer.put_line(b"{\"_id\":\"\"}").map(drop), "zds: the id is empty (key \"\")"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), wanted);
    }
    let mut deep = json!(1);
    (0..128).for_each(|_| deep = json!([deep]));
    let error = writer.put("deep", &json!({"d": deep})).unwrap_err().to_string();
    assert_eq!(error, "zds: the nesting of values 129 exceeds the limit 128 (key \"deep\")");
    // Nothing of them is left.
    assert_eq!(writer.len(), 5);
    assert!(store.collection("c").unwrap_err().to_string().contains("is being written already"));
    let other = store.collection("d").unwrap();
    assert!(
        StoreWriter::open(&root, options()).unwrap_err().to_string().contains("another writer has the store locked")
    );
    other.finish().unwrap();
    writer.finish().unwrap();
    store.finish().unwrap();
    let data = fs::read_to_string(meta(&root).join("data.jsonl")).unwrap();
    let wanted = [
        r#"{"_id":"own","z":1,"a":["_id\":",null]}"#,
        r#"{"_id":"empty"}"#,
        r#"{"_id":"nested","a":{"_id":5}}"#,
        r#"{"n":1.0,"_id":"li\u006ee"}"#,
        r#"{"a": 1e2, "_id": "raw"}"#,
    ];
    assert_eq!(data.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(read(&root).len(), 5);
}
