//! Compares Parquet and Arrow IPC files, read with their own libraries, with a table: types, values, nulls.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, DurationMicrosecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::forms::{Form, Outcome};
use super::json_csv;
use super::kind::{Kind, Value, half};
use super::table::Table;

/// Compares a file with a table. If it came `from` a format without types, lists may have any list type.
pub(crate) fn check(path: &Path, form: Form, from: Form, table: &Table) -> Outcome<()> {
    let (schema, batches) = read(path, form).map_err(|error| error.to_string())?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows != table.rows {
        return Err(format!("{rows} rows instead of {}", table.rows));
    }
    let mut names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut expected = table.names();
    names.sort_unstable();
    expected.sort_unstable();
    if rows == 0 && from.is_schemaless() {
        return Ok(());
    }
    if names != expected {
        return Err(format!("columns {names:?} instead of {expected:?}"));
    }
    for column in &table.columns {
        let (place, field) = schema.column_with_name(&column.name).ok_or("no such column")?;
        if !is_type(&column.kind, field, !from.is_typeless()) {
            return Err(format!("column {:?} ({}): {:?}", column.name, column.kind, field.data_type()));
        }
        let mut row = 0;
        for batch in &batches {
            let array = batch.column(place);
            if !field.is_nullable() && array.logical_null_count() > 0 {
                return Err(format!("column {:?} is not nullable and has nulls", column.name));
            }
            for at in 0..batch.num_rows() {
                let value = value(array.as_ref(), at);
                if !same(&column.kind, &column.values[row], &value) {
                    let expected = &column.values[row];
                    let shown = format!("row {row}, column {:?} ({})", column.name, column.kind);
                    return Err(format!("{shown}: {value:?} instead of {expected:?}"));
                }
                row += 1;
            }
        }
    }
    Ok(())
}

type Read = (Schema, Vec<RecordBatch>);

fn read(path: &Path, form: Form) -> Result<Read, Box<dyn std::error::Error>> {
    let file = File::open(path)?;
    Ok(match form.extension {
        "parquet" => {
            let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)?;
            // The schema itself, with the metadata of the file.
            let schema = reader.schema().as_ref().clone();
            (schema, reader.build()?.collect::<Result<_, _>>()?)
        }
        "arrow" => {
            let reader = arrow_ipc::reader::FileReader::try_new(file, None)?;
            (reader.schema().as_ref().clone(), reader.collect::<Result<_, _>>()?)
        }
        _ => {
            let reader = arrow_ipc::reader::StreamReader::try_new(std::io::BufReader::new(file), None)?;
            (reader.schema().as_ref().clone(), reader.collect::<Result<_, _>>()?)
        }
    })
}

/// Whether the type of a field is one for a kind: texts and lists with offsets of any width, labels also as what they stand for. `strict`: lists
/// are lists, and tensors tensors.
fn is_type(kind: &Kind, field: &Field, strict: bool) -> bool {
    let found = field.data_type();
    let is_text = |found: &DataType| matches!(found, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match kind {
        Kind::None => *found == DataType::Null,
        Kind::Bool => *found == DataType::Boolean,
        Kind::Int(8, true) => *found == DataType::Int8,
        Kind::Int(16, true) => *found == DataType::Int16,
        Kind::Int(32, true) => *found == DataType::Int32,
        Kind::Int(_, true) => *found == DataType::Int64,
        Kind::Int(8, false) => *found == DataType::UInt8,
        Kind::Int(16, false) => *found == DataType::UInt16,
        Kind::Int(32, false) => *found == DataType::UInt32,
        Kind::Int(_, false) => *found == DataType::UInt64,
        Kind::Float(16) => *found == DataType::Float16,
        Kind::Float(32) => *found == DataType::Float32,
        Kind::Float(_) => *found == DataType::Float64,
        Kind::Text => is_text(found),
        Kind::Bytes => matches!(found, DataType::Binary | DataType::LargeBinary | DataType::BinaryView),
        Kind::Date => *found == DataType::Date32,
        Kind::Timestamp => *found == DataType::Timestamp(TimeUnit::Microsecond, None),
        Kind::Duration => *found == DataType::Duration(TimeUnit::Microsecond),
        Kind::Labels => matches!(found, DataType::Dictionary(_, values) if is_text(values)),
        Kind::Fixed(item, size) if strict => match found {
            DataType::FixedSizeList(field, length) => {
                usize::try_from(*length) == Ok(*size) && is_type(item, field, strict)
            }
            _ => false,
        },
        Kind::Tensor(item, sizes) if strict => {
            let size: usize = sizes.iter().product();
            field.extension_type_name() == Some("arrow.fixed_shape_tensor")
                && matches!(found, DataType::FixedSizeList(field, length)
                    if usize::try_from(*length) == Ok(size) && is_type(item, field, strict))
        }
        Kind::List(item) | Kind::Fixed(item, _) => match found {
            DataType::List(field) | DataType::LargeList(field) => is_type(item, field, strict),
            DataType::FixedSizeList(field, _) => !strict && is_type(item, field, strict),
            // The type of empty lists is unknown.
            _ => false,
        },
        Kind::Tensor(item, sizes) => match found {
            DataType::FixedSizeList(field, length) if usize::try_from(*length) == Ok(sizes.iter().product()) => {
                is_type(item, field, strict)
            }
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                let rest = sizes.get(1..).unwrap_or_default();
                let inner = if rest.is_empty() { (**item).clone() } else { Kind::Tensor(item.clone(), rest.to_vec()) };
                is_type(&inner, field, strict)
            }
            _ => false,
        },
        Kind::Struct(members) => match found {
            DataType::Struct(fields) => {
                members.len() == fields.len()
                    && members
                        .iter()
                        .all(|(name, kind)| fields.find(name).is_some_and(|(_, field)| is_type(kind, field, strict)))
            }
            _ => false,
        },
    }
}

fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// A value of an array.
fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let items = |items: &dyn Array| Value::List((0..items.len()).map(|at| value(items, at)).collect());
    match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(number::<Int8Type>(array, row).into()),
        DataType::Int16 => Value::Int(number::<Int16Type>(array, row).into()),
        DataType::Int32 => Value::Int(number::<Int32Type>(array, row).into()),
        DataType::Int64 => Value::Int(number::<Int64Type>(array, row).into()),
        DataType::UInt8 => Value::Int(number::<UInt8Type>(array, row).into()),
        DataType::UInt16 => Value::Int(number::<UInt16Type>(array, row).into()),
        DataType::UInt32 => Value::Int(number::<UInt32Type>(array, row).into()),
        DataType::UInt64 => Value::Int(number::<UInt64Type>(array, row).into()),
        DataType::Float16 => Value::Float(half(number::<Float16Type>(array, row).to_bits())),
        DataType::Float32 => Value::Float(number::<Float32Type>(array, row).into()),
        DataType::Float64 => Value::Float(number::<Float64Type>(array, row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        DataType::Date32 => Value::Days(number::<Date32Type>(array, row).into()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => Value::Micros(number::<TimestampMicrosecondType>(array, row)),
        DataType::Duration(TimeUnit::Microsecond) => Value::Micros(number::<DurationMicrosecondType>(array, row)),
        DataType::List(_) => items(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row)),
        DataType::Struct(_) => {
            Value::List(array.as_struct().columns().iter().map(|member| value(member, row)).collect())
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            value(dictionary.values().as_ref(), dictionary.normalized_keys()[row])
        }
        other => panic!("no column of the tables is {other:?}"),
    }
}

/// Equality, with floats compared by bits, and tensors given as nested lists by their elements.
fn same(kind: &Kind, expected: &Value, found: &Value) -> bool {
    match (kind, expected, found) {
        (Kind::Float(width), Value::Float(expected), Value::Float(found)) => json_csv::same(*width, *expected, *found),
        (
            Kind::List(item) | Kind::Fixed(item, _) | Kind::Tensor(item, _),
            Value::List(expected),
            Value::List(found),
        ) => {
            let flat = flat(found);
            let found = if flat.len() == expected.len() { flat } else { found.iter().collect() };
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| same(item, expected, found))
        }
        (Kind::Struct(members), Value::List(expected), Value::List(found)) => {
            expected.len() == found.len()
                && members.iter().zip(expected).zip(found).all(|(((_, kind), one), other)| same(kind, one, other))
        }
        // Masks apply to single elements.
        (Kind::Fixed(..) | Kind::Tensor(..), Value::Null, Value::List(found)) => {
            flat(found).iter().all(|item| **item == Value::Null)
        }
        _ => expected == found,
    }
}

fn flat(items: &[Value]) -> Vec<&Value> {
    fn of(item: &Value) -> Vec<&Value> {
        match item {
            Value::List(items) => flat(items),
            item => vec![item],
        }
    }
    items.iter().flat_map(of).collect()
}
