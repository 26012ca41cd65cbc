//! A value is the same by whatever route it reaches a format.

use std::collections::HashMap;
use std::fs;

use crate::common::{golden, run};
use datadings::numpy::NdArray;
use datadings::{Reader, Writer, WriterOptions};
use serde_json::{Value, json};

const OUTPUTS: [&str; 7] = ["a.idv", "a.ds", "a.parquet", "a.arrow", "a.msgpack", "a.zds", "a.jsonl"];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Converts a file; samples get row numbers as keys.
    fn convert(&self, from: &str, to: &str) {
        let (from, to) = (self.path(from), self.path(to));
        let number: &[&str] = if to.ends_with(".msgpack") { &["--number"] } else { &[] };
        let ran = run(["convert", &from, &to, "--force"].iter().chain(number));
        assert_eq!(ran.code(), 0, "{from} to {to}: {}", ran.err());
    }

    /// The values of a column, as `cat` prints them.
    fn values(&self, name: &str, column: &str) -> Vec<Value> {
        run(["cat", &self.path(name), "--json"]).lines().into_iter().map(|mut row| row[column].take()).collect()
    }

    /// What `info` calls the type of a column.
    fn kind(&self, name: &str, column: &str) -> String {
        let info: Value = serde_json::from_str(run(["info", &self.path(name), "--json"]).ok()).unwrap();
        let columns = info["tables"][0]["columns"].as_array().unwrap();
        let found = columns.iter().find(|found| found["name"] == column).unwrap();
        found["type"].as_str().unwrap().to_owned()
    }
}

/// Negative zero is a float, because integers have none.
#[test]
fn negative_zero_is_a_float_by_every_route() {
    let folder = Folder::new();
    folder.write("in.csv", "a,b\n1,x\n-0,y\n");
    folder.write("in.tsv", "a\tb\n1\tx\n-0\ty\n");
    folder.write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":-0,\"b\":\"y\"}\n");
    folder.convert("in.jsonl", "in.zds");
    for input in ["in.csv", "in.tsv", "in.jsonl", "in.zds"] {
        for output in OUTPUTS {
            folder.convert(input, output);
            let values = folder.values(output, "a");
            let signs: Vec<_> = values.iter().map(|value| value.as_f64().unwrap().is_sign_negative()).collect();
            assert_eq!(signs, [false, true], "{input} to {output}: {values:?}");
        }
        assert_eq!(folder.kind("a.idv", "a"), "Double", "{input}");
        assert_eq!(folder.kind("a.ds", "a"), "float64", "{input}");
        assert_eq!(folder.kind("a.parquet", "a"), "Float64", "{input}");
    }
    // Digits after a leading zero are text, with or without sign.
    folder.write("in.csv", "a,b\n1,x\n-00,y\n");
    for output in OUTPUTS {
        folder.convert("in.csv", output);
        assert_eq!(folder.values(output, "a")[1], json!("-00"), "{output}");
    }
}

/// A number out of range for floats stays text in CSV and is never infinity.
#[test]
fn number_out_of_range_is_text_by_every_route() {
    let folder = Folder::new();
    for number in ["1e400", "-1e400"] {
        folder.write("in.csv", &format!("a,b\n1,x\n{number},y\n"));
        folder.write("in.tsv", &format!("a\tb\n1\tx\n{number}\ty\n"));
        for input in ["in.csv", "in.tsv"] {
            for output in OUTPUTS {
                folder.convert(input, output);
                assert_eq!(folder.values(output, "a")[1], json!(number), "{input} to {output}");
            }
        }
        // In JSON it is a number, which no numeric column can represent.
        folder.write("in.jsonl", &format!("{{\"a\":1}}\n{{\"a\":{number}}}\n"));
        for output in ["a.idv", "a.ds", "a.parquet", "a.arrow", "a.msgpack"] {
            let ran = run(["convert", &folder.path("in.jsonl"), &folder.path(output), "--force"]);
            assert_eq!(ran.code(), 1, "{output}");
            assert!(!ran.err().contains("the input changed"), "{output}: {}", ran.err());
        }
    }
}

/// Samples with every kind of number, and tensors.
fn samples(folder: &Folder, name: &str) {
    let options = WriterOptions::default().with_any_message(true);
    let mut writer = Writer::create(folder.path(name), options).unwrap();
    for row in 0..3u8 {
        let pixels: Vec<u8> = (0..6).map(|at| at + 100 * (row % 2)).collect();
        let image = NdArray::new("|u1".parse().unwrap(), &[2, 3], &pixels).unwrap();
        let waves: Vec<u8> = (0..4u8).flat_map(|at| (f32::from(at) + 0.1).to_le_bytes()).collect();
        let wave = NdArray::new("<f4".parse().unwrap(), &[4], &waves).unwrap();
        let edges: Vec<u8> = [f32::NAN, f32::INFINITY].iter().flat_map(|number| number.to_le_bytes()).collect();
        let edge = NdArray::new("<f4".parse().unwrap(), &[2], &edges).unwrap();
        let sample = Sample {
            key: row.to_string(),
            image,
            wave,
            short: 0.1,
            whole: -5,
            long: 0.1,
            none: f64::NAN,
            edge,
            name: "a",
        };
        writer.append(&sample).unwrap();
    }
    writer.finish().unwrap();
}

#[derive(serde::Serialize)]
struct Sample<'a> {
    key: String,
    image: NdArray<'a>,
    wave: NdArray<'a>,
    short: f32,
    whole: i64,
    long: f64,
    none: f64,
    edge: NdArray<'a>,
    name: &'a str,
}

/// Samples have the same types in IDV and ds directly and via a columnar format.
#[test]
fn samples_keep_types_by_every_route() {
    let folder = Folder::new();
    samples(&folder, "in.msgpack");
    let columns = ["image", "wave", "short", "whole", "long", "none", "edge", "name"];
    let expected = [
        (
            "a.idv",
            [
                "Vector<Byte, 2, 3>",
                "Vector<Single, 4>",
                "Single",
                "Int64",
                "Double",
                "Double",
                "Vector<Single, 2>",
                "Text",
            ],
        ),
        (
            "a.ds",
            [
                "uint8[image_2=2, image_3=3]",
                "float32[wave_2=4]",
                "float32",
                "int64",
                "float64",
                "float64",
                "float32[edge_2=2]",
                "unicode",
            ],
        ),
    ];
    for (output, kinds) in expected {
        folder.convert("in.msgpack", output);
        let direct: Vec<_> = columns.iter().map(|column| folder.kind(output, column)).collect();
        let values: Vec<_> = columns.iter().map(|column| folder.values(output, column)).collect();
        assert_eq!(direct, kinds, "{output}");
        for between in ["b.parquet", "b.arrow"] {
            folder.convert("in.msgpack", between);
            folder.convert(between, output);
            for ((column, kind), values) in columns.iter().zip(&direct).zip(&values) {
                assert_eq!(folder.kind(output, column), *kind, "{output} by {between}: {column}");
                assert_eq!(folder.values(output, column), *values, "{output} by {between}: {column}");
            }
        }
    }
}

/// Values that ds cannot store are refused, or follow the policy for mismatches.
#[test]
fn samples_that_fit_no_variable_are_an_error_or_follow_a_policy() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"x\":1,\"list\":[1]}\n{\"x\":\"a\",\"list\":[1,2]}\n");
    folder.convert("in.jsonl", "in.msgpack");
    let (input, output) = (folder.path("in.msgpack"), folder.path("a.ds"));
    let ran = run(["convert", &input, &output]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("use --on-mismatch null or json"), "{}", ran.err());
    let ran = run(["convert", &input, &output, "--on-mismatch", "null", "--ragged", "pad"]);
    assert_eq!(ran.code(), 3, "{}", ran.err());
    assert_eq!(folder.values("a.ds", "x"), [json!(1), json!(null)]);
    assert_eq!(folder.values("a.ds", "list"), [json!([1, null]), json!([1, 2])]);
    // The same for JSON lines.
    let ran =
        run(["convert", &folder.path("in.jsonl"), &output, "--force", "--on-mismatch", "null", "--ragged", "pad"]);
    assert_eq!(ran.code(), 3, "{}", ran.err());
    assert_eq!(folder.values("a.ds", "x"), [json!(1), json!(null)]);
    // Typed input has no mismatches.
    folder.convert("a.ds", "b.ds");
    let ran = run(["convert", &folder.path("b.ds"), &output, "--force", "--on-mismatch", "null"]);
    assert_eq!((ran.code(), ran.err().contains("does not go with inputs that are ds")), (2, true), "{}", ran.err());
}

/// A non-finite float is a string in JSON, and becomes a float again in numeric columns.
#[test]
fn non_finite_floats_stay_floats_by_every_route() {
    let folder = Folder::new();
    let rows = [
        json!({"x": 1.5, "list": [1, "NaN"], "in": {"y": "Infinity"}, "name": "NaN"}),
        json!({"x": "NaN", "list": ["-Infinity", 2.5], "in": {"y": 3}, "name": "NaN"}),
    ];
    folder.write("in.jsonl", &format!("{}\n{}\n", rows[0], rows[1]));
    folder.convert("in.jsonl", "in.zds");
    folder.write("flat.jsonl", "{\"x\":1.5,\"list\":[1,\"NaN\"]}\n{\"x\":\"NaN\",\"list\":[\"-Infinity\",2.5]}\n");
    for flat in ["flat.ds", "flat.idv", "flat.parquet"] {
        folder.convert("flat.jsonl", flat);
    }
    for input in ["in.jsonl", "in.zds", "flat.ds", "flat.idv", "flat.parquet"] {
        folder.convert(input, "a.msgpack");
        let reader = Reader::open(folder.path("a.msgpack")).unwrap();
        let x = |row: u64| reader.get(row).unwrap().field("x").unwrap().f64().unwrap();
        assert!(x(0) == 1.5 && x(1).is_nan(), "{input}");
        let list = |row: u64| -> Vec<f64> { reader.get(row).unwrap().field("list").unwrap().decode().unwrap() };
        assert!(list(0)[0] == 1.0 && list(0)[1].is_nan(), "{input}: {:?}", list(0));
        assert_eq!(list(1), [f64::NEG_INFINITY, 2.5], "{input}");
        if input.starts_with("in") {
            let inner: HashMap<String, f64> = reader.get(0).unwrap().field("in").unwrap().decode().unwrap();
            assert_eq!(inner["y"], f64::INFINITY, "{input}");
            // Without numbers in the column it is a string.
            assert_eq!(reader.get(0).unwrap().field("name").unwrap().str().unwrap(), "NaN", "{input}");
        }
    }
}

/// A CSV column has the same type in JSON lines, ZDS and datadings as in Parquet.
#[test]
fn csv_column_has_one_type_by_every_route() {
    let folder = Folder::new();
    let rows = [
        // A code, a float, booleans beside text, numbers with gaps, an empty text, lists, lists beside text, nothing, a flag
        ["code", "price", "flag", "gap", "empty", "list", "mixed", "none", "yes", "big", "odd"],
        ["00712", "1.50", "TRUE", "1", "x", "[1]", "[1]", "", "True", "-1", "[1]"],
        ["10001", "2", "maybe", "", "\"\"", "\"[2,3]\"", "1", "", "FALSE", "18446744073709551615", "[\"x\"]"],
        ["90210", "-0", "1.50", "-3", "", "", "true", "", "\"\"", "2", "[true]"],
        ["1e5", "NaN", "NaN", "\"\"", "7", "[]", "{}", "", "", "3", ""],
    ];
    let text = |delimiter: &str| rows.iter().map(|row| row.join(delimiter) + "\n").collect::<String>();
    folder.write("in.csv", &text(",").replace("[1,", "\"[1,"));
    folder.write("in.tsv", &text("\t"));
    folder.convert("in.csv", "b.parquet");
    folder.convert("b.parquet", "b.jsonl");
    for input in ["in.csv", "in.tsv"] {
        for output in ["a.jsonl", "a.zds", "a.msgpack"] {
            folder.convert(input, output);
            for column in rows[0] {
                let expected = folder.values("b.jsonl", column);
                assert_eq!(folder.values(output, column), expected, "{input} to {output}: {column}");
                assert_eq!(folder.values(input, column), expected, "cat {input}: {column}");
            }
        }
    }
    assert_eq!(folder.values("a.jsonl", "code"), [json!("00712"), json!("10001"), json!("90210"), json!("1e5")]);
    assert_eq!(folder.values("a.jsonl", "price"), [json!(1.5), json!(2.0), json!(-0.0), json!("NaN")]);
    // Text is restored unchanged.
    folder.convert("in.csv", "b.csv");
    assert_eq!(folder.values("b.csv", "flag"), [json!("TRUE"), json!("maybe"), json!("1.50"), json!("NaN")]);
}

/// Types are inferred from all rows, including unselected ones.
#[test]
fn selected_csv_rows_have_the_types_of_all_rows() {
    let folder = Folder::new();
    let mut text = "code,n\n".to_owned();
    text.extend((10_000..15_000).map(|code| format!("{code},{code}\n")));
    text.push_str("00712,0.5\n");
    folder.write("in.csv", &text);
    for arguments in [["-n", "1"], ["--rows", "0..1"]] {
        let ran = run(["cat", &folder.path("in.csv"), "--json"].iter().chain(&arguments));
        assert_eq!(ran.lines(), [json!({"code": "10000", "n": 10000.0})], "{arguments:?}");
        for output in ["a.jsonl", "a.parquet", "a.arrow", "a.msgpack", "a.zds"] {
            let (from, to) = (folder.path("in.csv"), folder.path(output));
            let number: &[&str] = if output == "a.msgpack" { &["--number"] } else { &[] };
            let ran = run(["convert", &from, &to, "--force"].iter().chain(&arguments).chain(number));
            assert_eq!(ran.code(), 0, "{}", ran.err());
            assert_eq!(folder.values(output, "code"), [json!("10000")], "{output} {arguments:?}");
            assert_eq!(folder.values(output, "n"), [json!(10000.0)], "{output} {arguments:?}");
        }
    }
}

/// A malformed row does not hide the rows before it, whose types are inferred without it.
#[test]
fn rows_before_a_malformed_one_have_one_type() {
    let folder = Folder::new();
    folder.write("in.csv", "code\n10001\n00712\n1,2\nx\n");
    let ran = run(["cat", &folder.path("in.csv"), "--json"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.lines(), [json!({"code": "10001"}), json!({"code": "00712"})]);
    let ran = run(["cat", &folder.path("in.csv"), "--json", "-n", "1"]);
    assert_eq!((ran.code(), ran.lines()), (0, vec![json!({"code": "10001"})]));
    // The rows after it count for inference, even in the same chunk.
    fs::write(folder.path("bytes.csv"), b"code\n10001\n\xff\nx\n").unwrap();
    let ran = run(["cat", &folder.path("bytes.csv"), "--json"]);
    assert_eq!((ran.code(), ran.lines()), (1, vec![json!({"code": "10001"})]));
}

/// Types are inferred from the rows of all files that are read; a column has one type in the output.
#[test]
fn columns_of_several_files_have_one_type() {
    let folder = Folder::new();
    folder.write("a.csv", "code,n\n00712,1\n");
    folder.write("b.csv", "code,n\n10001,2.5\n");
    folder.write("c.csv", "n,z\nx,\n");
    let (a, b, c) = (folder.path("a.csv"), folder.path("b.csv"), folder.path("c.csv"));
    let (first, second) = (json!({"code": "00712", "n": 1.0}), json!({"code": "10001", "n": 2.5}));
    assert_eq!(run(["cat", &a, &b, "--json"]).lines(), [first.clone(), second.clone()]);
    assert_eq!(run(["cat", &b, &a, "--json"]).lines(), [second.clone(), first.clone()]);
    for output in ["a.jsonl", "a.parquet", "a.arrow", "a.zds", "a.msgpack"] {
        let number: &[&str] = if output.ends_with(".msgpack") { &["--number"] } else { &[] };
        let path = folder.path(output);
        let ran = run(["convert", &a, &b, &path].iter().chain(number));
        assert_eq!(ran.code(), 0, "{output}: {}", ran.err());
        assert_eq!(folder.values(output, "code"), ["00712", "10001"], "{output}");
        assert_eq!(folder.values(output, "n"), [1.0, 2.5], "{output}");
    }
    // Files that are not read and files of other formats are ignored.
    assert_eq!(run(["cat", &b, &a, "--json", "-n", "1"]).lines(), [json!({"code": 10001, "n": 2.5})]);
    folder.write("d.jsonl", "{\"n\":true}\n");
    let all = run(["cat", &a, &folder.path("d.jsonl"), &c, "--json"]).lines();
    assert_eq!(all, [json!({"code": "00712", "n": "1"}), json!({"n": true}), json!({"n": "x", "z": null})]);
}

/// ds times are numbers with units. With --time they become times in typed outputs, and strings elsewhere.
#[test]
fn ds_times_convert_to_times() {
    let folder = Folder::new();
    let ds = golden("../ds/from-netcdf.ds");
    let texts = [json!("2000-01-01T00:00:00"), json!("2000-01-01T06:00:00")];
    for (output, kind) in [
        ("a.parquet", "Timestamp(\u{b5}s)"),
        ("a.arrow", "Timestamp(\u{b5}s)"),
        ("a.idv", "DateTime"),
        ("a.csv", "text"),
        ("a.zds", "text"),
        ("a.msgpack", "text"),
        ("a.jsonl", "text"),
    ] {
        let number: &[&str] = if output.ends_with(".msgpack") { &["--number"] } else { &[] };
        let path = folder.path(output);
        let arguments = ["convert", &ds, &path, "--table", "time", "--time", "iso"];
        let ran = run(arguments.iter().chain(number));
        // IDV and CSV have no null for a masked float; attributes that IDV cannot store are reported.
        assert!([0, 3].contains(&ran.code()), "{output}: {}", ran.err());
        assert_eq!(ran.code() == 3, output == "a.idv", "{output}: {}", ran.err());
        if kind != "text" {
            assert_eq!(folder.kind(output, "time"), kind);
        }
        assert_eq!(folder.values(output, "time"), texts, "{output}");
    }
    let warned = run(["convert", &ds, &folder.path("b.idv"), "--table", "time", "--time", "iso"]);
    assert!(warned.err().contains("attribute left out: IDV gets only values and types"), "{}", warned.err());
    let days = run(["convert", &ds, "-", "--table", "time", "--time", "jd", "--columns", "time"]);
    assert_eq!(days.lines(), [json!({"time": 2_451_544.5}), json!({"time": 2_451_544.75})]);
    // It is refused where it has no meaning.
    folder.write("in.csv", "time\n1\n");
    let csv = folder.path("in.csv");
    for (from, to, why) in [
        (&ds, "c.ds", "ds and NetCDF keep the numbers and their units"),
        (&ds, "c.nc", "ds and NetCDF keep the numbers and their units"),
        (&csv, "c.parquet", "--time is for inputs that are ds or NetCDF, not csv"),
        (&csv, "c.idv", "--time is for inputs that are ds or NetCDF, not CSV"),
        (&csv, "c.jsonl", "--time is for inputs that are ds or NetCDF, not csv"),
    ] {
        let ran = run(["convert", from, &folder.path(to), "--time", "iso"]);
        assert_eq!(ran.code(), 2, "{to}: {}", ran.err());
        assert!(ran.err().contains(why), "{to}: {}", ran.err());
    }
}

/// CSV cells are untyped, so times are inferred; strings of JSON and samples stay strings.
#[test]
fn infers_times_from_cells_but_not_strings_by_every_route() {
    let folder = Folder::new();
    for (text, parquet, idv) in [
        ("2024-01-01", "Date32", "DateTime"),
        ("2024-01-01T00:00:00", "Timestamp(\u{b5}s)", "DateTime"),
        ("2024-01-01 12:30:00.50", "Timestamp(\u{b5}s)", "DateTime"),
        ("2024-01-01T00:00:00Z", "Timestamp(\u{b5}s, \"UTC\")", "DateTimeOffset"),
        ("2024-01-01T00:00:00+0200", "Timestamp(\u{b5}s, \"UTC\")", "DateTimeOffset"),
        ("2024-01-01T00:00+02", "Timestamp(\u{b5}s, \"UTC\")", "DateTimeOffset"),
        ("12:30", "Time64(\u{b5}s)", "TimeSpan"),
        ("12:30:59.5", "Time64(\u{b5}s)", "TimeSpan"),
        ("01:30.5", "Utf8", "Text"),
    ] {
        folder.write("in.csv", &format!("at,n\n{text},1\n"));
        folder.write("in.tsv", &format!("at\tn\n{text}\t1\n"));
        for input in ["in.csv", "in.tsv"] {
            for output in ["a.idv", "a.parquet", "a.arrow"] {
                folder.convert(input, output);
            }
            assert_eq!(folder.kind("a.parquet", "at"), parquet, "{text}");
            assert_eq!(folder.kind("a.arrow", "at"), parquet, "{text}");
            assert_eq!(folder.kind("a.idv", "at"), idv, "{text}");
            // Via Parquet the column is nullable, and the UTC offset is lost.
            folder.convert("a.parquet", "b.idv");
            let kind = folder.kind("b.idv", "at");
            assert_eq!(kind.trim_start_matches("Dv"), idv, "{text}");
            if idv != "DateTimeOffset" {
                assert_eq!(folder.values("a.idv", "at"), folder.values("b.idv", "at"), "{text}");
            }
            for output in ["a.jsonl", "a.zds", "a.msgpack"] {
                folder.convert(input, output);
                assert_eq!(folder.values(output, "at"), [json!(text)], "{input} to {output}");
            }
        }
        folder.write("in.jsonl", &format!("{{\"at\":\"{text}\",\"n\":1}}\n"));
        folder.convert("in.jsonl", "in.zds");
        folder.convert("in.jsonl", "in.msgpack");
        for input in ["in.jsonl", "in.zds", "in.msgpack"] {
            for (output, kind) in [("a.idv", "Text"), ("a.ds", "unicode"), ("a.parquet", "Utf8"), ("a.arrow", "Utf8")] {
                folder.convert(input, output);
                assert_eq!(folder.kind(output, "at"), kind, "{input} to {output}: {text}");
                assert_eq!(folder.values(output, "at"), [json!(text)], "{input} to {output}");
            }
        }
    }
}

/// `cat` cannot show metadata in which columns of several files differ.
#[test]
fn refuses_columns_with_different_meaning() {
    let folder = Folder::new();
    folder.write("a.csv", "at\n2024-01-01\n");
    folder.write("b.csv", "at\n2024-01-01T00:00:01\n");
    folder.write("c.csv", "n,at\n1,2024-01-02\n");
    for name in ["a", "b", "c"] {
        folder.convert(&format!("{name}.csv"), &format!("{name}.ds"));
    }
    let (a, b, c) = (folder.path("a.ds"), folder.path("b.ds"), folder.path("c.ds"));
    let ran = run(["cat", &a, &b, "--json"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("attribute \\\"units\\\": \\\"microseconds since 1970-01-01\\\" here"), "{}", ran.err());
    // As times they are equal.
    let ran = run(["cat", &a, &b, "--json", "--time", "iso"]);
    assert_eq!(ran.lines(), [json!({"at": "2024-01-01T00:00:00"}), json!({"at": "2024-01-01T00:00:01"})]);
    // Additional columns and another order are accepted if rows name their columns.
    assert_eq!(run(["cat", &a, &c, "--json"]).lines(), [json!({"at": 19723}), json!({"at": 19724, "n": 1})]);
}

/// Bytes are an object in JSON and CSV, and become bytes again in formats that have them.
#[test]
fn bytes_round_trip_by_every_route() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"b\":{\"$bytes\":\"AP8=\"}}\n{\"b\":{\"$bytes\":\"\"}}\n");
    let bytes = [json!({"$bytes": "AP8="}), json!({"$bytes": ""})];
    for from in ["a.parquet", "a.arrow", "a.ds", "a.msgpack"] {
        folder.convert("in.jsonl", from);
        for text in ["b.csv", "b.tsv", "b.jsonl", "b.zds"] {
            folder.convert(from, text);
            for to in ["c.parquet", "c.arrow", "c.ds"] {
                folder.convert(text, to);
                assert_eq!(folder.values(to, "b"), bytes, "{from} to {text} to {to}");
                let kind = folder.kind(to, "b");
                assert_eq!(kind, if to == "c.ds" { "str" } else { "Binary" }, "{from} to {text} to {to}");
            }
        }
    }
}

/// Pipes can be read only once, so their content is kept.
#[cfg(unix)]
#[test]
fn reads_pipes_once() {
    let folder = Folder::new();
    let (one, other) = (folder.path("a.csv"), folder.path("b.csv"));
    let made = std::process::Command::new("mkfifo").args([&one, &other]).status().unwrap();
    assert!(made.success());
    let through = |arguments: &[&str]| {
        let write = |path: &str, text: &'static str| {
            let path = path.to_owned();
            std::thread::spawn(move || fs::write(path, text).unwrap())
        };
        let writers = [write(&one, "code\n00712\n"), write(&other, "code\n10001\n")];
        let ran = run(arguments);
        assert_eq!(ran.code(), 0, "{arguments:?}: {}", ran.err());
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ran.out().to_owned()
    };
    let lines = "{\"code\":\"00712\"}\n{\"code\":\"10001\"}\n";
    assert_eq!(through(&["cat", &one, &other, "--json"]), lines);
    for to in ["jsonl", "csv", "tsv", "idv", "ds", "parquet", "arrow", "arrows", "msgpack", "zds", "store", "nc"] {
        let out = folder.path(&format!("out.{to}"));
        let mut arguments = vec!["convert", &one, &other, &out];
        match to {
            "store" => arguments.extend(["--to", "zds"]),
            "msgpack" => arguments.push("--number"),
            _ => {}
        }
        through(&arguments);
        // Some also have row names or numbers.
        let back = run(["cat", &out, "--json", "--columns", "code"]);
        assert_eq!(back.ok(), lines, "{to}");
    }
}

/// Input that is opened twice, to count and to copy it.
#[cfg(unix)]
#[test]
fn splits_and_shuffles_pipes() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for to in ["jsonl", "parquet", "arrow", "idv"] {
        let (whole, out) = (folder.path(&format!("b.{to}")), folder.path(&format!("c.{to}")));
        run(["convert", &folder.path("a.jsonl"), &whole, "--force"]);
        let writer = {
            let (whole, pipe) = (whole.clone(), pipe.clone());
            std::thread::spawn(move || fs::write(pipe, fs::read(whole).unwrap()).unwrap())
        };
        let ran = run(["shuffle", &pipe, &out, "--seed", "1"]);
        assert_eq!(ran.code(), 0, "{to}: {}", ran.err());
        writer.join().unwrap();
        let mut lines: Vec<String> = run(["cat", &out, "--json"]).ok().lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"], "{to}");
    }
}
