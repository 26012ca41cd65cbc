//! Converts formats without types to IDV: inferred types, and values read with a declared schema.

use std::fs;

use container_arrow::OnMismatch;
use container_core::testkit::cases;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;
use wharf::convert::{Convert, InputForm, JsonLines, copy};
use wharf::{Overwrite, Registry, Scan};

/// The outcome of a conversion: inferred types, rows as JSON, and losses.
#[derive(Debug, Clone, PartialEq, Default)]
struct Outcome {
    types: Vec<String>,
    rows: Vec<String>,
    losses: Vec<String>,
}

/// The inputs of a conversion to IDV.
struct Inputs {
    folder: TempDir,
    convert: Convert,
}

impl Inputs {
    fn new(form: InputForm, texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(format!("{number}.txt"));
        texts.iter().enumerate().for_each(|(number, text)| fs::write(path(number), text).unwrap());
        let mut convert = Convert::new((0..texts.len()).map(path));
        convert.text.from = Some(form);
        Self { folder, convert }
    }

    /// With a declared schema: `{"age": "Single"}`, or the JSON that a program prints.
    fn typed(mut self, schema: &str) -> Self {
        let path = self.folder.path().join("types.json");
        fs::write(&path, schema).unwrap();
        self.convert.text.schema = Some(path);
        self
    }

    fn convert(&self) -> Result<Outcome, String> {
        let path = self.folder.path().join("out.idv");
        let folder = format!("{}/", self.folder.path().display());
        let written = self.convert.write(&path, Overwrite::Replace, &Registry::builtin());
        let report = written.map_err(|error| error.to_string().replace(&folder, ""))?;
        let idv = wharf::open(&path).unwrap();
        let mut sink = JsonLines::new(Vec::new());
        copy(idv.tables()[0], &Scan::default(), &mut sink).unwrap();
        let rows = String::from_utf8(sink.finish().unwrap()).unwrap();
        Ok(Outcome {
            types: report.inferred.iter().map(|(name, kind)| format!("{name}: {kind}")).collect(),
            rows: rows.lines().map(str::to_owned).collect(),
            losses: report.losses.iter().map(|lost| lost.loss.to_string()).collect(),
        })
    }
}

fn lines(text: &str) -> Inputs {
    Inputs::new(InputForm::Jsonl, &[text])
}

fn csv(text: &str) -> Inputs {
    Inputs::new(InputForm::Csv, &[text])
}

/// The type of a JSON column `x` of these values; an empty string is a record without it.
fn json_type(values: &[&str]) -> String {
    let record = |value: &&str| if value.is_empty() { "{}\n".to_owned() } else { format!("{{\"x\":{value}}}\n") };
    match lines(&values.iter().map(record).collect::<String>()).convert() {
        Ok(outcome) => outcome.types[0].strip_prefix("x: ").unwrap().to_owned(),
        Err(error) => error,
    }
}

/// The type of a CSV column of these cells.
fn csv_type(cells: &[&str]) -> String {
    let cell = |cell: &&str| format!("\"{}\",\n", cell.replace('"', "\"\""));
    let outcome = csv(&std::iter::once("x,y\n".to_owned()).chain(cells.iter().map(cell)).collect::<String>()).convert();
    outcome.unwrap().types[0].strip_prefix("x: ").unwrap().to_owned()
}

#[test]
fn infers_types_of_json() {
    let text = "Text (some missing, which ML.NET reads as empty)";
    for (values, expected) in [
        (&["1", "-2", "9223372036854775807", "-9223372036854775808"][..], "Int64"),
        (&["0", "9223372036854775808"], "UInt64"),
        (&["1", "2.5"], "Double"),
        (&["9007199254740992", "0.5"], "Double"),
        (&["1", "\"NaN\""], "Double"),
        (&["1.5", "\"Infinity\"", "null"], "Double"),
        (&["1", "null"], "Double"),
        (&["1", ""], "Double"),
        (&["0", "9223372036854775808", "null"], "Double"),
        (&["true", "false"], "Boolean"),
        (&["true", "null"], "Boolean (some missing, which ML.NET reads as false)"),
        (&["\"a\"", "\"\""], "Text"),
        (&["\"a\"", "null"], text),
        (&["\"NaN\"", "\"a\""], "Text"),
        (&["null", "null"], text),
        // A JSON string is text, whatever it contains.
        (&["\"2020-02-29T00:00:00\""], "Text"),
        (&["[1,2]", "[3,4]"], "Vector<Int64, 2>"),
        (&["[1,2]", "[3]"], "Vector<Int64>"),
        (&["[1,2]", "[0.5,\"NaN\"]"], "Vector<Double, 2>"),
        (&["[1,null]"], "Vector<Double, 2>"),
        (&["[1,2]", "null"], "Vector<Int64>"),
        (&["[1,2]", ""], "Vector<Int64>"),
        (&["[true]"], "Vector<Boolean, 1>"),
        (&["[\"a\",null]"], "Vector<Text, 2> (some missing, which ML.NET reads as empty)"),
        (&["[[1,2],[3,4],[5,6]]"], "Vector<Int64, 3, 2>"),
        (&["[[1,2]]", "[[3,4],[5,6]]"], "Vector<Int64, *, 2>"),
        (&["[[1,2]]", "[]"], "Vector<Int64, *, 2>"),
        (&["[[[1],[2]]]"], "Vector<Int64, 1, 2, 1>"),
    ] {
        assert_eq!(json_type(values), expected, "{values:?}");
    }
    for (values, expected) in [
        (&["1", "\"a\""][..], "the column has text, but an integer in row 0"),
        (&["[1]", "1"], "the column has an integer, but a list in row 0"),
        (
            &["9007199254740993", "1", "null"],
            "the column has an integer that Float64 cannot hold exactly, and missing values",
        ),
        (&["{\"a\":1}"], "no IDV type for Struct"),
        (&["[[1],[2,3]]"], "no IDV type for FixedSizeList"),
    ] {
        let error = json_type(values);
        assert!(error.contains(expected) && error.contains("column \"x"), "{values:?}: {error}");
    }
}

#[test]
fn infers_types_of_cells() {
    let missing = "(some missing, which ML.NET reads as 0001-01-01T00:00:00)";
    for (cells, expected) in [
        (&["1", "-2"][..], "Int64"),
        (&["1", "18446744073709551615"], "UInt64"),
        (&["1", ""], "Double"),
        (&["1", ".5", "1e5"], "Double"),
        (&["1", "NaN"], "Double"),
        (&["1", "007"], "Text"),
        (&["1", "a"], "Text"),
        (&["-1", "18446744073709551615"], "Text"),
        (&["", "9007199254740993"], "Text"),
        (&["true", "FALSE", "False"], "Boolean"),
        (&["true", ""], "Boolean (some missing, which ML.NET reads as false)"),
        (&["a", ""], "Text"),
        (&["2020-02-29T00:00:00", "0001-01-01T00:00:00.0000001"], "DateTime"),
        (&["2020-02-29", "2020-02-29 00:00", "2020-02-29T00:00:00.10"], "DateTime"),
        (&["2020-02-29T00:00:00", ""], &format!("DateTime {missing}")),
        (&["2020-02-29T00:00:00Z", "2020-02-29T00:00:00-10:30"], "DateTimeOffset"),
        (&["2020-02-29T00:00:00+01:00", ""], &format!("DateTimeOffset {missing}")),
        (&["12:30", "12:30:59.5"], "TimeSpan"),
        (&["12:30", ""], "TimeSpan (some missing, which ML.NET reads as 00:00:00)"),
        (&["2020-02-29T00:00:00", "2020-02-29T00:00:00+01:00"], "Text"),
        (&["2020-02-29T00:00:00.00000001"], "Text"),
        (&["0001-01-01T00:00:00+01:00"], "Text"),
        (&["[1,2]", "[3,4]"], "Vector<Int64, 2>"),
        (&["[1,2]", "", "[3]"], "Vector<Int64>"),
        (&["[[1,2]]", "[]"], "Vector<Int64, *, 2>"),
        (&["[1,2]", "[\"a\"]"], "Text"),
        (&["[1,2]", "[[1],2]"], "Text"),
        (&["[[1],[2,3]]"], "Text"),
        (&["{\"a\":1}"], "Text"),
        (&["[{\"a\":1}]"], "Text"),
    ] {
        assert_eq!(csv_type(cells), expected, "{cells:?}");
    }
}

#[test]
fn sparse_vectors_stay_sparse() {
    let sparse = |length: u32, values: &str| {
        format!("{{\"$sparse\":{{\"length\":{length},\"indices\":[3],\"values\":[{values}]}}}}")
    };
    for (values, expected) in [
        (&[sparse(22, "0.5")][..], "Vector<Double, 22>"),
        (&[sparse(1 << 20, "0.5"), sparse(1 << 20, "2")], "Vector<Double, 1048576>"),
        (&[sparse(4, "5"), "[1,2,3,4]".to_owned()], "Vector<Int64, 4>"),
        (&[sparse(4, "5"), "[1,2]".to_owned()], "Vector<Int64>"),
        (&[sparse(4, "\"a\"")], "Vector<Text, 4>"),
    ] {
        let text: String = values.iter().map(|value| format!("{{\"x\":{value}}}\n")).collect();
        let outcome = lines(&text).convert().unwrap();
        assert_eq!(outcome.types, [format!("x: {expected}")]);
        let rows = outcome.rows.iter().map(|row| row.replace(".0", "") + "\n").collect::<String>();
        assert_eq!(rows, text);
    }
}

#[test]
fn reads_values_by_declared_schema() {
    for (value, kind) in [
        ("1", "Byte"),
        ("-9223372036854775808", "Int64"),
        ("18446744073709551615", "UInt64"),
        ("0.1", "Single"),
        ("\"-Infinity\"", "Double"),
        ("\"NaN\"", "Single"),
        ("true", "Boolean"),
        ("null", "DvBool"),
        ("null", "Text"),
        ("\"a\\\"\\n\"", "Text"),
        ("\"2020-02-29T00:00:00.5\"", "DateTime"),
        ("\"2020-02-29T00:00:00-10:00\"", "DateTimeOffset"),
        ("\"PT12.5S\"", "TimeSpan"),
        ("\"0123456789abcdef0123456789abcdef\"", "RowId"),
        ("2", "Key<Byte, 3>"),
        ("null", "Key<Byte, 3>"),
        ("[1,2]", "Vector<Byte>"),
        ("[]", "Vector<Byte>"),
        ("[0.1,\"NaN\"]", "Vector<Single, 2>"),
        ("{\"$sparse\":{\"length\":9,\"indices\":[3],\"values\":[0.5]}}", "Vector<Single, 9>"),
    ] {
        let schema = format!("{{\"x\":\"{kind}\"}}");
        let expected = Ok(Outcome { rows: vec![format!("{{\"x\":{value}}}")], ..Outcome::default() });
        assert_eq!(lines(&format!("{{\"x\":{value}}}")).typed(&schema).convert(), expected, "{kind}");
        if value != "null" {
            let cell = value.trim_matches('"').replace("\\\"\\n", "\"\n").replace('"', "\"\"");
            assert_eq!(csv(&format!("x\n\"{cell}\"\n")).typed(&schema).convert(), expected, "{kind}");
        }
    }
    // Declared as text, all values are text.
    for (value, text) in [("17", "17"), ("1e400", "1e400"), ("[1, 2]", "[1, 2]"), ("{\"a\":1}", "{\\\"a\\\":1}")] {
        let outcome = lines(&format!("{{\"x\":{value}}}")).typed("{\"x\":\"Text\"}").convert().unwrap();
        assert_eq!(outcome.rows, [format!("{{\"x\":\"{text}\"}}")]);
    }
    for (value, kind, expected) in [
        ("300", "Byte", "300 does not fit Byte (0 to 255)"),
        ("null", "Int64", "Int64 cannot be missing"),
        ("3", "Key<Byte, 3>", "key value 3 is out of range for Key<Byte, 3> (0 to 2)"),
        ("\"x\"", "Single", "found text \"x\""),
        ("[1,256]", "Vector<Byte>", "256 does not fit Byte (0 to 255)"),
        ("[1]", "Vector<Byte, 2>", "expected 2 items for Vector<Byte, 2>, found 1"),
        ("null", "Vector<Byte, 2>", "Vector<Byte, 2> cannot be missing"),
    ] {
        let error = lines(&format!("{{}}\n{{\"x\":{value}}}")).typed(&format!("{{\"x\":\"{kind}\"}}"));
        let error = if kind.starts_with("Key") || kind == "Single" {
            error
        } else {
            lines(&format!("{{\"x\":{value}}}")).typed(&format!("{{\"x\":\"{kind}\"}}"))
        };
        let error = error.convert().unwrap_err();
        assert!(error.contains(expected) && error.ends_with("column \"x\")"), "{error}");
    }
}

#[test]
fn handles_declared_columns_that_are_missing() {
    let outcome =
        lines("{\"a\":1}\n").typed("{\"b\":\"Vector<Byte>\",\"a\":\"Byte\",\"c\":\"Single\"}").convert().unwrap();
    assert_eq!(outcome.rows, ["{\"a\":1,\"b\":[],\"c\":\"NaN\"}"]);
    assert_eq!(outcome.losses, ["null written as an empty vector (row 0, column \"b\")"]);
    let error = lines("{\"a\":1}\n").typed("{\"b\":\"Byte\",\"a\":\"Byte\"}").convert().unwrap_err();
    assert!(error.contains("Byte cannot be missing (row 0, column \"b\")"), "{error}");
    // Other columns are inferred.
    let outcome = csv("a,b\n1,2\n").typed("{\"a\":\"Byte\"}").convert().unwrap();
    assert_eq!((outcome.rows, outcome.losses), (vec!["{\"a\":1,\"b\":2}".to_owned()], vec![]));
}

#[test]
fn labels_are_keys() {
    let schema = |labels: &str| {
        format!("[{{\"name\":\"c\",\"type\":\"Key<Byte, 2>\",\"metadata\":{{\"KeyValues\":{labels}}}}}]")
    };
    let colors = schema("[\"red\",\"green\"]");
    let outcome = lines("{\"c\":\"green\"}\n{\"c\":0}\n{}").typed(&colors).convert().unwrap();
    assert_eq!(outcome.rows, ["{\"c\":\"green\"}", "{\"c\":\"red\"}", "{\"c\":null}"]);
    let error = lines("{\"c\":\"blue\"}").typed(&colors).convert().unwrap_err();
    assert!(error.contains("unknown label \"blue\" (2 labels"), "{error}");
    let outcome = csv("c,x\ngreen,1\n0,2\n,3\n\"\",4\n").typed(&colors).convert().unwrap();
    let colored = |label: &str, x: u8| format!("{{\"c\":{label},\"x\":{x}}}");
    assert_eq!(outcome.rows, [colored("\"green\"", 1), colored("\"red\"", 2), colored("null", 3), colored("null", 4)]);
    // Quoted, it is the empty label, if there is one.
    let outcome = csv("c,x\n,1\n\"\",2\n").typed(&schema("[\"red\",\"\"]")).convert().unwrap();
    assert_eq!(outcome.rows, [colored("null", 1), colored("\"\"", 2)]);
}

#[test]
fn types_depend_on_all_rows() {
    let mut text = String::from("{\"a\":1,\"first\":true}\n");
    (0..50_000).for_each(|row| text.push_str(&format!("{{\"a\":{row},\"b\":\"text of some length {row}\"}}\n")));
    text.push_str("{\"a\":0.5,\"last\":[1]}\n");
    let mut inputs = lines(&text);
    for threads in [0, 1, 3] {
        inputs.convert.selection.reading.threads = threads;
        let outcome = inputs.convert().unwrap();
        let expected = [
            "a: Double",
            "first: Boolean (some missing, which ML.NET reads as false)",
            "b: Text (some missing, which ML.NET reads as empty)",
            "last: Vector<Int64>",
        ];
        assert_eq!(outcome.types, expected);
        assert_eq!(outcome.rows.len(), 50_002);
        assert_eq!(outcome.rows[25_000], r#"{"a":24999.0,"first":null,"b":"text of some length 24999","last":[]}"#);
        let loss = "null written as an empty vector (50001 times, first row 0, column \"last\")";
        assert_eq!(outcome.losses, [loss]);
    }
}

const VALUES: &[&str] = &[
    "null",
    "true",
    "1",
    "-1",
    "9223372036854775808",
    "18446744073709551616",
    "9007199254740993",
    "1e400",
    "0.5",
    "\"NaN\"",
    "\"a\"",
    "\"2020-02-29T00:00:00\"",
    "\"2020-02-29T00:00:00+01:00\"",
    "\"0001-01-01T00:00:00+01:00\"",
    "\"12:30\"",
    "[]",
    "[1]",
    "[1,2]",
    "[0.5,null]",
    "[\"a\"]",
    "[[1,2]]",
    "[[1,2],[3,4]]",
    "[[1]]",
    "[[1],2]",
    "{\"$sparse\":{\"length\":2,\"indices\":[1],\"values\":[7]}}",
    "{}",
];

type Row = Vec<Option<&'static str>>;

/// Rows of three columns, and the same rows shuffled. Few distinct values, so that columns often have a common type.
fn rows() -> impl Strategy<Value = (Vec<Row>, Vec<Row>)> {
    let few = proptest::collection::vec(select(VALUES), 1..4);
    few.prop_flat_map(|few| {
        let value = proptest::option::weighted(0.8, select(few));
        let rows = proptest::collection::vec(proptest::collection::vec(value, 3), 1..8);
        rows.prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
    })
}

fn text_of(form: InputForm, rows: &[Row]) -> String {
    if form == InputForm::Jsonl {
        let member = |(name, value): (char, &Option<&str>)| value.map(|value| format!("\"{name}\":{value}"));
        let row = |row: &Row| ('p'..).zip(row).filter_map(member).collect::<Vec<_>>().join(",");
        return rows.iter().map(|all| format!("{{{}}}\n", row(all))).collect();
    }
    let cell = |cell: &Option<&str>| match cell {
        Some(cell) => format!("\"{}\"", cell.trim_matches('"').replace('"', "\"\"")),
        None => String::new(),
    };
    let row = |row: &Row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    "p,q,r\n".to_owned() + &rows.iter().map(row).collect::<String>()
}

/// The types sorted by name, as columns are in order of first appearance; `None` if values have no common type.
fn types(form: InputForm, texts: &[&str]) -> Option<Vec<String>> {
    let mut types = Inputs::new(form, texts).convert().ok()?.types;
    types.sort();
    Some(types)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60, 2000)))]

    #[test]
    fn types_do_not_depend_on_the_order_of_rows((rows, shuffled) in rows(), cut in 0..8_usize) {
        for form in [InputForm::Jsonl, InputForm::Csv] {
            let whole = text_of(form, &rows);
            let known = types(form, &[&whole]);
            prop_assert_eq!(&known, &types(form, &[&text_of(form, &shuffled)]));
            // Several inputs form one table or are rejected, by their types alone. Spellings of non-finite floats are text in an input without
            // other numbers.
            let (one, two) = rows.split_at(cut.min(rows.len()));
            let parts = types(form, &[&text_of(form, one), &text_of(form, two)]);
            if !whole.contains("NaN") && parts.is_some() {
                prop_assert_eq!(known, parts, "{:?}", whole);
            }
        }
    }

    /// Cells always have a type, and all rows are written.
    #[test]
    fn all_cells_are_written((rows, _) in rows()) {
        let outcome = csv(&text_of(InputForm::Csv, &rows)).convert();
        prop_assert_eq!(outcome.map(|outcome| outcome.rows.len()), Ok(rows.len()));
    }
}

#[test]
fn applies_the_mismatch_policy() {
    let outcome = |text: &str, on_mismatch| {
        let mut inputs = Inputs::new(InputForm::Jsonl, &[text]);
        inputs.convert.mapping.on_mismatch = Some(on_mismatch);
        inputs.convert()
    };
    let text = r#"{"a":1}
{"a":"x"}
{"a":2}
"#;
    let error = outcome(text, OnMismatch::Error).unwrap_err();
    assert!(error.contains("the column has text, but an integer in row 0"), "{error}");
    let nulls = outcome(text, OnMismatch::Null).unwrap();
    assert_eq!(nulls.types, ["a: Double"]);
    assert_eq!(nulls.rows, [r#"{"a":1.0}"#, r#"{"a":"NaN"}"#, r#"{"a":2.0}"#]);
    assert_eq!(nulls.losses.len(), 1, "{nulls:?}");
    let json = outcome(text, OnMismatch::Json).unwrap();
    assert_eq!(json.types, ["a: Text"]);
    assert_eq!(json.rows, [r#"{"a":"1"}"#, r#"{"a":"\"x\""}"#, r#"{"a":"2"}"#]);
    assert!(json.losses.is_empty(), "{json:?}");
    let error = outcome(text, OnMismatch::Msgpack).unwrap_err();
    assert!(error.contains("no IDV type for Binary"), "{error}");
    let mut inputs = Inputs::new(InputForm::Jsonl, &[text]).typed(r#"{"a": "Int32"}"#);
    inputs.convert.mapping.on_mismatch = Some(OnMismatch::Null);
    assert!(inputs.convert().unwrap_err().contains("in IDV a value that does not fit is an error"));
}
