//! Conditions that readers evaluate: the same answers as without, fewer rows read.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use futures::StreamExt;
use serde_json::{Value, json};
use wharf::convert::Opener;
use wharf::{Convert, Progress, Registry, Unit};
use wharf_sql::WharfTable;

use crate::support::Engine;

/// Rows of the table of all types.
const ROWS: usize = 700;

/// A table whose readers get no conditions.
#[derive(Debug)]
struct Unfiltered(Arc<WharfTable>);

#[async_trait]
impl TableProvider for Unfiltered {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        assert!(filters.is_empty());
        self.0.scan(state, projection, filters, limit).await
    }
}

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.next(all.len())]
    }

    /// A value of a list, or null.
    fn cell<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        match self.next(all.len() + 1) {
            0 => None,
            place => Some(all[place - 1]),
        }
    }

    fn cells<T: Copy>(&mut self, all: &[T]) -> Vec<Option<T>> {
        (0..ROWS).map(|_| self.cell(all)).collect()
    }
}

const DOUBLES: [f64; 14] = [
    f64::NAN,
    -f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    0.1,
    -0.1,
    1.5,
    2.0,
    -3.0,
    16_777_217.0,
    1e300,
    5e-324,
];
const SINGLES: [f32; 13] = [
    f32::NAN,
    -f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.0,
    -0.0,
    0.1,
    -0.1,
    1.5,
    2.0,
    -3.0,
    16_777_216.0,
    f32::MAX,
];
const TEXTS: [&str; 10] = ["", "a", "Ab", "ab", "ß", "ss", "日本", "a%b", "it's", "z\\z"];

/// Rows of all types, with nulls.
fn table() -> RecordBatch {
    let random = &mut Random(7);
    let (mut bytes, mut list) = (BinaryBuilder::new(), ListBuilder::new(Int64Builder::new()));
    let fields = [Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)];
    let mut structs =
        StructBuilder::new(fields.to_vec(), vec![Box::new(Int32Builder::new()), Box::new(StringBuilder::new())]);
    for row in 0..ROWS {
        bytes.append_option(random.cell(&[&b""[..], b"\0", b"\x00\xff", b"abc"]));
        list.append_option(random.cell(&[0, 1, 2]).map(|len| (0..len).map(|item| Some(item + 1))));
        structs.field_builder::<Int32Builder>(0).unwrap().append_option(random.cell(&[-1, 0, 1]));
        structs.field_builder::<StringBuilder>(1).unwrap().append_option(random.cell(&TEXTS));
        structs.append(row % 5 > 0);
    }
    let times = [0, -1, 1_000_000, 1_700_000_000_000_000, 1_700_000_000_123_456, -62_135_596_800_000_000];
    let decimals = [0, 1, 100, 1_500, -1_500, 3_000, 999_999_999_999];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("row-{row:04}"))))),
        ("n", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| i64::try_from(row).unwrap())))),
        ("i", Arc::new(Int64Array::from(random.cells(&[-3, -1, 0, 1, 2, 3, i64::MIN, i64::MAX, i64::MAX - 1])))),
        ("j", Arc::new(Int64Array::from(random.cells(&[-3, 0, 1, 2, 5])))),
        ("w", Arc::new(Int32Array::from(random.cells(&[-3, 0, 1, 2, 5, i32::MAX, i32::MIN])))),
        ("b", Arc::new(Int8Array::from(random.cells(&[-128, -1, 0, 1, 2, 127])))),
        ("u", Arc::new(UInt64Array::from(random.cells(&[0, 1, 2, 5, u64::MAX, 1 << 63])))),
        ("x", Arc::new(Float64Array::from(random.cells(&DOUBLES)))),
        ("y", Arc::new(Float64Array::from(random.cells(&DOUBLES)))),
        ("f", Arc::new(Float32Array::from(random.cells(&SINGLES)))),
        ("t", Arc::new(StringArray::from(random.cells(&TEXTS)))),
        ("v", Arc::new(StringArray::from(random.cells(&TEXTS)))),
        ("flag", Arc::new(BooleanArray::from(random.cells(&[true, false])))),
        ("day", Arc::new(Date32Array::from(random.cells(&[0, -1, 1, 19_675, 19_676, -719_162])))),
        ("ts", Arc::new(TimestampMicrosecondArray::from(random.cells(&times)))),
        ("tz", Arc::new(TimestampMicrosecondArray::from(random.cells(&times)).with_timezone("UTC"))),
        ("m", Arc::new(Decimal128Array::from(random.cells(&decimals)).with_precision_and_scale(12, 3).unwrap())),
        ("q", Arc::new(bytes.finish())),
        ("l", Arc::new(list.finish())),
        ("s", Arc::new(structs.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Values that a column is compared with.
fn literals(column: &str) -> &'static [&'static str] {
    match column {
        "k" => &["'row-0042'", "'row-0700'", "'row-0100'", "''"],
        "n" | "i" | "j" | "w" | "b" | "u" => &[
            "0",
            "1",
            "2",
            "-3",
            "127",
            "128",
            "300",
            "2.5",
            "-0.0",
            "9223372036854775807",
            "1e30",
            "CAST(1 AS SMALLINT)",
        ],
        "x" | "y" | "f" => &[
            "0",
            "0.0",
            "CAST('-0' AS DOUBLE)",
            "0.1",
            "-0.1",
            "1.5",
            "16777217.0",
            "1e40",
            "1e-50",
            "2",
            "CAST('NaN' AS DOUBLE)",
            "CAST('Infinity' AS DOUBLE)",
            "CAST('-Infinity' AS DOUBLE)",
            "arrow_cast(0.1, 'Float32')",
        ],
        "t" | "v" | "d" => &["''", "'a'", "'ab'", "'ß'", "'日本'", "'it''s'", "'a%b'", "'z\\z'"],
        "flag" => &["true", "false"],
        "day" => &["DATE '1970-01-01'", "'2023-11-14'", "DATE '0001-01-01'", "TIMESTAMP '2023-11-14 00:00:00'"],
        "ts" => &[
            "TIMESTAMP '1970-01-01 00:00:00'",
            "'2023-11-14 22:13:20.123456'",
            "arrow_cast('2023-11-14T22:13:20', 'Timestamp(µs)')",
        ],
        "tz" => &[
            "TIMESTAMP '1970-01-01 00:00:00Z'",
            "'2023-11-14T22:13:20.123456Z'",
            "arrow_cast('2023-11-14T22:13:20Z', 'Timestamp(µs, \"UTC\")')",
        ],
        "m" => &["0", "1.5", "0.1", "3", "-1.5000", "CAST(1.5 AS DECIMAL(20, 6))", "1e30"],
        "q" => &["x'00'", "x'00ff'", "x''"],
        "l[1]" => &["1", "2"],
        "s['a']" => &["0", "1"],
        "s['b']" => &["'a'", "''"],
        other => panic!("{other}"),
    }
}

/// A random condition on these columns.
fn condition(columns: &[&str], depth: usize, random: &mut Random) -> String {
    let column = random.pick(columns);
    let value = |random: &mut Random| random.pick(literals(column));
    let not = |random: &mut Random| if random.next(3) == 0 { " NOT" } else { "" };
    match random.next(if depth == 0 { 9 } else { 14 }) {
        0..4 => {
            let op = random.pick(&["=", "<>", "<", "<=", ">", ">="]);
            match random.next(5) {
                0 => format!("{} {op} {column}", value(random)),
                _ => format!("{column} {op} {}", value(random)),
            }
        }
        4 => format!("{column} IS{} NULL", not(random)),
        5 => format!("{column}{} BETWEEN {} AND {}", not(random), value(random), value(random)),
        6 => {
            let count = 1 + random.next(5);
            let mut list: Vec<&str> = (0..count).map(|_| value(random)).collect();
            if random.next(6) == 0 {
                list.push("NULL");
            }
            format!("{column}{} IN ({})", not(random), list.join(", "))
        }
        7 => match column {
            "t" | "v" | "d" | "k" => {
                let pattern = random.pick(&["a%", "%b", "_b", "%", "", "ß", "%0%", "a\\%b", "it''s"]);
                format!("{column}{} LIKE '{pattern}'", not(random))
            }
            "flag" => format!("{column} IS{} {}", not(random), random.pick(&["TRUE", "FALSE", "UNKNOWN"])),
            "x" | "y" | "f" => format!("isnan({column})"),
            "i" => format!("i + 1 > {}", value(random)),
            _ => format!("coalesce({column}, {}) IS NOT NULL", value(random)),
        },
        8 => {
            let pairs =
                ["i < j", "i = n", "x <= y", "x = y", "x <> y", "t < v", "t = v", "f < x", "w = i", "b > w", "u > i"];
            let known = |pair: &&&str| pair.split_whitespace().step_by(2).all(|name| columns.contains(&name));
            let pairs: Vec<&str> = pairs.iter().filter(known).copied().collect();
            if pairs.is_empty() { format!("{column} IS NOT NULL") } else { random.pick(&pairs).to_owned() }
        }
        9 | 10 => format!("({} AND {})", condition(columns, depth - 1, random), condition(columns, depth - 1, random)),
        11 | 12 => format!("({} OR {})", condition(columns, depth - 1, random), condition(columns, depth - 1, random)),
        _ => format!("NOT ({})", condition(columns, depth - 1, random)),
    }
}

/// A folder and a session in which `mem` is the table of all types.
struct Test {
    folder: tempfile::TempDir,
    engine: Engine,
}

impl Test {
    fn new() -> Self {
        let test = Self { folder: tempfile::tempdir().unwrap(), engine: Engine::default() };
        test.engine.session.context().register_batch("mem", table()).unwrap();
        test
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    #[track_caller]
    fn rows(&self, sql: &str) -> Vec<Value> {
        self.engine.rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn copy(&self, query: &str, name: &str, options: &str) -> String {
        let path = self.path(name);
        self.rows(&format!("COPY ({query}) TO '{path}' {options}"));
        path
    }

    /// Registers a file as `pushed` and, without conditions for its readers, as `plain`.
    fn register(&self, paths: &[String]) {
        let inputs = Convert::new(paths).open(&mut Opener::new(Registry::builtin())).unwrap();
        let table = Arc::new(WharfTable::new(inputs));
        let context = self.engine.session.context();
        for name in ["pushed", "plain"] {
            context.deregister_table(name).unwrap();
        }
        context.register_table("plain", Arc::new(Unfiltered(Arc::clone(&table)))).unwrap();
        context.register_table("pushed", table).unwrap();
    }

    /// The rows of a condition must be the same, whoever evaluates it. Returns whether the readers did.
    fn check(&self, columns: &str, condition: &str) -> bool {
        let query = |table: &str| format!("SELECT {columns} FROM {table} WHERE {condition}");
        let (plain, pushed) = (self.engine.rows(&query("plain")), self.engine.rows(&query("pushed")));
        match (&plain, &pushed) {
            (Ok(plain), Ok(pushed)) => {
                let first = plain.iter().zip(pushed).find(|(one, other)| one != other);
                assert!(
                    plain.len() == pushed.len() && first.is_none(),
                    "{condition}: {} rows, {} with the readers; {first:?}",
                    plain.len(),
                    pushed.len()
                );
            }
            (Err(plain), Err(pushed)) => assert_eq!(plain, pushed, "{condition}"),
            _ => panic!("{condition}: {plain:?}, {pushed:?}"),
        }
        let count = |table: &str| self.engine.rows(&format!("SELECT count(*) AS n FROM {table} WHERE {condition}"));
        assert_eq!(count("plain"), count("pushed"), "{condition}");
        self.engine.plan(&query("pushed")).is_ok_and(|plan| plan.contains("filter=") || plan.contains("lookup="))
    }
}

fn metric(metrics: &MetricsSet, name: &str) -> usize {
    if name == "output_rows" {
        return metrics.output_rows().unwrap();
    }
    metrics.sum_by_name(name).unwrap_or_else(|| panic!("no metric {name}")).as_usize()
}

/// Random conditions on these columns of a table, written to a file: the same rows with and without the readers' help, in the same order.
fn compare(name: &str, query: &str, options: &str, columns: &[&str]) {
    let test = Test::new();
    test.register(&[test.copy(query, name, options)]);
    let (mut random, mut pushed, count) = (Random(42), 0, 100);
    for number in 0..count {
        let condition = condition(columns, number % 3, &mut random);
        pushed += usize::from(test.check(["n", "n, x", "x, n"][number % 3], &condition));
    }
    // Text cannot skip rows. Elsewhere most conditions are those of readers, and not all.
    match name {
        "a.csv" => assert_eq!(pushed, 0),
        _ => assert!((count / 3..count).contains(&pushed), "{name}: {pushed} of {count}"),
    }
}

/// Columns that every format keeps.
const FEW: [&str; 8] = ["n", "i", "j", "x", "y", "t", "v", "flag"];

/// All columns, and a dictionary.
const LABELS: &str = "SELECT *, arrow_cast(t, 'Dictionary(Int32, Utf8)') AS d FROM mem";
const ALL: [&str; 21] = [
    "n", "i", "j", "w", "b", "u", "x", "y", "f", "t", "v", "d", "flag", "day", "ts", "tz", "m", "q", "l[1]", "s['a']",
    "s['b']",
];

#[test]
fn conditions_mean_the_same_over_arrow() {
    compare("a.arrow", LABELS, "OPTIONS (batch_rows 100)", &ALL);
}

#[test]
fn conditions_mean_the_same_over_parquet() {
    compare("a.parquet", LABELS, "OPTIONS (row_group 100)", &ALL);
}

#[test]
fn conditions_mean_the_same_over_idv() {
    // IDV has no integers, booleans and times without a value.
    let valid = [("i", "Int64"), ("j", "Int64"), ("w", "Int32"), ("b", "Int8"), ("u", "UInt64"), ("flag", "Boolean")]
        .map(|(name, data_type)| {
            format!("arrow_cast(coalesce({name}, arrow_cast('1', '{data_type}')), '{data_type}') AS {name}")
        })
        .join(", ");
    let query = format!(
        "SELECT n, {valid}, x, y, f, t, v, coalesce(ts, arrow_cast('2000-01-01', 'Timestamp(µs)')) AS ts FROM mem"
    );
    let columns = ["n", "i", "j", "w", "b", "u", "x", "y", "f", "t", "v", "flag", "ts"];
    compare("a.idv", &query, "OPTIONS (rows_per_block 64)", &columns);
}

#[test]
fn conditions_mean_the_same_over_records() {
    let few = FEW.join(", ");
    for (name, key) in [("a.msgpack", "k AS key"), ("a.zds", "k AS _id"), ("a.csv", "k")] {
        compare(name, &format!("SELECT {key}, {few} FROM mem"), "", &FEW);
    }
}

#[test]
fn conditions_mean_the_same_over_netcdf() {
    compare("a.nc", "SELECT n, w, x, y, f FROM mem", "", &["n", "w", "x", "y", "f"]);
}

#[test]
fn conditions_that_readers_evaluate() {
    let test = Test::new();
    test.register(&[test.copy("SELECT *, arrow_cast(t, 'Dictionary(Int32, Utf8)') AS d FROM mem", "a.arrow", "")]);
    for (condition, expected) in [
        ("i = 5", "\"i\" = 5"),
        ("5 > i", "\"i\" < 5"),
        ("b = 300", "\"b\" = 300"),
        ("w < 2.5", "\"w\" < 2.5"),
        ("f > 0.1", "\"f\" >= 0.1"),
        ("f < 0.1", "\"f\" <= 0.099999994"),
        ("f = 1.5", "\"f\" = 1.5"),
        ("d = 'a'", "\"d\" = 'a'"),
        ("m >= 0.05", "\"m\" >= 50e-3"),
        ("day < DATE '1970-01-02'", "\"day\" < '1970-01-02'"),
        ("x <= y", "\"y\" >= \"x\""),
        ("x IN (0.0, 1.0, 2.0, 3.0)", "\"x\" in (0.0, 1.0, 2.0, 3.0, (-0.0))"),
        ("t IN ('a', 'b', 'c', 'd')", "\"t\" in ('a', 'b', 'c', 'd')"),
    ] {
        let plan = test.engine.plan(&format!("SELECT n FROM pushed WHERE {condition}")).unwrap();
        let expected = expected.replace('"', "");
        let found = plan.split("filter=").nth(1).unwrap_or_else(|| panic!("{condition}: {plan}")).trim();
        assert_eq!(found, expected, "{condition}");
        assert!(!plan.contains("FilterExec"), "{plan}");
    }
    for condition in [
        "i > 2.5",               // 64-bit integers are compared as floating-point numbers, which rounds
        "f = 0.1",               // no number of 32 bits is this one
        "i + 1 > 5",             // wraps around
        "s['a'] = 1",            // a field of a struct
        "t ILIKE 'A%'",          // folds case in its own way
        "t LIKE 'a\\%'",         // a backslash
        "CAST(t AS BIGINT) = 1", // fails
        "day < TIMESTAMP '1970-01-02 00:00:00'",
        "length(t) = 1",
    ] {
        let plan = test.engine.plan(&format!("SELECT n FROM pushed WHERE {condition}")).unwrap();
        assert!(!plan.contains("filter=") && plan.contains("FilterExec"), "{condition}: {plan}");
    }
}

/// Files with other labels: the filter is evaluated on what they have in common.
#[test]
fn conditions_over_several_files() {
    let test = Test::new();
    let labels =
        |of: &str| format!("SELECT n, arrow_cast({of}, 'Dictionary(Int32, Utf8)') AS d FROM mem WHERE {of} <> ''");
    let one = test.copy(&labels("t"), "1.parquet", "OPTIONS (row_group 100)");
    let other = test.copy(&format!("{} ORDER BY n DESC", labels("v")), "2.parquet", "");
    test.register(&[one, other]);
    for condition in ["d = 'ab'", "d > 'a' AND n > 600", "d IN ('ß', 'ss') OR n = 3"] {
        assert!(test.check("n, d", condition), "{condition}");
    }
}

#[test]
fn metrics_say_what_a_filter_saves() {
    let test = Test::new();
    let query = "SELECT value AS n, value % 7 AS rest, value * 2 AS twice FROM generate_series(0, 99999)";
    let idv = test.copy(query, "n.idv", "OPTIONS (rows_per_block 1000)");
    let sql = |path: &str| format!("SELECT sum(twice) AS s FROM '{path}' WHERE n BETWEEN 50010 AND 50019");
    assert_eq!(test.rows(&sql(&idv)), [json!({"s": 1_000_290})]);
    let metrics = test.engine.metrics(&sql(&idv));
    let all = ["rows_read", "rows_pruned", "rows_skipped", "output_rows"].map(|name| metric(&metrics, name));
    assert_eq!(all, [100_000, 99_990, 0, 10]);
    assert_eq!(metric(&metrics, "rows_decoded_late"), 10);
    // Statistics of row groups.
    let parquet = test.copy(query, "n.parquet", "OPTIONS (row_group 10000)");
    assert_eq!(test.rows(&sql(&parquet)), [json!({"s": 1_000_290})]);
    let metrics = test.engine.metrics(&sql(&parquet));
    let all = ["rows_read", "rows_pruned", "rows_skipped", "output_rows"].map(|name| metric(&metrics, name));
    assert_eq!(all, [10_000, 9_990, 90_000, 10]);
    // Those of dates, too.
    let days = "SELECT CAST(value AS INT) AS n, arrow_cast(CAST(value AS INT), 'Date32') AS day FROM generate_series(0, 19999)";
    let days = test.copy(days, "days.parquet", "OPTIONS (row_group 1000)");
    let sql_of_days =
        format!("SELECT count(*) AS c FROM '{days}' WHERE day BETWEEN DATE '1970-01-11' AND DATE '1970-01-20'");
    assert_eq!(test.rows(&sql_of_days), [json!({"c": 10})]);
    assert_eq!(metric(&test.engine.metrics(&sql_of_days), "rows_skipped"), 19_000);
    let plan = test.rows(&format!("EXPLAIN ANALYZE {}", sql(&parquet)));
    assert!(plan[0]["plan"].as_str().unwrap().contains("rows_skipped="), "{plan:?}");
    // A column of the filter is decoded once.
    let metrics = test.engine.metrics(&format!("SELECT sum(n) AS s, sum(rest) AS r FROM '{idv}' WHERE n >= 90000"));
    assert_eq!(metric(&metrics, "rows_decoded_late"), 10_000);
    let (bytes, rows) = (metric(&metrics, "bytes_decoded"), metric(&metrics, "rows_read"));
    assert!(bytes < rows * 8 + 10_000 * 8 + 100_000, "{bytes} bytes of {rows} rows");
}

#[test]
fn an_equal_key_is_looked_up() {
    let test = Test::new();
    for (name, key) in [("a.zds", "_id"), ("a.msgpack", "key")] {
        let query = format!("SELECT 'row ' || value AS {key}, value AS n FROM generate_series(0, 19999)")
            .replace("'row '", "'row-'");
        let path = test.copy(&query, name, "");
        test.register(&[path]);
        for (condition, expected) in [
            (format!("{key} = 'row-777'"), 1),
            (format!("'row-777' = {key}"), 1),
            (format!("{key} = 'row-20000'"), 0),
            (format!("{key} = 'row-777' AND n > 1000"), 0),
            (format!("{key} IN ('row-3', 'row-19999', 'none')"), 2),
            (format!("{key} IN ('row-1', 'row-2', 'row-3', 'row-4', 'row-5', 'row-1')"), 5),
            (format!("{key} = 'row-8' OR ({key} = 'row-9' AND n = 9)"), 2),
        ] {
            let sql = format!("SELECT n, {key} FROM pushed WHERE {condition}");
            assert!(test.check(&format!("n, {key}"), &condition), "{condition}");
            assert!(test.engine.plan(&sql).unwrap().contains("lookup="), "{condition}");
            let metrics = test.engine.metrics(&sql);
            let (read, found) = (metric(&metrics, "rows_read"), metric(&metrics, "output_rows"));
            assert!(read <= 6 && found == expected, "{condition}: {read} rows read, {found} found");
            assert_eq!(metric(&metrics, "rows_skipped"), 20_000 - read, "{condition}");
        }
        // Other conditions on keys read all rows.
        let metrics = test.engine.metrics(&format!("SELECT n FROM pushed WHERE {key} > 'row-9998'"));
        assert_eq!(metric(&metrics, "rows_read"), 20_000);
    }
}

/// A document in a file of its own may contain another id than its name says: it is not looked up by name.
#[test]
fn documents_in_files_are_read() {
    let test = Test::new();
    let folder = test.folder.path().join("store/collections/c/docs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.json"), r#"{"_id": "b", "n": 1}"#).unwrap();
    fs::write(folder.join("c.json"), r#"{"n": 2}"#).unwrap();
    test.register(&[test.path("store")]);
    for (condition, rows) in [("_id = 'b'", 1), ("_id = 'a'", 0), ("_id = 'c'", 1)] {
        test.check("n", condition);
        assert_eq!(test.rows(&format!("SELECT n FROM pushed WHERE {condition}")).len(), rows, "{condition}");
    }
}

/// What a progress has been told.
#[derive(Default)]
struct Told {
    begun: Mutex<Vec<(String, Option<u64>)>>,
    name: Mutex<String>,
    done: AtomicU64,
}

impl Progress for Told {
    fn name(&self, what: &str) {
        what.clone_into(&mut self.name.lock().unwrap());
    }

    fn begin(&self, unit: Unit, total: Option<u64>) {
        assert_eq!(unit, Unit::Rows);
        self.begun.lock().unwrap().push((self.name.lock().unwrap().clone(), total));
    }

    fn advance(&self, done: u64) -> wharf::Result<()> {
        self.done.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }
}

/// Ends the work.
struct Cancel;

impl Progress for Cancel {
    fn begin(&self, _: Unit, _: Option<u64>) {}

    fn advance(&self, _: u64) -> wharf::Result<()> {
        Err(wharf::Error::new(wharf::ErrorKind::Cancelled, "enough"))
    }
}

#[test]
fn queries_report_progress() {
    let test = Test::new();
    let query = "SELECT value AS n, value % 7 AS rest FROM generate_series(0, 99999)";
    let idv = test.copy(query, "n.idv", "");
    let parquet = test.copy(query, "n.parquet", "OPTIONS (row_group 10000)");
    let csv = test.copy(query, "n.csv", "");
    let run = |sql: &str, told: &Arc<Told>| {
        test.engine.wait(async {
            let frame = test.engine.session.sql(sql).await.unwrap();
            let mut stream =
                test.engine.session.stream(frame, Some(Arc::clone(told) as Arc<dyn Progress>)).await.unwrap();
            while let Some(batch) = stream.next().await {
                batch.map_err(wharf_sql::from_datafusion)?;
            }
            Ok::<(), wharf::Error>(())
        })
    };
    for (sql, name, total, done) in [
        (format!("SELECT rest, sum(n) FROM '{idv}' GROUP BY rest"), "n.idv", Some(100_000), 100_000),
        (format!("SELECT sum(n) FROM '{idv}' WHERE rest = 3"), "n.idv", Some(100_000), 100_000),
        (format!("SELECT sum(n) FROM '{parquet}' WHERE n < 5"), "n.parquet", Some(100_000), 100_000),
        (format!("SELECT n FROM '{idv}' LIMIT 5"), "n.idv", Some(5), 5),
        (format!("SELECT sum(n) FROM '{csv}'"), "n.csv", Some(100_000), 100_000),
        (
            format!("SELECT count(*) FROM '{idv}' a JOIN '{parquet}' b ON a.n = b.n"),
            "all tables",
            Some(200_000),
            200_000,
        ),
        ("SELECT 1".to_owned(), "", None, 0),
    ] {
        let told = Arc::new(Told::default());
        run(&sql, &told).unwrap();
        let begun = told.begun.lock().unwrap().clone();
        let [(label, rows)] = begun.as_slice() else { panic!("{begun:?}") };
        assert!(label.ends_with(name) && *rows == total, "{sql}: {begun:?}");
        assert_eq!(told.done.load(Ordering::Relaxed), done, "{sql}");
    }
    // A listener ends the query.
    let sql = format!("SELECT sum(n) FROM '{idv}' WHERE rest = 3");
    let cancelled = test.engine.wait(async {
        let frame = test.engine.session.sql(&sql).await.unwrap();
        let mut stream = test.engine.session.stream(frame, Some(Arc::new(Cancel))).await.unwrap();
        stream.next().await.unwrap().map_err(wharf_sql::from_datafusion).unwrap_err()
    });
    assert_eq!(cancelled.kind(), wharf::ErrorKind::Cancelled);
}
