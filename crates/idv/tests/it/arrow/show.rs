//! Values of arrays in the form that rows have as JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use container_arrow::{BatchReader, BatchScan};
use container_core::Scan;
use idv::{DateTime, DateTimeOffset, ItemType, Reader, TimeSpan, Value};
use serde_json::{Value as Json, json};

const EPOCH: i64 = 621_355_968_000_000_000;

/// A float by its own shortest digits, `null` where it is not finite.
fn float(digits: String, value: f64) -> Json {
    match value {
        value if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        _ => serde_json::from_str(&digits).unwrap(),
    }
}

/// Whether an item means a time, and not a duration.
fn is_time(item: ItemType) -> bool {
    matches!(item, ItemType::DateTime | ItemType::DvDateTime | ItemType::DateTimeOffset | ItemType::DvDateTimeZone)
}

/// The ticks of a time or a duration, from any of its forms.
fn ticks(array: &dyn Array, row: usize, item: ItemType) -> i64 {
    let origin = if is_time(item) { EPOCH } else { 0 };
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            origin + 10 * array.as_primitive::<TimestampMicrosecondType>().value(row)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            origin + array.as_primitive::<TimestampNanosecondType>().value(row) / 100
        }
        DataType::Duration(TimeUnit::Microsecond) => 10 * array.as_primitive::<DurationMicrosecondType>().value(row),
        DataType::Duration(TimeUnit::Nanosecond) => array.as_primitive::<DurationNanosecondType>().value(row) / 100,
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        other => panic!("{other}"),
    }
}

/// A value of an array of items of this type; vectors have all their slots.
pub(crate) fn json_of(array: &dyn Array, row: usize, item: ItemType) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    match (array.data_type(), item) {
        (DataType::FixedSizeList(..), _) => {
            let items = array.as_fixed_size_list().value(row);
            (0..items.len()).map(|slot| json_of(&items, slot, item)).collect()
        }
        (DataType::List(_), _) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|slot| json_of(&items, slot, item)).collect()
        }
        (DataType::Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            json_of(dictionary.values(), dictionary.normalized_keys()[row], item)
        }
        (DataType::Struct(fields), _) if fields[0].name() == "time" => {
            let parts = array.as_struct();
            let minutes = parts.column(1).as_primitive::<Int16Type>().value(row);
            let local = ticks(parts.column(0), row, item) + i64::from(minutes) * 600_000_000;
            json!(DateTimeOffset::new(local, minutes).to_string())
        }
        (DataType::Struct(_), _) => {
            let parts = array.as_struct();
            let values = json_of(parts.column(2), row, item);
            if parts.column(1).is_null(row) {
                return values;
            }
            let indices = json_of(parts.column(1), row, ItemType::Int32);
            json!({"$sparse": {
                "length": parts.column(0).as_primitive::<Int32Type>().value(row), "indices": indices, "values": values,
            }})
        }
        (DataType::Timestamp(..) | DataType::Duration(_), item) if is_time(item) => {
            json!(DateTime(ticks(array, row, item)).to_string())
        }
        (DataType::Int64, item) if is_time(item) => json!(DateTime(ticks(array, row, item)).to_string()),
        (_, ItemType::TimeSpan | ItemType::DvTimeSpan) => json!(TimeSpan(ticks(array, row, item)).to_string()),
        (DataType::FixedSizeBinary(16), _) => {
            let bytes: [u8; 16] = array.as_fixed_size_binary().value(row).try_into().unwrap();
            json!(format!("{:032x}", u128::from_le_bytes(bytes)))
        }
        (DataType::Int8, _) => json!(array.as_primitive::<Int8Type>().value(row)),
        (DataType::Int16, _) => json!(array.as_primitive::<Int16Type>().value(row)),
        (DataType::Int32, _) => json!(array.as_primitive::<Int32Type>().value(row)),
        (DataType::Int64, _) => json!(array.as_primitive::<Int64Type>().value(row)),
        (DataType::UInt8, _) => json!(array.as_primitive::<UInt8Type>().value(row)),
        (DataType::UInt16, _) => json!(array.as_primitive::<UInt16Type>().value(row)),
        (DataType::UInt32, _) => json!(array.as_primitive::<UInt32Type>().value(row)),
        (DataType::UInt64, _) => json!(array.as_primitive::<UInt64Type>().value(row)),
        (DataType::Float32, _) => {
            let value = array.as_primitive::<Float32Type>().value(row);
            float(serde_json::to_string(&value).unwrap(), f64::from(value))
        }
        (DataType::Float64, _) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            float(serde_json::to_string(&value).unwrap(), value)
        }
        (DataType::Boolean, _) => json!(array.as_boolean().value(row)),
        (DataType::Utf8, _) => json!(array.as_string::<i32>().value(row)),
        (other, item) => panic!("{item} as {other}"),
    }
}

/// A value of a row, with all slots of sparse vectors if they are to be filled.
fn shown(value: &Value<'_>, filled: bool) -> Json {
    let json = |value: &Value<'_>| serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap();
    match value {
        Value::Vector(vector) if filled => vector.items().map(|item| json(&item)).collect(),
        value => json(value),
    }
}

/// The rows of batches by column and row: as they are, and as JSON.
pub(crate) fn batches(reader: &Reader, scan: &BatchScan) -> (Vec<RecordBatch>, Vec<Vec<Json>>) {
    let mut record_batches = reader.record_batches(scan).unwrap();
    let items: Vec<ItemType> = projection(reader, &scan.scan).iter().map(|&c| item(reader, c)).collect();
    let mut columns = vec![Vec::new(); items.len()];
    let mut all = Vec::new();
    while let Some(batch) = record_batches.try_next().unwrap() {
        assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows);
        assert_eq!(batch.schema(), reader.arrow_schema(scan).unwrap());
        for (index, column) in batch.columns().iter().enumerate() {
            // What is checked nowhere else: that the parts of an array fit together.
            column.to_data().validate_full().unwrap();
            columns[index].extend((0..column.len()).map(|row| json_of(column, row, items[index])));
        }
        all.push(batch);
    }
    assert!(record_batches.next().is_none());
    (all, columns)
}

fn item(reader: &Reader, column: usize) -> ItemType {
    reader.columns()[column].kind().unwrap().item()
}

pub(crate) fn projection(reader: &Reader, scan: &Scan) -> Vec<usize> {
    let readable = || reader.columns().iter().filter(|column| column.kind().is_ok()).map(idv::Column::index).collect();
    scan.columns.clone().unwrap_or_else(readable)
}

/// The same by rows.
pub(crate) fn rows(reader: &Reader, scan: &Scan, filled: bool) -> Vec<Vec<Json>> {
    let mut rows_iter = reader.rows(scan).unwrap();
    let mut columns = vec![Vec::new(); projection(reader, scan).len()];
    while let Some(row) = rows_iter.try_next().unwrap() {
        for (index, column) in columns.iter_mut().enumerate() {
            column.push(shown(&row.get(index).unwrap(), filled));
        }
    }
    columns
}

/// The columns as batches are those as rows.
#[track_caller]
pub(crate) fn same(reader: &Reader, scan: &BatchScan, filled: bool) -> Vec<RecordBatch> {
    let (batches, found) = batches(reader, scan);
    let expected = rows(reader, &scan.scan, filled);
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.len(), expected.len());
        for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "row {row} of column {index}");
        }
    }
    assert_eq!(found.len(), expected.len());
    batches
}
