#[cfg(feature = "arrow")]
mod arrow;

use container_core::{Container, Probe, Recognition, Scan, Severity, Source, VerifyOptions};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::convert::{Csv, JsonLines, copy};

fn open(format: TextFormat, text: &[u8], window: u64) -> TextContainer {
    let options = TextOptions::new(format).with_chunk_bytes(window);
    TextContainer::open(Source::from(text.to_vec()), &options).unwrap()
}

fn csv(text: &str) -> TextContainer {
    open(TextFormat::Csv, text.as_bytes(), 1 << 20)
}

fn jsonl(text: &str) -> TextContainer {
    open(TextFormat::JsonLines, text.as_bytes(), 1 << 20)
}

/// Rows as JSON lines, and the error behind them.
fn cat(container: &TextContainer, scan: &Scan) -> (String, Option<String>) {
    let tables = container.tables();
    let mut sink = JsonLines::new(Vec::new());
    let error = match copy(tables[0], scan, &mut sink) {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    (String::from_utf8(sink.finish().unwrap()).unwrap(), error)
}

#[track_caller]
fn rows(container: &TextContainer) -> String {
    let (rows, error) = cat(container, &Scan::default());
    assert_eq!(error, None);
    rows
}

fn findings(container: &TextContainer) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |finding: container_core::Finding| {
        let word = if finding.severity == Severity::Error { "error" } else { "warning" };
        found.push(format!("{word}: {}", finding.error));
    };
    container.verify(&VerifyOptions::default(), &mut report).unwrap();
    found
}

fn columns(container: &TextContainer) -> Vec<String> {
    container.tables()[0].columns().iter().map(|column| format!("{}: {}", column.name, column.kind)).collect()
}

#[test]
fn rejects_lone_surrogates() {
    let good = "{\"a\":[\"\\ud83d\\ude00\",\"\\\\ud800\",\"\\n\\u00e4\"]}\n";
    assert_eq!(rows(&jsonl(good)), good);
    for (value, byte) in
        [("\\ud83d", 15), ("x\\ude00", 16), ("\\ud83d\\n", 15), ("\\ud83d\\u0041", 15), ("\\ud83d\\ud83d", 15)]
    {
        let container = jsonl(&format!("{{\"b\":1}}\n{{\"a\":[\"{value}\"]}}\n"));
        let expected = format!("jsonl: lone surrogate in an escape (byte {byte}, line 2, row 1, column \"a\")");
        for scan in [Scan::default(), Scan::default().with_columns([1])] {
            assert_eq!(cat(&container, &scan).1.as_deref(), Some(&*expected), "{value}");
        }
        // The column is not selected.
        assert_eq!(cat(&container, &Scan::default().with_columns([0])).1, None);
        assert_eq!(findings(&container).len(), 1);
    }
}

#[test]
fn recognizes_formats_by_extension() {
    let recognized = |path: Option<&str>, head: &[u8]| {
        let probe = Probe::new(path.map(std::path::Path::new), head);
        [JSON_LINES, CSV, TSV].map(|format| format.recognize(&probe) == Recognition::Name)
    };
    assert_eq!(recognized(Some("a.JSONL"), b""), [true, false, false]);
    assert_eq!(recognized(Some("a.ndjson"), b""), [true, false, false]);
    assert_eq!(recognized(Some("a.json"), b"["), [true, false, false]);
    assert_eq!(recognized(Some("a.csv"), b"{"), [false, true, false]);
    assert_eq!(recognized(Some("a.tsv"), b""), [false, false, true]);
    assert_eq!(recognized(None, b" \n{\"a\":1}"), [true, false, false]);
    assert_eq!(recognized(Some("a"), b"\xEF\xBB\xBF{"), [true, false, false]);
    assert_eq!(recognized(None, b"a,b\n"), [false; 3]);
    assert_eq!(JSON_LINES.recognize(&Probe::directory("x.jsonl".as_ref())), Recognition::No);
}

#[test]
fn json_lines_are_not_reformatted() {
    let text = "{\"b\": 1e400, \"a\":\"\\u00e4\"}\r\n\n  {\"a\":[1, 2],\"a\":{\"x\":0.10}}\t\n{}";
    let container = jsonl(text);
    assert_eq!(rows(&container), "{\"b\": 1e400, \"a\":\"\\u00e4\"}\n{\"a\":[1, 2],\"a\":{\"x\":0.10}}\n{}\n");
    assert_eq!(container.tables()[0].len(), Some(3));
    assert_eq!(columns(&container), ["b: number", "a: string or array or object"]);
    // Projection ones in the order expected, the last of those that are there twice; what is not there stays away.
    let (shown, error) = cat(&container, &Scan::default().with_columns([1, 0]));
    assert_eq!((shown.as_str(), error), ("{\"a\":\"\\u00e4\",\"b\":1e400}\n{\"a\":{\"x\":0.10}}\n{}\n", None));
    let mut csv = Csv::new(Vec::new());
    copy(container.tables()[0], &Scan::default(), &mut csv).unwrap();
    let shown = String::from_utf8(csv.finish().unwrap()).unwrap();
    assert_eq!(shown, "b,a\n1e400,ä\n,\"{\"\"x\"\":0.1}\"\n,\n");
    let details = Value::from(container.details());
    assert_eq!(details, json!({"bytes": 62, "layout": "lines", "line_ends": "CRLF", "byte_order_mark": false}));
}

#[test]
fn reads_array_of_objects() {
    let container = jsonl("\u{feff}[ {\"a\": 1,\n  \"b\": \"x y\"},\n {}\n]\n");
    assert_eq!(rows(&container), "{\"a\":1,\"b\":\"x y\"}\n{}\n");
    assert_eq!(Value::from(container.details())["layout"], "array");
    let (shown, error) = cat(&jsonl("[{\"a\":1},\n{\"a\":}]"), &Scan::default());
    assert_eq!(shown, "{\"a\":1}\n");
    assert_eq!(error.unwrap(), "jsonl: invalid JSON in the array's item: expected value (byte 15, line 2, row 1)");
}

#[test]
fn csv_cells_have_column_types() {
    let text = "n,t,,n,N\r\n1.50,a,true,,x\r\n\r\n007,\"\",FALSE,NaN,\"a,\"\"b\r\nc\"\r\n.5,\"7\",,1e400,\u{1F600}";
    let container = csv(text);
    assert_eq!(
        rows(&container),
        concat!(
            r#"{"n":"1.50","t":"a","c2":true,"n#2":null,"N":"x"}"#,
            "\n",
            r#"{"n":"007","t":"","c2":false,"n#2":"NaN","N":"a,\"b\r\nc"}"#,
            "\n",
            r#"{"n":".5","t":"7","c2":null,"n#2":"1e400","N":"😀"}"#,
            "\n"
        )
    );
    assert_eq!(columns(&container), ["n: text", "t: text", "c2: boolean or null", "n#2: text or null", "N: text"]);
    let (shown, error) = cat(&container, &Scan::default().with_columns([4, 0]).with_rows(1..2));
    assert_eq!((shown.as_str(), error), ("{\"N\":\"a,\\\"b\\r\\nc\",\"n\":\"007\"}\n", None));
    // Output of our writer round-trips.
    let mut sink = Csv::new(Vec::new());
    copy(container.tables()[0], &Scan::default(), &mut sink).unwrap();
    let again = String::from_utf8(sink.finish().unwrap()).unwrap();
    assert_eq!(again, "n,t,c2,n#2,N\n1.50,a,true,,x\n007,\"\",false,NaN,\"a,\"\"b\r\nc\"\n.5,7,,1e400,😀\n");
    let details = Value::from(container.details());
    assert_eq!(
        (&details["delimiter"], &details["header"], &details["line_ends"]),
        (&json!(","), &json!(true), &json!("CRLF"))
    );
}

#[test]
fn empty_text_has_no_columns_or_rows() {
    for text in ["", "\u{feff}", "\n\r\n\n"] {
        for container in [csv(text), jsonl(text)] {
            assert_eq!((rows(&container).as_str(), container.tables()[0].len()), ("", Some(0)), "{text:?}");
            assert_eq!(columns(&container), Vec::<String>::new());
        }
        assert_eq!(findings(&jsonl(text)), Vec::<String>::new());
        assert_eq!(findings(&csv(text)), ["warning: csv: missing header line (byte 0, line 1)"]);
    }
    assert_eq!(rows(&csv("a,b\n")), "");
    assert_eq!(rows(&jsonl("[]")), "");
}

#[test]
fn applies_csv_options() {
    let of = |text: &str, options: TextOptions| {
        rows(&TextContainer::open(Source::from(text.as_bytes().to_vec()), &options).unwrap())
    };
    let options = TextOptions::new(TextFormat::Csv).with_delimiter(b';').unwrap().with_header(false);
    assert_eq!(of("1;a,b\n", options), "{\"c0\":1,\"c1\":\"a,b\"}\n");
    assert_eq!(of("x\ty\n1\t2\n", TextOptions::new(TextFormat::Tsv)), "{\"x\":1,\"y\":2}\n");
    assert!(TextOptions::new(TextFormat::Csv).with_delimiter(b'"').is_err());
    let limits = container_core::Limits::default().with_columns(2);
    let wide =
        TextContainer::open(Source::from(&b"a,b,c\n"[..]), &TextOptions::new(TextFormat::Csv).with_limits(limits));
    assert_eq!(wide.unwrap_err().to_string(), "csv: the number of columns 3 exceeds the limit 2");
    let utf16 = TextContainer::open(Source::from(&b"\xFF\xFEa\0"[..]), &TextOptions::new(TextFormat::Csv));
    assert_eq!(utf16.unwrap_err().to_string(), "csv: expected UTF-8, found UTF-16 (byte 0, line 1)");
}

#[test]
fn verify_reports_every_json_fault() {
    let text = b"{\"a\":1}\n{\"a\":\n\n[1]\n{\"a\":1,\"b\":{\"x\":1,\"x\":2},\"a\":3}\n{\"a\":\"\xff\"}\n{\"a\":\"\\ud800\"}\n{\"a\":1e999}\n\0\n{} {}";
    let container = open(TextFormat::JsonLines, text, 1 << 20);
    let expected = [
        "error: jsonl: invalid JSON in the line: EOF while parsing a value; each line must be a complete object (byte 12, line 2)",
        "error: jsonl: the line: expected an object, found [1] (byte 15, line 4)",
        "warning: jsonl: duplicate member \"x\": the last one is used (byte 30, line 5)",
        "warning: jsonl: duplicate member \"a\": the last one is used (byte 48, line 5)",
        "error: jsonl: invalid UTF-8 (byte 57, line 6)",
    ];
    let found = findings(&container);
    assert_eq!(found[..5], expected);
    assert!(found[5].contains("surrogate") || found[5].contains("hex escape"), "{found:?}");
    assert!(found[5].ends_with("line 7, column \"a\")"), "{found:?}");
    assert_eq!(found.len(), 8, "{found:?}");
    // Whatever the chunks.
    for window in [1, 7, 20, 64] {
        assert_eq!(findings(&open(TextFormat::JsonLines, text, window)), found);
    }
    let (shown, error) = cat(&container, &Scan::default());
    assert_eq!(shown, "{\"a\":1}\n");
    assert!(error.unwrap().ends_with("(byte 12, line 2, row 1)"));
}

#[test]
fn verify_reports_every_csv_fault() {
    let text = b"a,b,a\n1,2\n1,2,3\n\"x\ny\",2,3,4\n1,\xff,3\n1,\0,3\n1,\"2,3\n";
    let expected = [
        "warning: csv: duplicate column name \"a\" (byte 0, line 1)",
        "error: csv: expected 3 cells, found 2 (byte 6, line 2)",
        "error: csv: expected 3 cells, found 4 (byte 16, line 4)",
        "error: csv: invalid UTF-8 (byte 30, line 6)",
        "warning: csv: NUL byte in the row: some CSV readers reject it (byte 36, line 7)",
        "error: csv: unclosed quote in this record (byte 40, line 8)",
    ];
    for window in [1, 8, 64, 1 << 20] {
        assert_eq!(findings(&open(TextFormat::Csv, text, window)), expected, "{window}");
    }
    let (shown, error) = cat(&open(TextFormat::Csv, text, 8), &Scan::default().with_rows(1..9));
    assert_eq!(shown, "{\"a\":1,\"b\":\"2\",\"a#2\":3}\n");
    assert_eq!(error.unwrap(), "csv: expected 3 cells, found 4 (byte 16, line 4, row 2)");
}

#[test]
fn limits_nesting_when_reading_and_verifying() {
    let line = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    for (depth, window) in [(128, 1 << 20), (129, 1 << 20), (128, 64), (129, 64), (100_000, 1 << 20)] {
        let text = format!("{{\"a\":\"{}\"}}\n{}\n", "[".repeat(200), line(depth));
        let container = open(TextFormat::JsonLines, text.as_bytes(), window);
        let expected =
            format!("jsonl: the nesting of values {depth} exceeds the limit 128 (byte 214, line 2, column \"a\")");
        let found = findings(&container);
        let (shown, error) = cat(&container, &Scan::default());
        if depth == 128 {
            assert_eq!((shown, error, found), (text, None, Vec::new()));
        } else {
            assert_eq!(found, [format!("error: {expected}")]);
            assert_eq!(shown.lines().count(), 1);
            assert_eq!(error.unwrap(), expected.replace("line 2", "line 2, row 1"));
        }
    }
    let deep = format!("{}\n", line(129));
    let table = open(TextFormat::JsonLines, deep.as_bytes(), 1 << 20);
    let mut csv = Csv::new(Vec::new());
    assert!(copy(table.tables()[0], &Scan::default(), &mut csv).unwrap_err().to_string().contains("129 exceeds"));
}

#[test]
fn rejects_row_range_beyond_known_length() {
    let container = csv("a\n1\n2\n");
    assert_eq!(container.tables()[0].len(), Some(2));
    let error = container.tables()[0].rows(&Scan::default().with_rows(3..4)).err().unwrap();
    assert_eq!(error.to_string(), "csv: row range begins at 3, the table has 2 rows");
    assert_eq!(container.tables()[0].find("x").unwrap_err().kind().name(), "usage");
}

proptest! {
    #[test]
    fn rows_do_not_depend_on_chunks(lines in prop::collection::vec("(\\{\"[ab]\":[0-9]\\})?[ \r]?", 0..30), window in 1..40_u64, start in 0..12_usize, count in 0..12_usize) {
        let text = lines.join("\n");
        let (whole, chunked) = (jsonl(&text), open(TextFormat::JsonLines, text.as_bytes(), window));
        let expected: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let shown = rows(&whole);
        prop_assert_eq!(shown.lines().collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(rows(&chunked), rows(&whole));
        prop_assert_eq!(columns(&chunked), columns(&whole));
        prop_assert_eq!(chunked.tables()[0].len(), Some(expected.len() as u64));
        if start <= expected.len() {
            let (shown, error) = cat(&chunked, &Scan::default().with_rows(start as u64..(start + count) as u64));
            prop_assert_eq!(error, None);
            let part = expected.iter().skip(start).take(count).copied();
            prop_assert_eq!(shown.lines().collect::<Vec<_>>(), part.collect::<Vec<_>>());
        }
    }

    #[test]
    fn verify_reports_what_cannot_be_read(text in prop::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(b'{'), Just(b'}'), Just(b'['), Just(b':'), Just(b'1'), any::<u8>()], 0..60), window in 1..64_u64) {
        for format in [TextFormat::Csv, TextFormat::JsonLines] {
            let mut options = TextOptions::new(format);
            options = options.with_chunk_bytes(window);
            if let Ok(container) = TextContainer::open(Source::from(text.clone()), &options) {
                let (_, error) = cat(&container, &Scan::default());
                let errors = findings(&container).iter().filter(|finding| finding.starts_with("error")).count();
                prop_assert!(error.is_none() || errors > 0, "{error:?}");
            }
        }
    }
}
