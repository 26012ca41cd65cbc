//! Schemas inferred from a sample: reading with them gives the same as a complete scan, or an error.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchScan, Mapping, OnMismatch};
use container_core::Result;

use super::super::*;

const ROWS: usize = 2000;
const WINDOW: u64 = 4096;

fn cells(row: usize) -> String {
    let day = format!("2024-05-{:02}", 1 + row % 28);
    let list = if row.is_multiple_of(3) { "[]" } else { "\"[1,2]\"" };
    let text = if row.is_multiple_of(5) { "\"a \"\"quoted\"\"\n text\"" } else { "plain" };
    format!("{row},{}.5,{day},{day}T12:30:00,{},{},{list},{text},", row % 97, row.is_multiple_of(2), (1_u64 << 63) + 8)
}

const NAMES: &str = "n,x,d,t,y,u,l,s,e";

fn object(row: usize) -> String {
    let list = if row.is_multiple_of(3) { "[]" } else { "[1,2.5]" };
    format!(
        r#"{{"n":{row},"x":{}.5,"t":"a {}","y":{},"l":{list},"o":{{"a":{},"b":null}},"u":{},"e":null}}"#,
        row % 97,
        row % 7,
        row.is_multiple_of(2),
        row % 5,
        (1_u64 << 63) + row as u64
    )
}

/// Generated rows, one of them replaced by `odd`.
fn text(format: TextFormat, odd: Option<(usize, &str)>) -> String {
    let mut text = String::new();
    if format == TextFormat::Csv {
        writeln!(text, "{NAMES}").unwrap();
    }
    for row in 0..ROWS {
        match odd {
            Some((at, odd)) if at == row => writeln!(text, "{odd}"),
            _ if format == TextFormat::Csv => writeln!(text, "{}", cells(row)),
            _ => writeln!(text, "{}", object(row)),
        }
        .unwrap();
    }
    text
}

fn batches(table: &dyn ArrowTable, scan: &BatchScan) -> Result<Vec<RecordBatch>> {
    let mut reader = table.batches(scan)?;
    std::iter::from_fn(|| reader.try_next().transpose()).collect()
}

fn infer_sampled(format: TextFormat, text: &str, scan: &BatchScan) -> Option<SchemaRef> {
    let container = open(format, text.as_bytes(), WINDOW);
    container.tables()[0].arrow().unwrap().infer_from_sample(scan).unwrap()
}

/// Whether the schema inferred from a sample holds for all rows. If so, batches are compared with those of a complete scan.
fn sample_suffices(format: TextFormat, odd: Option<(usize, &str)>) -> bool {
    let text = text(format, odd);
    let mut found = Vec::new();
    for threads in [1, 4] {
        let container = open(format, text.as_bytes(), WINDOW);
        let table = container.tables()[0].arrow().unwrap();
        let scan = BatchScan::from(Scan::default().with_threads(threads));
        let inferred = table.infer_from_sample(&scan).unwrap().unwrap();
        let sampled = batches(table, &scan.clone().with_sampled_schema(inferred.clone()));
        let all = batches(table, &scan);
        if let Ok(sampled) = &sampled {
            assert_eq!((Some(sampled), inferred), (all.as_ref().ok(), table.schema(&scan).unwrap()), "{odd:?}");
        }
        // After a complete scan nothing is inferred from a sample.
        assert!(all.is_err() || table.infer_from_sample(&scan).unwrap().is_none());
        found.push(sampled.is_ok());
    }
    assert_eq!(found[0], found[1], "{odd:?}");
    found[0]
}

#[test]
fn similar_rows_match_the_sample() {
    for (format, odds) in [
        (
            TextFormat::Csv,
            &[
                "7,5,2024-02-29,0001-01-01T00:00:00.25,FALSE,1,\"[3,null]\",007,",
                ",NaN,,2024-05-01,true,,,\"1\",",
                "-9223372036854775808,-0,1999-12-31,,,18446744073709551615,[],2024-05-01,",
                "\"7\",\"\",,,,,,\"\",",
            ][..],
        ),
        (
            TextFormat::JsonLines,
            &[
                r#"{"x":1.5,"n":7}"#,
                "{}",
                r#"{"x":3,"l":[9007199254740993.5,4],"o":{}}"#,
                r#"{"x":"NaN","l":["-Infinity"],"o":null}"#,
                r#"{"u":1,"n":-9223372036854775808,"t":""}"#,
            ],
        ),
    ] {
        assert!(sample_suffices(format, None), "{format:?}");
        for odd in odds {
            assert!(sample_suffices(format, Some((ROWS - 20, odd))), "{odd}");
        }
    }
}

#[test]
fn detects_cells_that_change_the_schema() {
    for odd in [
        "7.0,1,,,,,,,",
        "-0,1,,,,,,,",
        "9223372036854775808,1,,,,,,,",
        "x,1,,,,,,,",
        "true,1,,,,,,,",
        ",9007199254740993,,,,,,,",
        ",1e400,,,,,,,",
        ",x,,,,,,,",
        ",,2024-02-30,,,,,,",
        ",,2024-05-01T00:00:00,,,,,,",
        ",,12:30,,,,,,",
        ",,,2024-05-01T12:30:00Z,,,,,",
        ",,,2024-05-01T12:30:00.1234567,,,,,",
        ",,,later,,,,,",
        ",,,,0,,,,",
        ",,,,,-1,,,",
        ",,,,,18446744073709551616,,,",
        ",,,,,,[1.5],,",
        ",,,,,,\"[\"\"a\"\"]\",,",
        ",,,,,,{},,",
        ",,,,,,x,,",
        ",,,,,,,,0",
        ",,,,,,,,\"\"",
        // Invalid rows.
        "1,2",
        ",,,,,,,,,",
    ] {
        for row in [ROWS / 2, ROWS - 1] {
            assert!(!sample_suffices(TextFormat::Csv, Some((row, odd))), "{odd}");
        }
    }
}

#[test]
fn detects_objects_that_change_the_schema() {
    for odd in [
        r#"{"n":7.0}"#,
        r#"{"n":-0.0}"#,
        r#"{"n":"NaN"}"#,
        r#"{"n":9223372036854775808}"#,
        r#"{"u":-1}"#,
        r#"{"x":9007199254740993}"#,
        r#"{"x":"text"}"#,
        r#"{"t":5}"#,
        r#"{"y":0}"#,
        r#"{"e":{}}"#,
        r#"{"l":[true]}"#,
        r#"{"o":{"c":null}}"#,
        r#"{"o":{"b":1}}"#,
        r#"{"new":null}"#,
        r#"{"n":1,"n":"x"}"#,
        "[1]",
        "{",
    ] {
        assert!(!sample_suffices(TextFormat::JsonLines, Some((ROWS - 1, odd))), "{odd}");
    }
}

/// A sample from inside a quoted cell misleads.
#[test]
fn detects_misleading_samples() {
    let row = format!("1,\"{}\"\n", "\nx,y".repeat(600));
    let text = format!("n,t\n{}{}", "1,2\n".repeat(2000), row.repeat(30));
    let scan = BatchScan::default();
    let wrong = infer_sampled(TextFormat::Csv, &text, &scan).unwrap();
    let container = open(TextFormat::Csv, text.as_bytes(), WINDOW);
    let table = container.tables()[0].arrow().unwrap();
    assert_ne!(wrong, table.schema(&scan).unwrap());
    let error = batches(table, &scan.clone().with_sampled_schema(wrong)).unwrap_err();
    assert!(error.to_string().contains("inferred from a sample"), "{error}");
}

#[test]
fn declines_where_a_sample_cannot_suffice() {
    let scan = BatchScan::default();
    for format in [TextFormat::Csv, TextFormat::JsonLines] {
        let whole = text(format, None);
        assert!(infer_sampled(format, &whole, &scan).is_some());
        let small = whole.get(..whole.len() / ROWS * 20).and_then(|text| text.rsplit_once('\n')).unwrap().0;
        assert!(infer_sampled(format, small, &scan).is_none());
        for on_mismatch in [OnMismatch::Null, OnMismatch::Json] {
            let scan = scan.clone().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
            assert!(infer_sampled(format, &whole, &scan).is_none());
        }
        let mut some = scan.clone();
        some.scan.columns = Some(vec![0]);
        assert!(infer_sampled(format, &whole, &some).is_none());
        let mut few = scan.clone();
        few.scan.rows = 0..1000;
        assert!(infer_sampled(format, &whole, &few).is_none());
    }
    let json = |odd| infer_sampled(TextFormat::JsonLines, &text(TextFormat::JsonLines, Some((5, odd))), &scan);
    // An empty object, and values without a common type.
    assert!(json(r#"{"empty":{}}"#).is_none());
    assert!(json(r#"{"n":"x"}"#).is_none());
    let array = text(TextFormat::JsonLines, None).lines().collect::<Vec<_>>().join(",");
    assert!(infer_sampled(TextFormat::JsonLines, &format!("[{array}]"), &scan).is_none());
}
