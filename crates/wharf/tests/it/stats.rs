//! Statistics and counts of tables of every format.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, Int64Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, DurationSecondArray,
    Float32Array, Float64Array, Int64Array, NullArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use wharf::hub::convert::Report;
use wharf::hub::env::Opener;
use wharf::stats::ColumnStats;
use wharf::{Convert, Count, ErrorKind, Overwrite, Registry, Stats};

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    let batch = batch.unwrap();
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

fn json_of(stats: &[ColumnStats]) -> Vec<Value> {
    stats.iter().map(|column| serde_json::to_value(column).unwrap()).collect()
}

fn stats(path: &Path) -> Vec<Value> {
    json_of(&Stats::new([path]).compute(&Registry::builtin()).unwrap())
}

fn lists() -> ArrayRef {
    let mut lists = ListBuilder::new(Float32Builder::new());
    lists.append_value([Some(1.0), None, Some(f32::NAN)]);
    lists.append(false);
    lists.append_value([]);
    lists.append_value([Some(2.5)]);
    Arc::new(lists.finish())
}

/// Compares the members that `expected` has.
#[track_caller]
fn check(found: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} of {found}");
    }
}

#[test]
fn every_type_has_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("ä"), Some(""), Some("b")]));
    let members: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let points = StructArray::from((
        vec![(Arc::new(Field::new("n", DataType::Int64, true)), members)],
        arrow_buffer::Buffer::from([0b1101_u8]),
    ));
    let decimals = Decimal128Array::from(vec![Some(-150), Some(25), None, Some(25)]).with_precision_and_scale(38, 2);
    write(
        &path,
        vec![
            ("extreme", Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX, i64::MAX, i64::MAX]))),
            ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(u64::MAX - 1), None, Some(u64::MAX)]))),
            ("floats", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::NAN), None, Some(-0.0)]))),
            ("infinite", Arc::new(Float64Array::from(vec![f64::INFINITY, 1.0, 2.0, 3.0]))),
            ("flags", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
            ("words", words),
            ("label", Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("y"), None, Some("x"), Some("y")]))),
            ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), None, Some(b""), Some(b"\x00\xff")]))),
            ("day", Arc::new(Date32Array::from(vec![0, 1, 2, 19_723]))),
            (
                "at",
                Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(3), None, Some(-1)]).with_timezone("UTC")),
            ),
            ("price", Arc::new(decimals.unwrap())),
            ("lists", lists()),
            ("point", Arc::new(points)),
            ("nothing", Arc::new(NullArray::new(4))),
        ],
    );
    let all = stats(&path);
    let names: Vec<&str> = all.iter().map(|column| column["column"].as_str().unwrap()).collect();
    let expected = [
        "extreme", "unsigned", "floats", "infinite", "flags", "words", "label", "bytes", "day", "at", "price", "lists",
        "lists[]", "point", "point.n", "nothing",
    ];
    assert_eq!(names, expected);
    let expected = [
        json!({"type": "Int64", "count": 4, "nulls": 0, "min": i64::MIN, "max": i64::MAX, "median": i64::MAX, "distinct": 2,
            "mean": 4_611_686_018_427_387_903.25, "top": [{"value": i64::MAX, "count": 3}, {"value": i64::MIN, "count": 1}]}),
        json!({"nulls": 1, "min": u64::MAX - 1, "max": u64::MAX, "median": u64::MAX}),
        json!({"nulls": 1, "nan": 1, "min": 0.0, "max": 0.1, "distinct": 2, "median": f64::from(0.1_f32) / 2.0}),
        json!({"min": 1.0, "max": "Infinity", "mean": "Infinity", "std": "NaN", "median": 2.5, "p99": [1.015, "NaN"]}),
        json!({"min": false, "max": true, "mean": 2.0 / 3.0, "median": null, "top": [{"value": true, "count": 2}, {"value": false, "count": 1}]}),
        json!({"min": "", "max": "ä", "mean": null, "distinct": 3, "lengths": {"min": 0, "max": 2, "mean": 1.0},
            "top": [{"value": "b", "count": 2}, {"value": "", "count": 1}, {"value": "ä", "count": 1}]}),
        json!({"type": "Utf8", "nulls": 1, "min": "x", "max": "y", "distinct": 2}),
        json!({"nulls": 1, "min": null, "distinct": 2, "top": null, "lengths": {"min": 0, "max": 2, "mean": 4.0 / 3.0}}),
        json!({"min": "1970-01-01", "max": "2024-01-01", "mean": "1983-07-04", "median": "1970-01-02", "std": null}),
        json!({"min": "1969-12-31T23:59:59.999999Z", "max": "1970-01-01T00:00:00.000003Z",
            "mean": "1970-01-01T00:00:00.000001Z", "median": "1970-01-01T00:00:00Z"}),
        json!({"min": "-1.50", "max": "0.25", "median": "0.25", "distinct": 2}),
        json!({"count": 4, "nulls": 1, "lengths": {"min": 0, "max": 3, "mean": 4.0 / 3.0}, "distinct": null}),
        json!({"count": 4, "nulls": 1, "nan": 1, "min": 1.0, "max": 2.5, "mean": 1.75}),
        json!({"count": 4, "nulls": 1}),
        // The member of a null struct is null, whatever its value.
        json!({"count": 4, "nulls": 2, "min": 1, "max": 4, "mean": 2.5}),
        json!({"count": 4, "nulls": 4, "min": null, "distinct": null}),
    ];
    for (found, expected) in all.iter().zip(&expected) {
        check(found, expected);
        assert_eq!(found["estimates"], Value::Null);
    }
}

#[test]
fn empty_tables_and_single_rows_have_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    write(&path, vec![("x", Arc::new(Float64Array::from(Vec::<f64>::new())))]);
    check(
        &stats(&path)[0],
        &json!({"count": 0, "min": null, "mean": null, "median": null, "p50": null, "distinct": 0}),
    );
    write(&path, vec![("x", Arc::new(Float64Array::from(vec![7.5])))]);
    check(
        &stats(&path)[0],
        &json!({"count": 1, "min": 7.5, "mean": 7.5, "std": 0.0, "median": 7.5, "p99": [7.5, 7.5]}),
    );
}

/// The values are the same in every format, and for any number of threads.
#[test]
fn formats_have_the_same_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("x.parquet");
    let words: StringArray = (0..3000).map(|row| Some(format!("word {}", row * row % 700))).collect();
    let floats: Float64Array = (0..3000).map(|row| Some(f64::from(row * 7919 % 3001) / 8.0)).collect();
    let numbers: Int64Array = (0..3000_i64).map(|row| Some(row * row * 1_000_003 % 997)).collect();
    let arrow = folder.path().join("x.arrow");
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..3000).map(|row| format!("row {row}"))));
    write(&arrow, vec![("key", keys), ("w", Arc::new(words)), ("f", Arc::new(floats)), ("n", Arc::new(numbers))]);
    let registry = Registry::builtin();
    Convert::new([&arrow]).write(&source, Overwrite::Refuse, &registry).unwrap();
    let strip = |mut all: Vec<Value>| {
        all.iter_mut().for_each(|column| drop(column.as_object_mut().unwrap().remove("type")));
        all
    };
    let expected = strip(stats(&source));
    assert_eq!(expected[2]["p95"][0], json!(9.371_875_000_000_001), "numpy.percentile of the same values");
    for extension in ["csv", "jsonl", "idv", "msgpack", "zds", "arrows"] {
        let path = folder.path().join("x").with_extension(extension);
        Convert::new([&source]).write(&path, Overwrite::Refuse, &registry).unwrap();
        let mut stats = Stats::new([&path]);
        for threads in [1, 3] {
            stats.inputs.selection.reading.threads = threads;
            let found = strip(json_of(&stats.compute(&registry).unwrap()));
            for column in &expected {
                let same = found.iter().find(|found| found["column"] == column["column"]).unwrap();
                assert_eq!(
                    same.to_string().replace(".0,", ",").replace(".0]", "]"),
                    column.to_string().replace(".0,", ",").replace(".0]", "]"),
                    "{extension}"
                );
            }
        }
    }
}

/// All variables of a file are taken another way than rows; values and their JSON are the same.
#[test]
fn variables_have_the_statistics_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    let arrow = folder.path().join("x.arrow");
    let large = (1_i64 << 53) + 1;
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(Float64Array::from(vec![1e15, 1e15 + 1.0, 1e15 + 2.0]))),
        ("finite", Arc::new(Float64Array::from(vec![1e308; 3]))),
        ("cancels", Arc::new(Float64Array::from(vec![1e16, 1.0, -1e16]))),
        ("square", Arc::new(Float64Array::from(vec![1e300, 2.5, 0.0]))),
        ("zero", Arc::new(Float64Array::from(vec![0.1, -0.0, 1.0]))),
        ("narrow", Arc::new(Float32Array::from(vec![0.1, 0.1, 0.3]))),
        ("time", Arc::new(Int64Array::from(vec![1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 0]))),
        ("integer", Arc::new(Int64Array::from(vec![large; 3]))),
        ("word", Arc::new(StringArray::from(vec!["a", "b", "a"]))),
    ];
    for extension in ["ds", "nc"] {
        if extension == "ds" {
            columns.push(("flag", Arc::new(BooleanArray::from(vec![true, false, true]))));
        } else {
            columns.pop();
        }
        write(&arrow, columns.clone());
        let path = folder.path().join("x").with_extension(extension);
        Convert::new([&arrow]).write(&path, Overwrite::Refuse, &registry).unwrap();
        for expected in stats(&arrow) {
            let name = expected["column"].as_str().unwrap();
            let mut one = Stats::new([&path]);
            one.inputs = one.inputs.with_columns([name]);
            let [found] = &json_of(&one.compute(&registry).unwrap())[..] else { panic!("{name}") };
            for member in ["count", "nulls", "nan", "min", "max", "mean", "std", "median", "p50", "p68", "p95", "p99"] {
                assert_eq!(found[member], expected[member], "{member} of {name} in {extension}");
            }
        }
    }
}

/// Ticks of IDV are 100 ns: they are neither merged nor rounded where nanoseconds hold them, otherwise reported.
#[test]
fn times_of_idv_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    let (arrow, idv) = (folder.path().join("x.arrow"), folder.path().join("x.idv"));
    write(&arrow, vec![("t", Arc::new(TimestampNanosecondArray::from(vec![100, 200, 1100])))]);
    Convert::new([&arrow]).write(&idv, Overwrite::Refuse, &registry).unwrap();
    let groups = |path: &Path| {
        let mut report = Report::default();
        let groups = Count::new([path]).by(["t"]).run_groups(&mut Opener::new(registry.clone()), &mut report).unwrap();
        assert_eq!(report.losses.len(), 0);
        groups.into_iter().map(|group| group.values.get().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(groups(&idv), groups(&arrow));
    assert_eq!(groups(&idv).len(), 3);
    let expected = json!({"distinct": 3, "min": "1970-01-01T00:00:00.0000001", "max": "1970-01-01T00:00:00.0000011"});
    check(&stats(&idv)[0], &expected);
    // Beyond the years of nanoseconds, the fraction of a microsecond is a loss.
    let seconds = Arc::new(TimestampMicrosecondArray::from(vec![253_402_300_799_000_000]));
    let far = folder.path().join("far.idv");
    write(&arrow, vec![("t", seconds)]);
    Convert::new([&arrow]).write(&far, Overwrite::Refuse, &registry).unwrap();
    let mut report = Report::default();
    let both = Count::new([&idv, &far]).by(["t"]);
    let groups = both.run_groups(&mut Opener::new(registry.clone()), &mut report).unwrap();
    assert_eq!((groups.len(), groups[0].count, report.losses.len()), (3, 2, 1));
}

#[test]
fn several_inputs_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "x,y\n1,a\n2,b\n").unwrap();
    std::fs::write(&paths[1], "x,y\n2.5,c\n").unwrap();
    let all = json_of(&Stats::new(&paths).compute(&Registry::builtin()).unwrap());
    check(&all[0], &json!({"column": "x", "type": "Float64", "count": 3, "max": 2.5, "median": 2.0}));
    let mut some = Stats::new(&paths);
    some.inputs = some.inputs.with_columns(["x"]).with_rows(1..3);
    let some = json_of(&some.compute(&Registry::builtin()).unwrap());
    assert_eq!(some.len(), 1);
    check(&some[0], &json!({"count": 2, "min": 2.0}));
}

#[test]
fn counts_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, arrow) = (folder.path().join("x.csv"), folder.path().join("x.arrow"));
    std::fs::write(&csv, "a,b\n1,\"two\nlines\"\n2,x\n").unwrap();
    write(&arrow, vec![("a", Arc::new(Int64Array::from(vec![1, 2, 3])))]);
    let registry = Registry::builtin();
    assert_eq!(Count::new([&csv, &arrow]).total(&registry).unwrap(), 5);
    let mut some = Count::new([&csv, &arrow]);
    some.inputs = some.inputs.with_rows(1..4);
    assert_eq!(some.total(&registry).unwrap(), 3);
    some.inputs.selection.limit = Some(2);
    assert_eq!(some.total(&registry).unwrap(), 2);
    some.inputs = some.inputs.with_rows(9..10);
    assert_eq!(some.total(&registry).unwrap_err().kind(), ErrorKind::Usage);
}

/// A column that one file lacks is null where files have no schema, as for the other verbs.
#[test]
fn conditions_of_counts_need_columns_of_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    let count = |extension: &str| {
        let paths = ["a", "b"].map(|name| folder.path().join(name).with_extension(extension));
        let mut count = Count::new(paths);
        count.inputs.selection.filter = wharf::hub::select::filter(["b = 'x'"]).unwrap();
        count.total(&registry)
    };
    for (name, text) in [("a", "a,b\n1,x\n"), ("b", "a\n4.5\n")] {
        let csv = folder.path().join(name).with_extension("csv");
        std::fs::write(&csv, text).unwrap();
        Convert::new([&csv]).write(csv.with_extension("parquet"), Overwrite::Refuse, &registry).unwrap();
    }
    assert_eq!(count("csv").unwrap(), 1);
    assert_eq!(count("parquet").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn counts_rows_of_groups() {
    const WORDS: [&str; 3] = ["x", "y", "\u{1b}[1m"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let n: Int64Array = (0..1000_i64).map(|row| (row % 7 != 0).then_some(row * row % 11)).collect();
    let word: DictionaryArray<Int8Type> = (0..1000).map(|row| Some(WORDS[row % 3])).collect();
    let mut expected = std::collections::BTreeMap::new();
    for row in 0..1000_i64 {
        let number = if row % 7 == 0 { Value::Null } else { json!(row * row % 11) };
        let key = json!({"n": number, "word": WORDS[usize::try_from(row).unwrap() % 3]});
        *expected.entry(key.to_string()).or_insert(0_u64) += 1;
    }
    let mut builder = ListBuilder::new(Int64Builder::new());
    (0..1000).for_each(|row| builder.append_value([Some(row)]));
    write(&path, vec![("n", Arc::new(n)), ("word", Arc::new(word)), ("list", Arc::new(builder.finish()))]);
    let registry = Registry::builtin();
    let groups = Count::new([&path]).by(["n", "word"]).groups(&registry).unwrap();
    let found: std::collections::BTreeMap<_, _> =
        groups.iter().map(|group| (group.values.get().to_owned(), group.count)).collect();
    assert_eq!(found, expected);
    assert!(groups.is_sorted_by(|one, other| one.count >= other.count));
    let numbers = Count::new([&path]).by(["list"]).groups(&registry).unwrap();
    assert_eq!(numbers.len(), 1000);
    let by_n = Count::new([&path]).by(["n"]).groups(&registry).unwrap();
    let equal: Vec<_> =
        by_n.iter().filter(|group| group.count == by_n[1].count).map(|group| group.values.get()).collect();
    assert!(equal.len() > 1 && equal.is_sorted(), "{equal:?}");
    // 0 and -0 are equal, also in lists.
    let zeros: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), None, Some(0.5)]));
    let mut lists = ListBuilder::new(Float32Builder::new());
    [0.0, -0.0, -0.0, 0.5].into_iter().for_each(|zero| lists.append_value([Some(zero), None]));
    let other = folder.path().join("zeros.arrow");
    write(&other, vec![("x", zeros), ("list", Arc::new(lists.finish()))]);
    for (column, expected) in
        [("x", [r#"{"x":0.0}"#, r#"{"x":null}"#]), ("list", [r#"{"list":[0.0,null]}"#, r#"{"list":[0.5,null]}"#])]
    {
        let groups = Count::new([&other]).by([column]).groups(&registry).unwrap();
        let found: Vec<_> = groups.iter().map(|group| group.values.get()).collect();
        assert_eq!(found[..2], expected);
        assert_eq!(groups[0].count, if column == "x" { 2 } else { 3 });
    }
    // Groups of one size are in the order of the values, not of their texts.
    let decimals = Decimal128Array::from(vec![1000, 900, -100, -200, -1000]).with_precision_and_scale(6, 2).unwrap();
    let durations = DurationSecondArray::from(vec![5, 86_400, 1000, -86_400, -1]);
    let times = TimestampMillisecondArray::from(vec![1500, 1000, 253_402_300_800_000, -1, 0]);
    let ordered = folder.path().join("ordered.arrow");
    write(&ordered, vec![("d", Arc::new(decimals)), ("du", Arc::new(durations)), ("t", Arc::new(times))]);
    for (column, expected) in [
        ("d", ["-10.00", "-2.00", "-1.00", "9.00", "10.00"]),
        ("du", ["-PT86400S", "-PT1S", "PT5S", "PT1000S", "PT86400S"]),
        (
            "t",
            [
                "1969-12-31T23:59:59.999",
                "1970-01-01T00:00:00",
                "1970-01-01T00:00:01",
                "1970-01-01T00:00:01.5",
                "+10000-01-01T00:00:00",
            ],
        ),
    ] {
        let groups = Count::new([&ordered]).by([column]).groups(&registry).unwrap();
        let found: Vec<Value> = groups.iter().map(|group| serde_json::from_str(group.values.get()).unwrap()).collect();
        assert_eq!(found, expected.map(|text| json!({ column: text })));
    }
    let floats = [Some(f64::INFINITY), Some(1.0), None, Some(f64::NAN), Some(f64::NEG_INFINITY), Some(-2.5)];
    write(&ordered, vec![("x", Arc::new(Float64Array::from(floats.to_vec())))]);
    let groups = Count::new([&ordered]).by(["x"]).groups(&registry).unwrap();
    let found: Vec<Value> = groups.iter().map(|group| serde_json::from_str(group.values.get()).unwrap()).collect();
    let expected = [json!(null), json!("-Infinity"), json!(-2.5), json!(1.0), json!("Infinity"), json!("NaN")];
    assert_eq!(found, expected.map(|x| json!({"x": x})));
    let mut small = Count::new([&path]).by(["list"]);
    small.max_bytes = 1000;
    assert!(matches!(small.groups(&registry).unwrap_err().kind(), ErrorKind::Limit { .. }));
}

/// `tests/reference/python/stats_expected.py` writes what numpy finds.
#[test]
fn numpy_finds_the_same() {
    // Relative: numpy rounds sums of large integers; values of 32 bits have fewer digits.
    let tolerance = |found: &Value| if found["type"] == "Float32" { 1e-7 } else { 1e-12 };
    let expected: Value = serde_json::from_str(include_str!("stats.expected.json")).unwrap();
    let mut compared = 0;
    for (file, columns) in expected.as_object().unwrap() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/golden/cross/{file}.parquet"));
        let found = stats(&path);
        for (name, expected) in columns.as_object().unwrap() {
            let found = found.iter().find(|found| found["column"] == json!(name)).unwrap();
            for (member, value) in expected.as_object().unwrap() {
                let near = |one: &Value, other: &Value| {
                    let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
                    (one - other).abs() <= tolerance(found) * one.abs().max(other.abs()).max(1e-3)
                };
                let same = match (value, &found[member]) {
                    (Value::Number(number), other) if number.is_f64() => near(value, other),
                    (Value::Array(one), Value::Array(other)) if member != "top" => {
                        one.iter().zip(other).all(|(one, other)| near(one, other))
                    }
                    (value, other) => value == other,
                };
                assert!(same, "{file}, {name}, {member}: expected {value}, found {}", found[member]);
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}
