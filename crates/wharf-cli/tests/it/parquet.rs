//! Parquet and Arrow IPC: writing, showing, verifying, converting back.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{self, run, wharf};

/// A folder with IDV files converted from text.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.idv(
            "a",
            r#"{"x": "Int32", "word": "Text"}"#,
            &[json!({"x": 1, "word": "one"}), json!({"x": 2, "word": "two"})],
        );
        folder.idv("b", r#"{"x": "Int32", "word": "Text"}"#, &[json!({"x": 3, "word": "three"})]);
        folder.idv("other", r#"{"x": "Single", "word": "Text"}"#, &[json!({"x": 0.5, "word": "half"})]);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    fn idv(&self, name: &str, schema: &str, rows: &[Value]) {
        let (text, types, out) = (self.path("in.jsonl"), self.path("types.json"), self.path(&format!("{name}.idv")));
        fs::write(&text, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
        fs::write(&types, schema).unwrap();
        run(["convert", &text, &out, "--schema", &types]).ok();
    }
}

const FORMS: [&str; 3] = ["parquet", "arrow", "arrows"];

#[test]
fn concatenates_rows_of_several_inputs() {
    let folder = Folder::new();
    for form in FORMS {
        let out = folder.path(&format!("out.{form}"));
        let said = run(["convert", "--json", &folder.path("[ab].idv"), &out]);
        let said: Value = serde_json::from_str(said.ok()).unwrap();
        assert_eq!((&said["to"], &said["rows"], &said["columns"]), (&json!(form), &json!(3), &json!(2)));
        assert_eq!(said["bytes"], fs::metadata(&out).unwrap().len());
        let info: Value = serde_json::from_str(run(["info", "--json", &out]).ok()).unwrap();
        assert_eq!((&info["format"], &info["tables"][0]["rows"]), (&json!(form.trim_end_matches('s')), &json!(3)));
        assert_eq!(info["tables"][0]["columns"][0]["type"], "Int32");
        assert!(run(["verify", &out]).ok().ends_with(": ok\n"));
        let rows = run(["cat", &out, "--json"]);
        assert_eq!(
            rows.lines(),
            [json!({"x": 1, "word": "one"}), json!({"x": 2, "word": "two"}), json!({"x": 3, "word": "three"})]
        );
    }
}

#[test]
fn selects_rows_and_columns_across_inputs() {
    let folder = Folder::new();
    let out = folder.path("out.parquet");
    let inputs = [folder.path("a.idv"), folder.path("b.idv"), folder.path("a.idv")];
    let convert = |rest: &[&str]| {
        let mut arguments = vec!["convert"];
        arguments.extend(inputs.iter().map(String::as_str));
        arguments.extend([out.as_str(), "--force"]);
        arguments.extend(rest);
        run(arguments)
    };
    convert(&["--columns", "word,x", "--rows", "1..4"]).ok();
    let rows = run(["cat", &out]);
    assert_eq!(rows.ok(), "{\"word\":\"two\",\"x\":2}\n{\"word\":\"three\",\"x\":3}\n{\"word\":\"one\",\"x\":1}\n");
    convert(&["--columns", "x", "-n", "1"]).ok();
    assert_eq!(run(["cat", &out]).ok(), "{\"x\":1}\n");
    let error = convert(&["--rows", "9.."]).json_error_or_text(2);
    assert!(error.contains("no row 9: the input has 5 rows, counted from 0"), "{error}");
    assert_eq!(run(["cat", &out]).ok(), "{\"x\":1}\n", "the old file is still there");
}

impl common::Ran {
    /// The error message of a failed run.
    #[track_caller]
    fn json_error_or_text(&self, code: i32) -> String {
        assert_eq!((self.code(), self.out()), (code, ""), "{}", self.err());
        self.err().to_owned()
    }
}

#[test]
fn refuses_different_columns_by_name() {
    let folder = Folder::new();
    let (one, two) = (folder.path("a.idv"), folder.path("other.idv"));
    let error = run(["convert", &one, &two, &folder.path("out.parquet")]).json_error_or_text(1);
    assert_eq!(
        error,
        format!("error: {two}: columns differ from those of {one}: Float32 here, Int32 there (column \"x\")\n")
    );
    assert!(!fs::exists(folder.path("out.parquet")).unwrap());
}

#[test]
fn writes_and_reads_pipes() {
    let folder = Folder::new();
    for form in FORMS {
        let made = run(["convert", &folder.path("a.idv"), "-", "--to", form]);
        assert_eq!((made.code(), made.err()), (0, ""));
        let mut child = wharf(["cat", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&made.0.stdout).unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(out.stdout).unwrap(),
            "{\"x\":1,\"word\":\"one\"}\n{\"x\":2,\"word\":\"two\"}\n",
            "{form}"
        );
        // The same bytes as when writing a file.
        let file = folder.path(&format!("file.{form}"));
        run(["convert", &folder.path("a.idv"), &file]).ok();
        assert_eq!(fs::read(file).unwrap(), made.0.stdout, "{form}");
    }
}

#[test]
fn converts_between_formats_with_requested_compression() {
    let folder = Folder::new();
    let first = folder.path("first.parquet");
    run(["convert", &folder.path("a.idv"), &first, "--compression", "zstd:3", "--row-group", "1"]).ok();
    let info: Value = serde_json::from_str(run(["info", "--json", &first]).ok()).unwrap();
    assert_eq!((&info["row_groups"], &info["tables"][0]["columns"][1]["compression"]), (&json!(2), &json!("zstd")));
    let (file, stream, last) = (folder.path("x.arrow"), folder.path("x.arrows"), folder.path("last.parquet"));
    run(["convert", &first, &file, "--compression", "lz4", "--batch-rows", "1"]).ok();
    let info: Value = serde_json::from_str(run(["info", "--json", &file]).ok()).unwrap();
    assert_eq!((&info["form"], &info["compression"], &info["batches"]), (&json!("file"), &json!("lz4"), &json!(2)));
    run(["convert", &file, &stream, "--compression", "zstd"]).ok();
    run(["convert", &stream, &last, "--compression", "zstd:3", "--row-group", "1", "--threads", "1"]).ok();
    assert_eq!(fs::read(&first).unwrap(), fs::read(&last).unwrap(), "nothing was lost on the way");
}

#[test]
fn refuses_inapplicable_options_and_inputs() {
    let folder = Folder::new();
    let input = folder.path("a.idv");
    for (out, option, expected) in [
        ("x.parquet", "--compression=deflate", "unknown compression \"deflate\""),
        ("x.arrow", "--compression=snappy", "unknown compression \"snappy\""),
        ("x.idv", "--compression=zstd", "--compression must be none, deflate or zlib for IDV, found \"zstd\""),
        (
            "x.csv",
            "--compression=zstd",
            "--compression is an option of idv, zarr, parquet, arrow and arrows, the output is csv",
        ),
        ("x.csv", "--times=ticks", "--times is an option of idv, parquet, arrow and arrows, the output is csv"),
        ("x.arrow", "--row-group=5", "--row-group is an option of parquet, the output is arrow"),
        ("x.parquet", "--level=5", "--level is an option of idv"),
    ] {
        let error = run(["convert", &input, &folder.path(out), option]).json_error_or_text(2);
        assert!(error.contains(expected), "{error}");
        assert!(!fs::exists(folder.path(out)).unwrap());
    }
}

#[test]
fn infers_column_types_from_all_rows() {
    let folder = Folder::new();
    let (text, csv) = (folder.path("in.jsonl"), folder.path("in.csv"));
    fs::write(&text, "{\"a\":1,\"b\":[\"x\"]}\n{\"a\":2.5,\"b\":null}\n").unwrap();
    fs::write(&csv, "a,b\n1,x\n2.5,\n").unwrap();
    for form in FORMS {
        let out = folder.path(&format!("text.{form}"));
        run(["convert", &text, &out]).ok();
        let rows = run(["cat", "--json", &out]).lines();
        assert_eq!(rows, [json!({"a": 1.0, "b": ["x"]}), json!({"a": 2.5, "b": null})]);
        let out = folder.path(&format!("csv.{form}"));
        run(["convert", &csv, &out]).ok();
        assert_eq!(run(["cat", "--json", &out]).lines(), [json!({"a": 1.0, "b": "x"}), json!({"a": 2.5, "b": null})]);
    }
}

#[test]
fn truncated_file_is_an_error_with_its_name() {
    let folder = Folder::new();
    for form in ["parquet", "arrow"] {
        let whole = folder.path(&format!("whole.{form}"));
        run(["convert", &folder.path("a.idv"), &whole]).ok();
        let bytes = fs::read(&whole).unwrap();
        let half = folder.path(&format!("half.{form}"));
        fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
        for verb in ["info", "cat"] {
            let error = run([verb, &half]).json_error_or_text(1);
            assert!(error.contains(&half) && error.contains("truncated"), "{error}");
        }
        let found = run(["verify", &half]);
        assert!(found.code() == 1 && found.out().contains("truncated"), "{found:?}");
    }
}

#[test]
fn columns_round_trip_to_idv() {
    let folder = Folder::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/idv/real-adult.idv");
    for form in FORMS {
        let (out, back) = (folder.path(&format!("adult.{form}")), folder.path(&format!("{form}.idv")));
        // Sparse vectors stay sparse.
        run(["convert", golden, &out, "--sparse", "structs"]).ok();
        let said = run(["convert", "--json", &out, &back, "--compression", "none", "--threads", "2"]);
        let said: Value = serde_json::from_str(said.ok()).unwrap();
        assert_eq!((&said["to"], &said["rows"], &said["columns"]), (&json!("idv"), &json!(500), &json!(14)));
        for verb in
            [&["cat", "--json"][..], &["cat", "--json", "--columns", "education-key,Features", "--rows", "7..9"]]
        {
            let rows = |file: &str| run([verb, &[file]].concat()).ok().to_owned();
            assert_eq!(rows(&back), rows(golden), "{form} {verb:?}");
        }
        let columns = |file: &str| {
            let info: Value = serde_json::from_str(run(["info", "--json", file]).ok()).unwrap();
            let columns = info["tables"][0]["columns"].as_array().unwrap().clone();
            columns.iter().map(|column| (column["type"].clone(), column["metadata"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(columns(&back), columns(golden), "{form}");
        // A selection.
        let part = folder.path(&format!("{form}-part.idv"));
        run(["convert", &out, &part, "--columns", "age,Label", "--rows", "490.."]).ok();
        let rows = |file: &str, rows: &str| {
            run(["cat", "--json", file, "--columns", "age,Label", "--rows", rows]).ok().to_owned()
        };
        assert_eq!(rows(&part, ".."), rows(golden, "490.."));
    }
}

#[test]
fn null_integers_option_writes_doubles_to_idv() {
    let folder = Folder::new();
    let (text, store, out) = (folder.path("in.jsonl"), folder.path("in.zds"), folder.path("in.parquet"));
    fs::write(&text, "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":null}\n").unwrap();
    run(["convert", &text, &store]).ok();
    run(["convert", &store, &out]).ok();
    let idv = folder.path("out.idv");
    let error = run(["convert", &out, &idv]);
    let expected = "unexpected null: a number of type Int64 cannot be missing; --null-integers \
                  double makes the column floats (row 1, column \"n\")";
    assert!(error.json_error_or_text(1).contains(expected), "{}", error.json_error_or_text(1));
    assert!(!fs::exists(&idv).unwrap());
    let warning = run(["convert", &out, &idv, "--null-integers", "double"]);
    assert!(
        warning.json_error_or_text(3).contains("null written as NaN (row 1, column \"n\")"),
        "{}",
        warning.json_error_or_text(3)
    );
    assert_eq!(run(["cat", "--json", &idv]).lines(), [json!({"_id": "a", "n": 1.0}), json!({"_id": "b", "n": "NaN"})]);
    let error = run(["convert", &text, &idv, "--force", "--null-integers", "double"]);
    assert!(
        error.json_error_or_text(2).contains("--null-integers does not go with inputs that are JSON lines"),
        "{}",
        error.json_error_or_text(2)
    );
    let error = run(["convert", &out, &folder.path("out.csv"), "--null-integers", "double"]);
    assert!(
        error.json_error_or_text(2).contains("--null-integers is an option of idv"),
        "{}",
        error.json_error_or_text(2)
    );
}

#[test]
fn columns_round_trip_to_ds() {
    let folder = Folder::new();
    let text = folder.path("in.jsonl");
    let rows = [
        json!({"t": 1, "x": [1.5, 2.5], "name": "a", "b": true}),
        json!({"t": null, "x": [3.5, 4.5], "name": null, "b": false}),
    ];
    fs::write(&text, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    let first = folder.path("first.ds");
    run(["convert", &text, &first, "--dim", "day"]).ok();
    for form in FORMS {
        let (out, back) = (folder.path(&format!("out.{form}")), folder.path(&format!("{form}.ds")));
        run(["convert", &first, &out, "--table", "day"]).ok();
        run(["convert", &out, &back]).ok();
        assert_eq!(fs::read(&back).unwrap(), fs::read(&first).unwrap(), "{form}");
        let other = folder.path(&format!("{form}-hour.ds"));
        let said = run(["convert", "--json", &out, &other, "--dim", "hour", "--columns", "t", "--rows", "1.."]);
        let said: Value = serde_json::from_str(said.ok()).unwrap();
        assert_eq!((&said["variables"], &said["bytes"]), (&json!(1), &json!(fs::metadata(&other).unwrap().len())));
        assert_eq!(run(["cat", "--json", "--table", "hour", &other]).lines(), [json!({"t": null})]);
    }
}
