//! Columns changed on the way: renamed, dropped, cast, expanded, concatenated; inputs with different columns; schemas that name some columns.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, DictionaryArray, DurationSecondArray, FixedSizeListArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use container_arrow::OnMismatch;
use container_core::testkit::cases;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wharf::convert::{DatadingsTarget, TextTarget};
use wharf::{BatchContainer, BatchScan, Changes, Convert, Error, FloatWidth, Overwrite, Registry, Report, Scan};

fn of(batch: RecordBatch) -> Convert {
    Convert::of("test", Arc::new(BatchContainer::from_batches(batch.schema(), vec![batch])))
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// The rows of a conversion as JSON.
fn rows(convert: &Convert) -> Result<Vec<Value>, Error> {
    let mut out = Vec::new();
    convert.stream(&TextTarget::JSON_LINES, &mut out, &Registry::builtin())?;
    Ok(lines(&out))
}

fn lines(text: &[u8]) -> Vec<Value> {
    std::str::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(convert: &Convert, path: &Path) -> Result<Report, Error> {
    convert.write(path, Overwrite::Refuse, &Registry::builtin())
}

/// The rows of a file as JSON.
fn read(path: &Path) -> Vec<Value> {
    rows(&Convert::new([path])).unwrap()
}

/// The schema of the only table of a file.
fn schema(path: &Path) -> Schema {
    let container = wharf::open(path).unwrap();
    let tables = container.tables();
    let schema = tables[0].arrow().unwrap().schema(&BatchScan::default()).unwrap();
    Schema::clone(&schema)
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn names(rows: &[Value]) -> Vec<String> {
    rows[0].as_object().unwrap().keys().cloned().collect()
}

fn vectors(values: &[[f64; 3]]) -> ArrayRef {
    let items = Float64Array::from_iter_values(values.iter().flatten().copied());
    let item = Arc::new(Field::new_list_field(DataType::Float64, false));
    Arc::new(FixedSizeListArray::try_new(item, 3, Arc::new(items), None).unwrap())
}

#[test]
fn values_are_cast_exactly_or_not_at_all() {
    let text = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let f64s = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let i64s = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let micros = |values: &[i64]| Arc::new(TimestampMicrosecondArray::from(values.to_vec())) as ArrayRef;
    let seconds = DataType::Timestamp(TimeUnit::Second, None);
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let labels: DictionaryArray<Int8Type> = ["7", "1995", "7"].into_iter().collect();
    let labels = Arc::new(labels) as ArrayRef;
    let zoned = Arc::new(TimestampSecondArray::from(vec![0]).with_timezone("+02:00")) as ArrayRef;
    // What becomes of each value; an error otherwise.
    let all: Vec<(ArrayRef, DataType, Result<Value, &str>)> = vec![
        (i64s(&[-128, 127]), DataType::Int8, Ok(json!([-128, 127]))),
        (i64s(&[5, 128]), DataType::Int8, Err("128 cannot be cast to Int8")),
        (i64s(&[-1]), DataType::UInt64, Err("-1 cannot be cast to UInt64")),
        (i64s(&[1 << 53, 1]), DataType::Float64, Ok(json!([9_007_199_254_740_992.0, 1.0]))),
        (i64s(&[(1 << 53) + 1]), DataType::Float64, Err("9007199254740993 cannot be cast to Float64")),
        (i64s(&[16_777_217]), DataType::Float32, Err("16777217 cannot be cast to Float32")),
        (i64s(&[0, 1]), DataType::Boolean, Ok(json!([false, true]))),
        (i64s(&[2]), DataType::Boolean, Err("2 cannot be cast to Boolean")),
        (i64s(&[i64::MIN]), DataType::Utf8, Ok(json!(["-9223372036854775808"]))),
        (i64s(&[0]), seconds.clone(), Err("Int64 cannot be cast to Timestamp(s)")),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), DataType::Utf8, Ok(json!(["18446744073709551615"]))),
        (f64s(&[0.1, 1e-50, f64::NAN]), DataType::Float32, Ok(json!([0.1, 0.0, "NaN"]))),
        (f64s(&[f64::INFINITY]), DataType::Float32, Ok(json!(["Infinity"]))),
        (
            f64s(&[1.0, 1e39]),
            DataType::Float32,
            Err("1e39 cannot be cast to Float32; on_mismatch null makes such values null (row 1, column \"x\")"),
        ),
        (f64s(&[65519.0]), DataType::Float16, Ok(json!([65504.0]))),
        (f64s(&[65520.0]), DataType::Float16, Err("65520.0 cannot be cast to Float16")),
        (f64s(&[3.0, -0.0]), DataType::Int32, Ok(json!([3, 0]))),
        (f64s(&[3.5]), DataType::Int32, Err("3.5 cannot be cast to Int32")),
        (f64s(&[f64::NAN]), DataType::Int32, Err("NaN cannot be cast to Int32")),
        (f64s(&[0.1, 1e300, -0.0]), DataType::Utf8, Ok(json!(["0.1", "1e+300", "-0.0"]))),
        (Arc::new(Float32Array::from(vec![0.1])), DataType::Float64, Ok(json!([f64::from(0.1_f32)]))),
        (Arc::new(Float32Array::from(vec![0.1])), DataType::Utf8, Ok(json!(["0.1"]))),
        (Arc::new(BooleanArray::from(vec![true, false])), DataType::Int8, Ok(json!([1, 0]))),
        (Arc::new(BooleanArray::from(vec![true])), DataType::Utf8, Ok(json!(["true"]))),
        (text(&["1", "-2", "1e3", ""]), DataType::Int32, Ok(json!([1, -2, 1000, null]))),
        (text(&["007"]), DataType::Int32, Err("\"007\" cannot be cast to Int32")),
        (text(&["+1"]), DataType::Float64, Err("\"+1\" cannot be cast to Float64")),
        (text(&[" 1"]), DataType::Float64, Err("\" 1\" cannot be cast to Float64")),
        (text(&["1.5", ".5", "NaN"]), DataType::Float64, Ok(json!([1.5, 0.5, "NaN"]))),
        (text(&["1e999"]), DataType::Float64, Err("\"1e999\" cannot be cast to Float64")),
        (text(&["2.5", "0.123456789012345"]), DataType::Float32, Ok(json!([2.5, 0.123_456_79_f32]))),
        (text(&["True", "false"]), DataType::Boolean, Ok(json!([true, false]))),
        (text(&["1"]), DataType::Boolean, Err("\"1\" cannot be cast to Boolean")),
        (text(&["2024-05-01 12:30"]), seconds.clone(), Ok(json!(["2024-05-01T12:30:00"]))),
        (text(&["2024-05-01T12:30:00.5"]), seconds.clone(), Err("cannot be cast to Timestamp(s)")),
        (text(&["2024-05-01T12:30:00Z"]), seconds.clone(), Err("cannot be cast to Timestamp(s)")),
        (text(&["2024-02-30"]), DataType::Date32, Err("\"2024-02-30\" cannot be cast to Date32")),
        (micros(&[0, -1_000_000]), seconds.clone(), Ok(json!(["1970-01-01T00:00:00", "1969-12-31T23:59:59"]))),
        (micros(&[1]), seconds.clone(), Err("1970-01-01T00:00:00.000001 cannot be cast to Timestamp(s)")),
        (micros(&[86_400_000_000]), DataType::Date32, Ok(json!(["1970-01-02"]))),
        (micros(&[86_400_000_001]), DataType::Date32, Err("cannot be cast to Date32")),
        (micros(&[0]), utc(TimeUnit::Second), Err("cannot be cast to Timestamp(s, \"UTC\")")),
        (zoned, utc(TimeUnit::Millisecond), Ok(json!(["1970-01-01T00:00:00Z"]))),
        (Arc::new(Date32Array::from(vec![1])), seconds, Ok(json!(["1970-01-02T00:00:00"]))),
        (Arc::new(Date32Array::from(vec![1])), DataType::Utf8, Ok(json!(["1970-01-02"]))),
        (Arc::new(DurationSecondArray::from(vec![90])), DataType::Duration(TimeUnit::Nanosecond), Ok(json!(["PT90S"]))),
        (labels.clone(), DataType::Utf8, Ok(json!(["7", "1995", "7"]))),
        (labels, DataType::Int16, Ok(json!([7, 1995, 7]))),
        (vectors(&[[0.1, 2.0, 3.0]]), DataType::Float32, Ok(json!([[0.1, 2.0, 3.0]]))),
        (vectors(&[[1.0, 2.0, 3.0], [1.0, 2.5, 0.0]]), DataType::Int8, Err("(row 1, column \"x\")")),
    ];
    for (array, to, expected) in all {
        let what = format!("{:?} as {to}", array.data_type());
        let convert = of(batch([("x", array)])).with_changes(Changes::new().cast("x", to));
        let found = rows(&convert).map(|rows| rows.iter().map(|row| row["x"].clone()).collect::<Vec<_>>());
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert!(same(&Value::Array(found.clone()), &expected), "{what}: {found:?}"),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{what}: {error}"),
            (found, _) => panic!("{what}: {found:?}"),
        }
    }
}

/// Whether JSON is the same, with numbers as 32-bit floats where they are not integers.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().map(|one| one as f32) == other.as_f64().map(|other| other as f32)
        }
        _ => one == other,
    }
}

/// The bits that numpy and pandas give: `pandas.Series(values).astype("float32").to_numpy().view("uint32")`.
#[test]
fn doubles_round_like_in_numpy() {
    let values = vec![0.1, 1.0 / 3.0, 16_777_217.0, 1e-46, -2.5, 3.402_823_5e38];
    let bits = [0x3dcc_cccd, 0x3eaa_aaab, 0x4b80_0000, 0, 0xc020_0000, 0x7f7f_ffff];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let convert = of(batch([("x", Arc::new(Float64Array::from(values)))]));
    let report = write(&convert.with_changes(Changes::new().floats(FloatWidth::Single)), &path).unwrap();
    assert_eq!(report.losses, []);
    let container = wharf::open(&path).unwrap();
    let tables = container.tables();
    let mut batches = tables[0].arrow().unwrap().batches(&BatchScan::default()).unwrap();
    let batch = batches.next().unwrap().unwrap();
    let array = batch.column(0).as_any().downcast_ref::<Float32Array>().unwrap();
    assert_eq!(array.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>(), bits);
}

/// Values that can be anything are neither errors nor losses.
#[test]
fn values_under_nulls_are_not_cast() {
    let nulls = || Some(NullBuffer::from(vec![true, false, true]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1e300, 2.0]));
    let item = Arc::new(Field::new_list_field(DataType::Float64, false));
    let lists = ListArray::new(Arc::clone(&item), OffsetBuffer::from_lengths([1, 1, 1]), Arc::clone(&floats), nulls());
    let vectors = FixedSizeListArray::new(Arc::clone(&item), 1, Arc::clone(&floats), nulls());
    let members = vec![Field::new("x", DataType::Float64, false)].into();
    let structs = StructArray::new(members, vec![floats], nulls());
    let batch = batch([("l", Arc::new(lists)), ("v", Arc::new(vectors)), ("s", Arc::new(structs))]);
    let changed = of(batch).with_changes(Changes::new().floats(FloatWidth::Single));
    let row = |value: f64| json!({ "l": [value], "v": [value], "s": { "x": value } });
    let expected = [row(1.0), json!({ "l": null, "v": null, "s": null }), row(2.0)];
    assert_eq!(rows(&changed).unwrap(), expected);
}

/// As `DataFrame.rename` and `pandas.concat` have it.
#[test]
fn renames_and_unions_like_pandas() {
    let folder = tempfile::tempdir().unwrap();
    let one =
        batch([("a", Arc::new(Int64Array::from(vec![1, 2]))), ("b", Arc::new(Float64Array::from(vec![0.5, 1.5])))]);
    let swapped = of(one).with_changes(Changes::new().rename("a", "b").rename("b", "a"));
    assert_eq!(rows(&swapped).unwrap(), [json!({"b": 1, "a": 0.5}), json!({"b": 2, "a": 1.5})]);
    let write_one = |name: &str, batch: RecordBatch| {
        let path = folder.path().join(name);
        write(&of(batch), &path).unwrap();
        path
    };
    let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let inputs = [
        write_one("1.parquet", batch([("a", Arc::new(Int64Array::from(vec![1]))), ("b", text("x"))])),
        write_one("2.parquet", batch([("b", text("y")), ("c", Arc::new(Float64Array::from(vec![2.5])))])),
    ];
    let convert = Convert::new(inputs.clone()).with_union();
    let expected = [json!({"a": 1, "b": "x", "c": null}), json!({"a": null, "b": "y", "c": 2.5})];
    let path = folder.path().join("all.parquet");
    write(&convert, &path).unwrap();
    assert_eq!(read(&path), expected);
    let error = write(&Convert::new(inputs.clone()), &folder.path().join("no.parquet")).unwrap_err().to_string();
    assert!(error.contains("column 0 is \"b\" here, \"a\" there"), "{error}");
    // Merging does the same, and rows without types lack the member or the cell.
    let merged = folder.path().join("merged.parquet");
    let merge = wharf::Merge::new(inputs.clone()).with_option("union", "");
    merge.write(&merged, Overwrite::Refuse, &Registry::builtin()).unwrap();
    assert_eq!(read(&merged), expected);
    let csv = folder.path().join("all.csv");
    write(&convert, &csv).unwrap();
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "a,b,c\n1,x,\n,y,2.5\n");
    let selected = Convert::new(inputs).with_union().with_columns(["c", "a"]);
    let csv = folder.path().join("some.csv");
    write(&selected, &csv).unwrap();
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "c,a\n,1\n2.5,\n");
    let msgpack = folder.path().join("all.msgpack");
    let (registry, mut target) = (Registry::builtin(), DatadingsTarget::default());
    let mut numbered = convert;
    numbered.set(&mut target, "number", "", &registry).unwrap();
    numbered.write_as(&target, &msgpack, Overwrite::Refuse, &registry).unwrap();
    assert_eq!(read(&msgpack)[0]["c"], Value::Null);
}

#[test]
fn a_column_that_an_input_lacks_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let one = file(folder.path(), "1.csv", "a,b\n1,x\n");
    let two = file(folder.path(), "2.csv", "b,c\ny,2\n");
    let changes = Changes::new().rename("a", "A").rename("c", "C").cast("A", DataType::Float64);
    let convert = Convert::new([&one, &two]).with_union().with_changes(changes);
    let path = folder.path().join("all.parquet");
    write(&convert, &path).unwrap();
    assert_eq!(read(&path), [json!({"A": 1.0, "b": "x", "C": null}), json!({"A": null, "b": "y", "C": 2})]);
    let wrong = Convert::new([one, two]).with_union().with_changes(Changes::new().rename("d", "D"));
    let error = rows(&wrong).unwrap_err().to_string();
    assert_eq!(error, "rename no column \"d\"; similar: \"a\", \"b\", \"c\"");
}

#[test]
fn wrong_usage_is_named() {
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int8Type, _, _>([Some(vec![Some(1)])]));
    let all = batch([
        ("age", Arc::new(Int64Array::from(vec![1]))),
        ("name", Arc::new(StringArray::from(vec!["x"]))),
        ("v", vectors(&[[1.0, 2.0, 3.0]])),
        ("list", list),
    ]);
    let changes = Changes::new;
    for (changes, expected) in [
        (changes().rename("Aeg", "x"), "rename no column \"Aeg\"; similar: \"age\""),
        (changes().rename("age", "x").rename("age", "y"), "rename column \"age\" is renamed twice"),
        (changes().rename("age", "name"), "rename two columns would be called \"name\""),
        (changes().rename("age", "x").drop("age"), "drop no column \"age\"; similar: "),
        (changes().drop("age").cast("age", DataType::Int8), "cast no column \"age\""),
        (changes().cast("age", DataType::Int8).cast("age", DataType::Int16), "cast column \"age\" is cast twice"),
        (changes().cast("age", DataType::Binary), "cast Int64 cannot be cast to Binary (column \"age\")"),
        (changes().expand("age"), "expand expected a vector or a struct, found Int64 (column \"age\")"),
        (changes().expand("v").expand("v"), "expand no column \"v\""),
        (changes().rename("age", "v_1").expand("v"), "expand two columns would be called \"v_1\""),
        (changes().concat("F", ["age", "nme"]), "concat no column \"nme\"; similar: "),
        (changes().concat("F", ["age", "age"]), "concat column \"age\" occurs twice"),
        (changes().concat("F", Vec::<String>::new()), "concat a vector consists of at least one column"),
        (changes().concat("name", ["age"]), "concat two columns would be called \"name\""),
        (
            changes().concat("F", ["age", "name"]),
            "concat expected numbers or vectors of one length of them, found Utf8",
        ),
        (
            changes().concat("F", ["age", "list"]),
            "concat expected numbers or vectors of one length of them, found List",
        ),
    ] {
        let error = rows(&of(all.clone()).with_changes(changes.clone())).unwrap_err();
        assert!(error.to_string().contains(expected), "{changes:?}: {error}");
        assert_eq!(error.kind().name(), "usage", "{changes:?}: {error}");
    }
    let mut limited = Changes::new().expand("v");
    limited.expand_limit = 2;
    let error = rows(&of(all).with_changes(limited)).unwrap_err().to_string();
    assert!(error.contains("columns of one that is expanded") && error.contains("expand_limit"), "{error}");
}

#[test]
fn values_of_options_are_parsed() {
    let set = |name: &str, value: &str| {
        let (mut convert, registry) = (Convert::default(), Registry::builtin());
        convert.set(&mut TextTarget::CSV.clone(), name, value, &registry).map(|()| convert.changes)
    };
    assert_eq!(set("rename", "a=b,\"c,=\"=\"d\"").unwrap(), Changes::new().rename("a", "b").rename("c,=", "d"));
    assert_eq!(set("drop", "a,\"b,c\"").unwrap(), Changes::new().drop("a").drop("b,c"));
    let stamp = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let expected = Changes::new().cast("a", DataType::Float32).cast("b", DataType::Float32).cast("at", stamp);
    assert_eq!(set("cast", "a,b=float32,at=Timestamp(us, \"UTC\")").unwrap(), expected);
    assert_eq!(set("cast", "a=Single").unwrap(), Changes::new().cast("a", DataType::Float32));
    assert_eq!(set("concat", "F=a,\"b=c\"").unwrap(), Changes::new().concat("F", ["a", "b=c"]));
    assert_eq!(set("floats", "single").unwrap(), Changes::new().floats(FloatWidth::Single));
    for (name, value, expected) in [
        ("rename", "a", "rename expected OLD=NEW, found \"a\""),
        ("rename", "a=b=c", "rename expected OLD=NEW"),
        ("rename", "=b", "rename expected OLD=NEW"),
        ("rename", "\"a=b", "unclosed quote"),
        ("cast", "a", "cast expected COLUMN=TYPE, found \"a\""),
        ("cast", "a=", "cast expected COLUMN=TYPE"),
        ("cast", "a=int8,", "cast expected COLUMN=TYPE"),
        ("cast", "a=number", "cast invalid type \"number\""),
        ("cast", "a=json", "cast a column cannot be cast to JSON"),
        ("concat", "F", "concat expected NAME=COLUMNS"),
        ("concat", "F=", "concat expected NAME=COLUMNS"),
        ("floats", "half", "floats must be single or double, found \"half\""),
        ("expand_limit", "0", "expand_limit must be 1 to"),
    ] {
        let error = set(name, value).unwrap_err().to_string();
        assert!(error.contains(expected), "{name} {value}: {error}");
    }
}

/// Expanding a vector and concatenating its elements is the identity, with slot names, in every format that has vectors.
#[test]
fn concat_reverts_expand() {
    let folder = tempfile::tempdir().unwrap();
    let csv = file(folder.path(), "a.csv", "name,a,b,c\nx,1.5,2,3\ny,4.5,5,6\n");
    for extension in ["idv", "parquet", "arrow", "ds"] {
        let path = |name: &str| folder.path().join(format!("{name}.{extension}"));
        let features = Changes::new().floats(FloatWidth::Single).concat("F", ["a", "b", "c"]);
        write(&Convert::new([&csv]).with_changes(features), &path("one")).unwrap();
        let expanded = Changes::new().expand("F");
        write(&Convert::new([path("one")]).with_changes(expanded), &path("two")).unwrap();
        assert_eq!(
            BTreeSet::from_iter(names(&read(&path("two")))),
            BTreeSet::from(["name", "a", "b", "c"].map(str::to_owned))
        );
        let joined = Changes::new().concat("F", ["a", "b", "c"]);
        write(&Convert::new([path("two")]).with_changes(joined), &path("three")).unwrap();
        assert_eq!(read(&path("one")), read(&path("three")), "{extension}");
        if extension != "ds" {
            assert_eq!(schema(&path("one")), schema(&path("three")), "{extension}");
            let metadata = schema(&path("one")).field(1).metadata()["idv"].clone();
            let column: Value = serde_json::from_str(&metadata).unwrap();
            assert_eq!(
                (&column["type"], &column["metadata"]["SlotNames"]),
                (&json!("Vector<Single, 3>"), &json!(["a", "b", "c"]))
            );
        }
    }
}

#[test]
fn sparse_and_ragged_vectors_expand() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = "{\"v\":{\"$sparse\":{\"length\":4,\"indices\":[1,3],\"values\":[0.5,7]}},\"r\":[1,2]}\n\
                  {\"v\":{\"$sparse\":{\"length\":4,\"indices\":[0],\"values\":[2]}},\"r\":[]}\n";
    let jsonl = file(folder.path(), "a.jsonl", sparse);
    let idv = folder.path().join("a.idv");
    write(&Convert::new([jsonl]), &idv).unwrap();
    let changes = Changes::new().expand("v").expand("r");
    let expected = [
        json!({"v_0": 0.0, "v_1": 0.5, "v_2": 0.0, "v_3": 7.0, "r_0": 1, "r_1": 2}),
        json!({"v_0": 2.0, "v_1": 0.0, "v_2": 0.0, "v_3": 0.0, "r_0": null, "r_1": null}),
    ];
    assert_eq!(rows(&Convert::new([&idv]).with_changes(changes.clone())).unwrap(), expected);
    let (mut convert, mut target) =
        (Convert::new([idv]).with_changes(changes), wharf::convert::ParquetTarget::default());
    convert.set(&mut target, "sparse", "structs", &Registry::builtin()).unwrap();
    let error = write(&convert, &folder.path().join("a.parquet")).unwrap_err().to_string();
    assert!(error.contains("sparse structs does not go with"), "{error}");
}

/// Behind a filter the number of rows is unknown, and it takes the same way as the whole file.
#[test]
fn filtered_idv_becomes_ds_like_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let lists = [vec![1, 2, 3], vec![4], vec![5, 6], vec![7, 8]].map(|items| Some(items.into_iter().map(Some)));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let times = TimestampNanosecondArray::from(vec![123_456_700, 100, 1_000_000_000, 2_000_000_000]);
    let columns = [
        ("k", Arc::new(Int32Array::from(vec![1, 2, 3, 4])) as ArrayRef, false),
        ("v", Arc::new(lists), false),
        ("t", Arc::new(times), false),
    ];
    write(&of(RecordBatch::try_from_iter_with_nullable(columns).unwrap()), &path("a.idv")).unwrap();
    let whole = |changes: Changes| Convert::new([path("a.idv")]).with_changes(changes);
    let mut number = 0;
    let mut output = || {
        number += 1;
        path(&format!("{number}.ds"))
    };
    for changes in [Changes::new(), Changes::new().rename("t", "T"), Changes::new().cast("k", DataType::Int64)] {
        // All vectors have two items.
        let (some, filtered) = (output(), output());
        write(&whole(changes.clone()).with_rows(2..4), &some).unwrap();
        write(&whole(changes.clone()).with_filter("k > 2").unwrap(), &filtered).unwrap();
        assert_eq!(read(&filtered), read(&some), "{changes:?}");
        assert_eq!(schema(&filtered), schema(&some), "{changes:?}");
        let error = write(&whole(changes).with_filter("k > 0").unwrap(), &output()).unwrap_err().to_string();
        assert!(error.contains("column \"v\"") || error.contains("\"v\""), "{error}");
        // Times finer than a microsecond.
        let (all, filtered) = (output(), output());
        let changes = Changes::new().drop("v");
        write(&whole(changes.clone()), &all).unwrap();
        write(&whole(changes).with_filter("k > 0").unwrap(), &filtered).unwrap();
        assert_eq!(read(&filtered), read(&all));
    }
}

/// Items of a vector that an input lacks are missing.
#[test]
fn vectors_that_an_input_lacks_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let list = |lengths: [i32; 2]| -> ArrayRef {
        let lists = lengths.map(|length| Some((1..=length).map(Some)));
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
    };
    let keys = |from: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![from, from + 1])) };
    let file = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let columns = columns.into_iter().map(|(name, array)| (name, array, false));
        write(&of(RecordBatch::try_from_iter_with_nullable(columns).unwrap()), &path(name)).unwrap();
    };
    let fixed: ArrayRef = vectors(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    file("none.idv", vec![("k", keys(3))]);
    file("list.idv", vec![("k", keys(1)), ("v", list([2, 2]))]);
    file("vector.idv", vec![("k", keys(1)), ("v", fixed)]);
    for (name, items) in [("list", json!([1, 2])), ("vector", json!([1.0, 2.0, 3.0]))] {
        let count = items.as_array().unwrap().len();
        let missing = json!({"k": 3, "v": vec![Value::Null; count]});
        let idv = format!("{name}.idv");
        for (inputs, at) in [([idv.as_str(), "none.idv"], [0, 2]), (["none.idv", idv.as_str()], [2, 0])] {
            let output = path(&format!("{name}{}.ds", at[0]));
            write(&Convert::new(inputs.map(path)).with_union(), &output).unwrap();
            let found = read(&output);
            assert_eq!(found[at[0]], json!({"k": 1, "v": items}), "{found:?}");
            assert_eq!(found[at[1]], missing, "{found:?}");
        }
    }
    // The other direction.
    write(&Convert::new([path("vector.idv")]), &path("vector.ds")).unwrap();
    write(&Convert::new([path("list.idv")]), &path("list.ds")).unwrap();
    write(&Convert::new([path("none.idv")]), &path("none.ds")).unwrap();
    let back = path("back.idv");
    write(&Convert::new(["vector.ds", "none.ds"].map(path)).with_union(), &back).unwrap();
    assert_eq!(read(&back)[2], json!({"k": 3, "v": ["NaN", "NaN", "NaN"]}));
    let report = write(&Convert::new(["list.ds", "none.ds"].map(path)).with_union(), &path("l.idv")).unwrap();
    assert_eq!(read(&path("l.idv"))[2], json!({"k": 3, "v": ["NaN", "NaN"]}));
    assert_eq!(report.losses.len(), 1);
}

#[test]
fn structs_expand_and_nulls_stay_null() {
    let members: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let field = Arc::new(Field::new("x", DataType::Int64, false));
    let nulls = Some(vec![true, false, true].into());
    let structs = StructArray::try_new(vec![field].into(), vec![members], nulls).unwrap();
    let all = batch([("s", Arc::new(structs)), ("n", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])))]);
    let expanded = of(all.clone()).with_changes(Changes::new().expand("s"));
    let expected = [json!({"s.x": 1, "n": 1}), json!({"s.x": null, "n": null}), json!({"s.x": 3, "n": 3})];
    assert_eq!(rows(&expanded).unwrap(), expected);
    // Null elements stay null, and IDV counts those of floats as NaN.
    let changes = Changes::new().expand("s").cast("n", DataType::Float32).concat("F", ["s.x", "n"]);
    let vector = of(all).with_changes(changes);
    assert_eq!(rows(&vector).unwrap()[1], json!({"F": [null, null]}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.idv");
    let report = write(&vector, &path).unwrap();
    assert!(
        report.losses.iter().any(|lost| lost.loss.what.contains("NaN") && lost.loss.count == 2),
        "{:?}",
        report.losses
    );
    assert_eq!(read(&path)[1], json!({"F": ["NaN", "NaN"]}));
}

#[test]
fn values_that_do_not_fit_can_become_null() {
    let all =
        batch([("x", Arc::new(StringArray::from(vec!["1", "a", "300"]))), ("v", vectors(&[[1.0, 2.5, 300.0]; 3]))]);
    let mut convert = of(all).with_changes(Changes::new().cast("x", DataType::Int8).cast("v", DataType::Int8));
    convert.mapping.on_mismatch = Some(OnMismatch::Null);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let report = write(&convert, &path).unwrap();
    let losses: Vec<String> = report.losses.iter().map(|lost| lost.loss.to_string()).collect();
    assert_eq!(
        losses,
        [
            "value that cannot be cast to Int8 shown as null (2 times, first row 1, column \"x\")",
            "value that cannot be cast to Int8 shown as null (6 times, first row 0, column \"v\")"
        ]
    );
    let expected = |x: Value| json!({"x": x, "v": [1, null, null]});
    assert_eq!(read(&path), [expected(json!(1)), expected(Value::Null), expected(Value::Null)]);
    assert_eq!(rows(&convert).unwrap(), read(&path));
    let mut unused = of(batch([("x", Arc::new(Int64Array::from(vec![1])))]));
    unused.mapping.on_mismatch = Some(OnMismatch::Null);
    let error = rows(&unused).unwrap_err().to_string();
    assert_eq!(error, "on_mismatch is for outputs whose columns have types, and for casts");
}

/// Attributes stay where numbers stay numbers, and labels become values.
#[test]
fn metadata_stay_where_they_are_true() {
    let header = r#"{"type":"int16","dimensions":["row"],"attributes":{"units":"K","scale_factor":0.5}}"#;
    let packed =
        Field::new("t", DataType::Int16, false).with_metadata(HashMap::from([("ds".to_owned(), header.to_owned())]));
    let table = RecordBatch::try_new(Arc::new(Schema::new(vec![packed])), vec![Arc::new(Int16Array::from(vec![2, 4]))])
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&of(table), &path("packed.ds")).unwrap();
    let attributes = |name: &str| {
        let metadata = schema(&path(name)).field(0).metadata()["ds"].clone();
        serde_json::from_str::<Value>(&metadata).unwrap()["attributes"].clone()
    };
    let cast =
        |to: DataType| Convert::new([path("packed.ds")]).with_changes(Changes::new().rename("t", "T").cast("T", to));
    // The numbers are still packed ones.
    let report = write(&cast(DataType::Float64), &path("float.ds")).unwrap();
    assert_eq!(report.losses, []);
    assert_eq!(attributes("float.ds"), json!({"units": "K", "scale_factor": 0.5}));
    assert_eq!(read(&path("float.ds")), [json!({"T": 2.0}), json!({"T": 4.0})]);
    let report = write(&cast(DataType::Utf8), &path("text.ds")).unwrap();
    let lost: BTreeSet<&str> = report.losses.iter().map(|lost| lost.loss.what.as_str()).collect();
    let expected = [
        "metadata \"scale_factor\" left out: not true for the new type",
        "metadata \"units\" left out: not true for the new type",
    ];
    assert_eq!(lost, BTreeSet::from(expected));
    assert_eq!(attributes("text.ds"), json!({}));
    // A vector has one meaning for all its elements.
    let variable = |name: &str, attributes: &str| {
        let header = format!(r#"{{"dimensions":["row"],"attributes":{attributes}}}"#);
        Field::new(name, DataType::Float64, false).with_metadata(HashMap::from([("ds".to_owned(), header)]))
    };
    let fields = vec![
        variable("a", r#"{"units":"K","scale_factor":0.5}"#),
        variable("b", r#"{"units":"m","scale_factor":0.5}"#),
        variable("c", r#"{"units":"m"}"#),
    ];
    let numbers: Vec<ArrayRef> = (0..3).map(|_| Arc::new(Float64Array::from(vec![1.0])) as ArrayRef).collect();
    let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), numbers).unwrap();
    let mixed = of(table.clone()).with_changes(Changes::new().concat("F", ["a", "c"]));
    let error = rows(&mixed).unwrap_err().to_string();
    assert!(error.contains("packed numbers, with scale_factor, add_offset or _Unsigned"), "{error}");
    // Signed integers that stand for unsigned ones keep their width.
    let unsigned = |name: &str, array: ArrayRef, attributes: &str| {
        (variable(name, attributes).with_data_type(array.data_type().clone()), array)
    };
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = [
        unsigned("a", Arc::new(Int8Array::from(vec![-1])), r#"{"_Unsigned":"true"}"#),
        unsigned("b", Arc::new(Int16Array::from(vec![-1])), r#"{"_Unsigned":"true"}"#),
        unsigned("c", Arc::new(Int8Array::from(vec![-1])), "{}"),
        unsigned("d", Arc::new(Int8Array::from(vec![-2])), r#"{"_Unsigned":"true"}"#),
    ]
    .into_iter()
    .unzip();
    let bytes = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let refused = |changes: Changes| rows(&of(bytes.clone()).with_changes(changes)).unwrap_err().to_string();
    let alone = "the attribute \"_Unsigned\" holds for this type alone";
    for to in [DataType::Int16, DataType::Int32, DataType::UInt8, DataType::Float64, DataType::Utf8] {
        assert_eq!(
            refused(Changes::new().cast("a", to.clone())),
            format!("test: cast expected Int8, found {to}: {alone} (column \"a\")")
        );
    }
    assert!(refused(Changes::new().concat("F", ["a", "b"])).contains("expected Int8 like the others, found Int16"));
    assert!(refused(Changes::new().concat("F", ["a", "c"])).contains("_Unsigned, cannot be in a vector"));
    let joined = of(bytes).with_changes(Changes::new().concat("F", ["a", "d"]).drop("b").drop("c"));
    write(&joined, &path("bytes.ds")).unwrap();
    assert_eq!(attributes("bytes.ds"), json!({"_Unsigned": "true", "SlotNames": ["a", "d"]}));
    let report =
        write(&of(table).with_changes(Changes::new().concat("F", ["a", "b"]).drop("c")), &path("two.ds")).unwrap();
    let lost: Vec<String> = report.losses.iter().map(|lost| lost.loss.to_string()).collect();
    let what = "metadata \"units\" left out: not the same for all columns of the vector";
    assert!(lost.len() == 2 && lost.iter().all(|lost| lost.starts_with(what)), "{lost:?}");
    assert_eq!(attributes("two.ds"), json!({"scale_factor": 0.5, "SlotNames": ["a", "b"]}));
    // Keys of IDV.
    let labels: DictionaryArray<Int8Type> = ["7", "1995", "7"].into_iter().collect();
    write(&of(batch([("k", Arc::new(labels))])), &path("key.idv")).unwrap();
    let renamed = Convert::new([path("key.idv")]).with_changes(Changes::new().rename("k", "K"));
    write(&renamed, &path("renamed.idv")).unwrap();
    let kind = |name: &str| wharf::open(path(name)).unwrap().tables()[0].columns()[0].clone();
    assert_eq!((kind("renamed.idv").name, kind("renamed.idv").kind), ("K".to_owned(), "Key<UInt32, 2>".to_owned()));
    assert_eq!(read(&path("renamed.idv"))[1], json!({"K": "1995"}));
    let numbers = Convert::new([path("key.idv")]).with_changes(Changes::new().cast("k", DataType::Int32));
    let report = write(&numbers, &path("numbers.idv")).unwrap();
    assert_eq!((report.losses, kind("numbers.idv").kind), (vec![], "Int32".to_owned()));
    assert_eq!(read(&path("numbers.idv"))[1], json!({"k": 1995}));
    // IDV into ds keeps slot names, also of new vectors.
    let two = batch([("a", Arc::new(Float32Array::from(vec![1.0]))), ("b", Arc::new(Float32Array::from(vec![2.0])))]);
    write(&of(two), &path("two.idv")).unwrap();
    let vector = Convert::new([path("two.idv")]).with_changes(Changes::new().concat("F", ["a", "b"]));
    write(&vector, &path("vector.ds")).unwrap();
    assert_eq!(attributes("vector.ds")["SlotNames"], json!(["a", "b"]));
    let back = Convert::new([path("vector.ds")]).with_changes(Changes::new().expand("F"));
    assert_eq!(rows(&back).unwrap(), [json!({"a": 1.0, "b": 2.0})]);
}

/// Renaming and dropping change nothing else: digits, missing members, and documents that are not tables.
#[test]
fn renamed_rows_keep_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "{\"a\":1.50,\"b\":{\"deep\":[1,{\"x\":null}]},\"c\":\"x\"}\n{\"c\":\"y\",\"a\":12345678901234567890123}\n";
    let jsonl = file(folder.path(), "a.jsonl", text);
    let changes = Changes::new().rename("a", "A \"q\"").drop("c");
    let convert = Convert::new([&jsonl]).with_changes(changes.clone());
    let out = folder.path().join("b.jsonl");
    write(&convert, &out).unwrap();
    let expected =
        "{\"A \\\"q\\\"\":1.50,\"b\":{\"deep\":[1,{\"x\":null}]}}\n{\"A \\\"q\\\"\":12345678901234567890123}\n";
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
    let zds = folder.path().join("a.zds");
    write(&Convert::new([&jsonl]), &zds).unwrap();
    let out = folder.path().join("c.zds");
    write(&Convert::new([&zds]).with_changes(changes), &out).unwrap();
    let found = read(&out);
    assert_eq!(found[1]["A \"q\""].to_string(), json!(12_345_678_901_234_567_890_123.0).to_string());
    assert!(found[1].get("c").is_none() && found[1].get("b").is_none());
    // Types are inferred as without changes, from a sample at first.
    let typed = folder.path().join("a.parquet");
    let csv = file(folder.path(), "a.csv", "a,b\n1,x\n2,y\n");
    write(&Convert::new([csv]).with_changes(Changes::new().rename("a", "A")), &typed).unwrap();
    assert_eq!(read(&typed), [json!({"A": 1, "b": "x"}), json!({"A": 2, "b": "y"})]);
    // Samples keep the types of their fields.
    let samples = folder.path().join("a.msgpack");
    let kinds = batch([
        ("key", Arc::new(StringArray::from(vec!["k"]))),
        ("f", Arc::new(Float32Array::from(vec![0.1]))),
        ("u", Arc::new(UInt8Array::from(vec![200]))),
    ]);
    write(&of(kinds), &samples).unwrap();
    let renamed = folder.path().join("b.msgpack");
    write(&Convert::new([&samples]).with_changes(Changes::new().rename("f", "g")), &renamed).unwrap();
    assert_eq!(read(&renamed), [json!({"key": "k", "g": 0.1, "u": 200})]);
    // A cast reads them as columns, which is said.
    let cast = folder.path().join("c.msgpack");
    let report =
        write(&Convert::new([&samples]).with_changes(Changes::new().cast("u", DataType::Utf8)), &cast).unwrap();
    assert!(report.losses.iter().any(|lost| lost.loss.what.starts_with("rows are read as typed columns")));
    assert_eq!(read(&cast)[0]["u"], json!("200"));
    let bytes = std::fs::read(&renamed).unwrap();
    assert!(bytes.windows(6).any(|window| window == [0xa1, b'g', 0xca, 0x3d, 0xcc, 0xcc]), "{bytes:x?}");
}

/// IDV stays as it is but for the names: times of 100 ns, sparse vectors, keys, metadata.
#[test]
fn renaming_idv_keeps_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let times = "{\"at\":\"2024-05-01T12:30:00.1234567\",\"zone\":\"2024-05-01T12:30:00.1234567+02:00\",\"span\":\"00:00:00.0000001\",\
                 \"v\":{\"$sparse\":{\"length\":1048576,\"indices\":[3],\"values\":[0.5]}}}\n";
    let jsonl = file(folder.path(), "a.jsonl", times);
    let kinds = r#"{"at": "DateTime", "zone": "DateTimeOffset", "span": "TimeSpan", "v": "Vector<Single, 1048576>"}"#;
    let mut convert = Convert::new([jsonl]);
    convert.text.schema = Some(file(folder.path(), "types.json", kinds));
    write(&convert, &path("a.idv")).unwrap();
    let there = Changes::new().rename("at", "At").rename("v", "V").rename("zone", "Zone").rename("span", "Span");
    let back = Changes::new().rename("At", "at").rename("V", "v").rename("Zone", "zone").rename("Span", "span");
    write(&Convert::new([path("a.idv")]).with_changes(there), &path("b.idv")).unwrap();
    write(&Convert::new([path("b.idv")]).with_changes(back), &path("c.idv")).unwrap();
    assert_eq!(names(&read(&path("b.idv"))), ["At", "Zone", "Span", "V"]);
    assert_eq!(std::fs::read(path("a.idv")).unwrap(), std::fs::read(path("c.idv")).unwrap());
    // So does joining it with another file that lacks columns.
    write(&Convert::new([path("a.idv")]).with_columns(["at"]), &path("at.idv")).unwrap();
    write(&Convert::new([path("a.idv"), path("at.idv")]).with_union().with_columns(["at", "zone"]), &path("union.idv"))
        .unwrap();
    let rows = read(&path("union.idv"));
    assert_eq!((&rows[0]["at"], &rows[0]["zone"]), (&rows[1]["at"], &read(&path("a.idv"))[0]["zone"]));
    let both = Convert::new([path("a.idv"), path("at.idv")]).with_union().with_columns(["span", "at"]);
    write(&both, &path("union.ds")).unwrap();
    assert_eq!(read(&path("union.ds")).len(), 2);
}

/// Writes rows as IDV, with these types.
fn idv(folder: &Path, name: &str, rows: &str, kinds: &str) -> PathBuf {
    let mut convert = Convert::new([file(folder, "rows.jsonl", rows)]);
    convert.text.schema = Some(file(folder, "types.json", kinds));
    let path = folder.join(name);
    write(&convert, &path).unwrap();
    path
}

/// Rows of IDV that a condition selects become the same variables as those of a file that has no others, whatever else is changed.
#[test]
fn variables_of_filtered_idv_are_those_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows = [
        ("1,2", "2020-01-01T00:00:00.0000001", "00:00:01.5"),
        ("3", "2020-01-01T00:00:00.1234567", "00:00:00.0000001"),
        ("4,5", "2020-01-01T00:00:01", "00:00:02"),
        ("6,7", "2020-01-01T00:00:02", "00:00:03"),
    ];
    let rows = rows.iter().enumerate().map(|(k, (v, t, s))| {
        let id = format!("{k:032x}");
        format!(
            "{{\"k\":{k},\"v\":[{v}],\"t\":\"{t}\",\"o\":\"{t}+01:00\",\"s\":\"{s}\",\"r\":\"{id}\",\"l\":\"x\"}}\n"
        )
    });
    let kinds = r#"[{"name":"k","type":"Int32"},{"name":"v","type":"Vector<Single>"},{"name":"t","type":"DateTime"},
        {"name":"o","type":"DateTimeOffset"},{"name":"s","type":"TimeSpan"},{"name":"r","type":"RowId"},
        {"name":"l","type":"Key<UInt32, 2>","metadata":{"KeyValues":["x","y"]}}]"#;
    let all = idv(folder.path(), "all.idv", &rows.collect::<String>(), kinds);
    let changes = [
        Changes::new(),
        Changes::new().rename("k", "kk"),
        Changes::new().drop("v"),
        Changes::new().cast("k", DataType::Int64),
    ];
    let mut written = 0;
    for (condition, changes) in
        ["k > 1", "k >= 0", "k = 0"].iter().flat_map(|condition| changes.iter().map(move |change| (condition, change)))
    {
        let _ = std::fs::remove_file(path("some.idv"));
        write(&Convert::new([&all]).with_filter(condition).unwrap(), &path("some.idv")).unwrap();
        for (extension, range) in [("ds", 0..9), ("ds", 1..2), ("nc", 0..9)] {
            let name = |name: &str| path(&format!("{name}.{extension}"));
            let (one, two) = (name("one"), name("two"));
            let _ = (std::fs::remove_file(&one), std::fs::remove_file(&two));
            let changed = |input: &Path| Convert::new([input]).with_changes(changes.clone()).with_rows(range.clone());
            let expected = write(&changed(&path("some.idv")), &two).map_err(|error| error.detail().to_owned());
            let convert = changed(&all).with_filter(condition).unwrap();
            let found = write(&convert, &one).map_err(|error| error.detail().to_owned());
            let case = format!("{condition} {changes:?} {extension} {range:?}");
            assert_eq!(found.as_ref().map(|report| report.rows), expected.as_ref().map(|report| report.rows), "{case}");
            if found.is_ok() {
                assert_eq!(read(&one), read(&two), "{case}");
                assert_eq!(schema(&one), schema(&two), "{case}");
                written += 1;
            }
        }
    }
    assert!(written > 20, "{written}");
}

/// Times of IDV keep their ticks while other columns are changed, and what is cast is the time, not its ticks.
#[test]
fn times_of_idv_stay_exact_next_to_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = r#"{"k":1,"f":1.5,"t":"2020-01-01T00:00:00.1234567","u":"0001-01-01T00:00:00","z":"2020-01-01T00:00:00.0000001+01:00","v":["0001-01-01T00:00:00.0000001"],"s":"PT0.0000001S","r":"00000000000000000000000000000001"}
{"k":2,"f":2.5,"t":"0001-01-01T00:00:00.0000001","u":"2020-01-01T00:00:01.5","z":"2020-01-01T00:00:00-01:00","v":["2020-01-01T00:00:00","2020-01-01T00:00:00"],"s":"PT1S","r":"00000000000000000000000000000002"}
"#;
    let kinds = r#"{"k":"Int32","f":"Single","t":"DateTime","u":"DateTime","z":"DateTimeOffset","v":"Vector<DateTime>","s":"TimeSpan","r":"RowId"}"#;
    let times = idv(folder.path(), "times.idv", text, kinds);
    let convert = |changes: Changes| Convert::new([&times]).with_changes(changes);
    // Rows of other columns are those of the file.
    let expected = lines(text.as_bytes());
    assert_eq!(rows(&convert(Changes::new().cast("f", DataType::Float64))).unwrap(), expected);
    write(&convert(Changes::new().cast("f", DataType::Float64)), &path("cast.idv")).unwrap();
    assert_eq!(read(&path("cast.idv")), expected);
    // A cast sees the same in every output.
    let mut texts = Vec::new();
    for out in ["u.jsonl", "u.idv", "u.ds"] {
        let changes = Changes::new().cast("u", DataType::Utf8).drop("v").cast("k", DataType::Int64);
        write(&convert(changes), &path(out)).unwrap();
        texts.push(
            read(&path(out))
                .iter()
                .map(|row| [row["k"].clone(), row["t"].clone(), row["u"].clone()])
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(
        texts[0],
        [
            [json!(1), expected[0]["t"].clone(), json!("0001-01-01T00:00:00")],
            [json!(2), expected[1]["t"].clone(), json!("2020-01-01T00:00:01.5")]
        ]
    );
    assert!(texts.iter().all(|other| *other == texts[0]), "{texts:?}");
    let changes = Changes::new().cast("t", DataType::Utf8).drop("v");
    for out in ["t.jsonl", "t.idv", "t.ds"] {
        let error = write(&convert(changes.clone()), &path(out)).unwrap_err().to_string();
        assert!(error.contains("more precise than a microsecond"), "{error}");
    }
}

/// Vectors of a column that an input lacks have missing elements.
#[test]
fn unions_of_vectors_have_missing_elements() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows = "{\"k\":1,\"v\":[1,2],\"w\":[3]}\n{\"k\":2,\"v\":[3,4],\"w\":[5,6]}\n";
    let a = idv(folder.path(), "a.idv", rows, r#"{"k":"Int32","v":"Vector<Single>","w":"Vector<Int16>"}"#);
    let f = idv(folder.path(), "f.idv", rows, r#"{"k":"Int32","v":"Vector<Single, 2>"}"#);
    let b = idv(folder.path(), "b.idv", "{\"k\":3}\n", r#"{"k":"Int32"}"#);
    let registry = Registry::builtin();
    let mut target = registry.target_for(&path("out.ds")).unwrap();
    target.set("ragged", "pad".as_ref()).unwrap();
    for inputs in [[&a, &b], [&b, &a], [&f, &b], [&b, &f]] {
        let out = path("out.ds");
        let convert = Convert::new(inputs).with_union();
        convert.write_as(target.as_ref(), &out, Overwrite::Replace, &registry).unwrap();
        let mut rows = read(&out);
        rows.sort_by_key(|row| row["k"].as_i64());
        let vectors: Vec<&Value> = rows.iter().map(|row| &row["v"]).collect();
        assert_eq!(vectors, [&json!([1.0, 2.0]), &json!([3.0, 4.0]), &json!([null, null])]);
        if inputs.contains(&&a) {
            let vectors: Vec<&Value> = rows.iter().map(|row| &row["w"]).collect();
            assert_eq!(vectors, [&json!([3, null]), &json!([5, 6]), &json!([null, null])]);
        }
    }
}

#[test]
fn cells_cast_to_text_keep_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let csv = file(folder.path(), "a.csv", "zip,n\n1.50,1\n02,2\n");
    let convert =
        Convert::new([csv]).with_changes(Changes::new().cast("zip", DataType::Utf8).cast("n", DataType::Utf8));
    let path = folder.path().join("a.parquet");
    write(&convert, &path).unwrap();
    assert_eq!(read(&path), [json!({"zip": "1.50", "n": "1"}), json!({"zip": "02", "n": "2"})]);
}

#[test]
fn a_schema_overrides_the_columns_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let csv = file(folder.path(), "a.csv", "a,zip,c\n1,01234,2024-05-01\n2,99999,2024-05-02\n");
    let other = file(folder.path(), "b.csv", "a,zip,c\n2.5,7,2024-05-03\n");
    let schema_file = file(folder.path(), "schema.json", r#"{"zip": "Utf8", "extra": "Int32"}"#);
    let with_schema = |inputs: &[&PathBuf], schema: &Path| {
        let mut convert = Convert::new(inputs);
        convert.text.schema = Some(schema.to_owned());
        convert
    };
    let types = |path: &Path| {
        let fields = schema(path)
            .fields()
            .iter()
            .map(|field| format!("{}: {}", field.name(), field.data_type()))
            .collect::<Vec<_>>();
        fields.join(", ")
    };
    let path = |name: &str| folder.path().join(name);
    write(&with_schema(&[&csv], &schema_file), &path("a.parquet")).unwrap();
    assert_eq!(types(&path("a.parquet")), "a: Int64, zip: Utf8, c: Date32, extra: Int32");
    assert_eq!(read(&path("a.parquet"))[0], json!({"a": 1, "zip": "01234", "c": "2024-05-01", "extra": null}));
    // Other columns have one type over all inputs.
    write(&with_schema(&[&csv, &other], &schema_file), &path("ab.parquet")).unwrap();
    assert_eq!(types(&path("ab.parquet")), "a: Float64, zip: Utf8, c: Date32, extra: Int32");
    assert_eq!(read(&path("ab.parquet"))[2]["zip"], json!("7"));
    // Selecting columns leaves the others out, as before.
    write(&with_schema(&[&csv], &schema_file).with_columns(["zip", "a"]), &path("some.parquet")).unwrap();
    assert_eq!(types(&path("some.parquet")), "zip: Utf8, a: Int64");
    let unknown = with_schema(&[&csv], &schema_file).with_columns(["zip", "d"]);
    let error = write(&unknown, &path("no.parquet")).unwrap_err().to_string();
    assert!(error.contains("no column \"d\""), "{error}");
    // The names are those of the files, before changes.
    let changed = with_schema(&[&csv], &schema_file).with_changes(Changes::new().rename("zip", "Zip").drop("c"));
    write(&changed, &path("changed.parquet")).unwrap();
    assert_eq!(types(&path("changed.parquet")), "a: Int64, Zip: Utf8");
    // IDV takes its own types, and infers the rest.
    let idv_types = file(folder.path(), "idv.json", r#"{"a": "Single"}"#);
    let mut expected = vec!["a: Single", "zip: Text", "c: DateTime"];
    let columns = |path: &Path| {
        let container = wharf::open(path).unwrap();
        container.tables()[0]
            .columns()
            .iter()
            .map(|column| format!("{}: {}", column.name, column.kind))
            .collect::<Vec<_>>()
    };
    let report = write(&with_schema(&[&csv], &idv_types), &path("a.idv")).unwrap();
    assert_eq!(columns(&path("a.idv")), expected);
    let inferred: Vec<&str> = report.inferred.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(inferred, ["zip", "c"]);
    let renamed = with_schema(&[&csv], &idv_types).with_changes(Changes::new().rename("a", "A"));
    write(&renamed, &path("renamed.idv")).unwrap();
    expected[0] = "A: Single";
    assert_eq!(columns(&path("renamed.idv")), expected);
    assert_eq!(read(&path("renamed.idv"))[1]["A"], json!(2.0));
}

#[test]
fn selected_columns_and_rows_are_those_after_changes() {
    let folder = tempfile::tempdir().unwrap();
    let csv = file(folder.path(), "a.csv", "a,b\n1,x\n2,y\n3,z\n");
    let changes = Changes::new().rename("a", "b").rename("b", "a").cast("b", DataType::Float32);
    let convert = Convert::new([csv]).with_changes(changes).with_columns(["b"]).with_rows(1..3);
    assert_eq!(rows(&convert).unwrap(), [json!({"b": 2.0}), json!({"b": 3.0})]);
    let path = folder.path().join("a.idv");
    write(&convert, &path).unwrap();
    assert_eq!(read(&path), [json!({"b": 2.0}), json!({"b": 3.0})]);
}

/// The columns of a random table, by name: values as JSON.
type Model = Vec<(String, Vec<Value>)>;

#[derive(Debug, Clone)]
struct Case {
    integers: Vec<i32>,
    floats: Vec<f64>,
    texts: Vec<String>,
    vectors: Vec<[f64; 3]>,
    renames: bool,
    drops: bool,
    casts: u8,
    expands: bool,
    concats: bool,
}

fn case() -> impl Strategy<Value = Case> {
    (1..6_usize).prop_flat_map(|rows| {
        let values = (
            prop::collection::vec(-1000..1000_i32, rows),
            prop::collection::vec((-4000..4000_i32).prop_map(|n| f64::from(n) / 8.0), rows),
            prop::collection::vec("[a-z]{1,3}", rows),
            prop::collection::vec([0..9_i8, 0..9_i8, 0..9_i8].prop_map(|all| all.map(f64::from)), rows),
        );
        let choices = (any::<bool>(), any::<bool>(), 0..4_u8, any::<bool>(), any::<bool>());
        (values, choices).prop_map(|((integers, floats, texts, vectors), (renames, drops, casts, expands, concats))| {
            Case { integers, floats, texts, vectors, renames, drops, casts, expands, concats }
        })
    })
}

impl Case {
    fn batch(&self) -> RecordBatch {
        let columns: [(&str, ArrayRef); 4] = [
            ("i", Arc::new(Int32Array::from(self.integers.clone()))),
            ("f", Arc::new(Float64Array::from(self.floats.clone()))),
            ("t", Arc::new(StringArray::from(self.texts.clone()))),
            ("v", vectors(&self.vectors)),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, false))).unwrap()
    }

    fn changes(&self) -> Changes {
        let mut changes = Changes::new();
        let name = |old: &str| if self.renames { format!("{old}2") } else { old.to_owned() };
        if self.renames {
            changes = ["i", "f", "t", "v"].into_iter().fold(changes, |all, old| all.rename(old, format!("{old}2")));
        }
        if self.drops {
            changes = changes.drop(name("t"));
        }
        match self.casts {
            1 => changes = changes.cast(name("i"), DataType::Float64),
            2 => changes = changes.cast(name("i"), DataType::Utf8),
            3 => changes = changes.floats(FloatWidth::Single),
            _ => {}
        }
        if self.expands {
            changes = changes.expand(name("v"));
        }
        if self.concats {
            let vector = if self.expands { format!("{}_1", name("v")) } else { name("v") };
            changes = changes.concat("all", [name("f"), vector]);
        }
        changes
    }

    /// What the changed table has, computed by itself.
    fn model(&self) -> Model {
        let name = |old: &str| if self.renames { format!("{old}2") } else { old.to_owned() };
        let integer = |n: &i32| match self.casts {
            1 => json!(f64::from(*n)),
            2 => json!(n.to_string()),
            _ => json!(n),
        };
        let mut all: Model = vec![
            (name("i"), self.integers.iter().map(integer).collect()),
            (name("f"), self.floats.iter().map(|value| json!(value)).collect()),
        ];
        if !self.drops {
            all.push((name("t"), self.texts.iter().map(|value| json!(value)).collect()));
        }
        let taken = if self.concats && self.expands { Some(1) } else { None };
        match self.expands {
            true => {
                for slot in (0..3).filter(|slot| Some(*slot) != taken) {
                    let values = self.vectors.iter().map(|vector| json!(vector[slot])).collect();
                    all.push((format!("{}_{slot}", name("v")), values));
                }
            }
            false if self.concats => {}
            false => all.push((name("v"), self.vectors.iter().map(|vector| json!(vector)).collect())),
        }
        if self.concats {
            let rows = self.floats.iter().zip(&self.vectors);
            let values = rows.map(|(float, vector)| match taken {
                Some(slot) => json!([float, vector[slot]]),
                None => json!([float, vector[0], vector[1], vector[2]]),
            });
            all[1] = ("all".to_owned(), values.collect());
        }
        all
    }
}

/// Numbers as floats: formats differ in whether 1.0 is 1.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) => serde_json::from_str::<Value>(text)
            .ok()
            .filter(|json| json.is_array() || json.is_number())
            .map_or_else(|| value.clone(), |json| plain(&json)),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24, 500)))]

    #[test]
    fn changed_tables_are_those_of_a_model(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let model = case.model();
        let expected: Vec<Map<String, Value>> = (0..case.integers.len())
            .map(|row| model.iter().map(|(name, values)| (name.clone(), plain(&values[row]))).collect())
            .collect();
        for extension in ["jsonl", "csv", "parquet", "arrow", "arrows", "idv", "ds", "nc", "msgpack", "zds"] {
            let path = folder.path().join(format!("a.{extension}"));
            let registry = Registry::builtin();
            let mut target = registry.target_for(&path).unwrap();
            let mut convert = of(case.batch()).with_changes(case.changes());
            if extension == "msgpack" {
                convert.set(target.as_mut(), "number", "", &registry).unwrap();
            }
            convert.write_as(target.as_ref(), &path, Overwrite::Refuse, &registry).unwrap();
            let own = ["_id", "key"];
            let found: Vec<Map<String, Value>> = match extension {
                "nc" => {
                    let ds = folder.path().join("nc.ds");
                    write(&Convert::new([&path]), &ds).unwrap();
                    objects(&ds)
                }
                _ => objects(&path),
            };
            let found: Vec<Map<String, Value>> = found.into_iter()
                .map(|row| row.into_iter().filter(|(name, _)| !own.contains(&&**name)).map(|(name, value)| (name, plain(&value))).collect())
                .collect();
            let sorted = |rows: &[Map<String, Value>]| -> Vec<Vec<(String, Value)>> {
                rows.iter().map(|row| { let mut all: Vec<_> = row.clone().into_iter().collect(); all.sort_by(|a, b| a.0.cmp(&b.0)); all }).collect()
            };
            prop_assert_eq!(sorted(&found), sorted(&expected), "{} {:?}", extension, case.changes());
        }
    }
}

/// The rows of the first table that has several columns or the only one.
fn objects(path: &Path) -> Vec<Map<String, Value>> {
    let container = wharf::open(path).unwrap();
    let tables = container.tables();
    let table = tables.iter().max_by_key(|table| table.columns().len()).unwrap();
    let mut rows = table.rows(&Scan::default()).unwrap();
    let mut all = Vec::new();
    while rows.advance().unwrap() {
        let mut line = Vec::new();
        rows.json(&mut line).unwrap();
        all.push(serde_json::from_slice(&line).unwrap());
    }
    all
}
