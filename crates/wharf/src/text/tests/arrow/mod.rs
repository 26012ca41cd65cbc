mod infer;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use container_arrow::{BatchScan, Mapping, OnMismatch};

use super::*;

/// All batches, the losses, and the error behind them.
fn read(container: &TextContainer, scan: &BatchScan) -> (Vec<RecordBatch>, Vec<String>, Option<String>) {
    let tables = container.tables();
    let mut reader = match tables[0].arrow().unwrap().batches(scan) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Vec::new(), Some(error.to_string())),
    };
    let (mut batches, mut error) = (Vec::new(), None);
    loop {
        match reader.try_next() {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => break,
            Err(found) => {
                error = Some(found.to_string());
                assert!(reader.try_next().unwrap().is_none());
                break;
            }
        }
    }
    let losses = reader.losses().iter().map(ToString::to_string).collect();
    (batches, losses, error)
}

#[track_caller]
fn all(container: &TextContainer, scan: &BatchScan) -> Vec<RecordBatch> {
    let (batches, losses, error) = read(container, scan);
    assert_eq!((losses, error), (vec![], None));
    batches
}

/// A line for each column.
fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let Some(first) = batches.first() else { return Vec::new() };
    let column = |at: usize| {
        let values = batches.iter().map(|batch| {
            let text = format!("{:?}", batch.column(at));
            let text = text.split_once('\n').map_or("", |(_, values)| values);
            // How Arrow shows a zone depends on features that other crates may enable.
            let text = text.replace(" (Unknown Time Zone 'UTC')", "").replace("+00:00,", ",");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        format!(
            "{} {}: {}",
            first.schema().field(at).name(),
            first.schema().field(at).data_type(),
            values.collect::<String>()
        )
    };
    (0..first.num_columns()).map(column).collect()
}

fn types(container: &TextContainer) -> Vec<String> {
    let tables = container.tables();
    let schema = tables[0].arrow().unwrap().schema(&BatchScan::default()).unwrap();
    schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect()
}

#[test]
fn infers_types_of_cells() {
    let cases = [
        ("1|-2|", "Int64"),
        ("1|18446744073709551615", "UInt64"),
        ("-1|18446744073709551615", "Utf8"),
        ("-1|9223372036854775808", "Float64"),
        ("1|2.5|NaN|-Infinity", "Float64"),
        ("1|-0", "Float64"),
        ("9007199254740993|0.5", "Utf8"),
        ("1e400|1", "Utf8"),
        ("NaN|", "Utf8"),
        ("true|FALSE|", "Boolean"),
        ("true|1", "Utf8"),
        ("007|1", "Utf8"),
        ("|", "Null"),
        ("\"\"|", "Utf8"),
        ("\"\"|1", "Int64"),
        ("2024-02-29|1999-01-01|", "Date32"),
        ("2023-02-29", "Utf8"),
        ("12:30|23:59:59.5", "Time64(µs)"),
        ("12:30:00.0000001", "Time64(ns)"),
        ("2024-05-01T12:30:00|2024-05-01 12:30:00.25", "Timestamp(µs)"),
        ("2024-05-01T12:30:00|2024-05-01", "Timestamp(µs)"),
        ("2024-05-01T12:30:00.123456789", "Timestamp(ns)"),
        ("0001-01-01T00:00:00|2024-05-01T12:30:00.123456789", "Utf8"),
        ("2024-05-01T12:30:00Z|2024-05-01T12:30:00+02:00", "Timestamp(µs, \"UTC\")"),
        ("2024-05-01T12:30:00Z|2024-05-01T12:30:00", "Utf8"),
        ("2024-05-01|x", "Utf8"),
        ("2024-05-01|1", "Utf8"),
        ("\"[1,2]\"|[]|", "List(Int64)"),
        ("[1]|\"[0.5, \"\"NaN\"\"]\"", "List(Float64)"),
        ("[[true]]|[null]|[[]]", "List(List(Boolean))"),
        ("\"{\"\"a\"\":1}\"|\"{\"\"a\"\": 2.5}\"", "Struct(\"a\": Float64)"),
        ("{}", "Utf8"),
        ("[1]|\"{\"\"a\"\":1}\"", "Utf8"),
        ("[1]|\"[\"\"a\"\"]\"", "Utf8"),
        ("[18446744073709551617]", "Utf8"),
        ("[1e400]", "Utf8"),
        ("[1]|x", "Utf8"),
        ("[1]|2", "Utf8"),
        ("[1]|2024-05-01", "Utf8"),
        ("[x]|[1]", "Utf8"),
        ("[1|[1]", "Utf8"),
    ];
    for (words, expected) in cases {
        let words: Vec<&str> = words.split('|').collect();
        for window in [1, 1 << 20] {
            let infer = |words: &mut dyn Iterator<Item = &&str>| {
                let lines: String = words.map(|word| format!("{word},x\n")).collect();
                types(&open(TextFormat::Csv, format!("a,b\n{lines}").as_bytes(), window)).swap_remove(0)
            };
            assert_eq!(infer(&mut words.iter()), format!("a: {expected}"), "{words:?}");
            assert_eq!(infer(&mut words.iter().rev()), format!("a: {expected}"), "{words:?}");
        }
    }
}

#[test]
fn converts_cells_to_values() {
    let text = "i,f,b,d,t,z,s,i\r\n1,1,true,2024-02-29,12:30:00.5,2024-05-01T12:00:00+02:00,\"a,\"\"\n\",\r\n\r\n,\"\",,,,,\"\",x\r\n-3,NaN,False,1969-12-31,00:00,1970-01-01T00:00Z,ö,7";
    for window in [1, 30, 1 << 20] {
        for threads in [1, 3] {
            let scan = BatchScan::from(Scan::default().with_threads(threads));
            let batches = all(&open(TextFormat::Csv, text.as_bytes(), window), &scan);
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
            if window > 100 {
                assert_eq!(
                    shown(&batches),
                    [
                        "i Int64: [ 1, null, -3, ]",
                        "f Float64: [ 1.0, null, NaN, ]",
                        "b Boolean: [ true, null, false, ]",
                        "d Date32: [ 2024-02-29, null, 1969-12-31, ]",
                        "t Time64(µs): [ 12:30:00.500, null, 00:00:00, ]",
                        "z Timestamp(µs, \"UTC\"): [ 2024-05-01T10:00:00, null, 1970-01-01T00:00:00, ]",
                        "s Utf8: [ \"a,\\\"\\n\", \"\", \"ö\", ]",
                        "i#2 Utf8: [ null, \"x\", \"7\", ]",
                    ]
                );
            }
        }
    }
}

#[test]
fn converts_json_cells_to_lists_and_structs() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let text = format!(
        "l,s,m,d,e\n\"[1, 2]\",\"{{\"\"a\"\":[\"\"x\"\"]}}\",\"[1, 2]\",{deep},{{}}\n,{{}},x,[],\n[],\"{{\"\"b\"\":1,\n\"\"a\"\":null}}\",[],[],{{}}\n"
    );
    let expected = [
        "l List(Int64): [ PrimitiveArray<Int64> [ 1, 2, ], null, PrimitiveArray<Int64> [ ], ]",
        "m Utf8: [ \"[1, 2]\", \"x\", \"[]\", ]",
        "e Utf8: [ \"{}\", null, \"{}\", ]",
    ];
    for window in [1, 1 << 20] {
        let container = open(TextFormat::Csv, text.as_bytes(), window);
        assert_eq!(
            types(&container),
            ["l: List(Int64)", "s: Struct(\"a\": List(Utf8), \"b\": Int64)", "m: Utf8", "d: Utf8", "e: Utf8"]
        );
        let batches = all(&container, &BatchScan::default());
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
        if window > 1 {
            let shown = shown(&batches);
            assert_eq!([&shown[0], &shown[2], &shown[4]], expected);
        }
        // Rows as JSON: values without a common type or beyond the depth limit are text.
        assert_eq!(
            rows(&container).replace(&deep, "DEEP"),
            concat!(
                r#"{"l":[1, 2],"s":{"a":["x"]},"m":"[1, 2]","d":"DEEP","e":{}}"#,
                "\n",
                r#"{"l":null,"s":{},"m":"x","d":"[]","e":null}"#,
                "\n",
                r#"{"l":[],"s":{"b":1,"a":null},"m":"[]","d":"[]","e":{}}"#,
                "\n"
            )
        );
        assert_eq!(columns(&container)[0], "l: JSON or null");
    }
    // Mismatched values are text, or JSON on request, and never null.
    let container = csv("a\n[1]\n\"[\"\"x\"\"]\"\n");
    for (on_mismatch, json) in [(OnMismatch::Null, false), (OnMismatch::Json, true)] {
        let scan = BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
        let batches = all(&container, &scan);
        let found = match json {
            true => "a List(Utf8, metadata: ",
            false => "a Utf8: [ \"[1]\", \"[\\\"x\\\"]\", ]",
        };
        assert!(shown(&batches)[0].starts_with(found), "{:?}", shown(&batches));
    }
}

#[test]
fn infers_types_from_all_rows() {
    const FAR: usize = 900_000;
    let mut text = "{\"a\":1}\n".repeat(FAR);
    text.push_str("{\"a\":\"x\"}\n{\"a\":2}");
    let container = jsonl(&text);
    let (_, _, error) = read(&container, &BatchScan::default());
    assert_eq!(
        error.unwrap(),
        "jsonl: the column has text, but an integer in row 0; use on_mismatch null or json (row 900000, column \"a\")"
    );
    let scan = |on_mismatch| BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
    let (batches, losses, error) = read(&container, &scan(OnMismatch::Null));
    assert_eq!((batches.iter().map(RecordBatch::num_rows).sum::<usize>(), error), (FAR + 2, None));
    assert_eq!(losses, ["value that does not fit into a column of Int64 shown as null (row 900000, column \"a\")"]);
    let batches = all(&container, &scan(OnMismatch::Json));
    let last = batches.last().unwrap();
    assert_eq!(shown(&[last.slice(last.num_rows() - 3, 3)]), ["a Utf8: [ \"1\", \"\\\"x\\\"\", \"2\", ]"]);
    // CSV falls back to a type that holds all cells.
    let mut text = "a\n".to_owned() + &"1\n".repeat(FAR);
    text.push_str("x\n2");
    let batches = all(&csv(&text), &BatchScan::default());
    let last = batches.last().unwrap();
    assert_eq!(shown(&[last.slice(last.num_rows() - 3, 3)]), ["a Utf8: [ \"1\", \"x\", \"2\", ]"]);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), FAR + 2);
}

#[test]
fn converts_nested_json() {
    let text = "{\"a\":{\"b\":null,\"l\":[1,null]},\"A\":1}\r\n\n{\"a\":null,\"A\":2,\"A\":3.5}\n{\"a\":{\"l\":[]},\"n\":null}\n{\"a\":{\"b\":{\"c\":true},\"l\":null}}";
    let expected = ["a: Struct(\"b\": Struct(\"c\": Boolean), \"l\": List(Int64))", "A: Float64", "n: Null"];
    for window in [1, 40, 1 << 20] {
        assert_eq!(types(&open(TextFormat::JsonLines, text.as_bytes(), window)), expected);
    }
    let (batches, losses, error) = read(&jsonl(text), &BatchScan::default());
    assert_eq!(error, None);
    assert_eq!(losses, ["duplicate object member: last value kept (row 1, column \"A\")"]);
    assert_eq!(shown(&batches)[1], "A Float64: [ 1.0, 3.5, null, null, ]");
    let inner = batches[0].column(0).as_any().downcast_ref::<arrow_array::StructArray>().unwrap();
    assert_eq!((inner.is_null(1), inner.is_null(2)), (true, false));
    let lists = inner.column(1).as_any().downcast_ref::<arrow_array::ListArray>().unwrap();
    assert_eq!(lists.offsets()[..], [0, 2, 2, 2, 2]);
    assert_eq!((0..4).map(|at| lists.is_null(at)).collect::<Vec<_>>(), [false, true, false, true]);
}

#[test]
fn selects_rows_and_columns() {
    let text: String = (0..100)
        .map(|row| format!("{{\"a\":{row},\"b\":\"{row}\",\"c\":{}}}\n", if row < 50 { "1" } else { "[]" }))
        .collect();
    for window in [1, 100, 1 << 20] {
        let container = open(TextFormat::JsonLines, text.as_bytes(), window);
        let scan = BatchScan::from(Scan::default().with_columns([1, 0]).with_rows(10..14)).with_batch_rows(3);
        let batches = all(&container, &scan);
        assert!(batches.iter().all(|batch| batch.num_rows() <= 3));
        let batch = &batches[0];
        assert_eq!((batch.schema().field(0).name().as_str(), batch.num_columns()), ("b", 2));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
        // Column c has no common type over all rows, but over these.
        assert!(!all(&container, &BatchScan::from(Scan::default().with_rows(48..50))).is_empty());
        let (_, _, error) = read(&container, &BatchScan::from(Scan::default().with_rows(48..51)));
        assert!(error.unwrap().contains("the column has a list, but an integer in row 48"));
        let (_, _, error) = read(&container, &BatchScan::from(Scan::default().with_rows(101..102)));
        assert_eq!(error.unwrap(), "jsonl: row range begins at 101, the table has 100 rows");
        assert_eq!(all(&container, &BatchScan::from(Scan::default().with_rows(100..102))).len(), 0);
    }
}

#[test]
fn uses_declared_schema() {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = Arc::new(Schema::new(vec![
        field("x", DataType::Float32),
        field("a", DataType::Int8),
        field("t", DataType::Date32),
    ]));
    let scan = BatchScan::default().with_schema(schema);
    let (batches, losses, error) = read(&csv("a,t,b\n1,2024-01-01,x\n200,,y\n"), &scan);
    assert_eq!(batches[0].num_rows(), 1);
    assert_eq!(losses, Vec::<String>::new());
    assert_eq!(
        error.unwrap(),
        "csv: an integer does not fit into a column of Int8; use on_mismatch null or json (byte 21, line 3, row 1, column \"a\")"
    );
    let scan = scan.with_mapping(Mapping::default().with_on_mismatch(OnMismatch::Null));
    for container in
        [csv("a,t,b\n1,2024-01-01,x\n200,,y\n"), jsonl("{\"a\":1,\"t\":\"2024-01-01\"}\n{\"a\":200,\"b\":[]}")]
    {
        let (batches, losses, error) = read(&container, &scan);
        assert_eq!(
            shown(&batches),
            ["x Float32: [ null, null, ]", "a Int8: [ 1, null, ]", "t Date32: [ 2024-01-01, null, ]"]
        );
        assert_eq!((losses.len(), error), (1, None));
    }
}

#[test]
fn converts_to_declared_binary_types() {
    for kind in [DataType::Binary, DataType::BinaryView, DataType::FixedSizeBinary(4)] {
        let scan = BatchScan::default().with_schema(Arc::new(Schema::new(vec![Field::new("b", kind, true)])));
        let (batches, _, error) = read(&csv("a,b\n1,\"{\"\"$bytes\"\":\"\"YWJjZA==\"\"}\"\n2,\n"), &scan);
        assert_eq!(error, None);
        let mut lines = Vec::new();
        container_arrow::JsonRows::new(&batches[0]).unwrap().write_lines(&mut lines).unwrap();
        assert_eq!(lines, b"{\"b\":{\"$bytes\":\"YWJjZA==\"}}\n{\"b\":null}\n");
    }
}

#[test]
fn converts_to_declared_nested_types() {
    let list = DataType::List(Arc::new(Field::new_list_field(DataType::Int8, true)));
    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let duration = DataType::Duration(arrow_schema::TimeUnit::Millisecond);
    let fields = [("l", list), ("k", keys), ("d", duration)].map(|(name, kind)| Field::new(name, kind, true));
    let scan = BatchScan::default().with_schema(Arc::new(Schema::new(fields.to_vec())));
    let container = csv("l,k,d\n\"[1,2]\",x,PT1.5S\n[1,\"\",\n,,-PT0S\n[300],x,\n");
    let (_, _, error) = read(&container, &scan);
    assert_eq!(
        error.unwrap(),
        "csv: text does not fit into a column of a list; use on_mismatch null or json (byte 23, line 3, row 1, column \"l\")"
    );
    let (batches, losses, error) =
        read(&container, &scan.with_mapping(Mapping::default().with_on_mismatch(OnMismatch::Null)));
    let shown = shown(&batches);
    assert_eq!(
        shown[0],
        "l List(Int8): [ PrimitiveArray<Int8> [ 1, 2, ], null, null, PrimitiveArray<Int8> [ null, ], ]"
    );
    assert!(shown[1].ends_with("[ 0, 1, null, 0, ] values: StringArray [ \"x\", \"\", ]}"), "{}", shown[1]);
    assert_eq!(batches[0].column(2).null_count(), 2);
    assert_eq!((losses.len(), error), (2, None));
}

#[test]
fn errors_have_positions_and_follow_the_rows_before() {
    for (format, text, before, expected) in [
        (TextFormat::Csv, &b"a,b\n1,2\n3\n"[..], 1, "csv: expected 2 cells, found 1 (byte 8, line 3)"),
        (TextFormat::Csv, b"a,b\n1,2\n3,\xff\n", 1, "csv: invalid UTF-8 (byte 10, line 3)"),
        (TextFormat::Csv, b"a,b\n1,2\n3,\"4\n5,6", 1, "csv: unclosed quote in this record (byte 8, line 3)"),
        (TextFormat::JsonLines, b"{}\n{\"a\":\"\xff\"}", 1, "jsonl: invalid UTF-8 in JSON (byte 9, line 2)"),
        (TextFormat::JsonLines, b"{}\n{\"a\":1", 1, "jsonl: \"}\": needs 1 byte, 0 available (byte 9, line 2)"),
        (TextFormat::JsonLines, b"{}\n[]\n", 1, "jsonl: expected an object (\"{\"), found '[' (byte 3, line 2)"),
        (
            TextFormat::JsonLines,
            b"[{},\n {\"a\":\n 1x}]",
            1,
            "jsonl: expected \",\" or \"}\", found 'x' (byte 14, line 3)",
        ),
    ] {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        for window in [1, 1 << 20] {
            let (batches, _, error) = read(&open(format, text, window), &BatchScan::default());
            assert_eq!((batches.len(), error.as_deref()), (0, Some(expected)));
            let (batches, _, error) =
                read(&open(format, text, window), &BatchScan::default().with_schema(schema.clone()));
            assert_eq!(
                (batches.iter().map(RecordBatch::num_rows).sum::<usize>(), error.as_deref()),
                (before, Some(expected))
            );
        }
    }
}

#[test]
fn batches_are_bounded() {
    let text = "{\"a\":\"0123456789\"}\n".repeat(20_000);
    let scan = BatchScan::default().with_batch_bytes(10_000);
    let batches = all(&jsonl(&text), &scan);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 20_000);
    assert!(batches.iter().all(|batch| batch.num_rows() <= 1000), "{}", batches[0].num_rows());
    let scan = BatchScan::default().with_batch_bytes(0);
    assert_eq!(all(&jsonl("{}\n{}\n"), &scan).len(), 2);
}

proptest! {
    #[test]
    fn batches_match_rows(cells in prop::collection::vec(("[0-9]{0,2}|[ab]{1,2}|true", "(-?[1-9][0-9]{0,2})|0|", "([0-9]\\.[0-9])|NaN|"), 1..40), window in 1..200_u64) {
        let lines: String = cells.iter().map(|(a, b, c)| format!("{a},{b},{c},\n")).collect();
        let text = format!("a,b,c,d\n{lines}");
        let batches = all(&open(TextFormat::Csv, text.as_bytes(), window), &BatchScan::default().with_batch_rows(7));
        let whole = all(&csv(&text), &BatchScan::default());
        prop_assert_eq!(whole.len(), 1);
        let mut at = 0;
        for batch in &batches {
            prop_assert_eq!(batch, &whole[0].slice(at, batch.num_rows()));
            at += batch.num_rows();
        }
        prop_assert_eq!(at, cells.len());
        let column = |at: usize| arrow_cells(&whole[0], at);
        let words = |of: fn(&(String, String, String)) -> &String| cells.iter().map(|cells| of(cells).clone()).collect::<Vec<_>>();
        if whole[0].column(0).data_type() == &DataType::Utf8 {
            prop_assert_eq!(column(0), words(|cells| &cells.0));
        }
        prop_assert_eq!(column(1), words(|cells| &cells.1));
    }
}

/// The cells that a column's values came from.
fn arrow_cells(batch: &RecordBatch, at: usize) -> Vec<String> {
    let column = batch.column(at).as_any();
    if let Some(texts) = column.downcast_ref::<arrow_array::StringArray>() {
        return texts.iter().map(|text| text.unwrap_or_default().to_owned()).collect();
    }
    let numbers = column.downcast_ref::<arrow_array::Int64Array>();
    match numbers {
        Some(numbers) => {
            numbers.iter().map(|number| number.map_or_else(String::new, |number| number.to_string())).collect()
        }
        None => vec![String::new(); batch.num_rows()],
    }
}

/// Cells that a column of integers, floats, booleans, text or dates has; some fit no type but text.
fn cell(kind: usize) -> impl Strategy<Value = String> {
    let words = [
        "-?[0-9]{1,12}",
        "-?[0-9]{1,12}\\.[0-9]{0,9}|-?[0-9]{1,9}|NaN|-0",
        "true|FALSE",
        "[a-zé\\[\\]]{0,40}",
        "2024-0[1-9]-1[0-9]",
        "[0-9.a-z-]{0,6}",
    ];
    let [own, other] = [words.get(kind), words.last()].map(|word| word.copied().unwrap_or_default());
    prop_oneof![200 => own.prop_map(|cell: String| cell), 20 => Just(String::new()), 1 => other.prop_map(|cell: String| cell)]
}

fn row() -> impl Strategy<Value = String> {
    let cells = (cell(0), cell(1), cell(2), cell(3), cell(4));
    let cells = cells.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].join(","));
    prop_oneof![300 => cells, 1 => "[a-z,]{0,9}"]
}

proptest! {
    /// Lines are parsed in blocks of rows, rows that end with a carriage return one by one.
    #[test]
    fn blocks_of_rows_agree_with_rows(
        rows in prop::collection::vec(row(), 1..60),
        (window, batch_rows) in (prop_oneof![Just(64_u64), Just(1 << 20)], prop_oneof![Just(7_usize), Just(1 << 16)]),
        (start, len) in prop_oneof![3 => Just((0_u64, u64::MAX)), 1 => (0..9_u64, 0..40_u64)],
        (invalid, ends) in (0..400_usize, any::<bool>()),
    ) {
        let mut text = format!("a,b,c,d,e\n{}", rows.join("\n")).into_bytes();
        if ends {
            text.push(b'\n');
        }
        if let Some(byte) = text.get_mut(invalid + 10).filter(|byte| byte.is_ascii_lowercase()) {
            *byte = 0xFF;
        }
        let by_row: Vec<u8> = text.iter().map(|&byte| if byte == b'\n' { b'\r' } else { byte }).collect();
        let mut scan = BatchScan::from(Scan::default().with_rows(start..start.saturating_add(len)).with_threads(1));
        scan.batch_rows = batch_rows;
        let fields = [DataType::Int64, DataType::Float64, DataType::Boolean, DataType::Utf8, DataType::Date32];
        let fields = "abcde".chars().zip(fields).map(|(name, data_type)| Field::new(name, data_type, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let scans = [scan.clone(), scan.clone().with_schema(Arc::clone(&schema)), scan.with_sampled_schema(schema)];
        for scan in scans {
            let [blocks, rows] = [&text, &by_row].map(|text| {
                let (batches, losses, error) = read(&open(TextFormat::Csv, text, window), &scan);
                // Lines are not counted by carriage returns.
                let error = error.map(|error| {
                    let words = error.split(", ").filter(|word| !word.starts_with("line "));
                    words.collect::<Vec<_>>().join(", ")
                });
                // A chunk does not end with a carriage return, so batches end elsewhere.
                let all = batches.first().map(|first| arrow_select::concat::concat_batches(&first.schema(), &batches));
                (all.transpose().unwrap(), losses, error)
            });
            prop_assert_eq!(blocks, rows);
        }
    }
}
