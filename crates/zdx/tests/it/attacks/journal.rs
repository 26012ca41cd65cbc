//! Wrong journals.

use super::{TestStore, ids, iterate};

/// 18 bytes each.
const DATA: &[u8] = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"_id\":\"c\",\"n\":3}\n";

/// A journal that belongs to the index of `a`.
fn with_journal(data_bytes: u64, lines: &str) -> TestStore {
    with(DATA, data_bytes, lines)
}

fn with(data: &[u8], data_bytes: u64, lines: &str) -> TestStore {
    let test_store = TestStore::new(data);
    let index = test_store.index(&[(b"a", 0, 18)]);
    let (bytes, crc32) = (index.len(), crc32fast::hash(&index));
    let head = format!(
        "{{\"version\":1,\"index\":{{\"bytes\":{bytes},\"crc32\":{crc32}}},\"data_bytes\":{data_bytes}}}\n{lines}"
    );
    test_store.put("wharf.journal", head.as_bytes());
    test_store
}

fn found(test_store: &TestStore) -> Vec<String> {
    let mut all: Vec<Vec<String>> = test_store.each().iter().map(ids).collect();
    let first = all.remove(0);
    assert!(all.iter().all(|other| *other == first));
    first
}

#[test]
fn wrong_end_of_data() {
    // Correct.
    assert_eq!(found(&with_journal(18, "")), ["a", "b", "c"]);
    // Nothing was appended after the end.
    for end in [55, 1 << 40, u64::MAX] {
        assert_eq!(found(&with_journal(end, "")), ["a"]);
    }
    // Within a line: the rest of it is not a document.
    let test_store = with_journal(20, "");
    assert_eq!(found(&test_store), ["a", "c"]);
    assert_eq!(
        test_store.notes(),
        [
            "a writer is at work or was interrupted: recovered 1 document appended since the index was written",
            "skipped 1 line without a document, first: expected an object (\"{\"), found '_' (byte 20, line 2)",
        ]
    );
}

#[test]
fn end_of_data_within_a_line() {
    let data = b"{\"_id\":\"a\",\"n\":1}\n{\"x\":{\"_id\":\"in\"},\"_id\":\"b\"}\n";
    let test_store = with(data, 23, "");
    assert_eq!(&data[23..35], b"{\"_id\":\"in\"}");
    for collection in test_store.each() {
        assert!(collection.get("b").unwrap().is_none());
        let iterated = iterate(&collection);
        assert!(
            iterated == (1, String::new()) || iterated.1.contains("it does not begin where a line does"),
            "{iterated:?}"
        );
        if let Some(found) = collection.get("in").transpose() {
            let error = found.unwrap_err().to_string();
            assert!(error.contains("it does not begin where a line does (byte 23, key \"in\")"), "{error}");
        }
    }
}

#[test]
fn deletions_of_unknown_and_all_documents() {
    let unknown = "{\"delete\":\"nobody\",\"data_bytes\":18446744073709551615}\n";
    assert_eq!(found(&with_journal(18, unknown)), ["a", "b", "c"]);
    let all = "{\"delete\":\"a\",\"data_bytes\":18}\n{\"delete\":\"b\",\"data_bytes\":54}\n{\"delete\":\"c\",\"data_bytes\":54}\n";
    assert_eq!(found(&with_journal(18, all)), [""; 0]);
    // A deletion past the end of the data has not happened yet.
    assert_eq!(found(&with_journal(18, "{\"delete\":\"c\",\"data_bytes\":55}\n")), ["a", "b", "c"]);
    // A deletion before the line: it was put again.
    assert_eq!(found(&with_journal(18, "{\"delete\":\"b\",\"data_bytes\":18}\n")), ["a", "b", "c"]);
    // An incomplete one does not count.
    assert_eq!(found(&with_journal(18, "{\"delete\":\"a\",\"data_bytes\":18}")), ["a", "b", "c"]);
    let many = "{\"delete\":\"a\",\"data_bytes\":18}\n".repeat(100_000);
    assert_eq!(found(&with_journal(18, &many)), ["b", "c"]);
}

#[test]
fn ignores_invalid_journals() {
    for bytes in
        ["", "\n", "x\n", "{\"version\":2,\"index\":null,\"data_bytes\":0}\n", "{\"version\":1}\n", "\u{0}\u{1}\n[["]
    {
        let test_store = with_journal(18, "");
        test_store.put("wharf.journal", bytes.as_bytes());
        assert_eq!(found(&test_store), ["a"], "{bytes:?}");
    }
    let deep = "[".repeat(1_000_000) + "\n";
    let test_store = with_journal(18, &deep);
    assert_eq!(found(&test_store), ["a"]);
}
