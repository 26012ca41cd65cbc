//! Batches as JSON rows.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use container_arrow::{BatchReader, BatchScan};
use container_core::{OpenOptions, Result, Source, Table};
use dsfmt::container::DsContainer;
use dsfmt::{Builder, Reader};
use serde_json::{Map, Value, json};

pub fn bytes(builder: &Builder<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes).unwrap();
    bytes
}

pub fn open(source: impl Into<Source>) -> DsContainer {
    DsContainer::new(Reader::from_source(source.into(), OpenOptions::default()).unwrap())
}

/// All batches of a scan, with general invariants checked.
pub fn batches(table: &dyn Table, scan: &BatchScan) -> Result<Vec<RecordBatch>> {
    let arrow = table.arrow().unwrap();
    let schema = arrow.schema(scan)?;
    let mut reader = arrow.batches(scan)?;
    assert_eq!(reader.schema(), schema);
    let mut all = Vec::new();
    while let Some(batch) = next(reader.as_mut())? {
        assert_eq!(batch.schema(), schema);
        assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows);
        all.push(batch);
    }
    Ok(all)
}

fn next(reader: &mut dyn BatchReader) -> Result<Option<RecordBatch>> {
    let batch = reader.try_next();
    if !matches!(batch, Ok(Some(_))) {
        assert!(reader.try_next().unwrap().is_none(), "a walk ends behind its end, and behind an error");
    }
    batch
}

/// The rows of batches as JSON lines.
pub fn rows(batches: &[RecordBatch]) -> Vec<Value> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let schema = batch.schema();
            let members = schema.fields().iter().zip(batch.columns());
            let members = members.map(|(field, array)| (field.name().clone(), value(field, array.as_ref(), row)));
            rows.push(Value::Object(members.collect::<Map<_, _>>()));
        }
    }
    rows
}

/// The rows of a table as JSON lines.
pub fn json_rows(table: &dyn Table, scan: &container_core::Scan) -> Vec<Value> {
    let mut rows = table.rows(scan).unwrap();
    let mut all = Vec::new();
    while rows.advance().unwrap() {
        let mut line = Vec::new();
        rows.json(&mut line).unwrap();
        all.push(serde_json::from_slice(&line).unwrap());
    }
    all
}

pub fn shape(field: &Field) -> Vec<usize> {
    let metadata: Value = serde_json::from_str(&field.metadata()["ARROW:extension:metadata"]).unwrap();
    assert_eq!(field.metadata()["ARROW:extension:name"], "arrow.fixed_shape_tensor");
    let sizes: Vec<usize> =
        metadata["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    assert_eq!(metadata["dim_names"].as_array().unwrap().len(), sizes.len());
    sizes
}

fn value(field: &Field, array: &dyn Array, row: usize) -> Value {
    match array.data_type() {
        DataType::FixedSizeList(_, _) => {
            assert!(array.is_valid(row));
            nested(array.as_fixed_size_list().value(row).as_ref(), &shape(field))
        }
        _ => one(array, row),
    }
}

fn nested(items: &dyn Array, shape: &[usize]) -> Value {
    match shape {
        [] => one(items, 0),
        [size, inner @ ..] => {
            let step: usize = inner.iter().product();
            (0..*size)
                .map(|n| nested(items.slice(n * step, step.max(usize::from(inner.is_empty()))).as_ref(), inner))
                .collect()
        }
    }
}

fn float(number: f64, shown: String) -> Value {
    match number {
        number if number.is_finite() => serde_json::from_str(&shown).unwrap(),
        number if number.is_nan() => "NaN".into(),
        number => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
    }
}

fn one(array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) || *array.data_type() == DataType::Null {
        return Value::Null;
    }
    macro_rules! number {
        ($arrow:ty) => {
            array.as_primitive::<$arrow>().value(at).into()
        };
    }
    match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => {
            let number = array.as_primitive::<Float32Type>().value(at);
            float(number.into(), serde_json::to_string(&number).unwrap())
        }
        DataType::Float64 => {
            let number = array.as_primitive::<Float64Type>().value(at);
            float(number, serde_json::to_string(&number).unwrap())
        }
        DataType::Boolean => array.as_boolean().value(at).into(),
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::Binary => {
            use base64::Engine;
            json!({"$bytes": base64::engine::general_purpose::STANDARD.encode(array.as_binary::<i32>().value(at))})
        }
        other => panic!("{other} is not expected"),
    }
}
