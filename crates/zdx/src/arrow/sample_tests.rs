//! Inference from a sample: scanning with the sampled schema gives the same result as full inference, or an error.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use container_arrow::{ArrowTable, BatchScan, Mapping, OnMismatch};
use container_core::testkit::cases;
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

/// A collection of these documents, with one of them replaced.
fn open(folder: &Path, special: Option<(usize, &str)>) -> ZdsContainer {
    let meta = folder.join("collections/c/meta");
    fs::create_dir_all(&meta).unwrap();
    let mut lines = String::new();
    for row in 0..DOCUMENTS {
        match special {
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

/// Whether a scan with the sampled schema succeeds. If so, compares the result with full inference.
fn sample_suffices(special: Option<(usize, &str)>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let container = open(folder.path(), special);
    let table = container.tables()[0].arrow().unwrap();
    for threads in [1, 4] {
        let scan = BatchScan::from(Scan::default().with_threads(threads));
        let sampled = table.infer_from_sample(&scan).unwrap().unwrap();
        let read = batches(table, &scan.clone().with_sampled_schema(sampled.clone()));
        if threads == 4 {
            let all = batches(table, &scan);
            if let Ok(read) = &read {
                assert_eq!((Some(read), &sampled), (all.as_ref().ok(), &table.schema(&scan).unwrap()), "{special:?}");
            }
            // After full inference there is nothing to sample.
            assert!(all.is_err() || table.infer_from_sample(&scan).unwrap().is_none());
            return read.is_ok();
        }
    }
    unreachable!()
}

#[test]
fn similar_documents_fit_the_sampled_schema() {
    assert!(sample_suffices(None));
    for text in [
        // Fewer members, in another order; numbers, strings and lists like the others.
        r#"{"_id":"special","x":1.5,"n":7}"#,
        r#"{"n":7,"t":"without an id"}"#,
        r#"{"_id":"special","x":3,"l":[9007199254740993.5,4],"o":{}}"#,
        r#"{"_id":"special","x":"NaN","l":["-Infinity"],"o":null}"#,
        r#"{"_id":"special","u":1,"n":-9223372036854775808,"t":""}"#,
    ] {
        assert!(sample_suffices(Some((DOCUMENTS - 100, text))), "{text}");
    }
}

#[test]
fn different_documents_are_reported() {
    for text in [
        r#"{"_id":"special","n":7.0}"#,
        r#"{"_id":"special","n":-0.0}"#,
        r#"{"_id":"special","n":"NaN"}"#,
        r#"{"_id":"special","n":9223372036854775808}"#,
        r#"{"_id":"special","u":-1}"#,
        r#"{"_id":"special","u":1.5}"#,
        r#"{"_id":"special","x":9007199254740993}"#,
        r#"{"_id":"special","x":1e400}"#,
        r#"{"_id":"special","x":"text"}"#,
        r#"{"_id":"special","t":5}"#,
        r#"{"_id":"special","y":0}"#,
        r#"{"_id":"special","e":{}}"#,
        r#"{"_id":"special","e":[]}"#,
        r#"{"_id":"special","l":[true]}"#,
        r#"{"_id":"special","l":[[1]]}"#,
        r#"{"_id":"special","l":{}}"#,
        r#"{"_id":"special","o":{"c":null}}"#,
        r#"{"_id":"special","o":{"b":1}}"#,
        r#"{"_id":"special","new":null}"#,
        r#"{"_id":"special","n":1,"n":"x"}"#,
        r#"{"_id":"special","n":"x","n":1}"#,
    ] {
        for &row in cases(&[DOCUMENTS - 1][..], &[9000, DOCUMENTS - 1]) {
            assert!(!sample_suffices(Some((row, text))), "{text}");
        }
    }
}

#[test]
fn does_not_sample_if_mismatches_could_go_unnoticed() {
    let folder = tempfile::tempdir().unwrap();
    let sampled = |special, scan: &BatchScan| {
        let container = open(folder.path(), special);
        container.tables()[0].arrow().unwrap().infer_from_sample(scan).unwrap()
    };
    let scan = BatchScan::default();
    assert!(sampled(None, &scan).is_some());
    // Empty objects become JSON text, which accepts anything. And a sample has a column that the first documents lack.
    assert!(sampled(Some((5, r#"{"_id":"special","empty":{}}"#)), &scan).is_none());
    assert!(sampled(Some((DOCUMENTS / 16 * 9 + 1, r#"{"_id":"special","new":1}"#)), &scan).is_none());
    // Mismatched values.

    assert!(sampled(Some((5, r#"{"_id":"special","n":"x"}"#)), &scan).is_none());
    for on_mismatch in [OnMismatch::Null, OnMismatch::Json] {
        assert!(sampled(None, &scan.clone().with_mapping(Mapping::default().with_on_mismatch(on_mismatch))).is_none());
    }
    let mut some = scan.clone();
    some.scan.columns = Some(vec![0]);
    assert!(sampled(None, &some).is_none());
    let mut few = scan;
    few.scan.rows = 0..1000;
    assert!(sampled(None, &few).is_none());
}
