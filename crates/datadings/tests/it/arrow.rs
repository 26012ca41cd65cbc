//! Samples as record batches, compared with rows.
#![allow(clippy::cast_precision_loss, reason = "tests compare and make their data with casts")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use base64::Engine;
use container_arrow::{ArrowTable, BatchScan, BatchWriter, JsonRows, Mapping, OnMismatch};
use container_core::{ErrorKind, Limits, Loss, Scan, Table};
use datadings::arrow::{ArrowWriter, Keys, WriterOptions};
use datadings::numpy::Scalar;
use datadings::{DatadingsContainer, Part, RawValue, Reader, json};
use serde_json::{Value, json};

use crate::set::{self, Set, sample};

fn goldens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datadings");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "msgpack")).collect();
    all.sort();
    assert!(all.len() > 20);
    all
}

fn open(path: &Path) -> DatadingsContainer {
    DatadingsContainer::new(Reader::open(path).unwrap())
}

fn on_mismatch(how: OnMismatch) -> BatchScan {
    BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(how))
}

fn batches(table: &dyn ArrowTable, scan: &BatchScan) -> (Vec<RecordBatch>, Vec<Loss>) {
    let mut reader = table.batches(scan).unwrap();
    let mut all = Vec::new();
    while let Some(batch) = reader.try_next().unwrap() {
        assert_eq!(batch.schema(), reader.schema());
        all.push(batch);
    }
    assert!(reader.try_next().unwrap().is_none());
    (all, reader.losses())
}

fn lines(batches: &[RecordBatch]) -> Vec<Value> {
    let mut out = Vec::new();
    for batch in batches {
        JsonRows::new(batch).unwrap().write_lines(&mut out).unwrap();
    }
    out.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect()
}

fn rows(table: &dyn Table, scan: &Scan) -> Vec<Value> {
    let mut rows = table.rows(scan).unwrap();
    let mut all = Vec::new();
    while rows.advance().unwrap() {
        let mut out = Vec::new();
        rows.json(&mut out).unwrap();
        all.push(serde_json::from_slice(&out).unwrap());
    }
    all
}

/// Nests flat elements according to a shape.
fn nested(flat: &mut std::slice::Iter<'_, Value>, shape: &[u64]) -> Value {
    match shape.split_first() {
        None => flat.next().cloned().unwrap(),
        Some((length, inner)) => (0..*length).map(|_| nested(flat, inner)).collect(),
    }
}

/// Whether a column value equals that of the row. Counts nulls that replace values.
fn same(row: &Value, column: &Value, field: &Field, lost: &mut u64) -> bool {
    if field.metadata().get("encoding").is_some_and(|encoding| encoding == "msgpack") && !column.is_null() {
        let bytes = base64::engine::general_purpose::STANDARD.decode(column["$bytes"].as_str().unwrap()).unwrap();
        let mut text = Vec::new();
        json::write(RawValue::new(&bytes), &mut text, &Limits::default()).unwrap();
        return serde_json::from_slice::<Value>(&text).unwrap() == *row;
    }
    if field.extension_type_name() == Some("arrow.json") {
        return row == column;
    }
    let array = row.get("$ndarray");
    if let Some(array) = array {
        let shape: Vec<u64> = serde_json::from_value(array["shape"].clone()).unwrap();
        let Some(data) = array["data"].as_array() else {
            // Invalid UTF-8: rows show the bytes of all elements together.
            let size: usize = array["dtype"].as_str().and_then(|dtype| dtype[2..].parse().ok()).unwrap_or_default();
            let Some(items) = column.as_array() else {
                *lost += 1;
                return column.is_null();
            };
            let engine = base64::engine::general_purpose::STANDARD;
            let padded = items.iter().flat_map(|item| {
                let mut bytes = engine.decode(item["$bytes"].as_str().unwrap()).unwrap();
                bytes.resize(size, 0);
                bytes
            });
            return array["data"] == engine.encode(padded.collect::<Vec<u8>>());
        };
        if column.is_null() {
            *lost += 1;
            return true;
        }
        let (element, found) = match field.data_type() {
            DataType::Struct(parts) => {
                assert_eq!(column["shape"], json!(shape));
                let DataType::List(element) = parts[0].data_type() else { panic!() };
                (element.clone(), column["data"].clone())
            }
            DataType::FixedSizeList(element, _) => (element.clone(), column.clone()),
            DataType::List(element) => (element.clone(), column.clone()),
            _ => return same(&data[0], column, field, lost), // without dimensions
        };
        if array["dtype"].as_str().is_some_and(|dtype| dtype[1..].starts_with(['M', 'm'])) {
            *lost += data.len() as u64;
        }
        let flat = |value: &Value| {
            let mut all = vec![value.clone()];
            while all.iter().any(Value::is_array) {
                all = all.into_iter().flat_map(|v| v.as_array().cloned().unwrap_or_else(|| vec![v])).collect();
            }
            all
        };
        if !matches!(field.data_type(), DataType::Struct(_)) && !data.is_empty() {
            let expected = nested(&mut data.iter(), &shape);
            let depth = |mut value: &Value| {
                let mut depth = 0;
                while let Some(first) = value.as_array().and_then(|all| all.first()) {
                    (value, depth) = (first, depth + 1);
                }
                depth
            };
            assert_eq!(depth(&expected), depth(column), "{field}");
        }
        let found = flat(&found);
        assert_eq!(found.len(), data.len());
        return data.iter().zip(&found).all(|(row, column)| same(row, column, &element, lost));
    }
    match (row, column, field.data_type()) {
        (Value::Null, Value::Null, _) => true,
        (_, Value::Null, _) => {
            *lost += 1;
            true
        }
        // 90 minutes: Arrow has no such unit.
        (Value::String(row), Value::Number(column), _) if row == "PT5400S" => {
            *lost += 1;
            column.as_i64() == Some(90)
        }
        (Value::Number(row), _, DataType::Timestamp(..)) => {
            let DataType::Timestamp(unit, _) = field.data_type() else { panic!() };
            let column = column.as_str().unwrap();
            let mut text = String::new();
            assert!(container_arrow::write_time(field.data_type(), row.as_i64().unwrap(), &mut text), "{unit:?}");
            column == text
        }
        (Value::Number(row), Value::Number(column), _) => {
            row == column
                || row.as_f64() == column.as_f64()
                || row.as_f64().map(|v| v as f32) == column.as_f64().map(|v| v as f32)
        }
        (Value::String(text), Value::Object(_), _) => {
            column["$bytes"] == base64::engine::general_purpose::STANDARD.encode(text)
        }
        (Value::Array(row), Value::Array(column), DataType::List(element)) => {
            row.len() == column.len() && row.iter().zip(column).all(|(row, column)| same(row, column, element, lost))
        }
        (Value::Object(row), Value::Object(column), DataType::Struct(fields)) => {
            let unescaped = |object: &serde_json::Map<String, Value>| {
                object.get("$escape").and_then(Value::as_object).unwrap_or(object).clone()
            };
            let (row, column) = (unescaped(row), unescaped(column));
            row.keys().all(|name| column.contains_key(name))
                && fields.iter().all(|field| match row.get(field.name()) {
                    Some(row) => same(row, &column[field.name()], field, lost),
                    None => column[field.name()].is_null(),
                })
        }
        _ => row == column,
    }
}

#[test]
fn golden_batches_equal_rows() {
    for path in goldens() {
        let container = open(&path);
        let rows = rows(&container, &Scan::default());
        for how in [OnMismatch::Json, OnMismatch::Msgpack, OnMismatch::Null] {
            let (batches, losses) = batches(&container, &on_mismatch(how));
            let schema = ArrowTable::schema(&container, &on_mismatch(how)).unwrap();
            let found = lines(&batches);
            assert_eq!(found.len(), rows.len(), "{path:?}");
            let mut lost = 0;
            for (row, (expected, found)) in rows.iter().zip(&found).enumerate() {
                let Some(members) = expected.as_object().filter(|members| !members.contains_key("$ndarray")) else {
                    lost += 1; // the sample is not a map
                    assert!(found.as_object().unwrap().values().all(Value::is_null));
                    continue;
                };
                for name in members.keys() {
                    let field = schema.field_with_name(name).unwrap();
                    assert!(
                        same(&expected[name], &found[name], field, &mut lost),
                        "{path:?} {how:?} row {row} {field:?}: {} is not {}",
                        expected[name],
                        found[name]
                    );
                }
                for (name, value) in found.as_object().unwrap() {
                    assert!(value.is_null() || expected.get(name).is_some(), "{path:?} {row} {name}");
                }
            }
            assert_eq!(lost, losses.iter().map(|loss| loss.count).sum::<u64>(), "{path:?} {how:?} {losses:?}");
        }
    }
}

#[test]
fn infers_types_of_golden_files() {
    let schema = |name: &str| {
        let path = goldens().into_iter().find(|path| path.ends_with(format!("{name}.msgpack"))).unwrap();
        ArrowTable::schema(&open(&path), &on_mismatch(OnMismatch::Null)).unwrap()
    };
    let digits = schema("real-digits");
    let image = digits.field_with_name("image").unwrap();
    assert_eq!(*image.data_type(), DataType::new_fixed_size_list(DataType::UInt8, 64, true));
    assert_eq!(image.extension_type_name(), Some("arrow.fixed_shape_tensor"));
    assert_eq!(image.extension_type_metadata(), Some("{\"shape\":[8,8]}"));
    let about: Value = serde_json::from_str(&image.metadata()["datadings"]).unwrap();
    assert_eq!(about, json!({ "dtype": "|u1", "numpy": "array" }));
    let types = |name: &str, fields: &[&str]| -> Vec<String> {
        let schema = schema(name);
        fields.iter().map(|field| schema.field_with_name(field).unwrap().data_type().to_string()).collect()
    };
    assert_eq!(types("real-iris", &["key", "sepal"]), ["Utf8", "List(Float64)"]);
    assert_eq!(types("values-scalars", &["infinity", "str", "bytes", "label"]), ["Float16", "Utf8", "Binary", "Int64"]);
    // Complex numbers, pickles and ext are unsupported.
    assert_eq!(types("values-complex", &["value"]), ["Null"]);
    assert_eq!(types("values-objects", &["value"]), ["Null"]);
    assert_eq!(types("values-plain", &["stamp", "nil", "true", "shape"]), ["Null", "Null", "Boolean", "List(Int64)"]);
}

/// Writes batches as a dataset and reads its batches.
fn again(
    batches: &[RecordBatch],
    scan: &BatchScan,
    keys: Keys,
) -> (tempfile::TempDir, PathBuf, Vec<RecordBatch>, Vec<Loss>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.msgpack");
    let options = WriterOptions::default().with_keys(keys).with_dataset(set::options());
    let mut writer = Box::new(ArrowWriter::create(&path, batches[0].schema(), options).unwrap());
    for batch in batches {
        writer.write(batch).unwrap_or_else(|error| panic!("{error}: {batch:?}"));
    }
    let losses = writer.finish().unwrap();
    let (found, _) = self::batches(&open(&path), scan);
    (folder, path, found, losses)
}

#[test]
fn golden_files_round_trip_through_arrow() {
    let mut whole = 0;
    for path in goldens() {
        let container = open(&path);
        if container.reader().is_empty() || path.ends_with("raw-without-key.msgpack") {
            continue;
        }
        for how in [OnMismatch::Json, OnMismatch::Msgpack, OnMismatch::Null] {
            let scan = on_mismatch(how);
            let (expected, _) = batches(&container, &scan);
            let (_folder, copy, found, losses) = again(&expected, &scan, Keys::Key);
            assert!(losses.is_empty());
            assert_eq!(found.len(), expected.len());
            for (expected, found) in expected.iter().zip(&found) {
                for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
                    let other = found.column_by_name(field.name()).unwrap();
                    // Empty lists do not tell the types of the arrays they were.
                    if column.data_type() == other.data_type() || !["empty", "more"].contains(&field.name().as_str()) {
                        assert_eq!(column, other, "{path:?} {how:?} {field}");
                    }
                }
                assert_eq!(expected.num_columns(), found.num_columns());
            }
            assert_eq!(lines(&expected), lines(&found), "{path:?}");
            whole += usize::from(std::fs::read(&path).unwrap() == std::fs::read(copy).unwrap());
        }
    }
    // Byte for byte equal, if all samples have all fields and no scalars of several types.
    assert!(whole >= 40, "{whole}");
}

/// A dataset from samples in JSON.
fn of_json(samples: &[Value]) -> Set {
    let messages: Vec<(String, Vec<u8>)> = samples
        .iter()
        .enumerate()
        .map(|(at, value)| {
            let mut out = Vec::new();
            json::to_msgpack(value.to_string().as_bytes(), &mut out).unwrap();
            (value["key"].as_str().map_or(at.to_string(), str::to_owned), out)
        })
        .collect();
    Set::of(&messages.iter().map(|(key, message)| (key.as_str(), message)).collect::<Vec<_>>())
}

fn refused(table: &dyn ArrowTable, scan: &BatchScan) -> container_core::Error {
    table.batches(scan).err().unwrap()
}

#[test]
fn times_without_a_common_unit_are_integers_and_reported() {
    let of = |dtypes: [&str; 2]| {
        let messages = dtypes.map(|dtype| {
            let scalar = Scalar::from_bytes(dtype.parse().unwrap(), 1500_i64.to_le_bytes().to_vec()).unwrap();
            datadings::ser::to_vec(&BTreeMap::from([("t", scalar)])).unwrap()
        });
        let set = Set::of(&[("a", &messages[0]), ("b", &messages[1])]);
        let (batches, losses) = batches(&open(&set.path), &BatchScan::default());
        let values: Vec<Value> = lines(&batches).iter().map(|line| line["t"].clone()).collect();
        (values, losses.iter().map(|loss| (loss.what.to_string(), loss.count)).collect::<Vec<_>>())
    };
    let lost = |count| vec![("datetime or timedelta written as an integer, without its unit".to_owned(), count)];
    assert_eq!(of(["<m8[ms]"; 2]), (vec![json!("PT1.5S"); 2], vec![]));
    assert_eq!(of(["<m8[ms]", "<m8[s]"]), (vec![json!(1500); 2], lost(2)));
    assert_eq!(of(["<M8[D]"; 2]), (vec![json!(1500); 2], lost(2)));
}

#[test]
fn arrays_of_times_are_integers_and_reported() {
    let array = |dtype: &str, data: [i64; 2]| json!({"$ndarray": {"dtype": dtype, "shape": [2], "data": data}});
    let set = of_json(&[
        json!({"key": "a", "t": array("<M8[s]", [5, i64::MIN])}),
        json!({"key": "b", "t": array("<m8[ms]", [5000, 6000])}),
    ]);
    let (batches, losses) = batches(&open(&set.path), &BatchScan::default());
    let values: Vec<Value> = lines(&batches).iter().map(|line| line["t"].clone()).collect();
    assert_eq!(values, [json!([5, i64::MIN]), json!([5000, 6000])]);
    let losses: Vec<String> = losses.iter().map(ToString::to_string).collect();
    let expected = [
        "NaT in an array written as the smallest integer (row 0)",
        "datetime or timedelta written as an integer, without its unit (3 times, first row 0)",
    ];
    assert_eq!(losses, expected);
}

#[test]
fn sparse_vectors_are_lists() {
    let sparse = |length: u64, indices: Value, values: Value| json!({"$sparse": {"length": length, "indices": indices, "values": values}});
    let vector = sparse(4, json!([1, 3]), json!([0.5, 2.0]));
    let other = sparse(4, json!([3, 1]), json!([0.5, 2.0]));
    let set = of_json(&[
        json!({"key": "a", "v": vector, "t": sparse(2, json!([1]), json!(["x"])), "m": other}),
        json!({"key": "b", "v": [1.0, 0.0], "t": [], "m": other}),
    ]);
    let container = open(&set.path);
    let (found, losses) = batches(&container, &BatchScan::default());
    let found = lines(&found);
    assert_eq!((&found[0]["v"], &found[0]["t"]), (&json!([0.0, 0.5, 0.0, 2.0]), &json!(["", "x"])));
    assert_eq!((&found[1]["v"], &found[1]["t"], losses.len()), (&json!([1.0, 0.0]), &json!([]), 0));
    // Indices must ascend.
    assert_eq!(found[0]["m"], json!({"$escape": other}));
    let rows = rows(&container, &Scan::default());
    assert_eq!(rows[0]["v"], vector);
    assert_eq!(rows[0]["m"], json!({"$escape": other}));
    // The struct of a declared schema.
    let part = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let list = |item: DataType| DataType::List(Arc::new(part("item", item)));
    let parts = vec![
        part("length", DataType::Int64),
        part("indices", list(DataType::Int64)),
        part("values", list(DataType::Float64)),
    ];
    let wrapped = DataType::Struct(vec![part("$sparse", DataType::Struct(parts.into()))].into());
    let scan =
        BatchScan::from(Scan::default().with_rows(0..1)).with_schema(Arc::new(Schema::new(vec![part("v", wrapped)])));
    let (found, _) = batches(&container, &scan);
    assert_eq!(lines(&found)[0]["v"], json!({"$escape": vector}));
}

#[test]
fn zeros_of_sparse_vectors_have_the_width_of_the_others() {
    use rmpv::Value::{Array, F32, Map};
    let parts = [("length", 2.into()), ("indices", Array(vec![1.into()])), ("values", Array(vec![F32(0.5)]))];
    let vector = Map(parts.map(|(name, value)| (name.into(), value)).into());
    let sample = Map(vec![("v".into(), Map(vec![("$sparse".into(), vector)]))]);
    let mut message = Vec::new();
    datadings::ser::from_rmpv(&mut message, &sample).unwrap();
    let set = Set::of(&[("a", &message)]);
    let (found, _) = batches(&open(&set.path), &BatchScan::default());
    assert_eq!(found[0].schema().field(0).data_type().to_string(), "List(Float32)");
    assert_eq!(lines(&found)[0]["v"], json!([0.0, 0.5]));
}

#[test]
fn reports_a_field_that_changes_its_type() {
    let mut samples: Vec<Value> = (0..50_000).map(|n| json!({ "key": format!("k{n}"), "x": n, "y": [n] })).collect();
    samples[49_990]["x"] = json!("text");
    let set = of_json(&samples);
    let container = open(&set.path);
    let error = refused(&container, &BatchScan::default());
    let at = error.position();
    assert_eq!((at.row, at.key.as_deref(), at.column.as_deref()), (Some(49_990), Some("k49990"), Some("x")));
    assert_eq!(at.byte, Some(container.reader().extent(49_990).unwrap().start));
    assert!(error.to_string().contains("the column has text, but an integer in row 0"), "{error}");
    // Other columns and earlier rows can still be read.
    let (found, _) = batches(&container, &Scan::default().with_columns([2]).into());
    assert_eq!(found[0].schema().field(0).name(), "y");
    batches(&container, &Scan::default().with_rows(0..49_990).into());
    let (found, losses) = batches(&container, &on_mismatch(OnMismatch::Null));
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].count, losses[0].first.row), (1, Some(49_990)));
    assert_eq!(*found[0].schema().field(1).data_type(), DataType::Int64);
    let (found, losses) = batches(&container, &on_mismatch(OnMismatch::Json));
    assert!(losses.is_empty());
    let lines = lines(&found);
    assert_eq!((&lines[49_990]["x"], &lines[49_991]["x"]), (&json!("text"), &json!(49_991)));
    // With a declared schema: the batches before the value, then the error with its byte.
    let fields = vec![Field::new("x", DataType::Int32, true), Field::new("none", DataType::Utf8, true)];
    let scan = BatchScan::default().with_schema(Arc::new(Schema::new(fields)));
    let mut reader = container.batches(&scan).unwrap();
    assert_eq!(reader.try_next().unwrap().unwrap().num_rows(), 49_990);
    let error = reader.try_next().unwrap_err();
    assert_eq!((error.position().row, error.position().column.as_deref()), (Some(49_990), Some("x")));
    let sample = container.reader().get(49_990).unwrap();
    assert_eq!(error.position().byte, Some(sample.field("x").unwrap().offset()));
    assert!(reader.try_next().unwrap().is_none());
}

#[test]
fn reports_a_damaged_sample() {
    let messages: Vec<(String, Vec<u8>)> = (0..100u8).map(|n| (n.to_string(), sample(&n.to_string(), n))).collect();
    let set = Set::of(&messages.iter().map(|(key, message)| (key.as_str(), message)).collect::<Vec<_>>());
    let start = Reader::open(&set.path).unwrap().extent(60).unwrap().end;
    let mut bytes = std::fs::read(&set.path).unwrap();
    bytes[start as usize - 1] = 0xda; // the header of a missing str
    std::fs::write(&set.path, &bytes).unwrap();
    let container = open(&set.path);
    let error = refused(&container, &BatchScan::default());
    assert_eq!((error.position().row, error.position().key.as_deref()), (Some(60), Some("60")), "{error}");
    assert_eq!((error.position().byte, error.position().column.as_deref()), (Some(start), Some("x")), "{error}");
    let fields = vec![Field::new("key", DataType::Utf8, true), Field::new("x", DataType::Int64, true)];
    let schema = Arc::new(Schema::new(fields));
    for threads in [1, 4] {
        let scan =
            BatchScan::from(Scan::default().with_threads(threads)).with_schema(schema.clone()).with_batch_rows(7);
        let mut reader = container.batches(&scan).unwrap();
        let mut rows = 0;
        let error = loop {
            match reader.try_next() {
                Ok(batch) => rows += batch.unwrap().num_rows(),
                Err(error) => break error,
            }
        };
        assert_eq!((rows, error.position().row, error.position().byte), (60, Some(60), Some(start)));
        assert!(reader.try_next().unwrap().is_none());
        assert!(reader.try_next().unwrap().is_none());
    }
    // Invalid UTF-8.
    let set = Set::of(&[("a", b"\x82\xa3key\xa1a\xa1t\xa2hi"), ("b", b"\x82\xa3key\xa1b\xa1t\xa2hi")]);
    let mut bytes = std::fs::read(&set.path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] = 0xff;
    std::fs::write(&set.path, &bytes).unwrap();
    let container = open(&set.path);
    let error = container.batches(&BatchScan::default().with_batch_rows(5)).unwrap().last().unwrap().unwrap_err();
    let error = container_arrow::from_arrow(error);
    assert!(error.to_string().contains("invalid UTF-8 in a str: byte 0xff"), "{error}");
    assert_eq!((error.position().row, error.position().byte), (Some(1), Some(last as u64)));
}

#[test]
fn threads_and_batch_sizes_do_not_change_the_result() {
    let samples: Vec<Value> = (0..3000_u64)
        .map(|n| json!({ "key": format!("k{n}"), "n": n, "list": vec![n; (n % 7) as usize], "t": "x".repeat((n * 37 % 400) as usize) }))
        .collect();
    let set = of_json(&samples);
    let container = open(&set.path);
    let all = |threads, rows: usize, bytes, range: std::ops::Range<u64>| {
        let scan = BatchScan::from(Scan::default().with_threads(threads).with_rows(range));
        batches(&container, &scan.with_batch_rows(rows).with_batch_bytes(bytes)).0
    };
    for (rows, bytes) in [(100, 1 << 20), (1000, 10_000), (1, 1), (65_536, 1 << 25)] {
        let one = all(1, rows, bytes, 0..u64::MAX);
        assert_eq!(one, all(4, rows, bytes, 0..u64::MAX));
        assert_eq!(one, all(0, rows, bytes, 0..u64::MAX));
        assert!(one.iter().all(|batch| batch.num_rows() <= rows));
        if rows > 1 {
            assert!(one.iter().all(|batch| batch.get_array_memory_size() < 4 * bytes + 20_000), "{rows} {bytes}");
        }
        let lines = lines(&one);
        assert!(lines == samples);
    }
    assert_eq!(all(4, 1000, 10_000, 0..u64::MAX).len(), all(1, 1000, 10_000, 0..u64::MAX).len());
    assert!(all(4, 1000, 10_000, 0..u64::MAX).len() > 60);
    let part = all(2, 100, 1 << 20, 1234..1300);
    assert!(lines(&part) == samples[1234..1300]);
    assert_eq!(refused(&container, &Scan::default().with_rows(3001..4000).into()).kind(), ErrorKind::Usage);
    assert_eq!(refused(&container, &Scan::default().with_columns([9]).into()).kind(), ErrorKind::Usage);
    let place = |name: &str| container.columns().iter().position(|column| *column.name == *name).unwrap();
    let (found, _) = batches(&container, &Scan::default().with_columns([place("t"), place("n")]).into());
    assert_eq!(found[0].schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["t", "n"]);
    assert_eq!(lines(&found)[5], json!({ "t": samples[5]["t"], "n": 5 }));
}

#[test]
fn handles_unusual_names() {
    // {1: "i", "1": "t"}; duplicate names; names that differ in case; a nested map with a duplicate.
    let set = Set::of(&[
        ("a", &b"\x83\xa3key\xa1a\x01\xa1i\xa11\xa1t"[..]),
        ("b", b"\x84\xa3key\xa1b\xa1x\x01\xa1x\x02\xa1X\x03"),
        ("c", b"\x82\xa3key\xa1c\xa1m\x82\xa1a\x01\xa1a\x02"),
    ]);
    let container = open(&set.path);
    container.infer_columns().unwrap();
    let names: Vec<&str> = container.columns().iter().map(|column| column.name.as_str()).collect();
    let (found, losses) = batches(&container, &BatchScan::default());
    assert_eq!(found[0].schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), names);
    assert_eq!(names, ["key", "1", "1#2", "x", "X", "m"]);
    let lines = lines(&found);
    assert_eq!((&lines[0]["1"], &lines[0]["1#2"]), (&json!("i"), &json!("t")));
    assert_eq!((&lines[1]["x"], &lines[1]["X"], &lines[2]["m"]), (&json!(1), &json!(3), &json!({ "a": 1 })));
    assert_eq!(losses.iter().map(|loss| (loss.count, loss.first.row)).collect::<Vec<_>>(), [(2, Some(1))]);
    let (found, _) = batches(&container, &Scan::default().with_columns([2]).into());
    assert_eq!(self::lines(&found)[0], json!({ "1#2": "t" }));
}

#[test]
fn samples_that_are_not_maps() {
    let set = Set::of(&[("a", sample("a", 1)), ("b", vec![0x93, 1, 2, 3]), ("c", sample("c", 3))]);
    let container = open(&set.path);
    let error = refused(&container, &BatchScan::default());
    assert!(error.to_string().contains("expected a map as sample, found an array"), "{error}");
    assert_eq!((error.position().row, error.position().byte), (Some(1), Some(10)), "{error}");
    let (found, losses) = batches(&container, &on_mismatch(OnMismatch::Json));
    assert_eq!(lines(&found)[1], json!({ "key": null, "x": null }));
    assert_eq!(losses.len(), 1);
}

#[test]
fn bytes_after_a_message_are_an_error_wherever_it_is_decoded() {
    let set = Set::letters(3);
    set.patch(Part::Offsets, |bytes| drop(bytes.drain(8..16)));
    set.patch(Part::Keys, |bytes| *bytes = b"\x92\xa1b\xa1c".to_vec());
    for part in [Part::KeyHashes, Part::Filter, Part::Md5] {
        set.remove(part);
    }
    let expected = "10 unexpected trailing bytes after the message (byte 10, row 0";
    assert!(set.findings().iter().any(|finding| finding.contains(expected)), "{:?}", set.findings());
    let reader = set.open();
    let sample = reader.get(0).unwrap();
    let container = DatadingsContainer::new(set.open());
    let mut rows = container.rows(&Scan::default()).unwrap();
    assert!(rows.advance().unwrap());
    let errors = [
        sample.value().unwrap_err().to_string(),
        sample.decode::<serde_json::Value>().unwrap_err().to_string(),
        rows.json(&mut Vec::new()).unwrap_err().to_string(),
        serde_json::to_string(rows.row()).unwrap_err().to_string(),
        container.batches(&BatchScan::default()).unwrap().try_next().unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(error.contains(expected), "{error}");
    }
}
