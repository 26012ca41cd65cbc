//! Irregular input for outputs with typed columns: results and messages. Documented in the guide, types.md.

use std::collections::HashMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder, Int32Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use container_arrow::{ArrowTable, BatchScan};
use container_core::testkit::cases;
use serde_json::{Value, json};
use wharf::{ipc, parquet};

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

    fn file(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Runs `convert` with these arguments; `@` stands for the folder.
    fn convert(&self, arguments: &[&str]) -> common::Ran {
        let folder = format!("{}/", self.0.path().display());
        let full = arguments.iter().map(|argument| argument.replace('@', &folder));
        run(std::iter::once("convert".to_owned()).chain(full))
    }

    fn rows(&self, name: &str) -> Vec<Value> {
        run(["cat", &self.path(name), "--json"]).lines()
    }

    /// Asserts that a conversion fails with this code and message and leaves no output.
    #[track_caller]
    fn fails(&self, arguments: &[&str], code: i32, said: &str) {
        let ran = self.convert(arguments);
        assert!(ran.code() == code && ran.err().contains(said), "{arguments:?}: {}: {}", ran.code(), ran.err());
        let out = arguments[1].replace('@', "");
        assert!(!fs::exists(self.path(&out)).unwrap(), "{out}");
    }

    /// Writes batches as Parquet and as Arrow IPC: `NAME.parquet`, `NAME.arrow`, `NAME.arrows`.
    fn batches(&self, name: &str, columns: Vec<(&str, ArrayRef)>) {
        let field = |(name, array): (&str, ArrayRef)| (Field::new(name, array.data_type().clone(), true), array);
        self.batch(name, columns.into_iter().map(field).collect());
    }

    /// The same with field metadata.
    fn batch(&self, name: &str, columns: Vec<(Field, ArrayRef)>) {
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
        let create = |form: &str| fs::File::create(self.path(&format!("{name}.{form}"))).unwrap();
        let mut writer =
            parquet::Writer::new(create("parquet"), Arc::clone(&schema), parquet::WriterOptions::default()).unwrap();
        writer.write(&batch).unwrap();
        writer.end().unwrap();
        for (extension, form) in [("arrow", ipc::Layout::File), ("arrows", ipc::Layout::Stream)] {
            let options = ipc::WriterOptions::default().with_layout(form);
            let mut writer = ipc::Writer::new(create(extension), Arc::clone(&schema), options).unwrap();
            writer.write(&batch).unwrap();
            writer.end().unwrap();
        }
    }
}

#[test]
fn field_changes_type_late() {
    let folder = Folder::new();
    // Many batches, and blocks of every reader.
    let rows = cases(100_000, 1_000_000);
    let odd_row = rows / 10 * 9;
    let near = format!("{}..{}", odd_row - 1, odd_row + 2);
    let mut text = BufWriter::new(fs::File::create(folder.path("a.jsonl")).unwrap());
    for row in 0..rows {
        if row == odd_row {
            writeln!(text, "{{\"key\":\"{row:07}\",\"n\":\"x\"}}").unwrap();
        } else {
            writeln!(text, "{{\"key\":\"{row:07}\",\"n\":{row}}}").unwrap();
        }
    }
    drop(text);
    folder.convert(&["@a.jsonl", "@a.msgpack"]).ok();
    folder.convert(&["@a.jsonl", "@a.zds", "--id", "key"]).ok();
    for input in ["@a.jsonl", "@a.msgpack", "@a.zds"] {
        let said = "the column has text, but an integer in row 0; use --on-mismatch null or json";
        folder.fails(&[input, "@none.parquet"], 1, said);
        let ran = folder.convert(&[input, "@none.parquet"]);
        assert!(ran.err().contains(&format!("row {odd_row}, column \"n\"")), "{input}: {}", ran.err());
        // One value is lost, with a warning.
        let ran = folder.convert(&[input, "@null.parquet", "--force", "--on-mismatch", "null"]);
        assert_eq!(ran.code(), 3, "{input}: {}", ran.err());
        let lost = format!("value that does not fit into a column of Int64 shown as null (row {odd_row}, column \"n\"");
        assert!(ran.err().contains(&lost), "{input}: {}", ran.err());
        let odd = |name: &str| run(["cat", &folder.path(name), "--json", "--rows", &near, "--columns", "n"]).lines();
        assert_eq!(
            odd("null.parquet"),
            [json!({"n": odd_row - 1}), json!({"n": null}), json!({"n": odd_row + 1})],
            "{input}"
        );
        // All values are kept as JSON.
        folder.convert(&[input, "@json.parquet", "--force", "--on-mismatch", "json"]).ok();
        assert_eq!(
            odd("json.parquet"),
            [json!({"n": odd_row - 1}), json!({"n": "x"}), json!({"n": odd_row + 1})],
            "{input}"
        );
    }
    // CSV cells become strings, unchanged.
    folder.convert(&["@a.jsonl", "@a.csv"]).ok();
    folder.convert(&["@a.csv", "@csv.parquet"]).ok();
    let cells = run(["cat", &folder.path("csv.parquet"), "--json", "--rows", &near, "--columns", "n"]).lines();
    let text = |row: usize| json!({"n": row.to_string()});
    assert_eq!(cells, [text(odd_row - 1), json!({"n": "x"}), text(odd_row + 1)]);
}

#[test]
fn keeps_nulls_at_every_depth() {
    let folder = Folder::new();
    let lines = r#"{"key":"a","a":{"b":[1,null]}}
{"key":"b","a":null}
{"key":"c","a":{"b":null}}
{"key":"d","a":{"b":[null]}}
{"key":"e","a":{"b":[]}}
"#;
    folder.file("a.jsonl", lines);
    let expected: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for out in ["x.parquet", "x.arrow", "x.arrows", "x.msgpack"] {
        folder.convert(&["@a.jsonl", &format!("@{out}")]).ok();
        assert_eq!(folder.rows(out), expected, "{out}");
    }
    for form in ["msgpack", "jsonl", "parquet"] {
        let out = format!("back.{form}");
        folder.convert(&["@x.parquet", &format!("@{out}")]).ok();
        assert_eq!(folder.rows(&out), expected, "{out}");
    }
    folder.convert(&["@x.parquet", "@back.zds", "--id", "key"]).ok();
    let ids = folder.rows("back.zds");
    assert_eq!((ids.len(), &ids[0]["a"], &ids[1]["a"]), (5, &expected[0]["a"], &Value::Null));
    // A struct is no column of IDV, and no variable of ds but by its members.
    folder.fails(&["@x.parquet", "@x.idv"], 1, "no IDV type for Struct");
    let said = "unsupported type: struct; --structs flatten makes variables of its members (column \"a\")";
    folder.fails(&["@x.parquet", "@x.ds"], 1, said);
    let ran = folder.convert(&["@x.parquet", "@x.ds", "--structs", "flatten", "--ragged", "pad"]);
    assert_eq!((ran.code(), &folder.rows("x.ds")[0]), (3, &json!({"key": "a", "a.b": [1, null]})), "{}", ran.err());
}

#[test]
fn lists_of_different_lengths() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"key\":\"a\",\"x\":[1]}\n{\"key\":\"b\",\"x\":[1,2,3]}\n{\"key\":\"c\",\"x\":[]}\n");
    folder.convert(&["@a.jsonl", "@a.parquet"]).ok();
    let expected = [json!([1]), json!([1, 2, 3]), json!([])];
    for out in ["x.jsonl", "x.arrow", "x.msgpack", "x.idv"] {
        folder.convert(&["@a.parquet", &format!("@{out}")]).ok();
        assert_eq!(folder.rows(out).iter().map(|row| row["x"].clone()).collect::<Vec<_>>(), expected, "{out}");
    }
    // A variable of ds has one size.
    let said =
        "expected a list of 1 items as in row 0, found 3: a variable has one size; --ragged pad adds missing elements";
    folder.fails(&["@a.parquet", "@x.ds"], 1, said);
    let ran = folder.convert(&["@a.parquet", "@x.ds", "--ragged", "pad"]);
    assert!(ran.code() == 3 && ran.err().contains("list padded with missing elements"), "{}", ran.err());
    let rows = folder.rows("x.ds");
    assert_eq!((&rows[0]["x"], &rows[2]["x"]), (&json!([1, null, null]), &json!([null, null, null])));
}

/// A tensor field with the canonical Arrow extension type.
fn tensor(name: &str, data_type: DataType, extension: &str, metadata: &str) -> Field {
    let metadata = [("ARROW:extension:name", extension), ("ARROW:extension:metadata", metadata)];
    let metadata = metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new(name, data_type, true).with_metadata(metadata.collect::<HashMap<_, _>>())
}

#[test]
fn tensors_of_several_shapes() {
    let folder = Folder::new();
    folder.file("lists.jsonl", "{\"n\":[[1,2],[3]]}\n{\"n\":[[],[4,5,6],[7]]}\n");
    assert_eq!(folder.convert(&["@lists.jsonl", "@lists.parquet"]).code(), 0);
    assert_eq!(folder.rows("lists.parquet"), [json!({"n": [[1, 2], [3]]}), json!({"n": [[], [4, 5, 6], [7]]})]);

    let mut data = ListBuilder::new(Float64Builder::new());
    let mut shape = FixedSizeListBuilder::new(Int32Builder::new(), 2);
    for (values, sizes) in [(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], [2, 3]), (&[7.0, 8.0], [1, 2]), (&[], [0, 4])] {
        data.append_value(values.iter().map(|value| Some(*value)));
        shape.values().append_slice(&sizes);
        shape.append(true);
    }
    let (data, shape): (ArrayRef, ArrayRef) = (Arc::new(data.finish()), Arc::new(shape.finish()));
    let field = |name, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let array = StructArray::from(vec![(field("data", &data), data), (field("shape", &shape), shape)]);
    let field = tensor("t", array.data_type().clone(), "arrow.variable_shape_tensor", "{}");
    folder.batch("t", vec![(field, Arc::new(array))]);
    let rows = [
        json!({"t": {"data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "shape": [2, 3]}}),
        json!({"t": {"data": [7.0, 8.0], "shape": [1, 2]}}),
        json!({"t": {"data": [], "shape": [0, 4]}}),
    ];
    assert_eq!(folder.rows("t.parquet"), rows);
    let ran = folder.convert(&["@t.parquet", "@t.msgpack", "--number"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let array = json!({"dtype": "<f8", "shape": [2, 3], "data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]});
    assert_eq!(folder.rows("t.msgpack")[0]["t"], json!({"$ndarray": array}));
    assert_eq!(folder.convert(&["@t.msgpack", "@back.parquet"]).code(), 0);
    let back = folder.rows("back.parquet");
    assert_eq!(back.iter().map(|row| row["t"].clone()).collect::<Vec<_>>(), rows.map(|row| row["t"].clone()));
    folder.fails(&["@t.parquet", "@t.ds"], 1, "--structs flatten");
}

/// Two tensors with the same dimension name share a dimension in ds, which has one size.
#[test]
fn duplicate_dimension_names() {
    let folder = Folder::new();
    let column = |name: &str, shape: [i32; 2]| {
        let size = shape[0] * shape[1];
        let item = Arc::new(Field::new_list_field(DataType::Int32, true));
        let values = Arc::new(Int32Array::from_iter_values(0..2 * size));
        let array = FixedSizeListArray::new(Arc::clone(&item), size, values, None);
        let said = json!({"shape": shape, "dim_names": ["H", "W"]}).to_string();
        let field = tensor(name, DataType::FixedSizeList(item, size), "arrow.fixed_shape_tensor", &said);
        (field, Arc::new(array) as ArrayRef)
    };
    folder.batch("t", vec![column("x", [2, 3]), column("y", [4, 3])]);
    let ran = folder.convert(&["@t.parquet", "@t.ds"]);
    let said = "dimension renamed: another dimension of this name has another size (column \"y\")";
    assert!(ran.code() == 3 && ran.err().contains(said), "{}: {}", ran.code(), ran.err());
    let info = run(["info", &folder.path("t.ds")]);
    let shown = info.out();
    assert!(shown.contains("int32 x(row, H, W)") && shown.contains("int32 y(row, y_2, W)"), "{shown}");
    assert_eq!(folder.rows("t.ds"), folder.rows("t.parquet"));
}

#[test]
fn duplicate_column_names() {
    let folder = Folder::new();
    // The writers of wharf refuse such columns.
    let message = "message rows { required int64 a; required int64 a; required binary b (UTF8); }";
    let schema = Arc::new(::parquet::schema::parser::parse_message_type(message).unwrap());
    let sink = fs::File::create(folder.path("a.parquet")).unwrap();
    let mut writer = ::parquet::file::writer::SerializedFileWriter::new(sink, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in [[1, 2], [3, 4]] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<::parquet::data_type::Int64Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<::parquet::data_type::ByteArrayType>().write_batch(&["x".into(), "y".into()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let int = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let word: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let field = |name, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
    let arrays = vec![int([1, 2]), int([3, 4]), word];
    let fields: Vec<_> = ["a", "a", "b"].into_iter().zip(&arrays).map(|(name, array)| field(name, array)).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let create = |name: &str| fs::File::create(folder.path(name)).unwrap();
    let mut file = arrow_ipc::writer::FileWriter::try_new(create("a.arrow"), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    let mut stream = arrow_ipc::writer::StreamWriter::try_new(create("a.arrows"), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    folder.file("a.csv", "a,a,b\n1,3,x\n2,4,y\n");
    let expected = [json!({"a": 1, "a#2": 3, "b": "x"}), json!({"a": 2, "a#2": 4, "b": "y"})];
    for input in ["a.parquet", "a.arrow", "a.arrows", "a.csv"] {
        assert_eq!(folder.rows(input), expected, "{input}");
        for out in ["x.parquet", "x.arrow", "x.csv", "x.jsonl", "x.idv", "x.ds"] {
            let ran = folder.convert(&[&format!("@{input}"), &format!("@{out}"), "--force"]);
            assert_eq!((ran.code(), folder.rows(out)), (0, expected.to_vec()), "{input} to {out}");
        }
        folder.convert(&[&format!("@{input}"), "@x.msgpack", "--force", "--number"]).ok();
        assert_eq!(folder.rows("x.msgpack")[1], json!({"key": "0000000001", "a": 2, "a#2": 4, "b": "y"}), "{input}");
        let ran = folder.convert(&[&format!("@{input}"), "@x.arrow", "--force", "--columns", "a#2"]);
        assert_eq!((ran.code(), folder.rows("x.arrow")), (0, vec![json!({"a#2": 3}), json!({"a#2": 4})]), "{input}");
    }
}

#[test]
fn duplicate_object_members() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"key\":\"a\",\"x\":1,\"y\":2,\"x\":3}\n");
    // Columns: the last one counts.
    let told = "duplicate object member: last value kept";
    for out in ["x.parquet", "x.arrow", "x.idv", "x.csv", "x.tsv"] {
        let ran = folder.convert(&["@a.jsonl", &format!("@{out}")]);
        assert_eq!((ran.code(), ran.err().contains(told)), (3, true), "{}", ran.err());
        let row = &folder.rows(out)[0];
        assert_eq!((&row["x"], &row["y"]), (&json!(3), &json!(2)), "{out}");
    }
    let ran = run(["cat", &folder.path("a.jsonl"), "--columns", "x"]);
    assert_eq!((ran.code(), ran.out()), (3, "{\"x\":3}\n"));
    assert!(ran.err().ends_with(&format!("{told} (row 0, column \"x\")\n")), "{}", ran.err());
    // Inside a cell, all are kept.
    folder.file("nested.jsonl", "{\"x\":{\"y\":1,\"y\":2}}\n");
    folder.convert(&["@nested.jsonl", "@nested.csv"]).ok();
    assert_eq!(fs::read_to_string(folder.path("nested.csv")).unwrap(), "x\n\"{\"\"y\"\":1,\"\"y\"\":2}\"\n");
    // Samples refuse it; documents keep their bytes.
    folder.fails(&["@a.jsonl", "@x.msgpack"], 1, "duplicate member (byte 27, line 1, column \"x\")");
    folder.convert(&["@a.jsonl", "@x.zds", "--id", "key"]).ok();
    let shown = run(["cat", &folder.path("x.zds")]);
    assert!(shown.out().contains(r#""x":1,"y":2,"x":3"#), "{}", shown.out());
    let ran = folder.convert(&["@x.zds", "@z.parquet"]);
    assert_eq!((ran.code(), ran.err().contains(told)), (3, true), "{}", ran.err());
    assert_eq!(folder.rows("z.parquet")[0]["x"], 3);
}

#[test]
fn questions_to_columns_of_several_types() {
    let folder = Folder::new();
    folder.file("a.jsonl", "{\"id\":5,\"x\":1}\n{\"id\":{\"k\":1},\"x\":2}\n");
    folder.file("b.jsonl", "{\"id\":5,\"x\":1}\n{\"id\":{\"k\": 2},\"x\":2}\n");
    folder.file("c.jsonl", "{\"id\":5,\"x\":1}\n{\"id\":6,\"x\":2}\n");
    let [mixed, other, whole] = ["a.jsonl", "b.jsonl", "c.jsonl"].map(|name| folder.path(name));
    assert_eq!(run(["diff", &mixed, &mixed]).ok(), "");
    for differs in [&other, &whole] {
        let ran = run(["diff", &mixed, differs]);
        assert!(ran.code() == 1 && ran.out().contains("id"), "{ran:?}");
    }
    let stats = run(["stats", &mixed, "--json"]);
    assert_eq!((stats.code(), &stats.lines()[1]["column"], &stats.lines()[1]["mean"]), (0, &json!("x"), &json!(1.5)));
    let groups = run(["count", &mixed, "--by", "id", "--json"]);
    let values: Vec<_> = groups.lines().iter().map(|group| group["values"]["id"].clone()).collect();
    assert_eq!((groups.code(), values), (0, vec![json!(5), json!({"k": 1})]));
}

#[test]
fn strings_larger_than_a_batch_and_a_row_group() {
    // 3,000 strings of 1,000 bytes, in batches of 32 KiB and row groups of 64 KiB: a scaled-down column of 3 GB.
    let folder = Folder::new();
    let word = |row: usize| format!("{row:05}").repeat(200);
    let mut text = BufWriter::new(fs::File::create(folder.path("a.jsonl")).unwrap());
    (0..3000).for_each(|row| writeln!(text, "{{\"text\":\"{}\"}}", word(row)).unwrap());
    drop(text);
    let container = wharf::open(folder.path("a.jsonl")).unwrap();
    let table = container.tables()[0].arrow().unwrap();
    let scan = BatchScan::default().with_batch_bytes(32 << 10);
    let schema = ArrowTable::schema(table, &scan).unwrap();
    let sink = fs::File::create(folder.path("a.parquet")).unwrap();
    let options = parquet::WriterOptions::default().with_group_bytes(64 << 10);
    let mut writer = parquet::Writer::new(sink, schema, options).unwrap();
    let mut batches = 0;
    for batch in table.batches(&scan).unwrap() {
        let batch = batch.unwrap();
        assert!(batch.get_array_memory_size() < 128 << 10, "{}", batch.get_array_memory_size());
        batches += 1;
        writer.write(&batch).unwrap();
    }
    writer.end().unwrap();
    assert!(batches > 90, "{batches}");
    let info: Value = serde_json::from_str(run(["info", "--json", &folder.path("a.parquet")]).ok()).unwrap();
    assert!(info["row_groups"].as_u64().unwrap() > 40, "{info}");
    assert_eq!(info["tables"][0]["columns"][0]["type"], "Utf8");
    // Reading it back, in small batches too.
    let container = wharf::open(folder.path("a.parquet")).unwrap();
    let table = container.tables()[0].arrow().unwrap();
    let mut row = 0;
    for batch in table.batches(&scan).unwrap() {
        let batch = batch.unwrap();
        let texts = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
        assert!(texts.values().len() <= 256 << 10);
        for text in texts {
            assert_eq!(text.unwrap(), word(row));
            row += 1;
        }
    }
    assert_eq!(row, 3000);
}

/// Peak resident memory of a running process in bytes, as reported by Linux.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// In nightly runs the column has 3 GB, which needs 6 GB of disk and a minute.
#[test]
fn column_larger_than_memory() {
    let (rows, limit) = cases((20_000_u64, 200 << 20), (3_000_000, 500 << 20));
    let folder = Folder::new();
    let mut text = BufWriter::with_capacity(1 << 20, fs::File::create(folder.path("a.jsonl")).unwrap());
    let mut state = 1_u64;
    for row in 0..rows {
        write!(text, "{{\"row\":{row},\"text\":\"").unwrap();
        for _ in 0..64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            write!(text, "{state:016x}").unwrap();
        }
        text.write_all(b"\"}\n").unwrap();
    }
    drop(text);
    for (from, to) in [("a.jsonl", "x.parquet"), ("x.parquet", "x.arrow")] {
        let arguments = ["convert".to_owned(), folder.path(from), folder.path(to)];
        let mut child = wharf(arguments).stdout(Stdio::null()).spawn().unwrap();
        let mut most = 0;
        let status = loop {
            most = most.max(peak(child.id()).unwrap_or(0));
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        };
        assert!(status.success() && most < limit, "{from} to {to}: {status}, {most} bytes");
        fs::remove_file(folder.path(from)).unwrap();
        let info: Value = serde_json::from_str(run(["info", "--json", &folder.path(to)]).ok()).unwrap();
        assert_eq!(info["tables"][0]["rows"], rows);
        let last = run(["cat", &folder.path(to), "--json", "--rows", &(rows - 1).to_string()]).lines();
        assert_eq!((&last[0]["row"], last[0]["text"].as_str().unwrap().len()), (&json!(rows - 1), 1024));
    }
}

#[test]
fn truncated_files() {
    let folder = Folder::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cross/");
    for (form, said) in [("parquet", ": truncated, or not a Parquet file"), ("arrow", ""), ("arrows", "")] {
        // Written by pyarrow.
        let whole = fs::read(format!("{golden}types.{form}")).unwrap();
        let half = folder.path(&format!("half.{form}"));
        fs::write(&half, &whole[..whole.len() / 2]).unwrap();
        folder.fails(&[&format!("@half.{form}"), "@out.jsonl"], 1, said);
        folder.fails(&[&format!("@half.{form}"), "@out.idv"], 1, &format!("half.{form}: "));
        for verb in ["cat", "verify", "info"] {
            let ran = run([verb, &half]);
            if (form, verb) != ("arrows", "info") {
                assert_eq!(ran.code(), 1, "{verb} {form}: {}", ran.err());
                let said = format!("{}{}", ran.out(), ran.err());
                assert!(said.contains(&half) && said.contains("byte"), "{verb} {form}: {said}");
            }
        }
    }
}

#[test]
fn names_that_differ_only_in_case() {
    let folder = Folder::new();
    let int = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    folder.batches("a", vec![("key", Arc::new(StringArray::from(vec!["k"]))), ("a", int(1)), ("A", int(2))]);
    folder.file("a.csv", "key,a,A\nk,1,2\n");
    folder.file("a.jsonl", "{\"key\":\"k\",\"a\":1,\"A\":2}\n");
    let expected = json!({"key": "k", "a": 1, "A": 2});
    for input in ["@a.parquet", "@a.arrow", "@a.csv", "@a.jsonl"] {
        // Hive and Spark ignore the case of column names: a note, no loss.
        let ran = folder.convert(&[input, "@x.parquet", "--force"]);
        let said = "the columns \"a\" and \"A\" differ only in case: some Parquet readers treat them as one";
        assert!(ran.code() == 0 && ran.err().contains(said), "{input}: {}", ran.err());
        assert_eq!(folder.rows("x.parquet"), std::slice::from_ref(&expected), "{input}");
        for out in ["x.arrow", "x.arrows", "x.csv", "x.jsonl", "x.msgpack", "x.idv", "x.ds"] {
            let ran = folder.convert(&[input, &format!("@{out}"), "--force"]);
            assert_eq!((ran.code(), folder.rows(out)), (0, vec![expected.clone()]), "{input} to {out}");
        }
        let ran = folder.convert(&[input, "@x.zds", "--force", "--id", "key"]);
        assert_eq!((ran.code(), &folder.rows("x.zds")[0]["A"]), (0, &json!(2)), "{input}");
        folder.convert(&[input, "@x.arrow", "--force", "--columns", "A"]).ok();
        assert_eq!(folder.rows("x.arrow"), [json!({"A": 2})], "{input}");
    }
}
