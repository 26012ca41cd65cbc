//! A value means the same by whatever route it reaches a format.

use std::fs;

use crate::common::run;
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

    /// Converts a file; samples get the numbers of the rows as keys.
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

/// Zero is not the same as its negative: no integer has that sign.
#[test]
fn a_negative_zero_is_a_float_by_every_route() {
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
    // Digits behind a zero are a text, with the sign or without.
    folder.write("in.csv", "a,b\n1,x\n-00,y\n");
    for output in OUTPUTS {
        folder.convert("in.csv", output);
        assert_eq!(folder.values(output, "a")[1], json!("-00"), "{output}");
    }
}

/// What no float holds stays a text in CSV, digit by digit, and is never infinite.
#[test]
fn a_number_beyond_all_floats_is_a_text_by_every_route() {
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
        // JSON says that it is a number: no column of numbers takes it.
        folder.write("in.jsonl", &format!("{{\"a\":1}}\n{{\"a\":{number}}}\n"));
        for output in ["a.idv", "a.ds", "a.parquet", "a.arrow", "a.msgpack"] {
            let ran = run(["convert", &folder.path("in.jsonl"), &folder.path(output), "--force"]);
            assert_eq!(ran.code(), 1, "{output}");
            assert!(!ran.err().contains("the input changed"), "{output}: {}", ran.err());
        }
    }
}
