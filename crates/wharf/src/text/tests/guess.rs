//! Schemas that are guessed: what comes of them is what comes of a walk over all rows, or an error.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{ArrowTable, BatchScan, Mapping, OnMismatch};
use container_core::Result;

use super::*;

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

/// Such rows, of which one is replaced.
fn text(form: TextForm, odd: Option<(usize, &str)>) -> String {
    let mut text = String::new();
    if form == TextForm::Csv {
        writeln!(text, "{NAMES}").unwrap();
    }
    for row in 0..ROWS {
        match odd {
            Some((at, odd)) if at == row => writeln!(text, "{odd}"),
            _ if form == TextForm::Csv => writeln!(text, "{}", cells(row)),
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

fn guess(form: TextForm, text: &str, scan: &BatchScan) -> Option<SchemaRef> {
    let container = open(form, text.as_bytes(), WINDOW);
    container.tables()[0].arrow().unwrap().infer_from_sample(scan).unwrap()
}

/// Is the guess right to the end? What it gives then is compared with what is there without it.
fn is_right(form: TextForm, odd: Option<(usize, &str)>) -> bool {
    let text = text(form, odd);
    let mut found = Vec::new();
    for threads in [1, 4] {
        let container = open(form, text.as_bytes(), WINDOW);
        let table = container.tables()[0].arrow().unwrap();
        let scan = BatchScan::from(Scan::default().with_threads(threads));
        let guess = table.infer_from_sample(&scan).unwrap().unwrap();
        let guessed = batches(table, &scan.clone().with_sampled_schema(guess.clone()));
        let all = batches(table, &scan);
        if let Ok(guessed) = &guessed {
            assert_eq!((Some(guessed), guess), (all.as_ref().ok(), table.schema(&scan).unwrap()), "{odd:?}");
        }
        // Where all is known nothing is guessed.
        assert!(all.is_err() || table.infer_from_sample(&scan).unwrap().is_none());
        found.push(guessed.is_ok());
    }
    assert_eq!(found[0], found[1], "{odd:?}");
    found[0]
}

#[test]
fn rows_like_those_before_are_what_was_guessed() {
    for (form, odds) in [
        (
            TextForm::Csv,
            &[
                "7,5,2024-02-29,0001-01-01T00:00:00.25,FALSE,1,\"[3,null]\",007,",
                ",NaN,,2024-05-01,true,,,\"1\",",
                "-9223372036854775808,-0,1999-12-31,,,18446744073709551615,[],2024-05-01,",
                "\"7\",\"\",,,,,,\"\",",
            ][..],
        ),
        (
            TextForm::JsonLines,
            &[
                r#"{"x":1.5,"n":7}"#,
                "{}",
                r#"{"x":3,"l":[9007199254740993.5,4],"o":{}}"#,
                r#"{"x":"NaN","l":["-Infinity"],"o":null}"#,
                r#"{"u":1,"n":-9223372036854775808,"t":""}"#,
            ],
        ),
    ] {
        assert!(is_right(form, None), "{form:?}");
        for odd in odds {
            assert!(is_right(form, Some((ROWS - 20, odd))), "{odd}");
        }
    }
}

#[test]
fn cells_that_make_another_schema_are_told() {
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
        // Rows that are wrong.
        "1,2",
        ",,,,,,,,,",
    ] {
        for row in [ROWS / 2, ROWS - 1] {
            assert!(!is_right(TextForm::Csv, Some((row, odd))), "{odd}");
        }
    }
}

#[test]
fn objects_that_make_another_schema_are_told() {
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
        assert!(!is_right(TextForm::JsonLines, Some((ROWS - 1, odd))), "{odd}");
    }
}

/// A sample from the middle of a cell shows rows that are none.
#[test]
fn samples_that_lie_are_found_out() {
    let row = format!("1,\"{}\"\n", "\nx,y".repeat(600));
    let text = format!("n,t\n{}{}", "1,2\n".repeat(2000), row.repeat(30));
    let scan = BatchScan::default();
    let lie = guess(TextForm::Csv, &text, &scan).unwrap();
    let container = open(TextForm::Csv, text.as_bytes(), WINDOW);
    let table = container.tables()[0].arrow().unwrap();
    assert_ne!(lie, table.schema(&scan).unwrap());
    let error = batches(table, &scan.clone().with_sampled_schema(lie)).unwrap_err();
    assert!(error.to_string().contains("guessed"), "{error}");
}

#[test]
fn what_no_row_could_show_is_not_guessed() {
    let scan = BatchScan::default();
    for form in [TextForm::Csv, TextForm::JsonLines] {
        let whole = text(form, None);
        assert!(guess(form, &whole, &scan).is_some());
        let small = whole.get(..whole.len() / ROWS * 20).and_then(|text| text.rsplit_once('\n')).unwrap().0;
        assert!(guess(form, small, &scan).is_none());
        for on_mismatch in [OnMismatch::Null, OnMismatch::Json] {
            let scan = scan.clone().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
            assert!(guess(form, &whole, &scan).is_none());
        }
        let mut some = scan.clone();
        some.scan.columns = Some(vec![0]);
        assert!(guess(form, &whole, &some).is_none());
        let mut few = scan.clone();
        few.scan.rows = 0..1000;
        assert!(guess(form, &whole, &few).is_none());
    }
    let json = |odd| guess(TextForm::JsonLines, &text(TextForm::JsonLines, Some((5, odd))), &scan);
    // A column of what comes, and values that do not fit together.
    assert!(json(r#"{"empty":{}}"#).is_none());
    assert!(json(r#"{"n":"x"}"#).is_none());
    let array = text(TextForm::JsonLines, None).lines().collect::<Vec<_>>().join(",");
    assert!(guess(TextForm::JsonLines, &format!("[{array}]"), &scan).is_none());
}
