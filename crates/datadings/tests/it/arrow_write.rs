//! Samples written from record batches.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Float16Type, Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationMicrosecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float16Array, Float32Array, Float64Array,
    Int16Array, Int32Array, Int64Array, IntervalDayTimeArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray, Time64NanosecondArray, TimestampMicrosecondArray, TimestampSecondArray, UInt8Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use container_arrow::{ArrowTable, BatchScan, BatchWriter, JsonRows};
use container_core::{Error, ErrorKind, Limits, Loss, Result};
use datadings::arrow::{ArrowWriter, Keys, WriterOptions};
use datadings::{DatadingsContainer, Reader, json};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::set;

fn keys(count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(|n| format!("k{n}"))))
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn column(name: &str, array: impl Array + 'static) -> (Field, ArrayRef) {
    (Field::new(name, array.data_type().clone(), true), Arc::new(array))
}

fn with(mut column: (Field, ArrayRef), key: &str, value: &str) -> (Field, ArrayRef) {
    let mut metadata = column.0.metadata().clone();
    metadata.insert(key.to_owned(), value.to_owned());
    column.0 = column.0.with_metadata(metadata);
    column
}

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
    losses: Vec<Loss>,
}

fn make(batches: &[RecordBatch], keys: Keys) -> Result<Made> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let options = WriterOptions::default().with_keys(keys).with_dataset(set::options());
    let mut writer = Box::new(ArrowWriter::create(&path, batches[0].schema(), options)?);
    for batch in batches {
        writer.write(batch)?;
    }
    let losses = writer.finish()?;
    Ok(Made { _folder: folder, path, losses })
}

fn samples(made: &Made) -> Vec<Value> {
    let reader = Reader::open(&made.path).unwrap();
    let sample = |sample: datadings::Sample<'_>| {
        let mut out = Vec::new();
        json::write(sample.raw(), &mut out, &Limits::default()).unwrap();
        serde_json::from_slice(&out).unwrap()
    };
    reader.iter().map(|found| sample(found.unwrap())).collect()
}

/// The values and losses of a column of two rows, written with the keys `k0` and `k1`.
fn written(column: (Field, ArrayRef)) -> (Vec<Value>, Vec<Loss>) {
    let name = column.0.name().clone();
    let made = make(&[batch(vec![(Field::new("key", DataType::Utf8, true), keys(2)), column])], Keys::Key).unwrap();
    (samples(&made).into_iter().map(|sample| sample[&name].clone()).collect(), made.losses)
}

type Half = <Float16Type as arrow_array::types::ArrowPrimitiveType>::Native;

#[test]
fn writes_every_supported_type() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![])]);
    let parts: Vec<(Arc<Field>, ArrayRef)> = vec![
        (Arc::new(Field::new("a", DataType::Int64, true)), Arc::new(Int64Array::from(vec![Some(1), None]))),
        (Arc::new(Field::new("b", DataType::Utf8, true)), Arc::new(StringArray::from(vec!["x", "y"]))),
    ];
    let dictionary: DictionaryArray<Int8Type> = vec![Some("hi"), None].into_iter().collect();
    let mut map = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
    map.keys().append_value(7);
    map.values().append_value("seven");
    map.append(true).unwrap();
    map.append(false).unwrap();
    let cases: Vec<((Field, ArrayRef), Value)> = vec![
        (column("c", NullArray::new(2)), json!([null, null])),
        (column("c", BooleanArray::from(vec![Some(true), None])), json!([true, null])),
        (column("c", UInt64Array::from(vec![u64::MAX, 0])), json!([u64::MAX, 0])),
        (column("c", Int64Array::from(vec![i64::MIN, i64::MAX])), json!([i64::MIN, i64::MAX])),
        (column("c", Float32Array::from(vec![0.1, f32::NAN])), json!([0.1, "NaN"])),
        (column("c", Float64Array::from(vec![-0.0, 1e300])), json!([-0.0, 1e300])),
        (column("c", Float16Array::from(vec![Half::from_f32(1.5), Half::from_f32(-2.0)])), json!([1.5, -2.0])),
        (column("c", StringViewArray::from(vec![Some("a long text, longer than twelve bytes"), None])), {
            json!(["a long text, longer than twelve bytes", null])
        }),
        (column("c", BinaryArray::from(vec![&b"hi"[..], b""])), json!([{ "$bytes": "aGk=" }, { "$bytes": "" }])),
        (column("c", FixedSizeBinaryArray::try_from_iter([b"hi", b"ho"].iter()).unwrap()), {
            json!([{ "$bytes": "aGk=" }, { "$bytes": "aG8=" }])
        }),
        (column("c", Date32Array::from(vec![0, -719_162])), json!(["1970-01-01", "0001-01-01"])),
        (column("c", Time64NanosecondArray::from(vec![1, 0])), json!(["00:00:00.000000001", "00:00:00"])),
        (column("c", TimestampMicrosecondArray::from(vec![1, 0])), {
            json!(["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00"])
        }),
        (column("c", TimestampSecondArray::from(vec![0, 1]).with_timezone("+02:00")), {
            json!(["1970-01-01T02:00:00+02:00", "1970-01-01T02:00:01+02:00"])
        }),
        (column("c", DurationMicrosecondArray::from(vec![Some(-5), None])), json!(["-PT0.000005S", null])),
        (column("c", list), json!([[1, null], []])),
        (column("c", StructArray::from(parts)), json!([{ "a": 1, "b": "x" }, { "a": null, "b": "y" }])),
        (column("c", dictionary), json!(["hi", null])),
        (column("c", map.finish()), json!([{ "7": "seven" }, null])),
        (
            with(
                column("c", StringArray::from(vec![Some("{\"a\":[1,2.5]}"), None])),
                "ARROW:extension:name",
                "arrow.json",
            ),
            { json!([{ "a": [1, 2.5] }, null]) },
        ),
        (with(column("c", BinaryArray::from(vec![&b"\x92\x01\xc0"[..], b"\x05"])), "encoding", "msgpack"), {
            json!([[1, null], 5])
        }),
    ];
    for (column, expected) in cases {
        let data_type = column.0.data_type().clone();
        let (found, losses) = written(column);
        assert_eq!((Value::from(found), losses), (expected, vec![]), "{data_type}");
    }
    let decimals = Decimal128Array::from(vec![12_345, -5]).with_precision_and_scale(10, 3).unwrap();
    let (found, losses) = written(column("c", decimals));
    assert_eq!(found, [json!("12.345"), json!("-0.005")]);
    assert_eq!((losses.len(), losses[0].count, losses[0].first.row), (1, 2, Some(0)));
}

#[test]
fn metadata_selects_numpy_types() {
    let tensor = |values: Vec<i16>, shape: &str| {
        let element = Arc::new(Field::new("item", DataType::Int16, true));
        let array = FixedSizeListArray::new(element, 4, Arc::new(Int16Array::from(values)), None);
        let column = with(column("c", array), "ARROW:extension:name", "arrow.fixed_shape_tensor");
        with(column, "ARROW:extension:metadata", shape)
    };
    let two = tensor(vec![1, 2, 3, 4, 5, 6, 7, -8], r#"{"shape":[2,2]}"#);
    let (found, losses) = written(two.clone());
    let array = |dtype: &str| json!({ "$ndarray": { "dtype": dtype, "shape": [2, 2], "data": [5, 6, 7, -8] } });
    assert_eq!((&found[1], losses.len()), (&array("<i2"), 0));
    let (found, _) = written(with(two.clone(), "datadings", r#"{"numpy":"array","dtype":">i2"}"#));
    assert_eq!(found[1], array(">i2"));
    // A dtype of another type is ignored.
    let (found, _) = written(with(two, "datadings", r#"{"numpy":"array","dtype":">f4"}"#));
    assert_eq!(found[1], array("<i2"));
    let (_, losses) = written(tensor(vec![0; 8], r#"{"shape":[4],"dim_names":["x"]}"#));
    assert_eq!(losses.len(), 1);

    let scalar = |column: (Field, ArrayRef), dtype: &str| {
        let metadata = format!(r#"{{"numpy":"scalar","dtype":"{dtype}"}}"#);
        let key = (Field::new("key", DataType::Utf8, true), keys(2));
        let made = make(&[batch(vec![key, with(column, "datadings", &metadata)])], Keys::Key).unwrap();
        let reader = Reader::open(&made.path).unwrap();
        let of = |row| {
            let sample = reader.get(row).unwrap();
            let value = sample.field("c").unwrap();
            value.scalar().map(|scalar| (scalar.dtype().to_string(), scalar.data().to_vec())).ok()
        };
        (of(0), of(1))
    };
    let ints = || column("c", Int64Array::from(vec![-2, 70_000]));
    let is = |dtype: &str, data: &[u8]| Some((dtype.to_owned(), data.to_vec()));
    assert_eq!(scalar(ints(), ">i4"), (is(">i4", &[255, 255, 255, 254]), is(">i4", &[0, 1, 0x11, 0x70])));
    assert_eq!(scalar(ints(), "<u4"), (None, is("<u4", &[0x70, 0x11, 1, 0])), "numbers out of range stay plain");
    let halves = column("c", Float16Array::from(vec![Half::from_f32(1.0), Half::from_f32(2.0)]));
    assert_eq!(scalar(halves, ">f2"), (is(">f2", &[0x3c, 0]), is(">f2", &[0x40, 0])));
    let times = || column("c", TimestampSecondArray::from(vec![Some(1), None]));
    assert_eq!(scalar(times(), "<M8[s]"), (is("<M8[s]", &[1, 0, 0, 0, 0, 0, 0, 0]), None));
    assert_eq!(scalar(times(), "<M8[us]"), (None, None), "another unit");
}

#[test]
fn keys_from_elsewhere() {
    let numbers = || column("id", Int32Array::from(vec![7, -1]));
    let made = make(&[batch(vec![numbers()])], Keys::Column("id".to_owned())).unwrap();
    assert_eq!(samples(&made), [json!({ "key": "7", "id": 7 }), json!({ "key": "-1", "id": -1 })]);
    let made = make(&[batch(vec![numbers()]), batch(vec![numbers()])], Keys::Number).unwrap();
    assert_eq!(samples(&made)[3], json!({ "key": "0000000003", "id": -1 }));
    let key = || (Field::new("key", DataType::Utf8, true), keys(2));
    let made = make(&[batch(vec![numbers(), key()])], Keys::Column("key".to_owned())).unwrap();
    assert_eq!(samples(&made)[0], json!({ "id": 7, "key": "k0" }));

    let error = |columns, keys| make(&[batch(columns)], keys).err().unwrap();
    let usage = |error: Error, text: &str| {
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    usage(error(vec![numbers()], Keys::Key), "no column \"key\"");
    usage(error(vec![column("key", Int32Array::from(vec![1, 2]))], Keys::Key), "sample keys: expected a string column");
    usage(error(vec![key(), numbers()], Keys::Number), "column \"key\" conflicts with keys from elsewhere");
    usage(
        error(vec![key(), numbers()], Keys::Column("id".to_owned())),
        "column \"key\" conflicts with keys from elsewhere",
    );
    usage(error(vec![numbers()], Keys::Column("x".to_owned())), "no column \"x\"");
    usage(
        error(vec![column("f", Float32Array::from(vec![1.0, 2.0]))], Keys::Column("f".to_owned())),
        "string or integer column",
    );
    usage(error(vec![key(), key()], Keys::Key), "duplicate column name");

    let wrong = |values: Vec<Option<&str>>, keys| {
        let error = error(vec![column("key", StringArray::from(values))], keys);
        assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(1)), "{error}");
        error.to_string()
    };
    assert!(wrong(vec![Some("a"), Some("a")], Keys::Key).contains("duplicate key, first in sample 0"));
    assert!(wrong(vec![Some("a"), None], Keys::Key).contains("key: expected a str, found nil"));
    let error = error(vec![column("id", Int32Array::from(vec![Some(1), None]))], Keys::Column("id".to_owned()));
    assert_eq!((error.kind(), error.position().row), (ErrorKind::Invalid, Some(1)), "{error}");
}

#[test]
fn schema_changes_key_only_columns_and_row_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let options = || WriterOptions::default().with_dataset(set::options()).with_first_row(7);
    let (one, other) = (batch(vec![column("a", int(1))]), batch(vec![column("b", int(2)), column("a", int(3))]));
    let mut writer = ArrowWriter::create(&path, one.schema(), options().with_keys(Keys::Number)).unwrap();
    writer.write(&one).unwrap();
    writer.change_schema(other.schema()).unwrap();
    let twice = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, true); 2]));
    assert_eq!(writer.change_schema(twice).unwrap_err().kind(), ErrorKind::Usage);
    writer.write(&other).unwrap();
    let (written, losses) = writer.finish_dataset().unwrap();
    assert_eq!((written.samples, losses), (2, vec![]));
    let made = Made { _folder: folder, path, losses: Vec::new() };
    assert_eq!(samples(&made), [json!({"key": "0000000007", "a": 1}), json!({"key": "0000000008", "b": 2, "a": 3})]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let keys = options().with_keys(Keys::Column("b".to_owned())).with_only_key(true);
    let mut writer = ArrowWriter::create(&path, other.schema(), keys).unwrap();
    writer.write(&other).unwrap();
    writer.finish().unwrap();
    let made = Made { _folder: folder, path, losses: Vec::new() };
    assert_eq!(samples(&made), [json!({"key": "2", "a": 3})]);
}

fn int(value: i32) -> Int32Array {
    Int32Array::from(vec![value])
}

#[test]
fn rejects_unsupported_and_invalid_columns() {
    let key = || (Field::new("key", DataType::Utf8, true), keys(1));
    let create = |column: (Field, ArrayRef)| make(&[batch(vec![key(), column])], Keys::Key).err().unwrap();
    let check = |error: Error, kind: ErrorKind, text: &str| {
        assert_eq!((error.kind(), error.position().column.as_deref()), (kind, Some("c")), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let interval = IntervalDayTimeArray::from(vec![None]);
    check(create(column("c", interval)), ErrorKind::Unsupported, "cannot write a column of type Interval(DayTime)");
    let like = StructArray::from(vec![(
        Arc::new(Field::new("nd", DataType::Boolean, true)),
        Arc::new(BooleanArray::from(vec![true])) as ArrayRef,
    )]);
    check(create(column("c", like)), ErrorKind::Unsupported, "would be read as a numpy value");
    let tensor = |values: UInt8Array, text: &str| {
        let element = Arc::new(Field::new("item", DataType::UInt8, true));
        let array = FixedSizeListArray::new(element, values.len() as i32, Arc::new(values), None);
        let metadata = [("ARROW:extension:name", "arrow.fixed_shape_tensor"), ("ARROW:extension:metadata", text)];
        let metadata: HashMap<String, String> = metadata.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        (Field::new("c", array.data_type().clone(), true).with_metadata(metadata), Arc::new(array) as ArrayRef)
    };
    let four = || UInt8Array::from(vec![1, 2, 3, 4]);
    let permuted = tensor(four(), r#"{"shape":[2,2],"permutation":[1,0]}"#);
    check(create(permuted), ErrorKind::Unsupported, "permuted");
    check(create(tensor(four(), r#"{"shape":[3,2]}"#)), ErrorKind::Invalid, "does not have 4 elements");
    check(create(tensor(four(), "")), ErrorKind::Invalid, "missing shape");
    let with_null = UInt8Array::from(vec![Some(1), None]);
    check(create(tensor(with_null, r#"{"shape":[2]}"#)), ErrorKind::Invalid, "null element");
    let json = |text: &str| with(column("c", StringArray::from(vec![text])), "ARROW:extension:name", "arrow.json");
    check(create(json("[1")), ErrorKind::Invalid, "");
    let msgpack = |bytes: &[u8]| with(column("c", BinaryArray::from(vec![bytes])), "encoding", "msgpack");
    check(create(msgpack(b"\x01\x02")), ErrorKind::Invalid, "unexpected trailing bytes");
    assert!(matches!(create(msgpack(b"\x92\x01")).kind(), ErrorKind::Truncated { .. }));
    check(
        create(column("c", Time64NanosecondArray::from(vec![i64::MAX]))),
        ErrorKind::Invalid,
        "is out of range for Time64",
    );
    // A batch of another schema, which makes the writer fail.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.msgpack");
    let good = batch(vec![key(), column("c", Int32Array::from(vec![1]))]);
    let options = WriterOptions::default().with_dataset(set::options());
    let mut writer = Box::new(ArrowWriter::create(&path, good.schema(), options).unwrap());
    let other = batch(vec![key(), column("c", Int64Array::from(vec![1]))]);
    assert_eq!(writer.write(&other).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(writer.write(&good).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Usage);
    assert!(!path.exists());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "[a-zé\\$]{0,5}".prop_map(Value::from),
        "[a-zA-Z0-9+/]{8}".prop_map(|text| json!({ "$bytes": text })),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|members| Value::from(members.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

/// Removes null members: columns do not distinguish nil from missing fields.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            let kept: serde_json::Map<_, _> = kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect();
            kept.into()
        }
        Value::Number(number) => number.as_f64().filter(|_| number.is_f64()).map_or(value.clone(), |float| {
            // A float that is whole may stand in a column of integers' neighbours.
            serde_json::Number::from_f64(float).map_or(Value::Null, Value::Number)
        }),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// All values round-trip: unsupported ones as JSON or msgpack.
    #[test]
    fn any_samples_round_trip(
        values in proptest::collection::vec(proptest::collection::btree_map("[x-z]", value(), 0..3), 1..12),
        as_json in any::<bool>(),
        threads in 1..4usize,
    ) {
        use container_arrow::{Mapping, OnMismatch};
        let expected: Vec<Value> = values.iter().enumerate().map(|(at, members)| {
            let mut sample = json!({ "key": format!("k{at}") });
            members.iter().for_each(|(name, value)| sample[name] = value.clone());
            sample
        }).collect();
        let messages: Vec<(String, Vec<u8>)> = expected.iter().map(|sample| {
            let mut out = Vec::new();
            json::to_msgpack(sample.to_string().as_bytes(), &mut out).unwrap();
            (sample["key"].as_str().unwrap().to_owned(), out)
        }).collect();
        let messages: Vec<(&str, &Vec<u8>)> = messages.iter().map(|(key, message)| (key.as_str(), message)).collect();
        let set = set::Set::of(&messages);
        let on_mismatch = if as_json { OnMismatch::Json } else { OnMismatch::Msgpack };
        let scan = BatchScan::from(container_core::Scan::default().with_threads(threads));
        let scan = scan.with_mapping(Mapping::default().with_on_mismatch(on_mismatch)).with_batch_rows(5);
        let container = DatadingsContainer::new(Reader::open(&set.path).unwrap());
        let batches: Vec<RecordBatch> = container.batches(&scan).unwrap().map(std::result::Result::unwrap).collect();
        let made = make(&batches, Keys::Key).unwrap();
        let found = samples(&made);
        prop_assert_eq!(found.len(), expected.len());
        for (expected, found) in expected.iter().zip(&found) {
            let same = numbers(&without_nulls(expected)) == numbers(&without_nulls(found));
            prop_assert!(same, "{} became {}", expected, found);
        }
        // A second round trip changes nothing.
        let again = DatadingsContainer::new(Reader::open(&made.path).unwrap());
        let lines = |batches: &[RecordBatch]| {
            let mut out = Vec::new();
            batches.iter().for_each(|batch| JsonRows::new(batch).unwrap().write_lines(&mut out).unwrap());
            out
        };
        let more: Vec<RecordBatch> = again.batches(&scan).unwrap().map(std::result::Result::unwrap).collect();
        if as_json {
            prop_assert_eq!(String::from_utf8(lines(&more)).unwrap(), String::from_utf8(lines(&batches)).unwrap());
        }
    }
}

/// Normalizes numbers: integers and whole floats become equal.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(numbers).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), numbers(value))).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Number(number) => number.as_f64().map_or(Value::Null, |float| json!(format!("{float:e}"))),
        other => other.clone(),
    }
}
