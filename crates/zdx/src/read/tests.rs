use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use container_core::{Access, OpenOptions};
use serde_json::{Value, json};

use super::*;
use crate::journal::{self, Header, IndexMark, Record};
use crate::wire::index::{Entry, header, put};

/// A handmade store with one collection, `c`.
struct TestStore {
    folder: tempfile::TempDir,
}

impl TestStore {
    fn new(data: &str) -> Self {
        let test_store = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(test_store.meta()).unwrap();
        fs::write(test_store.meta().join("data.jsonl"), data).unwrap();
        test_store
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn meta(&self) -> PathBuf {
        self.root().join("collections/c/meta")
    }

    /// Writes an index, after the data or long before.
    fn index(&self, entries: &[(&str, u64, u32)], is_older: bool) -> Vec<u8> {
        let mut bytes = header(entries.len() as u64).to_vec();
        for (id, offset, length) in entries {
            put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut bytes).unwrap();
        }
        self.index_file(&bytes, is_older);
        bytes
    }

    fn index_file(&self, bytes: &[u8], is_older: bool) {
        let path = self.meta().join("index.bin");
        fs::write(&path, bytes).unwrap();
        let time = SystemTime::now() - Duration::from_secs(if is_older { 60 } else { 0 });
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    fn open(&self) -> Collection {
        Store::open(self.root()).unwrap().collection("c").unwrap()
    }

    /// All documents, by every access method, which must agree.
    fn all(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        let absent = "no such".to_owned();
        for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
            let store = Store::open_with(self.root(), OpenOptions::default().with_access(access)).unwrap();
            let collection = store.collection("c").unwrap();
            let show = |document: &Document<'_>| {
                (document.id().to_owned(), String::from_utf8(document.bytes().to_vec()).unwrap())
            };
            let iterated: Vec<_> = collection.documents().unwrap().map(|document| show(&document.unwrap())).collect();
            assert_eq!(collection.len().unwrap(), iterated.len() as u64);
            assert!(collection.ids().unwrap().eq(iterated.iter().map(|(id, _)| id)));
            let ids =
                || iterated.iter().map(|(id, _)| id).chain([&absent]).chain(iterated.iter().rev().map(|(id, _)| id));
            let many: Vec<_> = collection.get_many(ids()).map(|found| found.unwrap().as_ref().map(show)).collect();
            let single = ids().map(|id| collection.get(id).unwrap().as_ref().map(show));
            assert!(many.into_iter().eq(single));
            for (row, (id, bytes)) in iterated.iter().enumerate() {
                let document = collection.get(id).unwrap().unwrap();
                assert_eq!((document.id(), document.bytes()), (id.as_str(), bytes.as_bytes()));
                assert_eq!(collection.row_of(id).unwrap(), Some(row as u64));
                assert_eq!(show(&collection.document(row as u64).unwrap()), iterated[row]);
                // As the first look-up of a freshly opened collection.
                let fresh = store.collection("c").unwrap();
                assert_eq!(show(&fresh.get(id).unwrap().unwrap()), iterated[row]);
                assert!(fresh.contains(id).unwrap() && !fresh.contains("no such").unwrap());
            }
            results.push(iterated);
        }
        assert_eq!(results[0], results[1]);
        results.swap_remove(0)
    }

    fn ids(&self) -> Vec<String> {
        self.all().into_iter().map(|(id, _)| id).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.open().condition().unwrap().notes()
    }
}

const THREE: &str = "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"n\":3,\"_id\":\"c\"}\n";

#[test]
fn index_decides_which_documents_exist() {
    let test_store = TestStore::new(THREE);
    // Out of order, one deleted, one without its line feed.
    test_store.index(&[("c", 36, 17), ("a", 0, 18)], false);
    assert_eq!(
        test_store.all(),
        [("a".into(), "{\"_id\":\"a\",\"n\":1}".into()), ("c".into(), "{\"n\":3,\"_id\":\"c\"}".into())]
    );
    assert_eq!(test_store.notes(), [""; 0]);
    let collection = test_store.open();
    assert!(collection.get("b").unwrap().is_none());
    assert_eq!(collection.get("c").unwrap().unwrap().value().unwrap(), json!({"n": 3, "_id": "c"}));
    #[derive(serde::Deserialize)]
    struct Typed<'a> {
        _id: &'a str,
        n: u8,
    }
    let document = collection.document(1).unwrap();
    let typed: Typed<'_> = document.decode().unwrap();
    assert_eq!((typed._id, typed.n), ("c", 3));
    let fields = document.fields(&Fields::new(["n"])).unwrap();
    assert_eq!(Value::Object(fields), json!({"n": 3}));
    let error = collection.document(2).unwrap_err().to_string();
    assert_eq!(error, "zds: row 2 is out of range: 2 documents (row 2)");
}

#[test]
fn empty_index_means_all_deleted() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[], false);
    assert_eq!(test_store.all(), []);
    assert_eq!(test_store.notes(), [""; 0]);
}

#[test]
fn missing_index_is_rebuilt_from_the_data() {
    let test_store = TestStore::new(THREE);
    assert_eq!(test_store.ids(), ["a", "b", "c"]);
    let missing = "no index: recovered 3 documents from the data, including deleted ones whose lines remain";
    assert_eq!(test_store.notes(), [missing]);
    // The last line of an id wins; invalid lines are reported; a torn line is ignored.
    fs::write(test_store.meta().join("data.jsonl"), [THREE, "x\n{\"_id\":\"a\"}\n{\"_id\":\"d\",\"x\":"].concat())
        .unwrap();
    assert_eq!(test_store.ids(), ["b", "c", "a"]);
    assert_eq!(
        test_store.notes(),
        [
            "no index: recovered 4 documents from the data, including deleted ones whose lines remain",
            "skipped 1 line without a document, first: expected an object (\"{\"), found 'x' (byte 54, line 4)",
            "ignored 1 document replaced by a later one with the same id",
            "ignored the last line, which is torn (byte 68)",
        ]
    );
}

#[test]
fn damaged_index_is_treated_as_missing() {
    let test_store = TestStore::new(THREE);
    for bytes in [&b""[..], b"ISDZ", b"rubbish", b"ISDZ\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"] {
        test_store.index_file(bytes, false);
        assert_eq!(test_store.ids(), ["a", "b", "c"]);
        let note = &test_store.notes()[0];
        assert!(
            note.starts_with("the index is damaged (index.bin: ") && note.contains("recovered 3 documents"),
            "{note}"
        );
    }
}

#[test]
fn reads_text_index() {
    let test_store = TestStore::new(THREE);
    test_store.index_file(b"c\t36\t18\na\t0\t18\n", false);
    assert_eq!(test_store.ids(), ["a", "c"]);
    assert!(matches!(test_store.open().condition().unwrap().index, IndexState::Text));
}

#[test]
fn lines_past_a_stale_index_count() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[("a", 0, 18)], true);
    assert_eq!(test_store.ids(), ["a", "b", "c"]);
    assert_eq!(
        test_store.notes(),
        [
            "the index is older than the data: recovered 2 documents past its end, appended later (or deleted, if only the modification time is wrong)"
        ]
    );
    // Unindexed lines before its end are deleted, as are those past the end of a newer index.
    test_store.index(&[("b", 18, 18)], true);
    assert_eq!(test_store.ids(), ["b", "c"]);
    test_store.index(&[("b", 18, 18)], false);
    assert_eq!(test_store.ids(), ["b"]);
}

#[test]
fn journal_lists_appended_and_deleted_documents() {
    let test_store = TestStore::new(&[THREE, "{\"_id\":\"d\"}\n{\"_id\":\"b\",\"n\":5}\n{\"_id\":\"e\""].concat());
    let index = test_store.index(&[("a", 0, 18), ("b", 18, 18)], false);
    let write = |mark: Option<IndexMark>, deleted: &[(&str, u64)]| {
        let header = Header { version: journal::VERSION, index: mark, data_bytes: 54, compacts: false };
        let mut bytes = journal::line(&header).unwrap();
        for (id, data_bytes) in deleted {
            bytes.extend(journal::line(&Record::Delete { delete: (*id).to_owned(), data_bytes: *data_bytes }).unwrap());
        }
        fs::write(test_store.meta().join("wharf.journal"), bytes).unwrap();
    };
    write(Some(IndexMark::of(&index)), &[("a", 54), ("b", 54)]);
    // The line of c is before the journal's start: it was deleted earlier.
    assert_eq!(test_store.ids(), ["d", "b"]);
    assert_eq!(test_store.open().get("b").unwrap().unwrap().value().unwrap(), json!({"_id": "b", "n": 5}));
    assert_eq!(
        test_store.notes(),
        [
            "a writer is at work or was interrupted: recovered 2 documents appended since the index was written",
            "ignored the last line, which is torn (byte 84)",
        ]
    );
    // It is void beside another index.
    write(Some(IndexMark { crc32: 0, ..IndexMark::of(&index) }), &[("a", 54)]);
    assert_eq!(test_store.ids(), ["a", "b"]);
    write(None, &[("a", 54)]);
    assert_eq!(test_store.ids(), ["a", "b"]);
    // And without an index before, everything counts.
    fs::remove_file(test_store.meta().join("index.bin")).unwrap();
    assert_eq!(test_store.ids(), ["c", "d", "b"]);
}

#[test]
fn published_journal_is_reported_until_its_files_are_removed() {
    let test_store = TestStore::new(THREE);
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    for id in ["deleted", "kept"] {
        fs::write(docs.join(format!("{id}.json")), "{}").unwrap();
    }
    fs::write(test_store.meta().join("order.ids"), "deleted\nkept\n").unwrap();
    let index = test_store.index(&[("a", 0, 18), ("b", 18, 18), ("c", 36, 18)], false);
    let header = Header { version: journal::VERSION, index: None, data_bytes: 54, compacts: false };
    let publish = Record::Publish { publish: IndexMark::of(&index), remove: vec!["deleted".to_owned()] };
    let lines = [journal::line(&header).unwrap(), journal::line(&publish).unwrap()].concat();
    fs::write(test_store.meta().join("wharf.journal"), lines).unwrap();

    let note = "a writer is at work or was interrupted: it has yet to remove the files of 1 deleted document";
    assert_eq!(
        (test_store.ids(), test_store.notes()),
        (["a", "b", "c", "kept"].map(str::to_owned).to_vec(), vec![note.to_owned()])
    );
    let condition = test_store.open().condition().unwrap();
    assert!(matches!(condition.index, IndexState::Journal));
    let losses = crate::container::losses(&condition);
    assert_eq!(losses.iter().map(|loss| (&*loss.what, loss.count)).collect::<Vec<_>>(), [(note, 0)]);

    // An archive has neither the journal nor these files.
    let target = test_store.root().join("packed.zds");
    let store = Store::open(test_store.root()).unwrap();
    let (_, reindexed) = store.pack(&target, crate::archive::PackOptions::default()).unwrap();
    assert_eq!(reindexed[0].1.notes(), [note]);
    let packed = Store::open(&target).unwrap().collection("c").unwrap();
    assert!(packed.ids().unwrap().eq(["a", "b", "c", "kept"]));
    assert_eq!(packed.condition().unwrap().notes(), [""; 0], "order.ids lists what is there");

    let store = crate::StoreWriter::open(test_store.root(), crate::WriterOptions::default()).unwrap();
    let writer = store.collection("c").unwrap();
    assert_eq!(writer.recovered().notes(), [note]);
    writer.finish().unwrap();
    assert_eq!(test_store.notes(), [""; 0]);
    assert!(!docs.join("deleted.json").exists());
}

#[test]
fn wrong_entries_fail_individually() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[("a", 18, 18), ("b", 0, 18), ("c", 36, 18), ("d", 40, 3), ("e", 54, 9)], false);
    let collection = test_store.open();
    let error = |id: &str| collection.get(id).unwrap_err().to_string();
    assert_eq!(
        error("a"),
        "zds: meta/data.jsonl: the index entry points at the line of document \"b\" (byte 18, key \"a\")"
    );
    assert_eq!(
        error("d"),
        "zds: meta/data.jsonl: the index entry points at bytes 40 to 43: not the start of a line (byte 40, key \"d\")"
    );
    assert_eq!(
        error("e"),
        "zds: meta/data.jsonl: the line of an index entry: needs 9 bytes, 0 available (byte 54, key \"e\")"
    );
    assert_eq!(collection.get("c").unwrap().unwrap().value().unwrap()["n"], 3);
    // In a batch, each has its own error.
    let many: Vec<_> = collection.get_many(["d", "c", "x", "e"]).collect();
    assert_eq!(many[0].as_ref().unwrap_err().to_string(), error("d"));
    assert_eq!(many[1].as_ref().unwrap().as_ref().unwrap().id(), "c");
    assert!(many[2].as_ref().unwrap().is_none());
    assert_eq!(many[3].as_ref().unwrap_err().to_string(), error("e"));
    // Two ids with one line: iteration ends there.
    test_store.index(&[("a", 0, 18), ("b", 0, 18)], false);
    let mut walk = test_store.open().documents().unwrap().map(|found| found.map(|_| ())).collect::<Vec<_>>();
    let error = walk.pop().unwrap().unwrap_err().to_string();
    assert_eq!(
        error,
        "zds: meta/data.jsonl: the line overlaps the previous document, which ends at byte 18 (byte 0, row 1, key \"b\")"
    );
    assert_eq!(walk.len(), 1);
}

#[test]
fn checks_the_id_of_a_looked_up_document() {
    for (line, id, expected) in [
        (r#"{"_id":"a","x":{"_id":"b"}}"#, "a", None),
        (r#"{"_id": "a"}"#, "a", None),
        // Of duplicate members, the index decides.
        (r#"{"_id":"a","_id":"b"}"#, "a", None),
        (r#"{"_id":"a","_id":"b"}"#, "b", None),
        (r#"{"_id":"a","_id":"b"}"#, "c", Some("\"b\"")),
        (r#"{"_id":"ab"}"#, "a", Some("\"ab\"")),
        (r#"{"_id":"a\\"}"#, "a\\", None),
        (r#"{"_id":"a\",","_id":"b"}"#, "a\\", Some("\"b\"")),
        (r#"{"x":"_id","_id":"a"}"#, "a", None),
    ] {
        let test_store = TestStore::new(&format!("{line}\n"));
        test_store.index(&[(id, 0, u32::try_from(line.len()).unwrap() + 1)], false);
        let collection = test_store.open();
        for _ in 0..3 {
            match (collection.get(id), expected) {
                (Ok(found), None) => assert_eq!(found.unwrap().bytes(), line.as_bytes()),
                (Err(error), Some(expected)) => {
                    let expected = format!("the index entry points at the line of document {expected} (byte 0");
                    assert!(error.to_string().contains(&expected), "{error}");
                }
                (found, _) => panic!("{line} {id}: {found:?}"),
            }
        }
    }
}

#[test]
fn files_follow_lines_in_order() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[("a", 0, 18)], false);
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    for id in ["z", "y", "x", "a", "w"] {
        fs::write(docs.join(format!("{id}.json")), format!("{{\n  \"is\": \"{id}\"\n}}")).unwrap();
    }
    fs::write(docs.join(".q.tmp"), "").unwrap();
    fs::write(test_store.meta().join("order.ids"), "y\nnone\nx\ny\na\n").unwrap();
    assert_eq!(test_store.ids(), ["a", "y", "x", "w", "z"]);
    assert_eq!(
        test_store.notes(),
        [
            "ignored 1 file in docs: data.jsonl has a line with the same id",
            "order.ids lists 1 id without a file in docs"
        ]
    );
    let collection = test_store.open();
    let document = collection.get("x").unwrap().unwrap();
    assert_eq!((document.offset(), &*document.line().unwrap()), (None, &b"{\"is\":\"x\"}"[..]));
    assert!(collection.get("../docs/x").unwrap().is_none() && collection.get(".q").unwrap().is_none());
    fs::write(docs.join("y.json"), "{\n  \"is\": \"y\",\n  5\n}").unwrap();
    let error = collection.get("y").unwrap().unwrap().value().unwrap_err().to_string();
    assert_eq!(error, "zds: docs/y.json: cannot decode the document: key must be a string (byte 17, key \"y\")");
    // Also without any lines.
    fs::remove_file(test_store.meta().join("data.jsonl")).unwrap();
    fs::remove_file(test_store.meta().join("index.bin")).unwrap();
    assert_eq!(test_store.ids(), ["y", "x", "a", "w", "z"]);
}

#[test]
fn opens_every_kind_of_path() {
    let test_store = TestStore::new(THREE);
    let root = test_store.root().join("collections/c");
    for path in [root.clone(), root.join("meta/data.jsonl"), test_store.root().join("collections/../collections/c")] {
        let store = Store::open(&path).unwrap();
        assert_eq!(store.names().unwrap(), ["c"]);
        assert_eq!(store.only_collection().unwrap().len().unwrap(), 3);
    }
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("dataset/collections/d/meta");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("data.jsonl"), THREE).unwrap();
    assert_eq!(Store::open(outer.path()).unwrap().names().unwrap(), ["d"]);
    let store = Store::open(test_store.root()).unwrap();
    for name in ["", ".", "..", "../c", "c/", "/", "d"] {
        let error = store.collection(name).unwrap_err().to_string();
        assert_eq!(error, format!("zds: no collection {name:?} (available: c)"));
    }
    assert!(Store::open(test_store.root().join("collections/c/meta/none")).is_err());
    let error = Store::open(test_store.root().join("collections")).map(|store| store.names().unwrap());
    assert!(error.is_err(), "{error:?}");
    fs::write(test_store.root().join("zds.json"), "{\"name\":\"test\",\"more\":1}").unwrap();
    assert_eq!(Value::Object(store.metadata().unwrap().unwrap()), json!({"name": "test", "more": 1}));
    fs::write(test_store.meta().join("manifest.json"), "[]").unwrap();
    let error = test_store.open().manifest().unwrap_err().to_string();
    assert!(error.starts_with("zds: meta/manifest.json: the metadata is not a JSON object: "), "{error}");
}

#[test]
fn map_documents_does_not_depend_on_threads() {
    let mut data = String::new();
    for n in 0..5000 {
        data += &format!("{{\"_id\":\"{n}\",\"n\":{n}}}\n");
    }
    let test_store = TestStore::new(&data);
    let collection = test_store.open();
    for threads in [1, 2, 4, 7] {
        for rows in [0..u64::MAX, 0..1, 100..3333, 4999..9999, 7..7] {
            let mut found = Vec::new();
            let number = |document: Document<'_>| Ok(document.value()?["n"].as_u64());
            collection
                .map_documents(rows.clone(), threads, number, |n| {
                    found.push(n.unwrap());
                    Ok(())
                })
                .unwrap();
            assert!(found.into_iter().eq(rows.start.min(5000)..rows.end.min(5000)));
        }
        // The first error ends it, after all earlier results.
        let mut count = 0;
        let work = |document: Document<'_>| match document.id() {
            "1700" | "3000" => Err(crate::Error::invalid("no").in_key(document.id().to_owned())),
            _ => Ok(()),
        };
        let error = collection.map_documents(0..u64::MAX, threads, work, |()| {
            count += 1;
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "no (key \"1700\")");
        assert_eq!(count, 1700);
        // As does an error of the consumer.
        let stop = collection.map_documents(0..u64::MAX, threads, |_| Ok(()), |()| Err(crate::Error::usage("enough")));
        assert_eq!(stop.unwrap_err().to_string(), "enough");
    }
}

#[test]
fn lookups_agree_with_and_without_table() {
    let mut data = String::new();
    let mut model = BTreeMap::new();
    for n in 0..100 {
        let id = format!("{}", n % 60);
        let line = format!("{{\"_id\":\"{id}\",\"n\":{n}}}\n");
        model.insert(id, (data.len() as u64, u32::try_from(line.len()).unwrap()));
        data += &line;
    }
    let test_store = TestStore::new(&data);
    // Outdated entries before current ones.
    let mut entries = vec![("5", 0, 10), ("7", 0, 10)];
    entries.extend(model.iter().map(|(id, (offset, length))| (id.as_str(), *offset, *length)));
    test_store.index(&entries, false);
    let collection = test_store.open();
    for _ in 0..4 {
        for id in ["5", "7", "59", "0"] {
            assert_eq!(collection.get(id).unwrap().unwrap().offset(), Some(model[id].0));
        }
    }
    assert_eq!(test_store.open().condition().unwrap().superseded, 2);
    assert_eq!(test_store.all().len(), 60);
}

#[test]
fn reports_missing_data() {
    let test_store = TestStore::new("");
    assert_eq!((test_store.ids(), test_store.notes()), (vec![], vec![]));
    test_store.index(&[("a", 0, 18)], false);
    for without in [false, true] {
        if without {
            fs::remove_file(test_store.meta().join("data.jsonl")).unwrap();
        }
        let collection = test_store.open();
        assert_eq!(collection.len().unwrap(), 1);
        let expected =
            "zds: meta/data.jsonl: the line of an index entry: needs 18 bytes, 0 available (byte 0, key \"a\")";
        assert_eq!(collection.get("a").unwrap_err().to_string(), expected);
        assert!(collection.documents().unwrap().next().unwrap().is_err());
    }
    // Nothing is missing if the index is empty or damaged.
    for bytes in [&b""[..], b"ISDZ", &header(0)] {
        test_store.index_file(bytes, false);
        assert_eq!((test_store.ids(), test_store.notes()), (vec![], vec![]));
    }
}

#[test]
fn archive_reads_like_the_directory() {
    let test_store = TestStore::new(&[THREE, "{\"_id\":\"d\"}\n{\"_id\":\"to"].concat());
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("packed.zds");
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    fs::write(docs.join("\u{e9}.json"), "{}").unwrap();
    let check = |expected: &[&str], needs_index: bool| {
        let output = container_core::OutputOptions::default().with_overwrite(container_core::Overwrite::Replace);
        let options = crate::archive::PackOptions::default().with_output(output);
        let (_, reindexed) = Store::open(test_store.root()).unwrap().pack(&target, options).unwrap();
        assert_eq!(reindexed.len(), usize::from(needs_index));
        assert_eq!(test_store.ids(), expected);
        let store = Store::open(&target).unwrap();
        let packed = store.collection("c").unwrap();
        assert!(packed.ids().unwrap().eq(expected.iter().copied()));
        assert!(matches!(packed.condition().unwrap().index, IndexState::Valid));
        for id in expected {
            assert_eq!(packed.get(id).unwrap().unwrap().bytes(), test_store.open().get(id).unwrap().unwrap().bytes());
        }
        assert!(!store.archive().unwrap().contains("collections/c/meta/wharf.journal"));
        let error = store.pack(&target, crate::archive::PackOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "zds: already an archive");
    };
    check(&["a", "b", "c", "d", "\u{e9}"], true);
    let index = test_store.index(&[("c", 36, 18), ("b", 18, 18)], false);
    check(&["b", "c", "\u{e9}"], false);
    let header =
        Header { version: journal::VERSION, index: Some(IndexMark::of(&index)), data_bytes: 54, compacts: false };
    let deletion = Record::Delete { delete: "b".to_owned(), data_bytes: 54 };
    let lines = [journal::line(&header).unwrap(), journal::line(&deletion).unwrap()].concat();
    fs::write(test_store.meta().join("wharf.journal"), lines).unwrap();
    check(&["c", "d", "\u{e9}"], true);
    fs::remove_file(test_store.meta().join("wharf.journal")).unwrap();
    test_store.index(&[("a", 0, 18)], true);
    check(&["a", "b", "c", "d", "\u{e9}"], true);
}
