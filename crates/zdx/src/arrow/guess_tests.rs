//! Schemas that are guessed: what comes of them is what comes of a walk over all documents, or an error.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use container_arrow::{ArrowTable, BatchScan, Mapping, OnMismatch};
use container_core::{Access, Container, Input, OpenOptions, Result, Scan};

use crate::ZdsContainer;

/// More than are sampled.
const DOCUMENTS: usize = 40_000;

fn document(row: usize) -> String {
    let list = if row.is_multiple_of(3) { "[]" } else { "[1,2.5]" };
    format!(
        r#"{{"_id":"{row}","n":{row},"x":{}.5,"t":"a {}","y":{},"l":{list},"o":{{"a":{},"b":null}},"u":{},"e":null}}"#,
        row % 97,
        row % 7,
        row.is_multiple_of(2),
        row % 5,
        (1_u64 << 63) + row as u64
    )
}

/// A collection of these documents, of which one is replaced.
fn open(folder: &Path, odd: Option<(usize, &str)>) -> ZdsContainer {
    let meta = folder.join("collections/c/meta");
    fs::create_dir_all(&meta).unwrap();
    let mut lines = String::new();
    for row in 0..DOCUMENTS {
        match odd {
            Some((at, text)) if at == row => writeln!(lines, "{text}").unwrap(),
            _ => writeln!(lines, "{}", document(row)).unwrap(),
        }
    }
    fs::write(meta.join("data.jsonl"), lines).unwrap();
    let input = Input::open(folder, Access::Auto).unwrap();
    ZdsContainer::open(&input, &OpenOptions::default()).unwrap()
}

fn batches(table: &dyn ArrowTable, scan: &BatchScan) -> Result<Vec<RecordBatch>> {
    let mut reader = table.batches(scan)?;
    std::iter::from_fn(|| reader.try_next().transpose()).collect()
}

/// Is the guess right to the end? What it gives then is compared with what is there without it.
fn is_right(odd: Option<(usize, &str)>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let container = open(folder.path(), odd);
    let table = container.tables()[0].arrow().unwrap();
    for threads in [1, 4] {
        let scan = BatchScan::from(Scan::default().with_threads(threads));
        let guess = table.infer_from_sample(&scan).unwrap().unwrap();
        let found = batches(table, &scan.clone().with_sampled_schema(guess.clone()));
        if threads == 4 {
            let all = batches(table, &scan);
            if let Ok(found) = &found {
                assert_eq!((Some(found), &guess), (all.as_ref().ok(), &table.schema(&scan).unwrap()), "{odd:?}");
            }
            // Where all is known nothing is guessed.
            assert!(all.is_err() || table.infer_from_sample(&scan).unwrap().is_none());
            return found.is_ok();
        }
    }
    unreachable!()
}

#[test]
fn documents_like_those_before_are_what_was_guessed() {
    assert!(is_right(None));
    for text in [
        // Fewer members, in another order; numbers, texts and lists like the others.
        r#"{"_id":"odd","x":1.5,"n":7}"#,
        r#"{"n":7,"t":"without an id"}"#,
        r#"{"_id":"odd","x":3,"l":[9007199254740993.5,4],"o":{}}"#,
        r#"{"_id":"odd","x":"NaN","l":["-Infinity"],"o":null}"#,
        r#"{"_id":"odd","u":1,"n":-9223372036854775808,"t":""}"#,
    ] {
        assert!(is_right(Some((DOCUMENTS - 100, text))), "{text}");
    }
}

#[test]
fn documents_that_make_another_schema_are_told() {
    for text in [
        r#"{"_id":"odd","n":7.0}"#,
        r#"{"_id":"odd","n":-0.0}"#,
        r#"{"_id":"odd","n":"NaN"}"#,
        r#"{"_id":"odd","n":9223372036854775808}"#,
        r#"{"_id":"odd","u":-1}"#,
        r#"{"_id":"odd","u":1.5}"#,
        r#"{"_id":"odd","x":9007199254740993}"#,
        r#"{"_id":"odd","x":1e400}"#,
        r#"{"_id":"odd","x":"text"}"#,
        r#"{"_id":"odd","t":5}"#,
        r#"{"_id":"odd","y":0}"#,
        r#"{"_id":"odd","e":{}}"#,
        r#"{"_id":"odd","e":[]}"#,
        r#"{"_id":"odd","l":[true]}"#,
        r#"{"_id":"odd","l":[[1]]}"#,
        r#"{"_id":"odd","l":{}}"#,
        r#"{"_id":"odd","o":{"c":null}}"#,
        r#"{"_id":"odd","o":{"b":1}}"#,
        r#"{"_id":"odd","new":null}"#,
        r#"{"_id":"odd","n":1,"n":"x"}"#,
        r#"{"_id":"odd","n":"x","n":1}"#,
    ] {
        for row in [9000, DOCUMENTS - 1] {
            assert!(!is_right(Some((row, text))), "{text}");
        }
    }
}

#[test]
fn what_no_row_could_show_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let guess = |odd, scan: &BatchScan| {
        let container = open(folder.path(), odd);
        container.tables()[0].arrow().unwrap().infer_from_sample(scan).unwrap()
    };
    let scan = BatchScan::default();
    assert!(guess(None, &scan).is_some());
    // A column of what comes: there is none that does not fit. A sample has a column that the first documents have not.
    assert!(guess(Some((5, r#"{"_id":"odd","empty":{}}"#)), &scan).is_none());
    assert!(guess(Some((DOCUMENTS / 16 * 9 + 1, r#"{"_id":"odd","new":1}"#)), &scan).is_none());
    // Values that do not fit together.
    assert!(guess(Some((5, r#"{"_id":"odd","n":"x"}"#)), &scan).is_none());
    for on_mismatch in [OnMismatch::Null, OnMismatch::Json] {
        assert!(guess(None, &scan.clone().with_mapping(Mapping::default().with_on_mismatch(on_mismatch))).is_none());
    }
    let mut some = scan.clone();
    some.scan.columns = Some(vec![0]);
    assert!(guess(None, &some).is_none());
    let mut few = scan;
    few.scan.rows = 0..1000;
    assert!(guess(None, &few).is_none());
}
