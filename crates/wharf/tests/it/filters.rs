//! Conditions on rows: the same rows whatever the format, the direction and the verb.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use wharf::convert::ParquetTarget;
use wharf::{
    BatchContainer, BatchScan, Container, Convert, ErrorKind, FilteredContainer, Merge, Overwrite, Predicate, Registry,
    Sample, Scan, Shuffle, Split,
};

/// Rows of the tables: more than a gap between stretches, more than a block.
const ROWS: i64 = 4_000;

/// Rows with missing values, NaN, clustered and spread hits.
fn batch() -> RecordBatch {
    let rows = 0..ROWS;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(StringArray::from_iter_values(rows.clone().map(|row| format!("k{row:05}"))))),
        ("n", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("x", Arc::new(Float64Array::from_iter_values(rows.clone().map(|row| row as f64 / 2.0 + 0.25)))),
        (
            "word",
            Arc::new(StringArray::from_iter_values(
                rows.map(|row| ["oak", "elm", "Tanne", "ü"][usize::try_from(row % 4).unwrap()]),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn container() -> Arc<dyn Container> {
    let batch = batch();
    Arc::new(BatchContainer::from_batches(batch.schema(), vec![batch]))
}

/// Whether row `n` matches.
type Matches = fn(i64) -> bool;

/// Conditions, and the rows that match.
fn conditions() -> Vec<(&'static str, Matches)> {
    vec![
        ("n < 10", |n| n < 10),
        ("n % 100 = 7", |n| n % 100 == 7),
        ("n between 3000 and 3004 or n = 3999", |n| (3000..=3004).contains(&n) || n == 3999),
        ("word = 'elm' and x > 1990", |n| n % 4 == 1 && n as f64 / 2.0 + 0.25 > 1990.0),
        ("word like '_' and not n >= 40", |n| n % 4 == 3 && n < 40),
        ("n % 3 = 0 and n < 1500 or n > 3900 or n = 2000", |n| (n % 3 == 0 && n < 1500) || n > 3900 || n == 2000),
        ("n > 20000", |_| false),
        ("n >= 3990 and word < 'b' or x < 1.5", |n| (n >= 3990 && n % 4 == 2) || n < 3),
        ("true", |_| true),
    ]
}

/// Writes the rows in every format that a path stands for.
fn inputs(folder: &tempfile::TempDir) -> Vec<std::path::PathBuf> {
    let names = ["a.jsonl", "a.csv", "a.idv", "a.parquet", "a.arrow", "a.arrows", "a.ds", "a.msgpack", "a.zds"];
    let path = |name: &str| {
        let path = folder.path().join(name);
        Convert::of("rows", container()).write(&path, Overwrite::Refuse, &Registry::builtin()).unwrap();
        path
    };
    let mut all: Vec<_> = names.into_iter().map(path).collect();
    // Row groups whose statistics exclude rows.
    let mut groups = ParquetTarget::default();
    groups.row_group = Some(300);
    all.push(folder.path().join("b.parquet"));
    let convert = Convert::of("rows", container());
    convert.write_as(&groups, all.last().unwrap(), Overwrite::Refuse, &Registry::builtin()).unwrap();
    all
}

fn table_numbers(container: &dyn Container, scan: &Scan) -> Vec<i64> {
    let tables = container.tables();
    let mut rows = tables[0].rows(scan).unwrap();
    let mut numbers = Vec::new();
    while rows.advance().unwrap() {
        let row = serde_json::to_value(rows.row()).unwrap();
        let number = row["n"].as_f64().unwrap() as i64;
        assert_eq!(i64::try_from(rows.index()), Ok(number));
        let mut line = Vec::new();
        rows.json(&mut line).unwrap();
        assert!(String::from_utf8(line).unwrap().contains(&format!("k{number:05}")));
        numbers.push(number);
    }
    numbers
}

fn batch_numbers(container: &dyn Container, scan: BatchScan) -> Vec<i64> {
    let tables = container.tables();
    let table = tables[0].arrow().unwrap();
    let schema = table.schema(&scan).unwrap();
    let mut batches = table.batches(&scan).unwrap();
    assert_eq!(batches.schema(), schema);
    let mut numbers = Vec::new();
    while let Some(batch) = batches.try_next().unwrap() {
        assert_eq!(batch.schema(), schema);
        assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows);
        let column = batch.column_by_name("n").unwrap();
        let json = wharf::BatchContainer::from_batches(
            Arc::new(arrow_schema::Schema::new(vec![batch.schema().field_with_name("n").unwrap().clone()])),
            vec![RecordBatch::try_from_iter([("n", column.clone())]).unwrap()],
        );
        let mut rows = json.tables()[0].rows(&Scan::default()).unwrap();
        while rows.advance().unwrap() {
            numbers.push(serde_json::to_value(rows.row()).unwrap()["n"].as_f64().unwrap() as i64);
        }
    }
    numbers
}

#[test]
fn every_format_shows_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    for path in inputs(&folder) {
        let inner: Arc<dyn Container> = wharf::open(&path).unwrap().into();
        for (text, matches) in conditions() {
            let expected: Vec<i64> = (0..ROWS).filter(|n| matches(*n)).collect();
            let filtered = FilteredContainer::new(Arc::clone(&inner), Predicate::parse(text).unwrap());
            let named = format!("{} {text}", path.display());
            assert_eq!(table_numbers(&filtered, &Scan::default()), expected, "{named}");
            assert_eq!(batch_numbers(&filtered, BatchScan::default()), expected, "{named}");
            // Only a column that the condition does not mention, and small batches.
            let n = filtered.tables()[0].columns().iter().position(|column| column.name == "n").unwrap();
            let scan = BatchScan::from(Scan::default().with_columns([n])).with_batch_rows(777);
            assert_eq!(batch_numbers(&filtered, scan), expected, "{named}");
            // Ranges count matching rows.
            let some = &expected[expected.len().min(2)..expected.len().min(7)];
            let range = (2.min(expected.len()) as u64)..7;
            assert_eq!(table_numbers(&filtered, &Scan::default().with_rows(range.clone())), some, "{named}");
            assert_eq!(batch_numbers(&filtered, Scan::default().with_rows(range).into()), some, "{named}");
        }
    }
}

#[test]
fn conversions_into_every_format_keep_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    let text = "n % 1000 = 7 or n = 42";
    let expected: Vec<i64> = (0..ROWS).filter(|n| n % 1000 == 7 || *n == 42).collect();
    let inputs = inputs(&folder);
    for from in &inputs {
        for to in ["o.jsonl", "o.csv", "o.idv", "o.parquet", "o.arrow", "o.ds", "o.msgpack", "o.zds"] {
            // Their samples have a `key`, and documents an `_id`: both want to be the key.
            if from.ends_with("a.zds") && to == "o.msgpack" {
                continue;
            }
            let out = folder.path().join(to);
            let convert = Convert::new([from]).with_filter(text).unwrap();
            convert.write(&out, Overwrite::Replace, &registry).unwrap_or_else(|error| panic!("{from:?} {to}: {error}"));
            let written = wharf::open(&out).unwrap();
            assert_eq!(written.tables()[0].rows(&Scan::default()).map(|rows| count(rows)).unwrap(), 5, "{from:?} {to}");
            let limited = convert.with_rows(1..3).write(&out, Overwrite::Replace, &registry).unwrap();
            assert!(limited.rows == 2 || to == "o.ds", "{from:?} {to} {}", limited.rows);
            let written = wharf::open(&out).unwrap();
            let mut rows = written.tables()[0].rows(&Scan::default()).unwrap();
            for expected in &expected[1..3] {
                assert!(rows.advance().unwrap());
                let row = serde_json::to_value(rows.row()).unwrap();
                assert_eq!(row["n"].as_f64(), Some(*expected as f64), "{from:?} {to}");
            }
        }
    }
}

fn count(mut rows: Box<dyn wharf::Rows + '_>) -> u64 {
    let mut count = 0;
    while rows.advance().unwrap() {
        count += 1;
    }
    count
}

/// Samples, documents and lines come byte for byte, as without a condition.
#[test]
fn records_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    let path = |name: &str| folder.path().join(name);
    let json = "{\"key\":\"a\",\"x\":1.50,\"v\":[1,2]}\n{\"key\":\"b\",\"x\":\"NaN\"}\n{\"key\":\"c\",\"x\":2,\"z\":{\"q\":1}}\n";
    fs::write(path("all.jsonl"), json).unwrap();
    let lines: Vec<&str> = json.lines().collect();
    fs::write(path("some.jsonl"), format!("{}\n{}\n", lines[0], lines[2])).unwrap();
    for name in ["all.jsonl", "some.jsonl"] {
        for extension in ["msgpack", "zds"] {
            let out = path(name).with_extension(extension);
            Convert::new([path(name)]).write(out, Overwrite::Refuse, &registry).unwrap();
        }
    }
    let condition = "key in ('a', 'c')";
    // Text into samples, and samples into samples.
    for from in ["all.jsonl", "all.msgpack"] {
        let convert = Convert::new([path(from)]).with_filter(condition).unwrap();
        convert.write(path("out.msgpack"), Overwrite::Replace, &registry).unwrap();
        assert_eq!(fs::read(path("out.msgpack")).unwrap(), fs::read(path("some.msgpack")).unwrap(), "{from}");
    }
    // Verbs that keep the format.
    let mut merge = Merge::new([path("all.msgpack")]);
    merge.filter = Some(Predicate::parse(condition).unwrap());
    merge.write(path("out.msgpack"), Overwrite::Replace, &registry).unwrap();
    assert_eq!(fs::read(path("out.msgpack")).unwrap(), fs::read(path("some.msgpack")).unwrap());
    for (extension, other) in [("jsonl", "some.jsonl"), ("msgpack", "some.msgpack")] {
        let mut sample = Sample::new(path("all").with_extension(extension), 2);
        sample.method = wharf::subset::SampleMethod::InOrder;
        sample.copying.filter = Some(Predicate::parse(condition).unwrap());
        let out = path("out").with_extension(extension);
        let report = sample.write(&out, Overwrite::Replace, &registry).unwrap();
        assert_eq!((report.of, fs::read(out).unwrap()), (2, fs::read(path(other)).unwrap()));
        sample.number = 3;
        assert_eq!(sample.write(path("no"), Overwrite::Refuse, &registry).unwrap_err().kind(), ErrorKind::Usage);
    }
    let mut split = Split::new(path("all.jsonl"), wharf::subset::Parts::Every(1));
    split = split.with_outputs([path("p-{}.jsonl")]);
    split.copying.filter = Some(Predicate::parse(condition).unwrap());
    assert_eq!(split.write(Overwrite::Refuse, &registry).unwrap().outputs.len(), 2);
    assert_eq!(fs::read_to_string(path("p-1.jsonl")).unwrap(), format!("{}\n", lines[2]));
    let mut shuffle = Shuffle::new(path("all.zds")).with_seed(1);
    shuffle.copying.filter = Some(Predicate::parse("x is not null and z.q = 1").unwrap());
    assert_eq!(shuffle.write(path("out.zds"), Overwrite::Refuse, &registry).unwrap().outputs[0].rows, 1);
    let mut merge = Merge::new([path("all.zds")]);
    merge.filter = Some(Predicate::parse("key = 'b'").unwrap());
    assert_eq!(merge.write(path("merged.zds"), Overwrite::Refuse, &registry).unwrap().rows, 1);
}

#[test]
fn what_does_not_fit_is_a_usage_error_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin();
    for path in inputs(&folder) {
        for (condition, expected) in [
            ("m = 1", "no column \"m\"; similar: \"n\""),
            ("word = elm", "a text is quoted: 'elm'"),
            ("word > 3", "expected text, found the number 3"),
            ("n = 'oak'", "expected a number, found the text 'oak'"),
            ("word", "expected a condition, found word, which is text"),
        ] {
            for to in ["out.jsonl", "out.idv", "out.parquet", "out.msgpack"] {
                let to = folder.path().join(to);
                let convert = Convert::new([&path]).with_filter(condition).unwrap();
                let error = convert.write(&to, Overwrite::Refuse, &registry).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
                let text = error.to_string();
                assert!(text.contains(expected) && text.contains("where"), "{path:?} {text}");
                assert!(!to.exists());
            }
        }
    }
    assert_eq!(Convert::default().with_filter("n >").unwrap_err().kind(), ErrorKind::Usage);
}

/// A column that an input lacks is null there, also for the condition.
#[test]
fn a_condition_may_mention_what_some_inputs_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let registry = Registry::builtin();
    for (name, text) in [("a.jsonl", "{\"a\":1}\n{\"a\":3}\n"), ("b.jsonl", "{\"a\":2,\"q\":5}\n"), ("empty.jsonl", "")]
    {
        fs::write(path(name), text).unwrap();
    }
    fs::write(path("a.csv"), "a\n1\n3\n").unwrap();
    fs::write(path("b.csv"), "a,q\n2,5\n").unwrap();
    let convert = |names: &[&str], condition: &str| {
        Convert::new(names.iter().map(|name| path(name))).with_filter(condition).unwrap()
    };
    for names in [
        &["a.jsonl", "b.jsonl"][..],
        &["b.jsonl", "a.jsonl"],
        &["empty.jsonl", "b.jsonl", "a.jsonl"],
        &["a.csv", "b.csv"],
    ] {
        for (condition, expected) in [("q = 5", 1), ("q is null", 2), ("q < 9 or a > 2", 2)] {
            let report = convert(names, condition).write(path("out.parquet"), Overwrite::Replace, &registry);
            assert_eq!(report.unwrap().rows, expected, "{names:?} {condition}");
            if names[0].ends_with("jsonl") {
                let mut out = Vec::new();
                let report =
                    convert(names, condition).stream(&wharf::convert::TextTarget::JSON_LINES, &mut out, &registry);
                assert_eq!(report.unwrap().rows, expected, "{names:?} {condition}");
            }
            let count = wharf::Count::of(convert(names, condition));
            assert_eq!(count.total(&registry).unwrap(), expected, "{names:?} {condition}");
        }
        let error = convert(names, "r = 5").write(path("out.parquet"), Overwrite::Replace, &registry).unwrap_err();
        assert!(error.to_string().contains("no column \"r\""), "{error}");
    }
    // Inputs with a schema only as a union.
    for name in ["a.csv", "b.csv"] {
        let to = path(name).with_extension("parquet");
        Convert::new([path(name)]).write(to, Overwrite::Refuse, &registry).unwrap();
    }
    let names = ["a.parquet", "b.parquet"];
    convert(&names, "q is null").write(path("out.arrow"), Overwrite::Replace, &registry).unwrap_err();
    let mut union = convert(&names, "q is null");
    union.union = true;
    assert_eq!(union.write(path("out.arrow"), Overwrite::Replace, &registry).unwrap().rows, 2);
}

/// Each input is read with its own schema.
#[test]
fn several_inputs_get_one_condition() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), "id,v\n1,1\n2,2\n").unwrap();
    fs::write(path("b.csv"), "v,id\n2.5,3\n1.5,4\n").unwrap();
    let convert = Convert::new([path("a.csv"), path("b.csv")]).with_columns(["id"]).with_filter("v >= 2").unwrap();
    convert.write(path("out.csv"), Overwrite::Refuse, &Registry::builtin()).unwrap();
    assert_eq!(fs::read_to_string(path("out.csv")).unwrap().replace('\r', ""), "id\n2\n3\n");
    let limited = convert.with_rows(1..2);
    limited.write(path("out.parquet"), Overwrite::Refuse, &Registry::builtin()).unwrap();
    let written = wharf::open(path("out.parquet")).unwrap();
    let mut rows = written.tables()[0].rows(&Scan::default()).unwrap();
    assert!(rows.advance().unwrap());
    assert_eq!(serde_json::to_value(rows.row()).unwrap()["id"], 3);
}

/// Ticks of IDV are finer than microseconds, in which times are read otherwise.
#[test]
fn ticks_are_compared_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let registry = Registry::builtin();
    let times = TimestampNanosecondArray::from(vec![Some(100), Some(200), None, Some(1_000_000_000)]);
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(Int64Array::from_iter_values(0..4))), ("t", Arc::new(times))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let container = Arc::new(BatchContainer::from_batches(batch.schema(), vec![batch]));
    for name in ["a.idv", "a.arrow"] {
        Convert::of("ticks", container.clone()).write(path(name), Overwrite::Refuse, &registry).unwrap();
    }
    let inner: Arc<dyn Container> = wharf::open(path("a.idv")).unwrap().into();
    for (condition, expected) in [
        ("t is null", &[2][..]),
        ("t > '1970-01-01T00:00:00.0000001'", &[1, 3]),
        ("t = '1970-01-01 00:00:00.0000002'", &[1]),
        ("t < '1970-01-01T00:00:00.000001' and n < 5", &[0, 1]),
    ] {
        let filtered = FilteredContainer::new(Arc::clone(&inner), Predicate::parse(condition).unwrap());
        let tables = filtered.tables();
        let mut rows = tables[0].rows(&Scan::default()).unwrap();
        let mut found = Vec::new();
        while rows.advance().unwrap() {
            found.push(rows.index());
        }
        assert_eq!(found, expected, "{condition}");
        let convert = Convert::new([path("a.idv")]).with_columns(["n"]).with_filter(condition).unwrap();
        let report = convert.write(path("out.parquet"), Overwrite::Replace, &registry).unwrap();
        assert_eq!(report.rows, expected.len() as u64, "{condition}");
    }
    assert!(wharf::Diff::new(path("a.idv"), path("a.idv")).compare(&registry).unwrap().is_same());
    assert!(wharf::Diff::new(path("a.idv"), path("a.arrow")).compare(&registry).unwrap().is_same());
}

/// The types of columns are those of all documents, not those of the first ones.
#[test]
fn later_documents_have_other_columns_and_types() {
    use std::fmt::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut json = String::new();
    for row in 0..9000 {
        let values = if row < 8500 {
            format!("\"o\":{{\"x\":{row}}},\"n\":null,\"a\":\"NaN\",\"b\":{row}")
        } else {
            format!("\"o\":{{\"x\":{row},\"y\":{row}}},\"n\":{{\"z\":{row}}},\"a\":{row},\"b\":\"NaN\"")
        };
        writeln!(json, "{{\"_id\":\"{row:05}\",{values}}}").unwrap();
    }
    fs::write(path("a.jsonl"), json).unwrap();
    let registry = Registry::builtin();
    Convert::new([path("a.jsonl")]).write(path("a.zds"), Overwrite::Refuse, &registry).unwrap();
    for (condition, expected) in [
        ("o.y = 8999", 1),
        ("n.z = 8999", 1),
        ("n.z is null", 8500),
        ("a > 1", 9000),
        ("a <> 'NaN'", 500),
        ("b = 'NaN'", 500),
        ("b > 8000 and o.x < 8600", 599),
    ] {
        for name in ["a.jsonl", "a.zds"] {
            let convert = Convert::new([path(name)]).with_filter(condition).unwrap();
            let mut out = Vec::new();
            convert.stream(&wharf::convert::TextTarget::JSON_LINES, &mut out, &registry).unwrap();
            assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), expected, "{name} {condition}");
        }
    }
    let error = Convert::new([path("a.zds")]).with_filter("o.w = 1").unwrap();
    let error = error.stream(&wharf::convert::TextTarget::JSON_LINES, &mut Vec::new(), &registry).unwrap_err();
    assert!(error.to_string().contains("no field \"w\""), "{error}");
}

/// What documents answer by themselves is what typed columns say: the same rows, in every order of operands and negations.
#[test]
fn documents_answer_like_columns() {
    use std::fmt::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut json = String::new();
    for row in 0..3000_u32 {
        let number =
            ["1", "1.0", "-0.0", "0", "2.5", "9007199254740992", "1e300", "-3", "null", "\"NaN\"", "\"-Infinity\""];
        let integer = ["9007199254740993", "9007199254740992", "-9223372036854775808", "null", "7"];
        let text = ["a", "", "\u{1F600}", "ü", "z\\u0041", "1", "null"];
        write!(json, "{{\"_id\":\"d{row}\",\"i\":{}", i64::from(row) - 1500).unwrap();
        if row % 7 != 3 {
            write!(
                json,
                ",\"x\":{},\"y\":{}",
                number[row as usize % number.len()],
                integer[row as usize % integer.len()]
            )
            .unwrap();
        }
        if row % 5 != 0 {
            write!(json, ",\"t\":\"{}\",\"o\":{{\"b\":{}}}", text[row as usize % text.len()], row % 3 == 0).unwrap();
        }
        json.push_str("}\n");
    }
    fs::write(path("a.jsonl"), json).unwrap();
    let registry = Registry::builtin();
    Convert::new([path("a.jsonl")]).write(path("a.zds"), Overwrite::Refuse, &registry).unwrap();
    let inner: Arc<dyn Container> = wharf::open(path("a.zds")).unwrap().into();
    for condition in [
        "x = 1",
        "x <> 1",
        "not x = 1",
        "x > 0",
        "x >= -0.0 and x <= 0",
        "x < 9007199254740993",
        "y < 9007199254740993 and y > 9007199254740991.5",
        "y >= 9007199254740993",
        "x > 1e299",
        "not (x <= 2.5 or x is null)",
        "x is null",
        "x is not null and i > 1400",
        "x between -3 and 1.5",
        "x not in (1, 2.5)",
        "t = 'ü' or t = ''",
        "t >= 'a' and not t = 'zA'",
        "t in ('1', 'null')",
        "t is null",
        "o.b",
        "not o.b",
        "o.b is true and i % 2 = 0",
        "o is null or o.b = false",
        "o.b is not null and t <> '\u{1F600}'",
    ] {
        let expected: Vec<u8> = {
            let filtered = FilteredContainer::new(Arc::clone(&inner), Predicate::parse(condition).unwrap());
            let tables = filtered.tables();
            let mut rows = tables[0].rows(&Scan::default()).unwrap();
            let mut out = Vec::new();
            while rows.advance().unwrap() {
                rows.json(&mut out).unwrap();
                out.push(b'\n');
            }
            out
        };
        let convert = Convert::new([path("a.zds")]).with_filter(condition).unwrap();
        let mut found = Vec::new();
        convert.stream(&wharf::convert::TextTarget::JSON_LINES, &mut found, &registry).unwrap();
        assert!(!expected.is_empty() && expected.len() < 200_000, "{condition}");
        assert!(found == expected, "{condition}: {} and {} bytes", found.len(), expected.len());
    }
}
