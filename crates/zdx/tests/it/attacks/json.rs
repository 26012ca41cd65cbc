//! Unusual but valid JSON, by every access method.

use serde_json::Value;
use zdx::Fields;

use super::TestStore;

/// Checks ids and texts of the documents in some data, with and without an index.
fn check(data: &str, expected: &[(&str, &str)]) {
    let test_store = TestStore::new(data.as_bytes());
    for collection in test_store.each() {
        let all: Vec<_> = collection.documents().unwrap().map(Result::unwrap).collect();
        let found: Vec<_> =
            all.iter().map(|one| (one.id().to_owned(), String::from_utf8_lossy(one.bytes()).into_owned())).collect();
        assert!(
            found.iter().map(|(id, text)| (&id[..], &text[..])).eq(expected.iter().copied()),
            "{data:?}: {found:?}"
        );
        assert!(collection.condition().unwrap().torn.is_none());
    }
    // With lengths including and excluding line feeds.
    for with_end in [true, false] {
        let mut entries = Vec::new();
        for document in test_store.open().documents().unwrap().map(Result::unwrap) {
            let offset = document.offset().unwrap();
            let rest = &data.as_bytes()[offset as usize..];
            let whole = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |feed| feed + 1);
            let length = if with_end { whole } else { document.bytes().len() };
            entries.push((document.id().to_owned(), offset, length as u32));
        }
        let entries: Vec<_> = entries.iter().map(|(id, offset, length)| (id.as_bytes(), *offset, *length)).collect();
        test_store.index(&entries);
        for collection in test_store.each() {
            for (row, (id, text)) in expected.iter().enumerate() {
                let document = collection.get(id).unwrap().unwrap();
                assert_eq!(document.bytes(), text.as_bytes());
                assert_eq!(collection.row_of(id).unwrap(), Some(row as u64));
                assert_eq!(collection.document(row as u64).unwrap().bytes(), text.as_bytes());
                let value: Value = serde_json::from_str(text).unwrap();
                assert_eq!(document.value().unwrap(), value);
                assert_eq!(document.fields(&Fields::new(["_id"])).unwrap().get("_id"), value.get("_id"));
                assert_eq!(value["_id"], **id);
            }
            assert_eq!(collection.len().unwrap(), expected.len() as u64);
            assert!(collection.get("no").unwrap().is_none());
        }
        std::fs::remove_file(test_store.meta().join("index.bin")).unwrap();
    }
}

/// Checks a line by itself, between others, and without a line feed.
fn one(id: &str, line: &str) {
    check(&format!("{line}\n"), &[(id, line)]);
    check(line, &[(id, line)]);
    check(&format!("{line}\r\n"), &[(id, line)]);
    let (first, last) = ("{\"_id\":\"first-of-all\"}", "{\"_id\":\"last-of-all\"}");
    check(&format!("{first}\n{line}\n{last}"), &[("first-of-all", first), (id, line), ("last-of-all", last)]);
}

#[test]
fn finds_id_at_any_position() {
    one("a", r#"{"_id":"a"}"#);
    one("a", r#"{"n":1,"deep":{"x":[1,{"y":2}]},"_id":"a"}"#);
    one("a", r#"{"n":1,"_id":"a","m":2}"#);
    one("a", r#"  {  "_id"  :  "a"  }  "#);
    one("a", "\t{\"_id\"\t:\t\"a\"\t,\t\"n\":1}");
    one("a", r#"{"_id": "a", "n": 1}"#);
}

#[test]
fn finds_escaped_id() {
    one("a", r#"{"_id":"\u0061"}"#);
    one("a", r#"{"\u005f\u0069\u0064":"a"}"#);
    one("a", r#"{"\u005Fid":"a"}"#);
    one("\u{1f600}", r#"{"_id":"\ud83d\ude00"}"#);
    one("a/b\"\\\n\t", r#"{"_id":"a\/b\"\\\n\t"}"#);
    one("\u{e9}", "{\"_id\":\"\u{e9}\"}");
}

#[test]
fn ignores_decoy_ids() {
    one("a", r#"{"x":{"_id":"b"},"_id":"a"}"#);
    one("a", r#"{"_id":"a","x":{"_id":"b"}}"#);
    one("a", r#"{"x":[{"_id":"b"},[{"_id":"c"}]],"_id":"a"}"#);
    one("a", r#"{"x":"\"_id\":\"b\"","_id":"a"}"#);
    one("a", r#"{"x":"{\"_id\":\"b\"}\\","_id":"a"}"#);
    one("a", r#"{"_id ":"b","id":"c","__id":"d","_ID":"e","_id":"a"}"#);
    one("a", r#"{"_id":"a","x_id":"b","x":"_id"}"#);
    one("a", r#"{"_id":"a","x":"_id\":\"b"}"#);
}

#[test]
fn duplicate_members() {
    one("b", r#"{"_id":"a","_id":"b"}"#);
    one("b", r#"{"_id":"a","x":1,"\u005fid":"b"}"#);
    one("a", r#"{"_id":"b","_id":"a","x":1,"x":2}"#);
    // The last line of an id wins, too.
    let (old, new) = (r#"{"_id":"a","n":1}"#, r#"{"n":2,"_id":"a"}"#);
    check(&format!("{old}\n{{\"_id\":\"b\"}}\n{new}\n"), &[("b", r#"{"_id":"b"}"#), ("a", new)]);
}

#[test]
fn handles_marks_line_endings_and_empty_lines() {
    let (a, b) = (r#"{"_id":"a"}"#, r#"{"n":1,"_id":"b"}"#);
    for between in ["\n", "\r\n", "\n\n\n", "\r\n\r\n", "\n   \t \n", "\n \r\n\n"] {
        for (before, behind) in
            [("", ""), ("\u{feff}", "\n"), ("\n\n", "\n\n"), (" \n", "\n  "), ("\u{feff}\r\n", "\r\n \n")]
        {
            check(&format!("{before}{a}{between}{b}{behind}"), &[("a", a), ("b", b)]);
        }
    }
}

#[test]
fn skips_and_counts_invalid_lines() {
    let good = r#"{"_id":"a"}"#;
    for (bad, message) in [
        ("[1]", "expected an object (\"{\"), found '[' (byte 12, line 2)"),
        ("\"_id\"", "expected an object (\"{\"), found '\"' (byte 12, line 2)"),
        (r#"{"_id":7}"#, "expected a string (\"_id\"), found '7' (byte 19, line 2)"),
        (r#"{"_id":null}"#, "expected a string (\"_id\"), found 'n' (byte 19, line 2)"),
        (r#"{"_id":""}"#, "the id is empty (byte 12, line 2)"),
        (r#"{"id":"b"}"#, "the document has no \"_id\" (byte 12, line 2)"),
        (r#"{"x":{"_id":"b"}}"#, "the document has no \"_id\" (byte 12, line 2)"),
        (r#"{"x":1,"_id":"b""#, "\"}\": needs 1 byte, 0 available (byte 28, line 2)"),
        (r#"{"x":1,"_id":"b"},"#, "expected the end of the line, found ',' (byte 29, line 2)"),
        (r#"{'_id':'b'}"#, "expected a member name, found '\\'' (byte 13, line 2)"),
        ("\u{feff}{\"_id\":\"b\"}", "expected an object (\"{\"), found '\\u{feff}' (byte 12, line 2)"),
        (r#"{"_id":"\ud800"}"#, "an escape is an unpaired surrogate (byte 20, line 2)"),
    ] {
        let test_store = TestStore::new(format!("{good}\n{bad}\n{good}").as_bytes());
        for collection in test_store.each() {
            assert_eq!(super::ids(&collection), ["a"], "{bad}");
            let notes = collection.condition().unwrap().notes();
            assert_eq!(notes[1], format!("skipped 1 line without a document, first: {message}"));
        }
    }
}

#[test]
fn byte_order_mark_within_the_data_is_invalid() {
    let test_store = TestStore::new("{\"_id\":\"a\"}\n\u{feff}{\"_id\":\"b\"}\n".as_bytes());
    test_store.index(&[(b"a", 0, 12), (b"b", 12, 15)]);
    for collection in test_store.each() {
        let error = collection.get("b").unwrap_err().to_string();
        assert_eq!(error, "zds: meta/data.jsonl: expected an object (\"{\"), found '\\u{feff}' (byte 12, key \"b\")");
    }
}
