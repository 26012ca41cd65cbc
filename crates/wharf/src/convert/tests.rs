use std::io::{self, Write};

use container_core::testkit::FailingSink;
use container_core::{Container, ErrorKind, Input, OpenOptions, Progress, Scan, Source, Unit};
use serde_json::{Value, json};

use super::*;
use crate::Registry;
use container_core::testkit::MOCK;

/// A container with one table `rows`.
fn table(columns: &[&str], rows: &Value) -> Box<dyn Container> {
    let columns: Vec<_> = columns.iter().map(|name| json!({"name": name, "type": "any"})).collect();
    open(&json!({"mock": 1, "tables": [{"name": "rows", "columns": columns, "rows": rows}]}))
}

fn open(document: &Value) -> Box<dyn Container> {
    let input = Input::Stream(Source::from(document.to_string().into_bytes()));
    Registry::empty().with(MOCK).open_with(&input, &OpenOptions::default()).unwrap()
}

fn csv_of(columns: &[&str], rows: &Value) -> (String, Vec<Loss>) {
    let container = table(columns, rows);
    let mut sink = Csv::new(Vec::new());
    let copied = copy(container.tables()[0], &Scan::default(), &mut sink).unwrap();
    (String::from_utf8(sink.finish().unwrap()).unwrap(), copied.losses)
}

#[test]
fn writes_json_lines() {
    let container = table(&["a", "b"], &json!([[1, "x"], [null, "y\n"]]));
    let mut sink = JsonLines::new(Vec::new());
    let copied = copy(container.tables()[0], &Scan::default().with_columns([1, 0]), &mut sink).unwrap();
    assert_eq!(copied.rows, 2);
    let lines = String::from_utf8(sink.finish().unwrap()).unwrap();
    assert_eq!(lines, "{\"b\":\"x\",\"a\":1}\n{\"b\":\"y\\n\",\"a\":null}\n");
}

#[test]
fn csv_distinguishes_null_from_empty_string() {
    let (text, losses) = csv_of(&["a", "b"], &json!([[null, ""], ["", null]]));
    assert_eq!(text, "a,b\n,\"\"\n\"\",\n");
    assert_eq!(losses, []);
}

#[test]
fn csv_quotes_delimiters_quotes_and_line_breaks() {
    let cells = json!([["a,b", "say \"hi\"", "two\nlines", "back\rslash\\", "tab\t", " blank ", "\u{8}\u{1}ü"]]);
    let (text, _) = csv_of(&["1", "2", "3", "4", "5", "6", "7"], &cells);
    assert_eq!(
        text,
        "1,2,3,4,5,6,7\n\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"back\rslash\\\",tab\t, blank ,\u{8}\u{1}ü\n"
    );
}

#[test]
fn csv_quotes_column_names() {
    assert_eq!(csv_of(&["a,b", ""], &json!([])).0, "\"a,b\",\"\"\n");
    // Not a byte order mark.
    assert_eq!(csv_of(&["\u{feff}a", "b"], &json!([])).0, "\"\u{feff}a\",b\n");
}

#[test]
fn csv_writes_numbers_bools_and_nested_values() {
    let row = json!([[true, -1, u64::MAX, 0.1, 1e300, "NaN", [1, null, "a\"b\n"], {"k": {"$sparse": []}}, []]]);
    let (text, _) = csv_of(&["1", "2", "3", "4", "5", "6", "7", "8", "9"], &row);
    let expected =
        r#"true,-1,18446744073709551615,0.1,1e+300,NaN,"[1,null,""a\""b\n""]","{""k"":{""$sparse"":[]}}",[]"#;
    assert_eq!(text.lines().nth(1), Some(expected));
}

#[test]
fn csv_text_round_trips() {
    let texts = ["", "a", ",", "\"", "\"\"", "\n", "\r\n", "a,\"b\"\n", "\t", " ", "ü€😀", "NaN", "#", "-", "\u{feff}"];
    let rows: Vec<_> = texts.iter().map(|text| json!([text, "end"])).collect();
    let container = table(&["text", "end"], &json!(rows));
    for (delimiter, byte) in [(Delimiter::Comma, b','), (Delimiter::Tab, b'\t'), (Delimiter::Semicolon, b';')] {
        let mut sink = Csv::new(Vec::new()).with_delimiter(delimiter);
        copy(container.tables()[0], &Scan::default(), &mut sink).unwrap();
        let bytes = sink.finish().unwrap();
        let mut reader = ::csv::ReaderBuilder::new().delimiter(byte).from_reader(&bytes[..]);
        let found: Vec<String> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
        assert_eq!(found, texts, "{delimiter:?}");
    }
}

#[test]
fn csv_of_one_column_writes_null_as_empty_string_with_loss() {
    let (text, losses) = csv_of(&["a"], &json!([["x"], [null], [""], [null]]));
    assert_eq!(text, "a\nx\n\"\"\n\"\"\n\"\"\n");
    let reported: Vec<_> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(reported, ["null in the only column written as an empty string (2 times, first row 1)"]);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.records().count(), 4);
}

#[test]
fn csv_reports_rows_without_columns_as_loss() {
    let (text, losses) = csv_of(&[], &json!([[], []]));
    assert_eq!(text, "");
    assert_eq!(losses[0].to_string(), "row without columns left out (2 times, first row 0)");
}

#[test]
fn cells_match_fields_by_name() {
    let mut cells = Cells::new(&["a", "b", "c"]);
    assert_eq!(cells.fill(&json!({"c": 3, "x": 0, "a": "one"})).unwrap(), 1);
    let kinds: Vec<_> = cells.iter().map(|cell| (cell.kind, cell.bytes.to_vec())).collect();
    let expected = [(CellKind::Text, b"one".to_vec()), (CellKind::Null, vec![]), (CellKind::Plain, b"3".to_vec())];
    assert_eq!(kinds, expected);
    cells.fill(&json!({})).unwrap();
    assert!(cells.iter().all(|cell| cell.kind == CellKind::Null));
}

#[test]
fn cells_reject_rows_that_are_not_maps() {
    let error = Cells::new(&["a"]).fill(&json!([1])).unwrap_err();
    assert_eq!(error.to_string(), "cannot convert the row to text: expected a map from column names to values");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn limit_truncates_between_characters() {
    let mut cells = Cells::new(&["a", "b", "c"]).with_limit(4);
    cells.fill(&json!({"a": "123ü", "b": "1234", "c": [1, 2, 3]})).unwrap();
    let kept: Vec<_> = cells.iter().map(|cell| (cell.bytes.to_vec(), cell.cut)).collect();
    assert_eq!(kept, [(b"123".to_vec(), true), (b"1234".to_vec(), false), (b"[1,2".to_vec(), true)]);
}

#[test]
fn csv_joins_tables_with_equal_columns_under_one_header() {
    let (one, two) = (table(&["a"], &json!([[1]])), table(&["a"], &json!([[2]])));
    let mut sink = Csv::new(Vec::new());
    copy(one.tables()[0], &Scan::default(), &mut sink).unwrap();
    copy(two.tables()[0], &Scan::default(), &mut sink).unwrap();
    assert_eq!(sink.finish().unwrap(), b"a\n1\n2\n");
}

#[test]
fn csv_rejects_different_columns_listing_the_differences() {
    let difference = |first: &[&str], other: &[&str]| {
        let mut sink = Csv::new(Vec::new());
        sink.begin(first).unwrap();
        let error = sink.begin(other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.detail().strip_prefix("the columns differ from those of the table before: ").unwrap().to_owned()
    };
    assert_eq!(difference(&["a", "b"], &["a", "c"]), r#"missing: "b"; new: "c""#);
    assert_eq!(difference(&["a", "b"], &["a"]), r#"missing: "b""#);
    assert_eq!(
        difference(&["a", "b"], &["b", "a"]),
        r#"different order: column 0 is "b", was "a", column 1 is "a", was "b""#
    );
    let many = ["1", "2", "3", "4", "5", "6", "7"];
    assert_eq!(difference(&[], &many), r#"new: "1", "2", "3", "4", "5" and 2 more"#);
}

#[test]
fn error_in_a_row_keeps_the_rows_before() {
    let document = json!({"mock": 1, "tables": [
        {"columns": [{"name": "a", "type": "int"}], "rows": [[1], [2], [3]], "fail_at": 2}]});
    let container = open(&document);
    let mut sink = Csv::new(Vec::new());
    let error = copy(container.tables()[0], &Scan::default(), &mut sink).unwrap_err();
    assert_eq!(error.to_string(), "mock: the block is damaged (row 2)");
    assert_eq!(sink.finish().unwrap(), b"a\n1\n2\n");
}

#[test]
fn failed_row_leaves_no_partial_line() {
    let container = table(&["a"], &json!([[1], [{"$no_json": true}], [3]]));
    let tables = container.tables();
    let mut rows = tables[0].rows(&Scan::default()).unwrap();
    let mut sink = JsonLines::new(Vec::new());
    let error = copy_rows(rows.as_mut(), u64::MAX, &mut sink, None).unwrap_err();
    assert_eq!(error.to_string(), "mock: the value has no JSON form (row 1)");
    // The failed row can be skipped.
    assert_eq!(copy_rows(rows.as_mut(), u64::MAX, &mut sink, None).unwrap(), 1);
    assert_eq!(sink.finish().unwrap(), b"{\"a\":1}\n{\"a\":3}\n");
}

#[test]
fn sinks_fail_after_a_failed_write() {
    let rows: Vec<_> = (0..20_000).map(|i| json!([i, "some text to fill the buffer"])).collect();
    let container = table(&["a", "b"], &json!(rows));
    let sinks: [Box<dyn Sink>; 2] = [
        Box::new(Csv::new(FailingSink::new(io::sink(), 1, usize::MAX))),
        Box::new(JsonLines::new(FailingSink::new(io::sink(), 1, usize::MAX))),
    ];
    for mut sink in sinks {
        let error = copy(container.tables()[0], &Scan::default(), sink.as_mut()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.to_string(), "cannot write the output: the sink is full (injected)");
        assert_eq!(sink.flush().unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(sink.begin(&["a", "b"]).unwrap_err().kind(), ErrorKind::Usage);
    }
}

#[test]
fn output_does_not_depend_on_write_sizes() {
    let rows: Vec<_> = (0..20_000).map(|i| json!([i, format!("text {i}")])).collect();
    let container = table(&["a", "b"], &json!(rows));
    let mut whole = Csv::new(Vec::new());
    copy(container.tables()[0], &Scan::default(), &mut whole).unwrap();
    let mut short_writes = Csv::new(FailingSink::new(Vec::new(), usize::MAX, 7));
    copy(container.tables()[0], &Scan::default(), &mut short_writes).unwrap();
    let (whole, short_writes) = (whole.finish().unwrap(), short_writes.finish().unwrap().into_inner());
    assert!(whole.len() > 256 << 10 && whole == short_writes);
}

#[test]
fn small_output_is_written_once() {
    struct Calls(usize);
    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let rows: Vec<_> = (0..1000).map(|i| json!([i])).collect();
    let container = table(&["a"], &json!(rows));
    let mut sink = JsonLines::new(Calls(0));
    copy(container.tables()[0], &Scan::default(), &mut sink).unwrap();
    assert_eq!(sink.get_ref().0, 1);
}

#[test]
fn reports_progress_and_stops_at_the_limit() {
    struct Count(std::sync::atomic::AtomicU64);
    impl Progress for Count {
        fn begin(&self, _: Unit, _: Option<u64>) {}
        fn advance(&self, done: u64) -> Result<()> {
            self.0.fetch_add(done, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }
    let rows: Vec<_> = (0..1000).map(|i| json!([i])).collect();
    let container = table(&["a"], &json!(rows));
    let tables = container.tables();
    let mut rows_reader = tables[0].rows(&Scan::default()).unwrap();
    let mut sink = JsonLines::new(Vec::new());
    let count = Count(0.into());
    assert_eq!(copy_rows(rows_reader.as_mut(), 700, &mut sink, Some(&count)).unwrap(), 700);
    assert_eq!(count.0.load(std::sync::atomic::Ordering::Relaxed), 700);
    assert_eq!(copy_rows(rows_reader.as_mut(), 700, &mut sink, Some(&count)).unwrap(), 300);
    assert_eq!(count.0.load(std::sync::atomic::Ordering::Relaxed), 1000);
}
