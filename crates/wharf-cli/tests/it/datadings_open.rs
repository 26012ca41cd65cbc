//! `info`, `cat`, `get`, `verify` and `convert` on datadings datasets.

use std::fs;

use datadings::{Writer, WriterOptions};
use serde_json::{Value, json};

use crate::common::{run, wharf};
use crate::datasets::{Folder, PARTS, golden, keys};

/// The samples that Python read from a golden dataset, as JSON lines.
fn expected(name: &str) -> String {
    let text = fs::read_to_string(golden(&name.replace(".msgpack", ".expected.jsonl"))).unwrap();
    let samples = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        format!("{}\n", line["sample"].take())
    });
    samples.collect()
}

#[test]
fn rows_match_python() {
    for name in ["real-iris.msgpack", "real-digits.msgpack", "index-legacy.msgpack", "size-300.msgpack"] {
        let ran = run(["cat", &golden(name), "--json"]);
        let found: Vec<Value> = ran.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let expected: Vec<Value> = expected(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(found == expected, "{name}");
    }
    // Any file of the dataset, or a stream, gives the samples.
    let iris = golden("real-iris.msgpack");
    let all = run(["cat", &iris, "--json"]);
    for part in PARTS {
        assert_eq!(run(["cat", &format!("{iris}{part}"), "--json"]).ok(), all.ok(), "{part}");
    }
    let ran = wharf(["cat", "-", "--json"]).stdin(fs::File::open(&iris).unwrap()).output().unwrap();
    assert_eq!(std::str::from_utf8(&ran.stdout).unwrap(), all.ok());
}

#[test]
fn gets_a_sample_by_key() {
    let iris = golden("real-iris.msgpack");
    let line = "{\"key\":\"iris-012\",\"sepal\":[4.8,3.0],\"petal\":[1.4,0.1],\"species\":\"setosa\"}\n";
    assert_eq!(run(["get", &iris, "iris-012"]).ok(), line);
    assert_eq!(run(["get", &iris, "--row", "12"]).ok(), line);
    assert_eq!(
        run(["get", &iris, "iris-012", "--columns", "species,key"]).ok(),
        "{\"species\":\"setosa\",\"key\":\"iris-012\"}\n"
    );
    let error = run(["get", &iris, "iris-150", "--json"]).json_error(2);
    assert_eq!((&error["key"], &error["kind"]), (&json!("iris-150"), &json!("usage")));
    let unicode = golden("keys-unicode.msgpack");
    // An argument cannot contain NUL.
    for key in keys(&unicode).into_iter().filter(|key| !key.contains('\0')) {
        let ran = run(["get", &unicode, "--", &key]);
        assert_eq!(ran.lines()[0]["key"], json!(key));
    }
}

#[test]
fn info_as_text_and_json() {
    let folder = Folder::new();
    folder.copy("real-digits.msgpack", &PARTS);
    let digits = folder.path("real-digits.msgpack");
    let text = run(["info", &digits]).ok().replace(&folder.path(""), "@");
    let head = "@real-digits.msgpack: datadings with offsets, 13.5 kB\nfiles: {offsets: 808, ";
    assert!(text.starts_with(head) && !text.contains("salt"), "{text}");
    let table = "100 rows, 3 columns\n\ncolumn  type\n──────────────────────────\nkey     str\nimage   ndarray |u1 [8, 8]\nlabel   int\n";
    assert!(text.ends_with(table), "{text}");
    let info = run(["info", &digits, "--json"]).lines().remove(0);
    assert_eq!(
        (&info["format"], &info["bytes"], &info["salt"]),
        (&json!("datadings"), &json!(13500), &json!("652e530edee5893b"))
    );
    let columns = &info["tables"][0]["columns"];
    let image = json!({"name": "image", "type": "ndarray |u1 [8, 8]", "samples": 100, "samples_looked_at": 100});
    assert_eq!((columns.as_array().unwrap().len(), &columns[1]), (3, &image));
    for part in [".keys", ".filter", ".md5"] {
        fs::remove_file(format!("{digits}{part}")).unwrap();
    }
    assert!(run(["info", &digits]).ok().contains("missing: [\"keys\", \"filter\", \"md5\"]"));
}

/// A dataset larger than the sample for inference, in which a single sample has an additional field.
fn with_a_rare_field(folder: &Folder) -> String {
    let path = folder.path("rare.msgpack");
    let options = WriterOptions::default().with_md5(false);
    let mut writer = Writer::create(&path, options).unwrap();
    let filling = vec![0u8; 8000];
    for row in 0..9000u32 {
        let mut message = vec![if row == 4321 { 0x83 } else { 0x82 }];
        for text in ["key", &format!("k{row}")] {
            datadings::ser::extend(&mut message, text).unwrap();
        }
        if row == 4321 {
            message.extend_from_slice(b"\xa4rare\xa4here");
        }
        message.extend_from_slice(b"\xa4data\xc5\x1f\x40");
        message.extend_from_slice(&filling);
        writer.append_message(&message).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn field_of_a_single_sample_is_a_column() {
    let folder = Folder::new();
    let path = with_a_rare_field(&folder);
    // The inference sample does not contain it, and `info` states the sample size.
    let text = run(["info", &path]).ok().to_owned();
    assert!(text.contains("9,000 rows, 2 columns in a sample of 4,500 rows"), "{text}");
    let header = |arguments: &[&str]| run(arguments).ok().lines().next().unwrap().to_owned();
    assert_eq!(header(&["cat", &path, "--csv", "-n", "1"]).split(',').collect::<Vec<_>>(), ["key", "data", "rare"]);
    assert_eq!(
        header(&["cat", &path, "--columns", "rare,key", "--rows", "4321"]),
        "{\"rare\":\"here\",\"key\":\"k4321\"}"
    );
    assert_eq!(header(&["cat", &path, "--columns", "rare,key", "--rows", "7"]), "{\"key\":\"k7\"}");
    // A record printed as a table has all of its fields.
    let record = run(["get", &path, "k4321", "--pretty"]).ok().to_owned();
    assert!(record.lines().any(|line| line.starts_with("rare ") && line.ends_with(" here")), "{record}");
    assert!(!run(["get", &path, "k4320", "--pretty"]).ok().contains("rare"));
    let csv = folder.path("rare.csv");
    assert_eq!(run(["convert", &path, &csv, "--columns", "key,rare"]).code(), 0);
    let text = fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().nth(4322), Some("k4321,here"));
    assert_eq!(text.lines().nth(4323), Some("k4322,"));
    let ran = run(["cat", &path, "--columns", "rarer"]);
    assert_eq!((ran.code(), ran.err()), (2, &*format!("error: {path}: no column \"rarer\"; similar: \"rare\"\n")));
}

#[test]
fn verify_finds_every_problem() {
    let folder = Folder::new();
    folder.copy("real-iris.msgpack", &PARTS);
    let iris = folder.path("real-iris.msgpack");
    assert_eq!(run(["verify", &iris]).ok(), format!("{iris}: ok\n"));
    let mut bytes = fs::read(&iris).unwrap();
    let at = bytes.windows(8).position(|window| window == b"iris-033").unwrap();
    bytes[at + 7] = b'4';
    fs::write(&iris, bytes).unwrap();
    let ran = run(["verify", &iris, "--json"]);
    let report = ran.lines().remove(0);
    assert_eq!((ran.code(), &report["format"], &report["ok"]), (1, &json!("datadings"), &json!(false)));
    let findings = report["findings"].as_array().unwrap();
    let says = |what: &str| findings.iter().any(|finding| finding["message"].as_str().unwrap().contains(what));
    assert!(says("iris-034") && says("md5") && findings.len() >= 2, "{report}");
    assert!(findings.iter().any(|finding| finding["row"] == 33), "{report}");
}
