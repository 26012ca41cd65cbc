//! Joining inputs: values keep their labels, whatever the order of labels in each file.

use std::fs;
use std::sync::Arc;

use crate::common::run;
use arrow_array::types::Int8Type;
use arrow_array::{DictionaryArray, Int8Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use serde_json::{Value, json};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).into_os_string().into_string().unwrap()
    }

    /// An IDV file with a key column of these labels, a row for each, and a vector of two slots.
    fn keys(&self, name: &str, labels: &[String], slots: [&str; 2]) -> String {
        let columns = json!([
            {"name": "k", "type": format!("Key<Byte, {}>", labels.len()), "metadata": {"KeyValues": labels}},
            {"name": "v", "type": "Vector<Single, 2>", "metadata": {"SlotNames": slots}},
        ]);
        let rows: String = labels.iter().map(|label| json!({"k": label, "v": [1, 2]}).to_string() + "\n").collect();
        let (schema, text, out) = (self.path("schema.json"), self.path("rows.jsonl"), self.path(name));
        fs::write(&schema, columns.to_string()).unwrap();
        fs::write(&text, rows).unwrap();
        run(["convert", &text, &out, "--schema", &schema]).ok();
        out
    }

    /// An Arrow file with a dictionary of these labels and 8-bit indexes, a row for each.
    fn dictionary(&self, name: &str, labels: &[String]) -> String {
        let indexes = Int8Array::from_iter_values((0..labels.len()).map(|index| i8::try_from(index).unwrap()));
        let labels = Arc::new(StringArray::from_iter_values(labels));
        let column = DictionaryArray::<Int8Type>::try_new(indexes, labels).unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new("k", column.data_type_of(), true)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)]).unwrap();
        let options = wharf::ipc::WriterOptions::default();
        let mut writer = wharf::ipc::Writer::new(Vec::new(), schema, options).unwrap();
        writer.write(&batch).unwrap();
        fs::write(self.path(name), writer.end().unwrap()).unwrap();
        self.path(name)
    }

    /// The labels of the column `k`, in the order of the rows.
    fn labels(&self, name: &str) -> Vec<String> {
        let rows = run(["cat", &self.path(name), "--json"]).lines();
        rows.iter().map(|row| row["k"].as_str().unwrap().to_owned()).collect()
    }

    fn kind(&self, name: &str) -> String {
        let info: Value = serde_json::from_str(run(["info", &self.path(name), "--json"]).ok()).unwrap();
        info["tables"][0]["columns"][0]["type"].as_str().unwrap().to_owned()
    }
}

trait DataTypeOf {
    fn data_type_of(&self) -> arrow_schema::DataType;
}

impl<A: arrow_array::Array> DataTypeOf for A {
    fn data_type_of(&self) -> arrow_schema::DataType {
        self.data_type().clone()
    }
}

fn labels(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number}")).collect()
}

const COLUMNAR: [&str; 3] = ["parquet", "arrow", "arrows"];

#[test]
fn dictionary_indexes_fit_the_labels_of_all_files() {
    let folder = Folder::new();
    let (a, b) = (labels("a", 200), labels("b", 200));
    let files = [folder.keys("a.idv", &a, ["x", "y"]), folder.keys("b.idv", &b, ["x", "y"])];
    for form in COLUMNAR {
        let out = format!("ab.{form}");
        run(["convert", &files[0], &files[1], &folder.path(&out)]).ok();
        assert_eq!(run(["verify", &folder.path(&out)]).code(), 0, "{form}");
        assert_eq!(folder.labels(&out), [a.clone(), b.clone()].concat(), "{form}");
        assert_eq!(folder.kind(&out), "Dictionary(UInt16, Utf8)");
        let back = format!("{form}.idv");
        run(["convert", &folder.path(&out), &folder.path(&back)]).ok();
        assert_eq!(folder.labels(&back), [a.clone(), b.clone()].concat(), "{form}");
        assert_eq!(folder.kind(&back), "Key<UInt16, 400>");
    }
}

#[test]
fn widens_dictionary_indexes_without_metadata() {
    let folder = Folder::new();
    let (p, q) = (labels("p", 100), labels("q", 100));
    let files = [folder.dictionary("p.arrow", &p), folder.dictionary("q.arrow", &q)];
    for form in COLUMNAR {
        let out = format!("pq.{form}");
        run(["convert", &files[0], &files[1], &folder.path(&out)]).ok();
        assert_eq!(folder.labels(&out), [p.clone(), q.clone()].concat(), "{form}");
        // A stream has a dictionary for each batch.
        let expected = if form == "arrows" { "Dictionary(Int8, Utf8)" } else { "Dictionary(Int16, Utf8)" };
        assert_eq!(folder.kind(&out), expected, "{form}");
        // The same labels again need no more indexes.
        let out = format!("pp.{form}");
        run(["convert", &files[0], &files[0], &folder.path(&out)]).ok();
        assert_eq!(folder.kind(&out), "Dictionary(Int8, Utf8)", "{form}");
    }
    // A single stream with a different dictionary in each batch.
    for form in ["parquet", "arrow"] {
        let out = format!("stream.{form}");
        run(["convert", &folder.path("pq.arrows"), &folder.path(&out)]).ok();
        assert_eq!(folder.labels(&out), [p.clone(), q.clone()].concat(), "{form}");
    }
}

#[test]
fn reordered_labels_stay_with_their_rows() {
    let folder = Folder::new();
    let text = |all: &[&str]| all.iter().map(|&label| label.to_owned()).collect::<Vec<_>>();
    let (one, two) = (text(&["red", "green", "blue"]), text(&["blue", "black", "red"]));
    let files = [folder.keys("one.idv", &one, ["x", "y"]), folder.keys("two.idv", &two, ["x", "y"])];
    let all = [one, two].concat();
    for form in ["parquet", "arrow", "arrows", "jsonl", "csv", "zds", "ds"] {
        let out = format!("all.{form}");
        let ran = run(["convert", &files[0], &files[1], &folder.path(&out)]);
        // ds attributes are taken from the first file, with a warning; values are labels.
        assert!(ran.code() == 0 || form == "ds" && ran.code() == 3, "{form}: {ran:?}");
        assert_eq!(folder.labels(&out), all, "{form}");
    }
    for form in COLUMNAR {
        let back = format!("{form}.idv");
        run(["convert", &folder.path(&format!("all.{form}")), &folder.path(&back)]).ok();
        assert_eq!(folder.labels(&back), all, "{form}");
    }
    // Files of another format, each with its own labels.
    let parts = ["one", "two"].map(|name| {
        let part = folder.path(&format!("{name}.parquet"));
        run(["convert", &folder.path(&format!("{name}.idv")), &part]).ok();
        part
    });
    for form in ["idv", "arrow"] {
        let out = format!("parts.{form}");
        run(["convert", &parts[0], &parts[1], &folder.path(&out)]).ok();
        assert_eq!(folder.labels(&out), all, "{form}");
    }
}

/// Every output that rows of containers can be converted to, and what it needs.
const OUTPUTS: [(&str, &[&str]); 10] = [
    ("parquet", &[]),
    ("arrow", &[]),
    ("arrows", &[]),
    ("idv", &[]),
    ("ds", &[]),
    ("jsonl", &[]),
    ("csv", &[]),
    ("tsv", &[]),
    ("msgpack", &["--number"]),
    ("zds", &[]),
];

/// Asserts that every output refuses both files with a reason.
fn refused_by_all(folder: &Folder, files: &[String; 2], why: &[&str]) {
    for (form, options) in OUTPUTS {
        // `merge` joins ds files; samples can have different members.
        if form == "ds" && files[0].ends_with(".ds") || form == "msgpack" && why[0] == "differ" {
            continue;
        }
        let out = folder.path(&format!("refused.{form}"));
        let ran = run([&["convert", &files[0], &files[1], &out], options].concat());
        assert_eq!(ran.code(), 1, "{files:?} {form}: {ran:?}");
        for why in why {
            assert!(ran.err().contains(why), "{files:?} {form}: {}", ran.err());
        }
        assert!(!fs::exists(&out).unwrap(), "{form}");
    }
}

#[test]
fn refuses_reordered_slots_by_name() {
    let folder = Folder::new();
    let label = labels("a", 1);
    let files = [folder.keys("one.idv", &label, ["x", "y"]), folder.keys("two.idv", &label, ["y", "x"])];
    refused_by_all(&folder, &files, &["\"SlotNames\"", "\"v\""]);
    for format in ["parquet", "arrow", "ds"] {
        let others = ["one", "two"].map(|name| {
            let other = folder.path(&format!("{name}.{format}"));
            run(["convert", &folder.path(&format!("{name}.idv")), &other]).code();
            other
        });
        refused_by_all(&folder, &others, &["\"SlotNames\"", "\"v\""]);
        // A single file, or files without that column, are accepted.
        run(["convert", &others[1], &folder.path("one.jsonl"), "--force"]).ok();
        run(["convert", &others[0], &others[1], &folder.path("keys.jsonl"), "--columns", "k", "--force"]).ok();
    }
}

#[test]
fn refuses_different_units_and_scale_factors() {
    let folder = Folder::new();
    let number = |name: &str, attribute: &str| {
        let (text, path) = (folder.path("rows.csv"), folder.path(&format!("{name}.ds")));
        fs::write(&text, "far\n1\n2\n").unwrap();
        run(["convert", &text, &path, "--dim", "row", "--force"]).ok();
        run(["set", "--in-place", &path, &format!("far@{attribute}")]).ok();
        path
    };
    for (attribute, one, two) in [
        ("units", "m", "km"),
        ("units", "days since 2000-01-01", "hours since 2000-01-01"),
        ("calendar", "noleap", "360_day"),
        ("scale_factor", "0.01", "0.02"),
        ("add_offset", "10", "20"),
        ("flag_meanings", "dry wet", "wet dry"),
    ] {
        let files = [("one", one), ("two", two)].map(|(name, value)| number(name, &format!("{attribute}={value}")));
        refused_by_all(&folder, &files, &[&format!("attribute \"{attribute}\":"), "\"far\""]);
    }
}

#[test]
fn refuses_different_columns() {
    let folder = Folder::new();
    let one = |name: &str, text: &str| {
        let (rows, path) = (folder.path("rows.csv"), folder.path(name));
        fs::write(&rows, text).unwrap();
        assert_eq!(run(["convert", &rows, &path]).code(), 0);
        path
    };
    for format in ["parquet", "arrow", "idv"] {
        let files = [one(&format!("a.{format}"), "a,b\n1,2\n"), one(&format!("b.{format}"), "a,c\n1,2\n")];
        refused_by_all(&folder, &files, &["differ", "\"b\"", "\"c\""]);
    }
    // Rows of text form one table, whatever members each has, and values are self-describing.
    let texts = ["{\"a\":1}\n", "{\"b\":2}\n"];
    let texts = [("one", texts[0]), ("two", texts[1])].map(|(name, text)| {
        let path = folder.path(&format!("{name}.jsonl"));
        fs::write(&path, text).unwrap();
        path
    });
    run(["convert", &texts[0], &texts[1], &folder.path("texts.jsonl")]).ok();
    let types = [one("int.parquet", "x\n1\n"), one("float.parquet", "x\n0.5\n")];
    run(["convert", &types[0], &types[1], &folder.path("types.jsonl")]).ok();
    assert_eq!(fs::read_to_string(folder.path("types.jsonl")).unwrap(), "{\"x\":1}\n{\"x\":0.5}\n");
}
