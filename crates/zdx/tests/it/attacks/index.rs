//! Wrong indexes.

use zdx::IndexState;

use super::{TestStore, ids, iterate};

/// 18 bytes each.
const THREE: &[u8] = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n{\"n\":3,\"_id\":\"c\"}\n";

#[test]
fn huge_count_fails_before_allocation() {
    let test_store = TestStore::new(THREE);
    let mut index = test_store.index(&[(b"a", 0, 18)]);
    for (count, message) in [
        (u64::MAX, "18446744073709551615 entries: needs 18446744073709551615 bytes, 15 available (byte 16)"),
        (u64::MAX / 15, "1229782938247303441 entries: needs 18446744073709551615 bytes, 15 available (byte 16)"),
        (2, "2 entries: needs 30 bytes, 15 available (byte 16)"),
        (0, "15 unexpected bytes after the last entry (byte 16)"),
    ] {
        index[8..16].copy_from_slice(&count.to_le_bytes());
        test_store.put("index.bin", &index);
        let notes = test_store.notes();
        assert_eq!(
            notes,
            [format!(
                "the index is damaged (index.bin: {message}): recovered 3 documents from the data, including deleted ones whose lines remain"
            )]
        );
        // Also the first look-up, which scans the index.
        for collection in test_store.each() {
            assert!(collection.get("c").unwrap().is_some());
            assert_eq!(ids(&collection), ["a", "b", "c"]);
        }
    }
}

#[test]
fn wrong_entry_fails_when_requested() {
    let test_store = TestStore::new(THREE);
    for (offset, length, message) in [
        (54, 18, "the line of an index entry: needs 18 bytes, 0 available (byte 54, key \"a\")"),
        (36, 19, "the line of an index entry: needs 19 bytes, 18 available (byte 36, key \"a\")"),
        (0, u32::MAX, "the line of an index entry: needs 4294967295 bytes, 54 available (byte 0, key \"a\")"),
        (
            u64::MAX,
            18,
            "the line of an index entry: needs 18 bytes, 0 available (byte 18446744073709551615, key \"a\")",
        ),
        (
            u64::MAX - 17,
            18,
            "the line of an index entry: needs 18 bytes, 0 available (byte 18446744073709551598, key \"a\")",
        ),
        (20, 16, "the index entry points at bytes 20 to 36: not the start of a line (byte 20, key \"a\")"),
        (18, 9, "the index entry points at bytes 18 to 27: not the end of a line (byte 18, key \"a\")"),
        (0, 36, "the index entry points at bytes 0 to 36: more than one line (byte 0, key \"a\")"),
        (0, 54, "the index entry points at bytes 0 to 54: more than one line (byte 0, key \"a\")"),
        (0, 0, "the index entry points at bytes 0 to 0: not the end of a line (byte 0, key \"a\")"),
    ] {
        test_store.index(&[(b"a", offset, length)]);
        for collection in test_store.each() {
            for _ in 0..4 {
                let error = collection.get("a").unwrap_err().to_string();
                assert_eq!(error, format!("zds: meta/data.jsonl: {message}"));
            }
            let in_row = message.replace("key", "row 0, key");
            assert_eq!(iterate(&collection), (0, format!("zds: meta/data.jsonl: {in_row}")));
            assert_eq!(collection.document(0).unwrap_err().to_string(), format!("zds: meta/data.jsonl: {in_row}"));
            let parallel = collection.map_documents(0..9, 2, |_| Ok(()), |()| Ok(()));
            assert_eq!(parallel.unwrap_err().to_string(), format!("zds: meta/data.jsonl: {in_row}"));
        }
    }
}

#[test]
fn refuses_line_of_another_document() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[(b"a", 18, 18), (b"b", 0, 18), (b"x", 36, 18)]);
    for collection in test_store.each() {
        for (id, message) in [("a", "b\" (byte 18"), ("b", "a\" (byte 0"), ("x", "c\" (byte 36")] {
            let error = collection.get(id).unwrap_err().to_string();
            let expected = format!(
                "zds: meta/data.jsonl: the index entry points at the line of document \"{message}, key \"{id}\")"
            );
            assert_eq!(error, expected);
        }
        assert!(collection.get("c").unwrap().is_none());
    }
    // A document without an id matches no entry.
    let test_store = TestStore::new(b"{\"n\":1}\n");
    test_store.index(&[(b"a", 0, 8)]);
    for collection in test_store.each() {
        let error = collection.get("a").unwrap_err().to_string();
        assert_eq!(error, "zds: meta/data.jsonl: the document has no \"_id\" (byte 0, key \"a\")");
    }
}

#[test]
fn two_ids_cannot_share_a_line() {
    let test_store = TestStore::new(THREE);
    let message = "zds: meta/data.jsonl: the line overlaps the previous document, which ends at byte 18 (byte 0, row 1, key \"z\")";
    test_store.index(&[(b"a", 0, 18), (b"z", 0, 17), (b"c", 36, 18)]);
    for collection in test_store.each() {
        assert_eq!(iterate(&collection), (1, message.to_owned()));
        // From any row on.
        assert_eq!(collection.document(1).unwrap_err().to_string(), message);
        assert_eq!(collection.document(2).unwrap().id(), "c");
        assert_eq!(collection.get("a").unwrap().unwrap().offset(), Some(0));
    }
    // Not even an empty line.
    let test_store = TestStore::new(b"\n{}\n");
    test_store.index(&[(b"a", 0, 1), (b"b", 0, 0)]);
    for collection in test_store.each() {
        assert_eq!(iterate(&collection).0, 1);
    }
}

#[test]
fn many_ids_of_one_line_do_not_multiply_work() {
    // A line of 2 MiB: each chunk would be one document, and each would be read.
    let line = format!("{{\"_id\":\"a\",\"x\":\"{}\"}}\n", "x".repeat(2 << 20));
    let test_store = TestStore::new(line.as_bytes());
    let names: Vec<String> = (0..20_000).map(|n| format!("id-{n}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_bytes(), 0, line.len() as u32)).collect();
    test_store.index(&entries);
    for collection in test_store.each() {
        let mut count = 0;
        let each = |()| {
            count += 1;
            Ok(())
        };
        let error = collection.map_documents(0..u64::MAX, 4, |_| Ok(()), each).unwrap_err().to_string();
        assert!(error.contains("the line overlaps the previous document"), "{error}");
        assert!(error.ends_with("(byte 0, row 1, key \"id-1\")"), "{error}");
        assert_eq!(count, 1);
    }
}

#[test]
fn wrong_entry_does_not_affect_others() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[(b"a", 0, u32::MAX), (b"b", 18, 18), (b"c", 36, 18)]);
    for collection in test_store.each() {
        assert_eq!(collection.document(1).unwrap().id(), "b");
        assert_eq!(collection.get("c").unwrap().unwrap().offset(), Some(36));
    }
}

#[test]
fn non_utf8_ids_invalidate_the_index() {
    let test_store = TestStore::new(THREE);
    test_store.index(&[(b"a", 0, 18), (b"b\xff", 18, 18)]);
    assert_eq!(
        test_store.notes(),
        [
            "the index is damaged (index.bin: an id in the index is not valid UTF-8 (byte 34)): recovered 3 documents from the data, including deleted ones whose lines remain"
        ]
    );
    // Starting with the first look-up, which does not use the table.
    for collection in test_store.each() {
        assert!(collection.contains("c").unwrap());
        assert_eq!(ids(&collection), ["a", "b", "c"]);
    }
}

#[test]
fn accepts_ids_of_maximum_length() {
    let long = "z".repeat(65_535);
    let data = format!("{{\"_id\":\"{long}\"}}\n{{\"_id\":\"{long}y\"}}\n{{\"_id\":\"a\"}}\n");
    let test_store = TestStore::new(data.as_bytes());
    let second = data.find('\n').unwrap() as u64 + 1;
    // Without an index: ids that do not fit into one are skipped.
    let collection = test_store.open();
    assert_eq!(ids(&collection), [&long[..], "a"]);
    assert_eq!(
        test_store.notes()[1],
        format!(
            "skipped 1 line without a document, first: the length of an id 65536 exceeds the limit 65535 (byte {second}, line 2)"
        )
    );
    assert!(collection.get(&long).unwrap().is_some() && collection.get(&format!("{long}y")).unwrap().is_none());
    // And with one.
    test_store.index(&[(long.as_bytes(), 0, second as u32), (&long.as_bytes()[1..], second, 65_547)]);
    for collection in test_store.each() {
        assert_eq!(collection.get(&long).unwrap().unwrap().bytes().len(), 65_545);
        let error = collection.get(&long[1..]).unwrap_err();
        assert!(error.detail().starts_with("the index entry points at the line of document \"zzz"), "{error}");
        assert!(collection.get(&format!("{long}{long}")).unwrap().is_none());
    }
}

#[test]
fn same_id_in_every_entry() {
    let test_store = TestStore::new(THREE);
    let mut entries: Vec<(&[u8], u64, u32)> = vec![(b"a", 1, 1); 300_000];
    entries.push((b"a", 0, 18));
    test_store.index(&entries);
    for collection in test_store.each() {
        assert_eq!((collection.len().unwrap(), ids(&collection)), (1, vec!["a".to_owned()]));
        assert_eq!(collection.get("a").unwrap().unwrap().offset(), Some(0));
        let condition = collection.condition().unwrap();
        assert!(matches!(condition.index, IndexState::Valid) && condition.superseded == 300_000);
    }
}

#[test]
fn similar_ids_do_not_collide() {
    // Similar in results that could affect a hash with an unknown seed: in their ends, lengths, or zeros.
    let kinds: [fn(u32) -> Vec<u8>; 4] = [
        |n| [&n.to_le_bytes()[..], &[b'x'; 60]].concat(),
        |n| [&[b'x'; 60], &n.to_le_bytes()[..]].concat(),
        |n| [&[0; 24][..], &n.to_le_bytes(), &[0; 24]].concat(),
        |n| vec![0; 1 + n as usize % 4_000],
    ];
    let start = container_core::testkit::Stopwatch::start();
    for kind in kinds {
        let names: Vec<Vec<u8>> =
            (0..60_000).map(kind).map(|name| name.iter().map(|byte| byte & 0x7f).collect()).collect();
        let distinct = names.iter().collect::<std::collections::BTreeSet<_>>().len();
        let test_store = TestStore::new(THREE);
        let entries: Vec<(&[u8], u64, u32)> = names.iter().map(|name| (&name[..], 0, 18)).collect();
        test_store.index(&entries);
        let collection = test_store.open();
        assert_eq!(collection.len().unwrap(), distinct as u64);
        assert!(names.iter().step_by(97).all(|name| collection.contains(std::str::from_utf8(name).unwrap()).unwrap()));
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn wrong_text_index() {
    let test_store = TestStore::new(THREE);
    for (text, message) in [
        ("a\t0\t18\nb\t18\n", "index line: expected id, offset and length, found 2 fields (byte 7, line 2)"),
        ("a\t0\t18\nb\t-1\t18\n", "offset: expected an unsigned 64-bit integer, found \"-1\" (byte 7, line 2)"),
        (
            "a\t0\t18\nb\t18446744073709551616\t1\n",
            "offset: expected an unsigned 64-bit integer, found \"18446744073709551616\" (byte 7, line 2)",
        ),
        (
            "a\t0\t18\nb\t0\t4294967296\n",
            "length: expected an unsigned 32-bit integer, found \"4294967296\" (byte 7, line 2)",
        ),
        ("what\n", "unrecognized index (expected \"ISDZ\" or \"ZDSI\"): begins with [77, 68, 61, 74] (byte 0)"),
    ] {
        test_store.put("index.bin", text.as_bytes());
        assert_eq!(
            test_store.notes(),
            [format!(
                "the index is damaged (index.bin: {message}): recovered 3 documents from the data, including deleted ones whose lines remain"
            )]
        );
    }
    test_store.put("index.bin", b"a\t18446744073709551615\t4294967295\n");
    for collection in test_store.each() {
        let error = collection.get("a").unwrap_err().to_string();
        assert_eq!(
            error,
            "zds: meta/data.jsonl: the line of an index entry: needs 4294967295 bytes, 0 available (byte 18446744073709551615, key \"a\")"
        );
    }
}
