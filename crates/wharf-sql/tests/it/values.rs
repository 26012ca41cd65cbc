//! Values that engines tell apart: members of null structs, decimals and zeros beside literals.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use serde_json::{Value, json};
use wharf::{BatchWriter, OutputOptions, ipc};

use crate::support::Engine;

/// The answers to queries over a file.
struct Answers {
    folder: tempfile::TempDir,
    engine: Engine,
}

impl Answers {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), engine: Engine::default() }
    }

    /// Writes what a query selects.
    fn write(&self, name: &str, query: &str) {
        self.engine.rows(&format!("COPY ({query}) TO '{}'", self.folder.path().join(name).display())).unwrap();
    }

    fn write_arrow(&self, name: &str, batch: &RecordBatch) {
        let (path, options) = (self.folder.path().join(name), OutputOptions::default());
        let mut writer = ipc::Writer::create(path, batch.schema(), ipc::WriterOptions::default(), options).unwrap();
        writer.write(batch).unwrap();
        Box::new(writer).finish().unwrap();
    }

    fn rows(&self, name: &str, rest: &str) -> Result<Vec<Value>, String> {
        let (columns, conditions) = rest.split_once(" WHERE ").map_or((rest, ""), |(columns, after)| (columns, after));
        let condition = if conditions.is_empty() { String::new() } else { format!(" WHERE {conditions}") };
        self.engine.rows(&format!("SELECT {columns} FROM '{}'{condition}", self.folder.path().join(name).display()))
    }

    #[track_caller]
    fn counts(&self, name: &str, expected: &[(&str, u64)]) {
        for (condition, count) in expected {
            let rows = self.rows(name, &format!("count(*) AS n WHERE {condition}"));
            assert_eq!(rows, Ok(vec![json!({"n": count})]), "{condition}");
        }
    }
}

/// Arrow leaves undefined what lies under a null.
#[test]
fn members_of_null_structs_are_null() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let fields = [Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)];
    let inner = StructArray::new(fields.to_vec().into(), vec![numbers, texts], Some(vec![true, false, true].into()));
    let outer_fields = vec![Field::new("s", inner.data_type().clone(), true)].into();
    let nulls = NullBuffer::from(vec![true, true, false]);
    let outer = StructArray::new(outer_fields, vec![Arc::new(inner.clone())], Some(nulls));
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([1, 1, 1]), Arc::new(inner.clone()), None);
    let columns: [(&str, ArrayRef); 3] = [("s", Arc::new(inner)), ("o", Arc::new(outer)), ("l", Arc::new(lists))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let answers = Answers::new();
    answers.write_arrow("a.arrow", &batch);
    let rows = answers.rows("a.arrow", "s.a AS a, s['b'] AS b, o.s.a AS c, l[1]['a'] AS d").unwrap();
    let null = json!({"a": null, "b": null, "c": null, "d": null});
    let expected = [json!({"a": 7, "b": "x", "c": 7, "d": 7}), null, json!({"a": 9, "b": "z", "c": null, "d": 9})];
    assert_eq!(rows, expected);
    answers.counts("a.arrow", &[("s.a = 8", 0), ("s.a IS NULL", 1), ("o.s.a IS NULL", 2), ("o IS NULL", 1)]);
}

/// Numbers with a point are what was written, not a float near it.
#[test]
fn decimals_are_compared_with_the_digits_of_a_literal() {
    let answers = Answers::new();
    let large = "123456789012345678901234567890";
    answers.write(
        "d.parquet",
        &format!(
            "SELECT CAST('99999999.99' AS DECIMAL(10, 2)) AS d, CAST('{large}' AS DECIMAL(38, 0)) AS e, 0.1 AS f \
             UNION ALL SELECT CAST('1.10' AS DECIMAL(10, 2)), CAST('1' AS DECIMAL(38, 0)), 0.25"
        ),
    );
    let exact = format!("e = CAST('{large}' AS DECIMAL(38, 0))");
    answers.counts(
        "d.parquet",
        &[
            ("d = 99999999.99", 1),
            ("d > 99999999.99", 0),
            ("99999999.99 >= d", 2),
            ("d <> 1.1", 1),
            ("d IN (1.1, 99999999.99)", 2),
            ("d NOT IN (1.1, 2.5, 3.5, 4.5)", 1),
            ("d BETWEEN 1.1 AND 99999999.99", 2),
            ("d < 1.1000000000001", 1),
            ("d > -1.5", 2),
            ("d < 1e10", 2),
            ("e < 0.5", 0),
            ("e > 1e29", 1),
            ("e = 1", 1),
            (&exact, 1),
            ("f = 0.1", 1),
            ("f IN (0.1, 0.2, 0.3, 0.25)", 2),
        ],
    );
    let error = answers.rows("d.parquet", &format!("d WHERE e = {large}")).unwrap_err();
    assert!(error.contains("write CAST('...' AS DECIMAL(38, 0))"), "{error}");
}

/// Times between two values of a column are not cut to its unit.
#[test]
fn times_are_compared_with_all_their_digits() {
    let answers = Answers::new();
    let time = "TIMESTAMP '2020-01-01 00:00:00'";
    let cast = |unit: &str, name: &str| format!("arrow_cast({time}, 'Timestamp({unit})') AS {name}");
    let columns = [cast("s", "s"), cast("ms", "ms"), cast("us", "us"), cast("ms, \"UTC\"", "z")].join(", ");
    answers.write(
        "t.parquet",
        &format!("SELECT {columns}, DATE '2020-01-01' AS d UNION ALL SELECT NULL, NULL, NULL, NULL, NULL"),
    );
    let late = [
        ("s", "00:00:00.5"),
        ("ms", "00:00:00.0001"),
        ("us", "00:00:00.0000001"),
        ("z", "00:00:00.0001"),
        ("d", "12:00:00"),
    ];
    for (column, clock) in late {
        for literal in [format!("'2020-01-01 {clock}'"), format!("TIMESTAMP '2020-01-01 {clock}'")] {
            for (condition, count) in [
                (format!("{column} = {literal}"), 0),
                (format!("{column} <> {literal}"), 1),
                (format!("{column} < {literal}"), 1),
                (format!("{literal} >= {column}"), 1),
                (format!("{column} >= {literal}"), 0),
                (format!("{literal} < {column}"), 0),
                (format!("{column} BETWEEN '2019-12-31 00:00:00' AND {literal}"), 1),
                (format!("{column} NOT BETWEEN {literal} AND '2020-02-01 00:00:00'"), 1),
                (format!("{column} IN ({literal})"), 0),
                (format!("{column} NOT IN ({literal}, '2020-01-01 00:00:00')"), 0),
                (format!("{column} IN ({literal}, '2020-01-01 00:00:00')"), 1),
                (format!("{column} = '2020-01-01 00:00:00'"), 1),
            ] {
                answers.counts("t.parquet", &[(&condition, count)]);
            }
        }
    }
}

/// 0 and -0 are equal, however many values are listed.
#[test]
fn a_list_with_a_zero_has_both() {
    let answers = Answers::new();
    let zeros = "SELECT CAST('0.0' AS DOUBLE) AS x UNION ALL SELECT CAST('-0.0' AS DOUBLE) UNION ALL SELECT 1.5";
    answers.write("z.parquet", &format!("SELECT x, CAST(x AS REAL) AS f FROM ({zeros})"));
    for column in ["x", "f"] {
        for (list, count) in [("0.0, 1.5", 3), ("0, 1, 2, 3", 2), ("-0.0, 1.5, 2, 3", 3), ("1.5, 2, 3, 4", 1)] {
            let (is, is_not) = (format!("{column} IN ({list})"), format!("{column} NOT IN ({list})"));
            answers.counts("z.parquet", &[(&is, count), (&is_not, 3 - count)]);
        }
    }
}

/// .NET and x86 set the sign of NaN.
#[test]
fn missing_numbers_are_greater_than_others() {
    let answers = Answers::new();
    let numbers: ArrayRef = Arc::new(Float32Array::from(vec![-f32::NAN, f32::NAN, -1.0, f32::INFINITY]));
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![-f64::NAN, f64::NAN, -1.0, f64::INFINITY]));
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let lists: ArrayRef =
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1; 4]), Arc::clone(&doubles), None));
    let batch = RecordBatch::try_from_iter([("f", numbers), ("x", doubles), ("l", lists)]).unwrap();
    answers.write_arrow("n.arrow", &batch);
    for (from, name) in [("f", "f"), ("x", "x"), ("l[1]", "l")] {
        let counts = [
            (format!("{from} < 0"), 1),
            (format!("{from} > 0"), 3),
            (format!("{from} > CAST('Infinity' AS DOUBLE)"), 2),
            (format!("{from} = CAST('NaN' AS DOUBLE)"), 2),
            (format!("{from} + 0 < 0"), 1),
        ];
        answers.counts("n.arrow", &counts.each_ref().map(|(condition, count)| (condition.as_str(), *count)));
        let rows = answers.rows("n.arrow", &format!("count(DISTINCT {from}) AS d, min({from}) AS m")).unwrap();
        assert_eq!(rows, [json!({"d": 3, "m": -1.0})], "{name}");
    }
}
