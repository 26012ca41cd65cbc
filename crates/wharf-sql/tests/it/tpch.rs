//! Queries of TPC-H at scale 0.01 over tables in several formats, against the answers of DuckDB: `tests/reference/python/sql_tpch.py` writes both, and
//! compares larger tables.

use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion::datasource::MemTable;
use serde_json::Value;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::support::Engine;

const SCALE: f64 = 0.01;

/// All tables.
fn tables() -> Vec<(&'static str, Vec<RecordBatch>)> {
    macro_rules! table {
        ($arrow:ident, $generator:ident) => {
            $arrow::new($generator::new(SCALE, 1, 1)).collect::<Result<Vec<_>, _>>().unwrap()
        };
    }
    vec![
        ("region", table!(RegionArrow, RegionGenerator)),
        ("nation", table!(NationArrow, NationGenerator)),
        ("supplier", table!(SupplierArrow, SupplierGenerator)),
        ("customer", table!(CustomerArrow, CustomerGenerator)),
        ("part", table!(PartArrow, PartGenerator)),
        ("partsupp", table!(PartSuppArrow, PartSuppGenerator)),
        ("orders", table!(OrderArrow, OrderGenerator)),
        ("lineitem", table!(LineItemArrow, LineItemGenerator)),
    ]
}

/// A session with the tables, written to files of a format. Amounts are doubles where a format has no decimals; dates that became text are dates
/// again.
fn engine(folder: &std::path::Path, extension: &str) -> Engine {
    let engine = Engine::default();
    let context = engine.session.context();
    for (name, batches) in tables() {
        let schema = batches[0].schema();
        let source = MemTable::try_new(Arc::clone(&schema), vec![batches]).unwrap();
        context.register_table(name, Arc::new(source)).unwrap();
        let path = folder.join(format!("{name}.{extension}"));
        let written = |field: &Arc<arrow_schema::Field>| match field.data_type() {
            data_type if data_type.is_decimal() && extension != "parquet" => {
                format!("CAST({0} AS DOUBLE) AS {0}", field.name())
            }
            data_type if data_type.is_string() => format!("CAST({0} AS VARCHAR) AS {0}", field.name()),
            _ => field.name().clone(),
        };
        let is_text = matches!(extension, "zds" | "msgpack");
        let read = |field: &Arc<arrow_schema::Field>| match field.data_type() {
            arrow_schema::DataType::Date32 if is_text => format!("CAST({0} AS DATE) AS {0}", field.name()),
            _ => field.name().clone(),
        };
        let list = |of: &dyn Fn(&Arc<arrow_schema::Field>) -> String| {
            schema.fields().iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let key = match extension {
            "zds" => "CAST(row_number() OVER () AS VARCHAR) AS _id, ",
            "msgpack" => "CAST(row_number() OVER () AS VARCHAR) AS key, ",
            _ => "",
        };
        let path = path.display();
        engine.rows(&format!("COPY (SELECT {key}{} FROM {name}) TO '{path}'", list(&written))).unwrap();
        context.deregister_table(name).unwrap();
        engine.rows(&format!("CREATE VIEW {name} AS SELECT {} FROM '{path}'", list(&read))).unwrap();
    }
    engine
}

fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= f64::max(1e-5, 1e-6 * other.abs())
        }
        // Decimals are shown as texts.
        (Value::String(one), Value::Number(_)) => {
            let number = one.parse().ok().and_then(serde_json::Number::from_f64);
            number.is_some_and(|number| is_alike(&Value::Number(number), other))
        }
        // Dates are timestamps in IDV.
        (Value::String(one), Value::String(other)) => one.trim_end_matches("T00:00:00") == other,
        _ => one == other,
    }
}

/// Runs these queries, or all, over tables of a format.
fn check(extension: &str, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), extension);
    let queries: Vec<Value> = serde_json::from_str(include_str!("../data/tpch.json")).unwrap();
    assert_eq!(queries.len(), 22);
    for query in &queries {
        let name = query["name"].as_str().unwrap();
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let rows = engine.rows(query["sql"].as_str().unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let cells = |row: &Value| row.as_object().unwrap().values().cloned().collect::<Vec<_>>();
        let found: Vec<Value> = rows.iter().flat_map(cells).collect();
        let expected: Vec<Value> =
            query["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap().clone()).collect();
        let same =
            found.len() == expected.len() && found.iter().zip(&expected).all(|(one, other)| is_alike(one, other));
        assert!(same, "{extension}, {name}:\nfound {found:?}\nexpected {expected:?}");
    }
}

#[test]
fn some_queries_over_idv() {
    check("idv", &["q03", "q06", "q12"]);
}

#[test]
#[ignore = "takes minutes: cargo xtask nightly --only sql"]
fn all_queries_over_every_format() {
    for extension in ["parquet", "idv", "zds", "msgpack"] {
        check(extension, &[]);
    }
}
