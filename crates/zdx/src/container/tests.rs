use std::fs;
use std::path::Path;

use container_core::{ErrorKind, Scan};
use serde_json::json;

use super::*;

fn store(folder: &Path, lines: &str) -> ZdsContainer {
    let meta = folder.join("collections/c/meta");
    fs::create_dir_all(&meta).unwrap();
    fs::write(meta.join("data.jsonl"), lines).unwrap();
    let input = Input::open(folder, container_core::Access::Auto).unwrap();
    ZdsContainer::open(&input, &OpenOptions::default()).unwrap()
}

fn rows(container: &ZdsContainer, scan: &Scan) -> Vec<String> {
    let tables = container.tables();
    let mut rows = tables[0].rows(scan).unwrap();
    let mut all = Vec::new();
    while rows.advance().unwrap() {
        let mut line = format!("{} ", rows.index()).into_bytes();
        rows.json(&mut line).unwrap();
        all.push(String::from_utf8(line).unwrap());
    }
    all
}

const LINES: &str = "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"p\":{\"q\":[]}}\n{\"n\":null,\"_id\":\"c\"}\n";

#[test]
fn columns_are_members() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(folder.path(), LINES).with_columns(&["p.q".to_owned(), "none.at.all".to_owned()]);
    let tables = container.tables();
    let columns = || {
        let column = |column: &container_core::ColumnInfo| (column.name.clone(), column.kind.clone());
        tables[0].columns().iter().map(column).collect::<Vec<_>>()
    };
    let expected = [("_id", "string"), ("n", "number or null"), ("p", "object"), ("q", "array")];
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    assert_eq!(columns(), expected);
    tables[0].infer_columns().unwrap();
    assert_eq!(columns(), expected, "columns keep their positions");
    assert_eq!(tables[0].columns()[3].details, [("path".to_owned(), "p.q".into())]);
    assert_eq!(tables[0].column_summary(1)["documents"], 2);
    assert_eq!(tables[0].find("c").unwrap(), Some(2));
    assert_eq!(
        rows(&container, &Scan::default().with_columns([3, 0])),
        ["0 {\"_id\":\"a\"}", "1 {\"q\":[],\"_id\":\"b\"}", "2 {\"_id\":\"c\"}"]
    );
    assert_eq!(rows(&container, &Scan::default().with_rows(1..2)), ["1 {\"_id\":\"b\",\"p\":{\"q\":[]}}"]);
    assert_eq!(tables[0].rows(&Scan::default().with_columns([4])).err().unwrap().kind(), ErrorKind::Usage);
}

#[test]
fn duplicate_member_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(folder.path(), "{\"_id\":\"a\",\"n\":1,\"n\":\"2\"}\n");
    let tables = container.tables();
    let column = &tables[0].columns()[1];
    assert_eq!((column.kind.as_str(), &tables[0].column_summary(1)["documents"]), ("number or string", &json!(1)));
}

#[test]
fn filters_see_ids_of_files() {
    let folder = tempfile::tempdir().unwrap();
    drop(store(folder.path(), ""));
    let docs = folder.path().join("collections/c/docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("x.json"), "{ }").unwrap();
    let is = |id: &str| Predicate::Eq("_id".to_owned(), json!(id));
    let store = || Store::open(folder.path()).unwrap();
    let asked = |id: &str| ZdsContainer::new(store(), &OpenOptions::default()).unwrap().with_filter(&is(id));
    assert_eq!(rows(&asked("x"), &Scan::default()), ["0 {\"_id\":\"x\" }"]);
    assert!(rows(&asked("y"), &Scan::default()).is_empty());
}

#[test]
fn filtered_rows_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(folder.path(), LINES).with_filter(&Predicate::Exists("n".to_owned()));
    assert_eq!(container.tables()[0].len(), None);
    let all = rows(&container, &Scan::default());
    assert_eq!(all, ["0 {\"_id\":\"a\",\"n\":1}", "2 {\"n\":null,\"_id\":\"c\"}"]);
    assert_eq!(rows(&container, &Scan::default().with_rows(1..5)), all[1..]);
    assert_eq!(rows(&container, &Scan::default().with_rows(0..1)), all[..1]);
    assert!(rows(&container, &Scan::default().with_rows(2..5)).is_empty());
}

#[test]
fn duplicate_members_are_counted_in_projections() {
    let folder = tempfile::tempdir().unwrap();
    let container = store(folder.path(), "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":1,\"n\":2,\"n\":3}\n");
    let tables = container.tables();
    let mut walk = tables[0].rows(&Scan::default().with_columns([1])).unwrap();
    let mut line = Vec::new();
    while walk.advance().unwrap() {
        walk.json(&mut line).unwrap();
        serde_json::to_value(walk.row()).unwrap();
    }
    assert_eq!(line, b"{\"n\":1}{\"n\":3}");
    let losses: Vec<String> = walk.losses().iter().map(ToString::to_string).collect();
    let expected = "duplicate object member: last value kept (2 times, first row 1)";
    assert_eq!(losses.last().map(String::as_str), Some(expected), "{losses:?}");
}

#[test]
fn broken_line_is_reported_with_position() {
    let folder = tempfile::tempdir().unwrap();
    // As indexed by the reference: the line looks like a document.
    let container = store(folder.path(), "{\"_id\":\"a\"}\n{\"_id\":\"b\",\"n\":}\n");
    let tables = container.tables();
    let mut walk = tables[0].rows(&Scan::default()).unwrap();
    assert!(walk.advance().unwrap() && walk.advance().unwrap());
    let error = walk.json(&mut Vec::new()).unwrap_err();
    let position = error.position();
    assert!(position.file.as_ref().unwrap().ends_with("collections/c/meta/data.jsonl"), "{error}");
    assert_eq!((position.byte, position.row, position.key.as_deref()), (Some(27), Some(1), Some("b")));
    let value = serde_json::to_value(walk.row());
    assert!(value.unwrap_err().to_string().contains("expected value"));
    assert!(tables[0].infer_columns().is_err());
    let mut findings = Vec::new();
    container.verify(&VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string())).unwrap();
    assert_eq!(findings.len(), 2, "no index, and the line: {findings:?}");
}

#[test]
fn recognizes_directories() {
    let folder = tempfile::tempdir().unwrap();
    let known = |path: &Path| FORMAT.recognize(&Probe::directory(path));
    assert_eq!(known(folder.path()), Recognition::No);
    fs::create_dir_all(folder.path().join("x/collections/pictures")).unwrap();
    assert_eq!(known(&folder.path().join("x")), Recognition::Name, "it may be a folder of anything");
    fs::write(folder.path().join("x/zds.json"), "{}").unwrap();
    assert_eq!(known(&folder.path().join("x")), Recognition::Content);
    store(&folder.path().join("y"), LINES);
    for path in ["y", "y/collections/c"] {
        assert_eq!(known(&folder.path().join(path)), Recognition::Content, "{path}");
    }
    let data = folder.path().join("y/collections/c/meta/data.jsonl");
    assert_eq!(FORMAT.recognize(&Probe::new(Some(&data), LINES.as_bytes())), Recognition::Content);
    let other = folder.path().join("x/data.jsonl");
    assert_eq!(FORMAT.recognize(&Probe::new(Some(&other), LINES.as_bytes())), Recognition::No);
}

#[test]
fn finds_members_by_name() {
    let names = ["b.c", "a", "none"].map(str::to_owned);
    let found = members(r#"{"a": [1, 2], "b.c":1e400,"b":{"c":1}}"#, &names).unwrap();
    let found: Vec<_> = found.into_iter().map(|(_, value)| json!(value)).collect();
    assert_eq!(found, [json!("1e400"), json!("[1, 2]"), json!(null)]);
}

#[test]
fn document_after_torn_one_is_reported_and_read() {
    use crate::wire::index::{Entry, header, put};
    let folder = tempfile::tempdir().unwrap();
    let torn = "{\"_id\":\"a\",\"x\":\"ab";
    let lines = format!("{torn}{{\"_id\":\"b\"}}\n   \n{{\"_id\":\"c\"}}\n");
    drop(store(folder.path(), &lines));
    let mut index = header(3).to_vec();
    for (id, offset, length) in [("b", torn.len() as u64, 12), ("blank", 30, 4), ("c", 34, 12)] {
        put(&Entry { id: id.as_bytes(), offset, length }, &mut index).unwrap();
    }
    fs::write(folder.path().join("collections/c/meta/index.bin"), index).unwrap();
    // The same data, now with the index.
    let container = store(folder.path(), &lines);
    let mut findings = Vec::new();
    container
        .verify(&container_core::VerifyOptions::default(), &mut |finding| findings.push(finding.error.to_string()))
        .unwrap();
    let has = |text: &str| findings.iter().any(|found| found.contains(text));
    assert!(has("the document follows a torn one on the same line (byte 18, key \"b\")"), "{findings:?}");
    assert!(has("the index entry points at an empty line (byte 30, key \"blank\")"), "{findings:?}");
    let b = crate::Store::open(folder.path()).unwrap().collection("c").unwrap();
    assert_eq!(b.get("b").unwrap().unwrap().bytes(), b"{\"_id\":\"b\"}");
}

#[test]
fn several_threads_find_the_same_documents_in_the_same_order() {
    const BAD: usize = 9_000;
    let document = |number: usize| match number {
        BAD => format!("{{\"_id\":\"d{number}\",\"n\":\"text\"}}\n"),
        _ => format!("{{\"_id\":\"d{number}\",\"n\":{}}}\n", number % 7),
    };
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..10_000).map(document).collect();
    let greater = Predicate::Compare("n".to_owned(), crate::read::Comparison::Greater, json!(4));
    let container = store(folder.path(), &lines).with_filter(&greater);
    let tables = container.tables();
    let matching: Vec<u64> = (0..BAD as u64).filter(|number| number % 7 > 4).collect();
    for threads in [1, 2, 3, 0] {
        for range in [0..10, 5..200, 2000..2001, 2500..2500, 2570..u64::MAX, 0..u64::MAX] {
            let scan = Scan::default().with_threads(threads).with_rows(range.clone());
            let mut rows = tables[0].rows(&scan).unwrap();
            let mut found = Vec::new();
            let outcome = loop {
                match rows.advance() {
                    Ok(true) => found.push(rows.index()),
                    other => break other,
                }
            };
            let of = |bound: u64| usize::try_from(bound).unwrap_or(usize::MAX).min(matching.len());
            assert_eq!(found, matching[of(range.start)..of(range.end)], "{range:?} {threads}");
            match outcome {
                Ok(_) => assert!(range.end < matching.len() as u64, "{range:?}"),
                Err(error) => {
                    assert_eq!(range.end, u64::MAX);
                    assert_eq!(error.position().row, Some(BAD as u64));
                    assert!(error.to_string().contains("the condition expects a number, found text"), "{error}");
                }
            }
            assert!(!rows.advance().unwrap(), "it has ended");
        }
    }
}

/// A document that cannot match is not parsed, unless it is one of the first.
#[test]
fn text_is_looked_for_before_documents_are_parsed() {
    let found = |other: &dyn Fn(u64) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let line = |number: u64| match number % 100 {
            77 => format!("{{\"_id\":\"d{number}\",\"t\":\"x\"}}\n"),
            _ => other(number),
        };
        let lines: String = (0..1000).map(line).collect();
        let is = Predicate::Compare("t".to_owned(), crate::read::Comparison::Eq, json!("x"));
        let container = store(folder.path(), &lines).with_filter(&is);
        let mut rows = container.tables()[0].rows(&Scan::default()).unwrap();
        let mut found = Vec::new();
        loop {
            match rows.advance() {
                Ok(true) => found.push(rows.index()),
                Ok(false) => return (found, None),
                Err(error) => return (found, error.position().row),
            }
        }
    };
    let other = |number: u64, value: &str| format!("{{\"_id\":\"d{number}\",\"t\":{value}}}\n");
    let all: Vec<u64> = (0..10).map(|hundred| hundred * 100 + 77).collect();
    assert_eq!(found(&|number| other(number, "\"y\"")), (all.clone(), None));
    assert_eq!(found(&|number| other(number, if number < 70 { "\"y\"" } else { "1" })), (all, None));
    assert_eq!(found(&|number| other(number, "1")), (vec![], Some(0)));
    // Escapes, and lines that end early.
    let escaped = found(&|number| other(number, if number == 500 { "\"\\u0078\"" } else { "\"y\"" }));
    assert_eq!(escaped.0.len(), 11);
    let torn =
        found(&|number| if number == 500 { "{\"_id\":\"d500\",\"t\":\n".to_owned() } else { other(number, "\"y\"") });
    assert_eq!(torn, (vec![77, 177, 277, 377, 477], Some(500)));
}

/// More matches than wait at a time.
#[test]
fn matches_of_many_bytes_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(20_000);
    let lines: String = (0..1500).map(|number| format!("{{\"_id\":\"d{number}\",\"n\":\"{long}\"}}\n")).collect();
    let container = store(folder.path(), &lines).with_filter(&Predicate::Exists("n".to_owned()));
    let tables = container.tables();
    for threads in [1, 2, 3] {
        let mut rows = tables[0].rows(&Scan::default().with_threads(threads)).unwrap();
        for row in 0..1500 {
            assert!(rows.advance().unwrap(), "{threads} {row}");
            assert_eq!(rows.index(), row, "{threads}");
        }
        assert!(!rows.advance().unwrap());
    }
}
