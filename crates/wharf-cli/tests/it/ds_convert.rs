//! `wharf convert` to ds and from it.

use std::fs;

use dsfmt::{DataType, Reader};
use tempfile::TempDir;

use crate::common::{self, run};

const LINES: &str = "{\"a\":1,\"b\":true,\"c\":\"x\",\"n\":null,\"u\":18446744073709551615,\"v\":[1.5,2.0]}
{\"a\":null,\"b\":false,\"c\":\"\u{fc}\",\"n\":null,\"u\":0,\"v\":[3.0,4.0]}
{\"a\":3,\"b\":null,\"c\":\"z\",\"n\":null,\"u\":1,\"v\":[5.0,null]}
";

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).into_os_string().into_string().unwrap()
}

fn put(folder: &TempDir, name: &str, text: &str) -> String {
    let path = path(folder, name);
    fs::write(&path, text).unwrap();
    path
}

fn types(path: &str) -> Vec<(String, Option<DataType>, bool)> {
    let reader = Reader::open(path).unwrap();
    reader.variables().map(|v| (v.name().to_owned(), v.data_type(), v.is_masked())).collect()
}

#[test]
fn rows_without_columns_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let lines = put(&folder, "e.jsonl", "{}\n{}\n{}\n");
    for name in ["e.ds", "e.nc"] {
        let ran = run(["convert", &lines, &path(&folder, name)]);
        assert_eq!(ran.code(), 3, "{name}: {}", ran.err());
        assert!(ran.err().contains("row without columns left out, of which ds has none"), "{}", ran.err());
    }
}

#[test]
fn text_round_trips_through_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, out, back) = (put(&folder, "t.jsonl", LINES), path(&folder, "t.ds"), path(&folder, "back.jsonl"));
    assert_eq!(run(["convert", &lines, &out, "--dim", "person"]).ok(), "");
    let all = [
        ("a", DataType::Int64, true),
        ("b", DataType::Bool, true),
        ("c", DataType::Unicode, false),
        ("n", DataType::Float64, true),
        ("u", DataType::Uint64, false),
        ("v", DataType::Float64, true),
    ];
    assert_eq!(types(&out), all.map(|(name, data_type, masked)| (name.to_owned(), Some(data_type), masked)));
    let reader = Reader::open(&out).unwrap();
    assert_eq!(reader.variable("v").unwrap().dimensions(), ["person", "v_2"]);
    assert_eq!(run(["verify", &out]).code(), 0);
    assert_eq!(run(["convert", &out, &back, "--table", "person"]).ok(), "");
    assert_eq!(fs::read_to_string(&back).unwrap(), LINES);
    let csv = path(&folder, "t.csv");
    assert_eq!(run(["convert", &out, &csv, "--table", "person"]).ok(), "");
    let again = path(&folder, "again.ds");
    assert_eq!(run(["convert", &csv, &again, "--dim", "person"]).ok(), "");
    assert_eq!(fs::read(&again).unwrap(), fs::read(&out).unwrap());
    // Selected rows and columns, and several inputs.
    let some = path(&folder, "some.ds");
    assert_eq!(run(["convert", &lines, &lines, &some, "--columns", "c,a", "--rows", "2..4"]).ok(), "");
    let rows = run(["cat", &some, "--json"]);
    assert_eq!(rows.ok(), "{\"a\":3,\"c\":\"z\"}\n{\"a\":1,\"c\":\"x\"}\n");
    // The same bytes into a pipe.
    let piped = run(["convert", &lines, "-", "--to", "ds", "--dim", "person"]);
    assert_eq!(piped.0.stdout, fs::read(&out).unwrap());
}

#[test]
fn infers_types_from_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "t.ds");
    for (text, expected) in [
        ("{\"x\":1}\n{\"x\":\"NaN\"}\n", DataType::Float64),
        ("{\"x\":\"NaN\"}\n{\"x\":\"a\"}\n", DataType::Unicode),
        ("{\"x\":{\"$bytes\":\"AAH/\"}}\n", DataType::Str),
        ("{\"x\":[[true],[false]]}\n", DataType::Bool),
        ("{\"x\":9007199254740993}\n", DataType::Int64),
    ] {
        let lines = put(&folder, "t.jsonl", text);
        assert_eq!(run(["convert", &lines, &out, "--force"]).ok(), "");
        assert_eq!(types(&out)[0].1, Some(expected), "{text}");
    }
    let lines = put(&folder, "t.jsonl", "{\"x\":{\"$bytes\":\"AAH/\"}}\n{\"x\":{\"$bytes\":\"/w==\"}}\n");
    assert_eq!(run(["convert", &lines, &out, "--force"]).ok(), "");
    let reader = Reader::open(&out).unwrap();
    let x = reader.variable("x").unwrap().read().unwrap();
    assert_eq!(x.values().as_strings().unwrap().iter().collect::<Vec<_>>(), [&[0, 1, 255][..], &[255]]);
    let words = put(&folder, "t.csv", "x,y\n007,1\n,2.5\n");
    assert_eq!(run(["convert", &words, &out, "--force"]).ok(), "");
    let found: Vec<_> = types(&out).into_iter().map(|(_, data_type, masked)| (data_type.unwrap(), masked)).collect();
    // An empty cell is missing, as in Parquet.
    assert_eq!(found, [(DataType::Unicode, true), (DataType::Float64, false)]);
    for (text, expected) in [
        ("{\"x\":1}\n{\"x\":\"a\"}\n", "the column has text, but an integer in row 0; use --on-mismatch null or json"),
        (
            "{\"x\":9007199254740993}\n{\"x\":0.5}\n",
            "the column has a float, but an integer that Float64 cannot hold exactly in row 0",
        ),
        (
            "{\"x\":[1]}\n{\"x\":[1,2]}\n",
            "expected a list of 1 items as in row 0, found 2: a variable has one size; --ragged pad",
        ),
        ("{\"x\":[[1],[1,2]]}\n", "expected a list of 1 items as in row 0, found 2"),
        ("{\"x\":[1]}\n{\"x\":1}\n", "the column has an integer, but a list in row 0"),
        ("{\"x\":{\"y\":1}}\n", "unsupported type: struct; --structs flatten makes variables of its members"),
    ] {
        let lines = put(&folder, "t.jsonl", text);
        let ran = run(["convert", &lines, &out, "--force"]);
        assert_eq!(ran.code(), 1);
        assert!(ran.err().contains(expected), "{}", ran.err());
    }
    // The last of duplicate members is used, with a warning.
    let twice = put(&folder, "t.jsonl", "{\"x\":1,\"x\":2}\n");
    assert_eq!(run(["convert", &twice, &out, "--force"]).code(), 3);
    assert_eq!(run(["cat", &out, "--json"]).ok(), "{\"x\":2}\n");
    // Declared types, and mismatches as missing values.
    let mixed = put(&folder, "t.jsonl", "{\"x\":1,\"l\":[1]}\n{\"x\":\"a\",\"l\":[1,2]}\n");
    let ran = run(["convert", &mixed, &out, "--force", "--on-mismatch", "null", "--ragged", "pad"]);
    assert_eq!(ran.code(), 3, "{}", ran.err());
    assert_eq!(run(["cat", &out, "--json"]).ok(), "{\"l\":[1,null],\"x\":1}\n{\"l\":[1,2],\"x\":null}\n");
    let schema = put(&folder, "types.json", "{\"a\":\"Single\",\"t\":\"Timestamp(us)\"}");
    let cells = put(&folder, "t.csv", "a,t\n1,2024-01-01T00:00:00\n");
    assert_eq!(run(["convert", &cells, &out, "--force", "--schema", &schema]).ok(), "");
    assert_eq!(
        types(&out).iter().map(|(_, data_type, _)| *data_type).collect::<Vec<_>>(),
        [Some(DataType::Float32), Some(DataType::Int64)]
    );
    assert_eq!(run(["cat", &out, "--json", "--time", "iso"]).ok(), "{\"a\":1.0,\"t\":\"2024-01-01T00:00:00\"}\n");
    let lines = put(&folder, "t.jsonl", LINES);
    let ran = run(["convert", &lines, &out, "--force", "--columns", "none"]);
    assert_eq!(
        (ran.code(), ran.err()),
        (
            2,
            &*format!("error: {lines}: no column \"none\"; the columns are \"a\", \"b\", \"c\", \"n\", \"u\", \"v\"\n")
        )
    );
    let ran = run(["convert", &lines, &path(&folder, "x.csv"), "--dim", "a"]);
    assert_eq!((ran.code(), ran.err()), (2, "error: --dim is an option of ds, netcdf and zarr, the output is csv\n"));
}

#[test]
fn copies_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, out, some) = (put(&folder, "t.jsonl", LINES), path(&folder, "t.ds"), path(&folder, "some.ds"));
    assert_eq!(run(["convert", &lines, &out]).ok(), "");
    assert_eq!(run(["convert", &out, &some]).ok(), "");
    assert_eq!(fs::read(&out).unwrap(), fs::read(&some).unwrap());
    assert_eq!(run(["convert", &out, &some, "--columns", "v,c", "--force"]).ok(), "");
    assert_eq!(types(&some).len(), 2);
    assert_eq!(run(["convert", &out, &some, "--table", "row", "--force"]).code(), 2);
    assert_eq!(run(["convert", &out, &out, "--force"]).code(), 2);
    let idv = run(["convert", &out, &path(&folder, "t.idv")]);
    // Some integers are missing, with a warning.
    assert_eq!(idv.code(), 3);
}

#[test]
fn selects_row_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, out, some) = (put(&folder, "t.jsonl", LINES), path(&folder, "t.ds"), path(&folder, "some.ds"));
    assert_eq!(run(["convert", &lines, &out, "--dim", "person"]).ok(), "");
    for (rows, columns) in [("1..", "a,b,c,n,u,v"), ("..1", "a,v"), ("2", "c,b"), ("3..9", "u,v")] {
        assert_eq!(run(["convert", &out, &some, "--rows", rows, "--columns", columns, "--force"]).ok(), "");
        let expected = run(["cat", &out, "--table", "person", "--rows", rows, "--columns", columns, "--json"]);
        let found = run(["cat", &some, "--table", "person", "--columns", columns, "--json"]);
        assert_eq!(found.ok(), expected.ok(), "{rows}");
        assert_eq!(run(["verify", &some]).code(), 0);
    }
    // Along the other dimension only `v` is cut; everything else has the same bytes.
    assert_eq!(run(["convert", &out, &some, "--rows", "1..2", "--dim", "v_2", "--force"]).ok(), "");
    assert_eq!(run(["get", &some, "v", "--json"]).ok(), "[[2.0],[4.0],[null]]\n");
    assert_eq!(run(["get", &some, "c", "--raw", "--sel", "person=2"]).ok(), "z");
    // A slice without missing values has no mask.
    assert_eq!(run(["convert", &out, &some, "--rows", "2..", "--columns", "a", "--force"]).ok(), "");
    assert_eq!(types(&some), [("a".to_owned(), Some(DataType::Int64), false)]);
    for (arguments, expected) in [
        (["--rows", "5..", "--dim", "person"], "no row 5: the input has 3 rows"),
        (["--rows", "..1", "--dim", "none"], "no dimension \"none\": the dimensions are \"person\", \"v_2\""),
    ] {
        let ran = run([&["convert", &out, &some, "--force"][..], &arguments].concat());
        assert_eq!(ran.code(), 2);
        assert!(ran.err().contains(expected), "{}", ran.err());
    }
}

#[test]
fn stored_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, out) = (put(&folder, "t.jsonl", LINES), path(&folder, "t.ds"));
    assert_eq!(run(["convert", &lines, &out]).ok(), "");
    let raw = |arguments: &[&str]| run([&["get", &out][..], arguments, &["--raw"]].concat());
    let floats = |all: &[f64]| all.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // The stored bytes, without missing elements.
    assert_eq!(raw(&["v"]).0.stdout, floats(&[1.5, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(raw(&["v", "--sel", "v_2=1"]).0.stdout, floats(&[2.0, 4.0]));
    assert_eq!(raw(&["v", "--sel", "row=::-1"]).0.stdout, floats(&[5.0, 3.0, 4.0, 1.5, 2.0]));
    assert_eq!(raw(&["b"]).0.stdout, [0b1000_0000]);
    assert_eq!(raw(&["c", "--sel", "row=1"]).ok(), "\u{fc}");
    let ran = raw(&["c"]);
    assert_eq!((ran.code(), ran.out()), (2, ""));
    assert!(ran.err().contains("the selection has several"), "{}", ran.err());
    assert_eq!(run(["get", &out, "v", "--raw", "--json"]).code(), 2);
}

#[test]
fn keeps_32_bit_floats_short() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "t.ds");
    assert_eq!(run(["convert", &common::golden("real-adult.idv"), &out, "--columns", "age,Label"]).ok(), "");
    assert_eq!(types(&out)[1].1, Some(DataType::Float32));
    let all = run(["cat", &common::golden("real-adult.idv"), "--columns", "age", "--json"]);
    assert_eq!(run(["cat", &out, "--columns", "age", "--json"]).ok(), all.ok());
}

#[test]
fn netcdf_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let lines = put(&folder, "t.jsonl", "{\"x\":1.5,\"t\":\"ab\"}\n{\"x\":null,\"t\":\"c\"}\n");
    let (one, nc, two) = (path(&folder, "1.ds"), path(&folder, "x.nc"), path(&folder, "2.ds"));
    assert_eq!(run(["convert", &lines, &one]).ok(), "");
    for kind in ["classic", "64bit-offset", "cdf5", "netcdf4"] {
        assert_eq!(run(["convert", &one, &nc, "--nc-kind", kind, "--force"]).ok(), "");
        assert_eq!(run(["convert", &nc, &two, "--force"]).ok(), "");
        assert_eq!(run(["cat", &two, "--json"]).ok(), run(["cat", &one, "--json"]).ok());
    }
    let ran = run(["convert", &nc, &two, "--force", "--dim", "x"]);
    assert_eq!(ran.code(), 2);
    let ran = run(["convert", &one, "-", "--to", "netcdf"]);
    assert_eq!(ran.code(), 2);
    assert_eq!(run(["cat", &nc, "--json"]).ok(), run(["cat", &one, "--json"]).ok());
    assert_eq!(run(["verify", &nc]).ok(), format!("{nc}: ok\n"));
    fs::write(&nc, b"CDF\x01\0\0").unwrap();
    let ran = run(["convert", &nc, &two, "--force"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().starts_with(&format!("error: netcdf: {nc}: ")), "{}", ran.err());
}

/// Variables are copied unchanged; content that `verify` rejects is reported.
#[test]
fn reports_copied_strings_that_are_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"a": {".dims": ["x"], ".size": [2], ".type": "unicode", ".endian": "l", ".len": 19}}"#;
    let bytes =
        [b"ds-1.0\n", header.as_bytes(), b"\n", &1u64.to_le_bytes(), &2u64.to_le_bytes(), b"\xc3\xbcx"].concat();
    let (bad, copy) = (path(&folder, "bad.ds"), path(&folder, "copy.ds"));
    fs::write(&bad, bytes).unwrap();
    let ran = run(["convert", &bad, &copy]);
    assert_eq!(ran.code(), 3);
    let text =
        "copied although verification rejects it: element 0 is not valid UTF-8 at byte 0 (2 times, first byte 109";
    assert!(ran.err().contains(text), "{}", ran.err());
    assert_eq!(run(["verify", &copy]).code(), 1);
}
