//! Typed columns: Parquet and Arrow IPC to other formats, text to Parquet and Arrow IPC.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use container_core::testkit::cases;
use serde_json::{Value, json};

use crate::common::{self, run, wharf};

/// A temporary folder.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Runs `convert` with these arguments; `@` stands for the folder.
    fn convert(&self, arguments: &[&str]) -> common::Ran {
        let folder = format!("{}/", self.0.path().display());
        let full = arguments.iter().map(|argument| argument.replace('@', &folder));
        run(std::iter::once("convert".to_owned()).chain(full))
    }

    /// The rows of a file.
    fn rows(&self, name: &str) -> Vec<Value> {
        run(["cat", &self.path(name), "--json"]).lines()
    }

    /// The types of the columns of a file.
    fn types(&self, name: &str) -> Vec<(String, String)> {
        let info: Value = serde_json::from_str(run(["info", &self.path(name), "--json"]).out()).unwrap();
        let columns = info["tables"][0]["columns"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        columns.iter().map(|column| (text(&column["name"]), text(&column["type"]))).collect()
    }
}

/// A golden file of the pairs of formats.
fn cross(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cross").join(name);
    path.into_os_string().into_string().unwrap()
}

#[test]
fn samples_round_trip_through_parquet() {
    let folder = Folder::new();
    for form in ["parquet", "arrow", "arrows"] {
        let (there, back) = (folder.path(&format!("there.{form}")), folder.path(&format!("{form}.msgpack")));
        run(["convert", &cross("types.msgpack"), &there]).ok();
        run(["convert", &there, &back]).ok();
        let read = |path: &str| fs::read(path).unwrap();
        assert!(read(&back) == read(&cross("types.msgpack")), "{form}: arrays and numbers of numpy are what they were");
    }
}

#[test]
fn converts_parquet_tensors_to_arrays_with_requested_keys() {
    let folder = Folder::new();
    let (input, out) = (cross("types.parquet"), folder.path("x.msgpack"));
    let convert = |rest: &[&str]| {
        run([&["convert", input.as_str(), &out, "--force"], rest].concat()).ok();
        folder.rows("x.msgpack")
    };
    let rows = convert(&["--columns", "tensor", "--rows", "2..4"]);
    let data = [2.0, 2.125, 2.25, 2.375, 2.5, 2.625];
    let array = json!({"$ndarray": {"dtype": "<f8", "shape": [2, 3], "data": data}});
    assert_eq!((rows.len(), &rows[0]), (2, &json!({"key": "row-02", "tensor": array})));
    let rows = convert(&["--columns", "i8", "--rows", "2..4", "--number"]);
    assert_eq!(rows, [json!({"key": "0000000002", "i8": -128}), json!({"key": "0000000003", "i8": 127})]);
    let rows = convert(&["--columns", "i8", "--key", "text", "-n", "1"]);
    assert_eq!(rows, [json!({"key": "plain", "i8": 0})], "the column of the keys was not chosen");
    let rows = convert(&["--columns", "text", "--key", "text", "-n", "1"]);
    assert_eq!(rows, [json!({"key": "plain", "text": "plain"})]);
    let error = run(["convert", &input, &out, "--force", "--key", "f64"]);
    assert!(error.err().contains("sample keys: expected a string or integer column, found Float64"), "{error:?}");
    assert_eq!((error.code(), folder.rows("x.msgpack").len()), (2, 1), "the old dataset is still there");
}

#[test]
fn joins_column_files_into_one_dataset() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"key\":\"a\",\"n\":1}\n");
    folder.file("b.jsonl", "{\"key\":\"b\",\"word\":\"two\"}\n{\"key\":\"c\",\"word\":null}\n");
    folder.convert(&["@a.jsonl", "@a.parquet"]).ok();
    folder.convert(&["@b.jsonl", "@b.parquet"]).ok();
    let said = folder.convert(&["@a.parquet", "@b.parquet", "@all.msgpack", "--json"]);
    let said: Value = serde_json::from_str(said.ok()).unwrap();
    assert_eq!((&said["to"], &said["rows"]), (&json!("datadings"), &json!(3)));
    let rows = [json!({"key": "a", "n": 1}), json!({"key": "b", "word": "two"}), json!({"key": "c", "word": null})];
    assert_eq!(folder.rows("all.msgpack"), rows);
    let error = folder.convert(&["@a.parquet", "@a.parquet", "@twice.msgpack"]);
    assert_eq!(error.code(), 1);
    assert!(error.err().contains("duplicate key, first in sample 0"), "{}", error.err());
}

#[test]
fn reads_columns_from_a_pipe() {
    let folder = Folder::new();
    for out in ["x.msgpack", "x.idv", "x.ds"] {
        let path = folder.path(out);
        let mut arguments = vec!["convert", "-", &path, "--columns", "key,i8,f64"];
        if out == "x.ds" {
            arguments.extend(["--dim", "row"]);
        }
        let mut child = wharf(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&fs::read(cross("types.arrows")).unwrap()).unwrap();
        assert!(child.wait().unwrap().success(), "{out}");
        assert_eq!(folder.rows(out)[3]["i8"], 127, "{out}");
    }
}

#[test]
fn options_declare_the_text_format() {
    let folder = Folder::new();
    folder.file("plain", "1;x\n2;y\n");
    folder.file("tabs.txt", "a\tb\n1\t2.5\n");
    folder.file("lines.log", "{\"a\":1}\n");
    for form in ["parquet", "arrow", "arrows", "jsonl"] {
        let out = format!("@x.{form}");
        folder.convert(&["@plain", &out, "--from", "csv", "--delimiter", ";", "--no-header"]).ok();
        let rows = [json!({"c0": 1, "c1": "x"}), json!({"c0": 2, "c1": "y"})];
        assert_eq!(folder.rows(&format!("x.{form}")), rows);
        folder.convert(&["@tabs.txt", &out, "--from", "tsv", "--force"]).ok();
        assert_eq!(folder.rows(&format!("x.{form}")), [json!({"a": 1, "b": 2.5})]);
        folder.convert(&["@lines.log", &out, "--from", "jsonl", "--force"]).ok();
        assert_eq!(folder.rows(&format!("x.{form}")), [json!({"a": 1})]);
    }
    assert_eq!(folder.types("x.parquet"), [("a".to_owned(), "Int64".to_owned())]);
    // For a .csv file, the delimiter alone suffices.
    folder.file("semicolon.csv", "a;b\n1;2\n");
    folder.convert(&["@semicolon.csv", "@s.parquet", "--delimiter", ";"]).ok();
    assert_eq!(folder.rows("s.parquet"), [json!({"a": 1, "b": 2})]);
    for (arguments, said) in [
        (&["@lines.log", "@y.parquet", "--delimiter", ";"][..], "--delimiter does not go with inputs that are jsonl"),
        (&["@s.parquet", "@y.arrow", "--no-header"], "--no-header does not go with inputs that are parquet"),
        (&["@plain", "@y.parquet", "--from", "csv", "--delimiter", "é"], "the delimiter must be ASCII, found 'é'"),
    ] {
        let ran = folder.convert(arguments);
        assert!(ran.code() == 2 && ran.err().contains(said), "{arguments:?}: {}", ran.err());
    }
    let ran = folder.convert(&["@plain", "@y.parquet", "--from", "zip"]);
    assert!(ran.code() == 1 && ran.err().contains("zip: "), "{}", ran.err());
    let ran = folder.convert(&["@plain", "@y.parquet"]);
    assert!(ran.code() == 1 && ran.err().contains("--from jsonl, csv or tsv declares the format"), "{}", ran.err());
}

#[test]
fn reads_any_text_format_from_standard_input() {
    let folder = Folder::new();
    for (text, from) in [("a,b\n1,x\n", "csv"), ("a\tb\n1\tx\n", "tsv"), ("[{\"a\":1,\"b\":\"x\"}]", "jsonl")] {
        let out = folder.path(&format!("{from}.parquet"));
        let mut child = wharf(["convert", "-", &out, "--from", from]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{from}");
        assert_eq!(folder.rows(&format!("{from}.parquet")), [json!({"a": 1, "b": "x"})]);
    }
}

#[test]
fn schema_declares_types_of_schemaless_input() {
    let folder = Folder::new();
    let lines = "{\"key\":\"a\",\"n\":1,\"at\":\"2024-05-01T12:30:00\",\"x\":[1,2]}\n{\"key\":\"b\",\"n\":null,\"at\":null,\"x\":[]}\n";
    folder.file("a.jsonl", lines);
    folder.file("a.csv", "key,n,at,x\na,1,2024-05-01T12:30,\nb,,,\n");
    folder.convert(&["@a.jsonl", "@a.msgpack"]).ok();
    folder.convert(&["@a.jsonl", "@a.zds", "--id", "key"]).ok();
    // Names of Arrow and of IDV.
    folder.file(
        "types.json",
        r#"{"key": "Text", "n": "Int16", "at": "Timestamp(ns)", "x": "List(Float32)", "more": "Single"}"#,
    );
    let types = [("key", "Utf8"), ("n", "Int16"), ("at", "Timestamp(ns)"), ("x", "List(Float32)"), ("more", "Float32")];
    let types = types.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    for input in ["@a.jsonl", "@a.msgpack", "@a.zds", "@a.csv"] {
        let mut arguments = vec![input, "@out.parquet", "--force", "--schema", "@types.json"];
        if input == "@a.zds" {
            // Documents have an additional id, which is inferred.
            folder.convert(&arguments).ok();
            assert_eq!(folder.types("out.parquet")[0], ("_id".to_owned(), "Utf8".to_owned()));
            arguments.extend(["--columns", "key,n,at,x,more"]);
        }
        folder.convert(&arguments).ok();
        assert_eq!(folder.types("out.parquet"), types, "{input}");
        let list = if input == "@a.csv" { json!(null) } else { json!([1.0, 2.0]) };
        let first = json!({"key": "a", "n": 1, "at": "2024-05-01T12:30:00", "x": list, "more": null});
        assert_eq!(folder.rows("out.parquet")[0], first, "{input}");
    }
    // The output file and its description are accepted as schemas too; with selected columns.
    fs::write(folder.path("info.json"), run(["info", &folder.path("out.parquet"), "--json"]).out()).unwrap();
    for schema in ["@out.parquet", "@info.json"] {
        folder.convert(&["@a.jsonl", "@again.arrow", "--force", "--schema", schema]).ok();
        assert_eq!(folder.types("again.arrow"), types, "{schema}");
        folder.convert(&["@a.jsonl", "@again.arrow", "--force", "--schema", schema, "--columns", "x,n"]).ok();
        assert_eq!(folder.types("again.arrow"), [types[3].clone(), types[1].clone()], "{schema}");
    }
    let ran = folder.convert(&["@a.jsonl", "@out.parquet", "--force", "--schema", "@types.json", "--columns", "none"]);
    assert!(ran.code() == 2 && ran.err().contains("no column \"none\""), "{}", ran.err());
}

#[test]
fn reports_mismatches_with_the_schema() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"a\":1,\"b\":2}\n{\"a\":300,\"b\":2}\n");
    folder.file("a.json", r#"{"a": "Int8"}"#);
    let convert =
        |rest: &[&str]| folder.convert(&[&["@a.jsonl", "@x.parquet", "--force", "--schema", "@a.json"], rest].concat());
    let ran = convert(&[]);
    assert!(ran.code() == 1 && ran.err().contains("row 1, column \"a\")"), "{}", ran.err());
    let ran = convert(&["--on-mismatch", "null"]);
    assert_eq!((ran.code(), folder.rows("x.parquet")), (3, vec![json!({"a": 1, "b": 2}), json!({"a": null, "b": 2})]));
    assert!(ran.err().contains("value that does not fit into a column of Int8 shown as null"), "{}", ran.err());
    let ran = convert(&["--on-mismatch", "json"]);
    assert!(ran.code() == 2 && ran.err().contains("--schema declares the types"), "{}", ran.err());
    let ran = folder.convert(&["@x.parquet", "@y.arrow", "--schema", "@a.json"]);
    assert!(
        ran.code() == 2 && ran.err().contains("--schema does not go with inputs that are parquet"),
        "{}",
        ran.err()
    );
    folder.file("any.json", r#"{"a": "JSON"}"#);
    let ran = folder.convert(&["@a.jsonl", "@any.parquet", "--schema", "@any.json", "--columns", "a"]);
    assert_eq!((ran.ok(), folder.types("any.parquet")[0].1.as_str()), ("", "Utf8"));
}

#[test]
fn infers_types_from_all_rows_of_several_files() {
    let folder = Folder::new();
    folder.file("1.csv", "id,n,day,word\n1,1,2024-05-01,7\n");
    folder.file("2.csv", "id,n,day,word,more\n2,0.5,2024-05-01T12:30,x,true\n3,,,,\n");
    folder.convert(&["@*.csv", "@out.parquet"]).ok();
    let types = ["Int64", "Float64", "Timestamp(µs)", "Utf8", "Boolean"];
    assert_eq!(folder.types("out.parquet").into_iter().map(|(_, kind)| kind).collect::<Vec<_>>(), types);
    let rows = [
        json!({"id": 1, "n": 1.0, "day": "2024-05-01T00:00:00", "word": "7", "more": null}),
        json!({"id": 2, "n": 0.5, "day": "2024-05-01T12:30:00", "word": "x", "more": true}),
        json!({"id": 3, "n": null, "day": null, "word": null, "more": null}),
    ];
    assert_eq!(folder.rows("out.parquet"), rows);
    // A column that only one file has can be selected.
    folder.convert(&["@*.csv", "@some.parquet", "--columns", "more,id", "--rows", "..2"]).ok();
    assert_eq!(folder.rows("some.parquet"), [json!({"more": null, "id": 1}), json!({"more": true, "id": 2})]);
    let ran = folder.convert(&["@*.csv", "@none.parquet", "--columns", "id,nowhere"]);
    assert!(ran.code() == 2 && ran.err().contains("no column \"nowhere\""), "{}", ran.err());

    folder.file("1.jsonl", "{\"a\":1,\"o\":{\"x\":[1]}}\n");
    folder.file("2.jsonl", "{\"o\":{\"x\":[0.5],\"y\":\"z\"},\"a\":null}\n");
    folder.file("3.jsonl", "{\"a\":18446744073709551615,\"o\":{}}\n");
    folder.convert(&["@*.jsonl", "@out.arrow"]).ok();
    let rows = [
        json!({"a": 1, "o": {"x": [1.0], "y": null}}),
        json!({"a": null, "o": {"x": [0.5], "y": "z"}}),
        json!({"a": 18_446_744_073_709_551_615_u64, "o": {"x": null, "y": null}}),
    ];
    assert_eq!(folder.rows("out.arrow"), rows);
    // As if all rows were in one file.
    let all = ["1.jsonl", "2.jsonl", "3.jsonl"].map(|name| fs::read_to_string(folder.path(name)).unwrap()).concat();
    folder.file("all.log", &all);
    folder.convert(&["@all.log", "@one.arrow", "--from", "jsonl"]).ok();
    assert_eq!(
        (folder.types("one.arrow"), folder.rows("one.arrow")),
        (folder.types("out.arrow"), folder.rows("out.arrow"))
    );
}

#[test]
fn reports_conflicting_types_of_several_files() {
    let folder = Folder::new();
    folder.file("1.jsonl", "{\"a\":1}\n");
    folder.file("2.jsonl", "{\"a\":\"x\"}\n");
    let ran = folder.convert(&["@1.jsonl", "@2.jsonl", "@x.parquet"]);
    let (one, two) = (folder.path("1.jsonl"), folder.path("2.jsonl"));
    let help = "use --on-mismatch null or json, or declare its type with --schema";
    let said = format!("error: {two}: Utf8 here, Int64 in {one}; {help} (column \"a\")\n");
    assert_eq!((ran.code(), ran.err()), (1, said.as_str()));
    let ran = folder.convert(&["@1.jsonl", "@2.jsonl", "@x.parquet", "--on-mismatch", "null"]);
    assert_eq!((ran.code(), folder.rows("x.parquet")), (3, vec![json!({"a": 1}), json!({"a": null})]));
    folder.convert(&["@1.jsonl", "@2.jsonl", "@x.parquet", "--on-mismatch", "json", "--force"]).ok();
    assert_eq!(folder.rows("x.parquet"), [json!({"a": 1}), json!({"a": "x"})]);
    // The same for samples and documents.
    folder.file("3.jsonl", "{\"key\":\"k\",\"a\":0.5}\n");
    folder.file("4.jsonl", "{\"key\":\"l\",\"a\":2}\n");
    for (form, key) in [("msgpack", "--key"), ("zds", "--id")] {
        let (three, four) = (format!("@3.{form}"), format!("@4.{form}"));
        folder.convert(&["@3.jsonl", &three, key, "key"]).ok();
        folder.convert(&["@4.jsonl", &four, key, "key"]).ok();
        folder.convert(&[&four, &three, "@both.parquet", "--force", "--columns", "a"]).ok();
        assert_eq!(folder.rows("both.parquet"), [json!({"a": 2.0}), json!({"a": 0.5})], "{form}");
    }
}

/// Types are inferred from all rows, whatever the sample and the selection.
#[test]
fn infers_types_from_all_rows_of_a_large_file() {
    let count = cases(20_000, 60_000);
    let folder = Folder::new();
    let number = |row: usize| if row + 1 == count { "1.5".to_owned() } else { row.to_string() };
    let text = "text ".repeat(16);
    let lines = (0..count).map(|row| format!("{{\"key\":\"{row:05}\",\"n\":{},\"t\":\"{text}\"}}\n", number(row)));
    folder.file("a.jsonl", &lines.collect::<String>());
    let cells = (0..count).map(|row| format!("k{row:05},{},{text}\n", number(row)));
    folder.file("a.csv", &format!("key,n,t\n{}", cells.collect::<String>()));
    folder.convert(&["@a.jsonl", "@a.zds", "--id", "key"]).ok();
    folder.convert(&["@a.jsonl", "@a.msgpack"]).ok();
    for input in ["a.csv", "a.jsonl", "a.zds", "a.msgpack"] {
        for &rows in cases(&[&[][..], &["-n", "10"]][..], &[&[], &["-n", "10"], &["--rows", "0..10"]]) {
            let input = format!("@{input}");
            folder.convert(&[&[&*input, "@x.parquet", "--force"], rows].concat()).ok();
            let types = folder.types("x.parquet");
            let found = types.iter().find(|(name, _)| name == "n").unwrap();
            assert_eq!(found.1, "Float64", "{input} {rows:?}");
            let expected = if rows.is_empty() { count } else { 10 };
            let shown = folder.rows("x.parquet");
            assert_eq!((shown.len(), &shown[3]["n"]), (expected, &json!(3.0)), "{input} {rows:?}");
        }
    }
}

#[test]
fn rounds_times_down_to_microseconds() {
    let folder = Folder::new();
    folder.file("rows.jsonl", "{\"at\":\"1969-12-31T23:59:59.9999999\"}\n{\"at\":\"1970-01-01T00:00:00.0000019\"}\n");
    folder.file("schema.json", r#"[{"name": "at", "type": "DateTime"}]"#);
    folder.convert(&["@rows.jsonl", "@rows.idv", "--schema", "@schema.json"]).ok();
    let ran = folder.convert(&["@rows.idv", "@out.parquet", "--times", "floor"]);
    assert_eq!(ran.code(), 3, "{ran:?}");
    let times = ["1969-12-31T23:59:59.999999", "1970-01-01T00:00:00.000001"];
    assert_eq!(folder.rows("out.parquet"), times.map(|time| json!({"at": time})));
    // The former name of this option was wrong for times before 1970.
    let ran = folder.convert(&["@rows.idv", "@old.parquet", "--times", "truncate"]);
    assert_eq!((ran.code(), ran.out()), (2, ""));
    assert!(ran.err().contains("--times floor"), "{}", ran.err());
    assert!(!run(["convert", "--help"]).ok().contains("truncate"));
}
