//! Queries over the golden tables in every format, against the answers of DuckDB over their Parquet:
//! `tests/reference/python/sql_queries.py` writes both.

use serde_json::Value;

use crate::support::{Engine, golden};

/// The extensions of the golden tables.
const FORMATS: [&str; 11] =
    ["parquet", "arrow", "arrows", "idv", "msgpack", "ds", "store", "zds", "csv", "tsv", "jsonl"];

/// The query with the files of a format.
fn over(sql: &str, format: &str) -> String {
    let key = if matches!(format, "store" | "zds") { "_id" } else { "key" };
    let mut sql = sql.replace("{key}", key);
    for table in ["iris", "missing", "types", "unicode", "wide"] {
        let path = golden("cross").join(format!("{table}.{format}"));
        sql = sql.replace(&format!("{{{table}}}"), &format!("'{}'", path.display()));
    }
    sql
}

/// Whether values are equal, but for the last digits of numbers.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) if one == other => true,
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one.0 == other.0 && is_equal(one.1, other.1))
        }
        _ => one == other,
    }
}

#[test]
fn every_format_gives_the_answers_of_duckdb() {
    let queries: Vec<Value> = serde_json::from_str(include_str!("../data/queries.json")).unwrap();
    assert!(queries.len() > 60);
    let engine = Engine::default();
    let mut wrong = Vec::new();
    for query in &queries {
        let (name, sql) = (query["name"].as_str().unwrap(), query["sql"].as_str().unwrap());
        let others = query["not"].as_array().unwrap();
        for format in FORMATS.iter().filter(|format| !others.iter().any(|other| other == *format)) {
            let sql = over(sql, format);
            let rows = engine.rows(&sql).map(|rows| {
                let cells = |row: Value| Value::Array(row.as_object().unwrap().values().cloned().collect());
                Value::Array(rows.into_iter().map(cells).collect())
            });
            if !rows.as_ref().is_ok_and(|rows| is_equal(rows, &query["rows"])) {
                wrong.push(format!(
                    "{name}, {format}: {sql}\n  found {}\n  expected {}",
                    rows.map_or_else(|error| error, |rows| rows.to_string()),
                    query["rows"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
