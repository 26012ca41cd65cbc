//! Inputs with very many of one thing.

use std::fs;
use std::time::Duration;

use container_core::testkit::Stopwatch;

use super::{TestStore, ids};

/// Far more than needed without optimization, far less than quadratic time would take.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn order_repeating_an_id_a_million_times() {
    let test_store = TestStore::new(b"");
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir(&docs).unwrap();
    for n in 0..100 {
        fs::write(docs.join(format!("doc-{n:02}.json")), "{}").unwrap();
    }
    test_store.put(
        "order.ids",
        ["doc-07\n".repeat(1_000_000), "none\n".repeat(1_000_000), "doc-03".to_owned()].concat().as_bytes(),
    );
    let start = Stopwatch::start();
    for collection in test_store.each() {
        let ids = ids(&collection);
        assert_eq!((ids.len(), &ids[..3]), (100, &["doc-07".to_owned(), "doc-03".to_owned(), "doc-00".to_owned()][..]));
        assert_eq!(collection.condition().unwrap().missing_files, 1_000_000);
        assert_eq!(collection.row_of("doc-03").unwrap(), Some(1));
    }
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

#[test]
fn order_that_is_not_utf8() {
    let test_store = TestStore::new(b"");
    let docs = test_store.root().join("collections/c/docs");
    fs::create_dir(&docs).unwrap();
    for id in ["a", "b"] {
        fs::write(docs.join(format!("{id}.json")), "{}").unwrap();
    }
    test_store.put("order.ids", b"\xff\xfe\nb\r\n../b\n/etc/passwd\n\0\n");
    for collection in test_store.each() {
        assert_eq!(ids(&collection), ["b", "a"]);
        assert_eq!(collection.condition().unwrap().missing_files, 4);
        for id in ["../b", "/etc/passwd", "\0", "..", "x/../a"] {
            assert!(collection.get(id).unwrap().is_none(), "{id}");
        }
    }
}

#[test]
fn hundred_thousand_invalid_lines() {
    let test_store =
        TestStore::new(["{\"_id\":1}\n".repeat(100_000), "{\"_id\":\"a\"}\n".to_owned()].concat().as_bytes());
    let start = Stopwatch::start();
    for collection in test_store.each() {
        assert_eq!(ids(&collection), ["a"]);
        assert_eq!(
            collection.condition().unwrap().notes()[1],
            "skipped 100000 lines without a document, first: expected a string (\"_id\"), found '1' (byte 7, line 1)"
        );
    }
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}
