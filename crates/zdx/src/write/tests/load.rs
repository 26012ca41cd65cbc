//! Bulk loading.

use std::collections::BTreeMap;
use std::fs;

use container_core::{OpenOptions, Source};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check_tidy, options, read};
use crate::read::rebuild::checked_line_length;
use crate::{CollectionWriter, LoadOptions, OnDuplicate, StoreWriter};

fn source(text: &str) -> Source {
    Source::from(text.as_bytes().to_vec())
}

fn with<T>(work: impl FnOnce(&mut CollectionWriter) -> T) -> (T, BTreeMap<String, String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = StoreWriter::open(folder.path(), options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    let done = work(&mut writer);
    writer.finish().unwrap();
    store.finish().unwrap();
    check_tidy(folder.path());
    (done, read(folder.path()), fs::read_to_string(folder.path().join("collections/c/meta/data.jsonl")).unwrap())
}

#[test]
fn keeps_lines_verbatim() {
    for (text, expected) in [
        ("{\"_id\":\"a\"}\n{\"x\": 1.0,\"_id\":\"b\"}\n", "{\"_id\":\"a\"}\n{\"x\": 1.0,\"_id\":\"b\"}\n"),
        ("\u{feff}{\"_id\":\"a\"}\r\n\n   \n{\"_id\":\"b\"}", "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n"),
        ("\n\n", ""),
        ("", ""),
    ] {
        for validate in [true, false] {
            let load = LoadOptions::default().with_validate(validate);
            let (loaded, read, data) = with(|writer| writer.load(&source(text), &load).unwrap());
            assert_eq!(data, expected);
            assert_eq!((loaded.documents, loaded.bytes), (read.len() as u64, expected.len() as u64));
        }
    }
}

#[test]
fn takes_id_from_another_member() {
    let load = LoadOptions::default().with_id_field("key");
    let text = concat!(
        "{\"a\":1,\"key\":\"x\"}\n",
        " { \"key\" : 7 , \"b\" : [ 2 ] }\r\n",
        "{\"_id\":\"y\",\"key\":\"y\"}\n",
        "{\"key\":\"z\",\"_id\":\"z\",\"in\":{\"_id\":1}}\n",
        "{\"k\\u0065y\":\"-5.e_\"}\n",
    );
    let (_, read, data) = with(|writer| writer.load(&source(text), &load).unwrap());
    let expected = concat!(
        "{\"_id\":\"x\",\"a\":1,\"key\":\"x\"}\n",
        "{\"_id\":\"7\", \"key\" : 7 , \"b\" : [ 2 ] }\n",
        "{\"_id\":\"y\",\"key\":\"y\"}\n",
        "{\"_id\":\"z\",\"key\":\"z\",\"in\":{\"_id\":1}}\n",
        "{\"_id\":\"-5.e_\",\"k\\u0065y\":\"-5.e_\"}\n",
    );
    assert_eq!(data, expected);
    assert_eq!(read.into_keys().collect::<Vec<_>>(), ["-5.e_", "7", "x", "y", "z"]);
    for (text, expected) in [
        ("{\"a\":1}", "the document has no \"key\" to use as its id (byte 0, line 1)"),
        ("\n{\"key\":1.5}", "\"key\", used as id: expected a string or an integer, found 1.5 (byte 1, line 2)"),
        (
            "{\"key\":\"a\",\"_id\":\"b\"}",
            "the document's \"key\" differs from its \"_id\", \"b\" (byte 0, line 1, key \"a\")",
        ),
        ("{\"key\":\"\"}", "the id is empty (byte 0, line 1, key \"\")"),
    ] {
        let (error, ..) = with(|writer| writer.load(&source(text), &load).unwrap_err().to_string());
        assert_eq!(error, format!("zds: {expected}"));
    }
}

#[test]
fn invalid_input_puts_nothing() {
    let good: String =
        (0..50_000).map(|n| format!("{{\"_id\":\"{n}\",\"text\":\"{}\"}}\n", "x".repeat(n % 100))).collect();
    let lines = good.lines().count();
    let place = good.len();
    for (bad, at, expected) in [
        ("{\"_id\":\"z\",}\n", 11, "expected a member name, found '}'"),
        ("{\"id\":\"z\"}\n", 0, "the document has no \"_id\""),
        ("{\"_id\":\"z\"", 10, "\"}\": needs 1 byte, 0 available"),
        ("{\"_id\":\"z z\"}\n", 0, "invalid character ' ' in the id (allowed: a-z, A-Z, 0-9, \"_\", \"-\" and \".\")"),
    ] {
        // Another error follows, which may be found first.
        let text = [
            good.as_str(),
            "\r\n",
            bad,
            if bad.ends_with('\n') { &good } else { "" },
            if bad.ends_with('\n') { "x" } else { "" },
        ]
        .concat();
        for threads in [1, 4] {
            let load = LoadOptions::default().with_threads(threads);
            let (error, read, data) = with(|writer| {
                writer.put("before", &json!({})).unwrap();
                let error = writer.load(&source(&text), &load).unwrap_err().to_string();
                assert_eq!(writer.len(), 1);
                writer.put("behind", &json!({})).unwrap();
                error
            });
            let place = format!("(byte {}, line {}", place + 2 + at, lines + 2);
            assert!(error.starts_with(&format!("zds: {expected}")) && error.contains(&place), "{error} {place}");
            assert_eq!((read.len(), data.len()), (2, 34));
        }
    }
}

#[test]
fn handles_duplicates() {
    let text = "{\"_id\":\"b\",\"n\":2}\n{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"b\",\"n\":3}\n{\"_id\":\"c\",\"n\":2}\n";
    let run = |on| {
        with(|writer| {
            writer.put("a", &json!({"n": 1})).unwrap();
            let load = LoadOptions::default().with_on_duplicate(on);
            writer.load(&source(text), &load)
        })
    };
    let value =
        |read: &BTreeMap<String, String>, id: &str| serde_json::from_str::<Value>(&read[id]).unwrap()["n"].clone();
    let (loaded, read, _) = run(OnDuplicate::Replace);
    let loaded = loaded.unwrap();
    assert_eq!((loaded.documents, loaded.replaced, loaded.kept, loaded.bytes), (4, 2, 0, text.len() as u64));
    assert_eq!((value(&read, "a"), value(&read, "b")), (json!(2), json!(3)));
    let (loaded, read, data) = run(OnDuplicate::Keep);
    let loaded = loaded.unwrap();
    assert_eq!((loaded.documents, loaded.replaced, loaded.kept, loaded.bytes), (2, 0, 2, 36));
    assert_eq!((value(&read, "a"), value(&read, "b"), data.lines().count()), (json!(1), json!(2), 3));
    let (loaded, read, data) = run(OnDuplicate::Refuse);
    let error = loaded.unwrap_err().to_string();
    assert_eq!(error, "zds: a document with this id already exists (byte 18, line 2, key \"a\")");
    assert_eq!((value(&read, "a"), data.lines().count()), (json!(1), 1));
}

#[test]
fn later_changes_follow_a_load() {
    for threads in [1, 4] {
        let load = LoadOptions::default().with_threads(threads);
        let ((), read, data) = with(|writer| {
            writer.load(&source("{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":1}"), &load).unwrap();
            writer.put("c", &json!({"n": 1})).unwrap();
            assert_eq!(writer.get("b").unwrap().unwrap(), b"{\"_id\":\"b\",\"n\":1}");
            assert_eq!(writer.get("c").unwrap().unwrap(), b"{\"_id\":\"c\",\"n\":1}");
            writer.load(&source("{\"_id\":\"d\",\"n\":1}\n{\"_id\":\"a\",\"n\":2}\n"), &load).unwrap();
            assert_eq!(writer.get("a").unwrap().unwrap(), b"{\"_id\":\"a\",\"n\":2}");
            assert_eq!(writer.get("d").unwrap().unwrap(), b"{\"_id\":\"d\",\"n\":1}");
            writer.put("e", &json!({"n": 1})).unwrap();
            // It is the last line: its deletion must be noticed.
            assert!(writer.delete("e").unwrap());
        });
        assert_eq!(
            data.lines().count(),
            7,
            "two, one, two, one that was deleted, and the last living one once more: {data}"
        );
        assert_eq!(read.keys().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!((&*read["a"], &*read["c"]), ("{\"_id\":\"a\",\"n\":2}", "{\"_id\":\"c\",\"n\":1}"));
    }
}

#[test]
fn mapped_and_read_sources_agree() {
    let mut text = String::new();
    for n in 0..300_000 {
        text += &format!("{{\"_id\":\"doc-{}\",\"text\":\"{}\"}}\n", n % 200_000, "x".repeat(n % 150));
        if n % 50_001 == 0 {
            text += "\r\n";
        }
    }
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    let positional = Source::from_file(file).unwrap();
    let memory = source(&text);
    let mut all = Vec::new();
    for (source, threads) in [(&positional, 1), (&positional, 4), (&memory, 1), (&memory, 4)] {
        let load = LoadOptions::default().with_threads(threads);
        let (loaded, read, data) = with(|writer| writer.load(source, &load).unwrap());
        assert_eq!((loaded.documents, loaded.replaced, read.len()), (300_000, 100_000, 200_000));
        all.push(data);
    }
    assert!(all.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(all[0], text.replace("\r\n", ""));
}

#[test]
fn refuses_documents_of_another_schema() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let store = StoreWriter::open(root, options().with_strict(true)).unwrap();
    let mut writer = store.collection("c").unwrap();
    let wrong = |text: &str| format!("zds: the document does not match the collection's schema: {text}");
    let error = writer
        .load(&source("\n{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":\"x\"}\n"), &LoadOptions::default())
        .unwrap_err();
    assert_eq!(error.to_string(), wrong("\"n\": expected an integer, found a string (byte 19, line 3, key \"b\")"));
    // Nothing was put, so the next document determines the schema.
    writer.put("a", &json!({"t": "x"})).unwrap();
    let error = writer.put("b", &json!({"t": 1})).unwrap_err();
    assert_eq!(error.to_string(), wrong("\"t\": expected a string, found an integer (key \"b\")"));
    writer.finish().unwrap();
    store.finish().unwrap();
    // From now on the manifest requires it.
    let store = StoreWriter::open(root, options()).unwrap();
    let mut writer = store.collection("c").unwrap();
    let error = writer.put_line(b"{\"_id\":\"b\",\"t\":\"x\",\"u\":null}").unwrap_err();
    assert_eq!(error.to_string(), wrong("unexpected \"u\" (key \"b\")"));
    let loaded = writer.load(&source("{\"t\":\"y\",\"_id\":\"b\"}\n"), &LoadOptions::default()).unwrap();
    assert_eq!(loaded.documents, 1);
    writer.finish().unwrap();
    store.finish().unwrap();
    let manifest: Value =
        serde_json::from_slice(&fs::read(root.join("collections/c/meta/manifest.json")).unwrap()).unwrap();
    assert_eq!(
        (&manifest["strict"], &manifest["doc_count"], &manifest["schema_count"]),
        (&json!(true), &json!(2), &json!(1))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn loading_agrees_with_putting_lines(
        lines in prop::collection::vec((0..20u8, 0..30usize, 0..5u8), 0..60),
        there in prop::collection::vec(0..20u8, 0..10),
        threads in 1..4usize,
    ) {
        let mut text = String::new();
        for (id, len, end) in &lines {
            text += &format!("{{\"x\":\"{}\",\"_id\":\"{id}\"}}{}", "y".repeat(*len), ["\n", "\r\n", "\n\n", "\n", "\n \t\n"][usize::from(*end)]);
        }
        let start = |writer: &mut CollectionWriter| {
            for id in &there {
                writer.put(&id.to_string(), &json!({})).unwrap();
            }
            for id in there.iter().step_by(2) {
                writer.delete(&id.to_string()).unwrap();
            }
        };
        let at_once = with(|writer| {
            start(writer);
            writer.load(&source(&text), &LoadOptions::default().with_threads(threads)).unwrap().documents
        });
        let one_by_one = with(|writer| {
            start(writer);
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                writer.put_line(line.as_bytes()).unwrap();
            }
            lines.len() as u64
        });
        prop_assert_eq!(at_once, one_by_one);
    }
}

#[test]
fn refuses_lines_above_the_read_limit() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut small = options();
    assert_eq!(small.limits, OpenOptions::default().limits);
    small.limits = small.limits.with_block_bytes(19);
    let store = StoreWriter::open(&root, small).unwrap();
    let mut writer = store.collection("c").unwrap();
    // 19 and 20 bytes with their line feeds.
    let (fits, long) = ("{\"_id\":\"a\",\"x\":12}", "{\"_id\":\"b\",\"x\":123}");
    writer.put_line(fits.as_bytes()).unwrap();
    writer.load(&source(&fits.replace("\"a\"", "\"c\"")), &LoadOptions::default()).unwrap();
    let refused = "the length of a line 20 exceeds the limit 19";
    for (error, place) in [
        (writer.put_line(long.as_bytes()).map(drop), "key \"b\""),
        (writer.put_raw("b", long.as_bytes()), "key \"b\""),
        (writer.put("b", &json!({"x": 123})), "key \"b\""),
        (writer.load(&source(&format!("{fits}\n{long}\n")), &LoadOptions::default()).map(drop), "byte 19, line 2"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), format!("zds: {refused} ({place})"));
    }
    assert_eq!(writer.len(), 2);
    writer.finish().unwrap();
    store.finish().unwrap();
    assert_eq!(read(&root).into_keys().collect::<Vec<_>>(), ["a", "c"]);
    // The default limits of readers.
    let limits = options().limits;
    assert_eq!(checked_line_length(1 << 30, &limits).unwrap(), 1 << 30);
    let error = checked_line_length((1 << 30) + 1, &limits).unwrap_err().to_string();
    assert_eq!(error, "the length of a line 1073741825 exceeds the limit 1073741824");
}
