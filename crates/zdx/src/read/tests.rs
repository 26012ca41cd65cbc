use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use container_core::{Access, OpenOptions};
use serde_json::{Value, json};

use super::*;
use crate::journal::{self, Header, IndexMark, Record};
use crate::wire::index::{Entry, header, put};

/// A store of one collection, `c`, made by hand.
struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    fn new(data: &str) -> Self {
        let made = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(made.meta()).unwrap();
        fs::write(made.meta().join("data.jsonl"), data).unwrap();
        made
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

    /// All documents, by every way there is, which have to agree.
    fn all(&self) -> Vec<(String, String)> {
        let mut ways = Vec::new();
        let absent = "no such".to_owned();
        for access in [container_core::testkit::mapped(), Access::Auto, Access::Positional] {
            let store = Store::open_with(self.root(), OpenOptions::default().with_access(access)).unwrap();
            let collection = store.collection("c").unwrap();
            let shown = |document: &Document<'_>| {
                (document.id().to_owned(), String::from_utf8(document.bytes().to_vec()).unwrap())
            };
            let walked: Vec<_> = collection.documents().unwrap().map(|document| shown(&document.unwrap())).collect();
            assert_eq!(collection.len().unwrap(), walked.len() as u64);
            assert!(collection.ids().unwrap().eq(walked.iter().map(|(id, _)| id)));
            let ids = || walked.iter().map(|(id, _)| id).chain([&absent]).chain(walked.iter().rev().map(|(id, _)| id));
            let many: Vec<_> = collection.get_many(ids()).map(|found| found.unwrap().as_ref().map(shown)).collect();
            let single = ids().map(|id| collection.get(id).unwrap().as_ref().map(shown));
            assert!(many.into_iter().eq(single));
            for (row, (id, bytes)) in walked.iter().enumerate() {
                let document = collection.get(id).unwrap().unwrap();
                assert_eq!((document.id(), document.bytes()), (id.as_str(), bytes.as_bytes()));
                assert_eq!(collection.row_of(id).unwrap(), Some(row as u64));
                assert_eq!(shown(&collection.document(row as u64).unwrap()), walked[row]);
                // Each time as the first look-up of a collection.
                let fresh = store.collection("c").unwrap();
                assert_eq!(shown(&fresh.get(id).unwrap().unwrap()), walked[row]);
                assert!(fresh.contains(id).unwrap() && !fresh.contains("no such").unwrap());
            }
            ways.push(walked);
        }
        assert_eq!(ways[0], ways[1]);
        ways.swap_remove(0)
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
fn an_index_says_which_documents_there_are() {
    let made = Made::new(THREE);
    // Out of order, one deleted, one without its line feed.
    made.index(&[("c", 36, 17), ("a", 0, 18)], false);
    assert_eq!(
        made.all(),
        [("a".into(), "{\"_id\":\"a\",\"n\":1}".into()), ("c".into(), "{\"n\":3,\"_id\":\"c\"}".into())]
    );
    assert_eq!(made.notes(), [""; 0]);
    let collection = made.open();
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
    assert_eq!(error, "zds: there is no document 2: there are 2 (row 2)");
}

#[test]
fn an_empty_index_means_that_all_are_deleted() {
    let made = Made::new(THREE);
    made.index(&[], false);
    assert_eq!(made.all(), []);
    assert_eq!(made.notes(), [""; 0]);
}

#[test]
fn without_an_index_the_data_say_it() {
    let made = Made::new(THREE);
    assert_eq!(made.ids(), ["a", "b", "c"]);
    let missing =
        "there is no index: 3 documents found in the data, deleted ones among them if their lines are still there";
    assert_eq!(made.notes(), [missing]);
    // The last line of an id holds; what is no document is told; a torn end is left out.
    fs::write(made.meta().join("data.jsonl"), [THREE, "x\n{\"_id\":\"a\"}\n{\"_id\":\"d\",\"x\":"].concat()).unwrap();
    assert_eq!(made.ids(), ["b", "c", "a"]);
    assert_eq!(
        made.notes(),
        [
            "there is no index: 4 documents found in the data, deleted ones among them if their lines are still there",
            "1 line passed over that hold no document, first: 'x' stands where an object (\"{\") is expected (byte 54, line 4)",
            "1 document left out whose id comes again later: the last one holds",
            "the last line is torn: it is left out (byte 68)",
        ]
    );
}

#[test]
fn a_damaged_index_is_as_none() {
    let made = Made::new(THREE);
    for bytes in [&b""[..], b"ISDZ", b"rubbish", b"ISDZ\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"] {
        made.index_file(bytes, false);
        assert_eq!(made.ids(), ["a", "b", "c"]);
        let note = &made.notes()[0];
        assert!(note.starts_with("the index is damaged (index.bin: ") && note.contains("3 documents found"), "{note}");
    }
}

#[test]
fn a_text_index_is_read() {
    let made = Made::new(THREE);
    made.index_file(b"c\t36\t18\na\t0\t18\n", false);
    assert_eq!(made.ids(), ["a", "c"]);
    assert!(matches!(made.open().condition().unwrap().index, IndexState::Text));
}

#[test]
fn what_stands_behind_an_older_index_was_appended() {
    let made = Made::new(THREE);
    made.index(&[("a", 0, 18)], true);
    assert_eq!(made.ids(), ["a", "b", "c"]);
    assert_eq!(
        made.notes(),
        [
            "the index is older than the data: 2 documents found behind the end that it knows, appended later or, if only its time is wrong, deleted"
        ]
    );
    // In front of its end there are only deleted ones; and behind a younger one, too.
    made.index(&[("b", 18, 18)], true);
    assert_eq!(made.ids(), ["b", "c"]);
    made.index(&[("b", 18, 18)], false);
    assert_eq!(made.ids(), ["b"]);
}

#[test]
fn a_journal_says_what_was_appended_and_deleted() {
    let made = Made::new(&[THREE, "{\"_id\":\"d\"}\n{\"_id\":\"b\",\"n\":5}\n{\"_id\":\"e\""].concat());
    let index = made.index(&[("a", 0, 18), ("b", 18, 18)], false);
    let write = |mark: Option<IndexMark>, deleted: &[(&str, u64)]| {
        let header = Header { version: journal::VERSION, index: mark, data_bytes: 54, compacts: false };
        let mut bytes = journal::line(&header).unwrap();
        for (id, data_bytes) in deleted {
            bytes.extend(journal::line(&Record::Delete { delete: (*id).to_owned(), data_bytes: *data_bytes }).unwrap());
        }
        fs::write(made.meta().join("wharf.journal"), bytes).unwrap();
    };
    write(Some(IndexMark::of(&index)), &[("a", 54), ("b", 54)]);
    // The line of c stands in front of the end that the journal knows: it was deleted before.
    assert_eq!(made.ids(), ["d", "b"]);
    assert_eq!(made.open().get("b").unwrap().unwrap().value().unwrap(), json!({"_id": "b", "n": 5}));
    assert_eq!(
        made.notes(),
        [
            "a writer is at work or was interrupted: 2 documents found that it appended since the index was written",
            "the last line is torn: it is left out (byte 84)",
        ]
    );
    // Of another index it says nothing.
    write(Some(IndexMark { crc32: 0, ..IndexMark::of(&index) }), &[("a", 54)]);
    assert_eq!(made.ids(), ["a", "b"]);
    write(None, &[("a", 54)]);
    assert_eq!(made.ids(), ["a", "b"]);
    // And where there was none, all of it.
    fs::remove_file(made.meta().join("index.bin")).unwrap();
    assert_eq!(made.ids(), ["c", "d", "b"]);
}

#[test]
fn an_index_that_lies_is_an_error_for_those_it_lies_about() {
    let made = Made::new(THREE);
    made.index(&[("a", 18, 18), ("b", 0, 18), ("c", 36, 18), ("d", 40, 3), ("e", 54, 9)], false);
    let collection = made.open();
    let error = |id: &str| collection.get(id).unwrap_err().to_string();
    assert_eq!(error("a"), "zds: meta/data.jsonl: the index names the line of the document \"b\" (byte 18, key \"a\")");
    assert_eq!(
        error("d"),
        "zds: meta/data.jsonl: the index names bytes 40 to 43 of the data: it does not begin where a line does (byte 40, key \"d\")"
    );
    assert_eq!(
        error("e"),
        "zds: meta/data.jsonl: the line that the index names: needs 9 bytes, 0 available (byte 54, key \"e\")"
    );
    assert_eq!(collection.get("c").unwrap().unwrap().value().unwrap()["n"], 3);
    // Of many, each has its own error.
    let many: Vec<_> = collection.get_many(["d", "c", "x", "e"]).collect();
    assert_eq!(many[0].as_ref().unwrap_err().to_string(), error("d"));
    assert_eq!(many[1].as_ref().unwrap().as_ref().unwrap().id(), "c");
    assert!(many[2].as_ref().unwrap().is_none());
    assert_eq!(many[3].as_ref().unwrap_err().to_string(), error("e"));
    // Two ids with one line: the walk ends there.
    made.index(&[("a", 0, 18), ("b", 0, 18)], false);
    let mut walk = made.open().documents().unwrap().map(|found| found.map(|_| ())).collect::<Vec<_>>();
    let error = walk.pop().unwrap().unwrap_err().to_string();
    assert_eq!(
        error,
        "zds: meta/data.jsonl: the line begins in front of byte 18, where the one of the document before ends (byte 0, row 1, key \"b\")"
    );
    assert_eq!(walk.len(), 1);
}

#[test]
fn a_document_begins_with_the_id_that_was_looked_for() {
    for (line, id, wanted) in [
        (r#"{"_id":"a","x":{"_id":"b"}}"#, "a", None),
        (r#"{"_id": "a"}"#, "a", None),
        // Of several ones the index chose.
        (r#"{"_id":"a","_id":"b"}"#, "a", None),
        (r#"{"_id":"a","_id":"b"}"#, "b", None),
        (r#"{"_id":"a","_id":"b"}"#, "c", Some("\"b\"")),
        (r#"{"_id":"ab"}"#, "a", Some("\"ab\"")),
        (r#"{"_id":"a\\"}"#, "a\\", None),
        (r#"{"_id":"a\",","_id":"b"}"#, "a\\", Some("\"b\"")),
        (r#"{"x":"_id","_id":"a"}"#, "a", None),
    ] {
        let made = Made::new(&format!("{line}\n"));
        made.index(&[(id, 0, u32::try_from(line.len()).unwrap() + 1)], false);
        let collection = made.open();
        for _ in 0..3 {
            match (collection.get(id), wanted) {
                (Ok(found), None) => assert_eq!(found.unwrap().bytes(), line.as_bytes()),
                (Err(error), Some(wanted)) => {
                    let wanted = format!("the index names the line of the document {wanted} (byte 0");
                    assert!(error.to_string().contains(&wanted), "{error}");
                }
                (found, _) => panic!("{line} {id}: {found:?}"),
            }
        }
    }
}

#[test]
fn files_come_behind_lines_in_their_order() {
    let made = Made::new(THREE);
    made.index(&[("a", 0, 18)], false);
    let docs = made.root().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    for id in ["z", "y", "x", "a", "w"] {
        fs::write(docs.join(format!("{id}.json")), format!("{{\n  \"is\": \"{id}\"\n}}")).unwrap();
    }
    fs::write(docs.join(".q.tmp"), "").unwrap();
    fs::write(made.meta().join("order.ids"), "y\nnone\nx\ny\na\n").unwrap();
    assert_eq!(made.ids(), ["a", "y", "x", "w", "z"]);
    assert_eq!(
        made.notes(),
        [
            "1 file in docs left out whose id has a line in data.jsonl: the line holds",
            "1 id of order.ids without a file in docs"
        ]
    );
    let collection = made.open();
    let document = collection.get("x").unwrap().unwrap();
    assert_eq!((document.offset(), &*document.line().unwrap()), (None, &b"{\"is\":\"x\"}"[..]));
    assert!(collection.get("../docs/x").unwrap().is_none() && collection.get(".q").unwrap().is_none());
    fs::write(docs.join("y.json"), "{\n  \"is\": \"y\",\n  5\n}").unwrap();
    let error = collection.get("y").unwrap().unwrap().value().unwrap_err().to_string();
    assert_eq!(
        error,
        "zds: docs/y.json: the document is not the JSON that is wanted: key must be a string (byte 17, key \"y\")"
    );
    // Without lines, too.
    fs::remove_file(made.meta().join("data.jsonl")).unwrap();
    fs::remove_file(made.meta().join("index.bin")).unwrap();
    assert_eq!(made.ids(), ["y", "x", "a", "w", "z"]);
}

#[test]
fn every_door_leads_in() {
    let made = Made::new(THREE);
    let root = made.root().join("collections/c");
    for path in [root.clone(), root.join("meta/data.jsonl"), made.root().join("collections/../collections/c")] {
        let store = Store::open(&path).unwrap();
        assert_eq!(store.names().unwrap(), ["c"]);
        assert_eq!(store.only_collection().unwrap().len().unwrap(), 3);
    }
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("dataset/collections/d/meta");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("data.jsonl"), THREE).unwrap();
    assert_eq!(Store::open(outer.path()).unwrap().names().unwrap(), ["d"]);
    let store = Store::open(made.root()).unwrap();
    for name in ["", ".", "..", "../c", "c/", "/", "d"] {
        let error = store.collection(name).unwrap_err().to_string();
        assert_eq!(error, format!("zds: there is no collection {name:?}: there is c"));
    }
    assert!(Store::open(made.root().join("collections/c/meta/none")).is_err());
    let error = Store::open(made.root().join("collections")).map(|store| store.names().unwrap());
    assert!(error.is_err(), "{error:?}");
    fs::write(made.root().join("zds.json"), "{\"name\":\"test\",\"more\":1}").unwrap();
    assert_eq!(Value::Object(store.metadata().unwrap().unwrap()), json!({"name": "test", "more": 1}));
    fs::write(made.meta().join("manifest.json"), "[]").unwrap();
    let error = made.open().manifest().unwrap_err().to_string();
    assert!(error.starts_with("zds: meta/manifest.json: the metadata are no JSON object: "), "{error}");
}

#[test]
fn threads_give_the_same_in_the_same_order() {
    let mut data = String::new();
    for n in 0..5000 {
        data += &format!("{{\"_id\":\"{n}\",\"n\":{n}}}\n");
    }
    let made = Made::new(&data);
    let collection = made.open();
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
        // The first error ends it, and all in front of it is given.
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
        // And so does one of what takes it.
        let stop = collection.map_documents(0..u64::MAX, threads, |_| Ok(()), |()| Err(crate::Error::usage("enough")));
        assert_eq!(stop.unwrap_err().to_string(), "enough");
    }
}

#[test]
fn look_ups_agree_with_and_without_a_table() {
    let mut data = String::new();
    let mut model = BTreeMap::new();
    for n in 0..100 {
        let id = format!("{}", n % 60);
        let line = format!("{{\"_id\":\"{id}\",\"n\":{n}}}\n");
        model.insert(id, (data.len() as u64, u32::try_from(line.len()).unwrap()));
        data += &line;
    }
    let made = Made::new(&data);
    // Older entries of an id in front of those that hold.
    let mut entries = vec![("5", 0, 10), ("7", 0, 10)];
    entries.extend(model.iter().map(|(id, (offset, length))| (id.as_str(), *offset, *length)));
    made.index(&entries, false);
    let collection = made.open();
    for _ in 0..4 {
        for id in ["5", "7", "59", "0"] {
            assert_eq!(collection.get(id).unwrap().unwrap().offset(), Some(model[id].0));
        }
    }
    assert_eq!(made.open().condition().unwrap().superseded, 2);
    assert_eq!(made.all().len(), 60);
}

#[test]
fn data_that_are_gone_are_missed() {
    let made = Made::new("");
    assert_eq!((made.ids(), made.notes()), (vec![], vec![]));
    made.index(&[("a", 0, 18)], false);
    for without in [false, true] {
        if without {
            fs::remove_file(made.meta().join("data.jsonl")).unwrap();
        }
        let collection = made.open();
        assert_eq!(collection.len().unwrap(), 1);
        let wanted =
            "zds: meta/data.jsonl: the line that the index names: needs 18 bytes, 0 available (byte 0, key \"a\")";
        assert_eq!(collection.get("a").unwrap_err().to_string(), wanted);
        assert!(collection.documents().unwrap().next().unwrap().is_err());
    }
    // Nothing is missed where the index names nothing, or is none.
    for bytes in [&b""[..], b"ISDZ", &header(0)] {
        made.index_file(bytes, false);
        assert_eq!((made.ids(), made.notes()), (vec![], vec![]));
    }
}

#[test]
fn a_store_is_read_in_its_archive_as_in_its_folder() {
    let made = Made::new(&[THREE, "{\"_id\":\"d\"}\n{\"_id\":\"to"].concat());
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("packed.zds");
    let docs = made.root().join("collections/c/docs");
    fs::create_dir_all(&docs).unwrap();
    fs::write(docs.join("\u{e9}.json"), "{}").unwrap();
    let check = |wanted: &[&str], renewed: bool| {
        let output = container_core::OutputOptions::default().with_overwrite(container_core::Overwrite::Replace);
        let options = crate::archive::PackOptions::default().with_output(output);
        let (_, told) = Store::open(made.root()).unwrap().pack(&target, options).unwrap();
        assert_eq!(told.len(), usize::from(renewed));
        assert_eq!(made.ids(), wanted);
        let store = Store::open(&target).unwrap();
        let packed = store.collection("c").unwrap();
        assert!(packed.ids().unwrap().eq(wanted.iter().copied()));
        assert!(matches!(packed.condition().unwrap().index, IndexState::Valid));
        for id in wanted {
            assert_eq!(packed.get(id).unwrap().unwrap().bytes(), made.open().get(id).unwrap().unwrap().bytes());
        }
        assert!(!store.archive().unwrap().contains("collections/c/meta/wharf.journal"));
        let error = store.pack(&target, crate::archive::PackOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "zds: it is an archive already");
    };
    check(&["a", "b", "c", "d", "\u{e9}"], true);
    let index = made.index(&[("c", 36, 18), ("b", 18, 18)], false);
    check(&["b", "c", "\u{e9}"], false);
    let header =
        Header { version: journal::VERSION, index: Some(IndexMark::of(&index)), data_bytes: 54, compacts: false };
    let deletion = Record::Delete { delete: "b".to_owned(), data_bytes: 54 };
    let lines = [journal::line(&header).unwrap(), journal::line(&deletion).unwrap()].concat();
    fs::write(made.meta().join("wharf.journal"), lines).unwrap();
    check(&["c", "d", "\u{e9}"], true);
    fs::remove_file(made.meta().join("wharf.journal")).unwrap();
    made.index(&[("a", 0, 18)], true);
    check(&["a", "b", "c", "d", "\u{e9}"], true);
}
