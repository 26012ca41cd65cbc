//! Single values, as JSON as `cat` prints them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, make_array};
use arrow_buffer::{Buffer, ToByteSlice};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema};
use container_arrow::{JsonRows, from_arrow};
use container_core::{Error, Result};
use serde_json::value::RawValue;

use super::numbers::Family;

/// A value as JSON.
pub type Scalar = Box<RawValue>;

/// The values of an array.
pub(in crate::hub::query) fn of_array(array: ArrayRef) -> Result<Vec<Scalar>> {
    let (nullable, len) = (true, array.len());
    let schema = Arc::new(Schema::new(vec![Field::new("", array.data_type().clone(), nullable)]));
    let mut rows = JsonRows::new(&RecordBatch::try_new(schema, vec![array]).map_err(from_arrow)?)?;
    let value = |row| {
        let mut text = Vec::new();
        rows.write(row, &mut text)?;
        let value = text.strip_prefix(b"{\"\":").and_then(|text| text.strip_suffix(b"}"));
        let value = value.and_then(|text| serde_json::from_slice(text).ok());
        value.ok_or_else(|| Error::invalid("the value has no JSON form"))
    };
    (0..len).map(value).collect()
}

/// The values of keys, as values of `data_type`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a key stands for a value of the type")]
pub(super) fn of_keys(data_type: &DataType, family: Family, keys: &[u64]) -> Result<Vec<Scalar>> {
    use DataType::{Boolean, Date32, Float16, Float32, Float64, Int8, Int16, Int32, Time32, UInt8, UInt16, UInt32};
    macro_rules! numbers {
        ($type:ty) => {
            Buffer::from_vec(keys.iter().map(|key| family.integer(*key) as $type).collect::<Vec<_>>())
        };
    }
    let buffer = match data_type {
        Boolean => {
            return of_array(Arc::new(arrow_array::BooleanArray::from_iter(keys.iter().map(|key| Some(*key != 0)))));
        }
        Int8 => numbers!(i8),
        Int16 => numbers!(i16),
        Int32 | Date32 | Time32(_) => numbers!(i32),
        UInt8 => numbers!(u8),
        UInt16 => numbers!(u16),
        UInt32 => numbers!(u32),
        Float16 | Float32 => {
            let floats = keys.iter().map(|key| family.float(*key) as f32);
            return of_array(Arc::new(arrow_array::Float32Array::from_iter_values(floats)));
        }
        Float64 => Buffer::from_vec(keys.iter().map(|key| family.float(*key)).collect::<Vec<_>>()),
        _ if family == Family::Unsigned => Buffer::from_vec(keys.to_vec()),
        _ => numbers!(i64),
    };
    of_buffer(data_type, keys.len(), buffer)
}

/// The values of unscaled numbers, as decimals.
#[allow(clippy::cast_possible_truncation, reason = "the numbers were values of the type")]
pub(super) fn of_decimals(data_type: &DataType, unscaled: &[i128]) -> Result<Vec<Scalar>> {
    let buffer = match data_type {
        DataType::Decimal32(..) => Buffer::from_vec(unscaled.iter().map(|number| *number as i32).collect::<Vec<_>>()),
        DataType::Decimal64(..) => Buffer::from_vec(unscaled.iter().map(|number| *number as i64).collect::<Vec<_>>()),
        _ => Buffer::from(unscaled.to_byte_slice()),
    };
    of_buffer(data_type, unscaled.len(), buffer)
}

fn of_buffer(data_type: &DataType, len: usize, buffer: Buffer) -> Result<Vec<Scalar>> {
    let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(buffer).align_buffers(true);
    of_array(make_array(data.build().map_err(from_arrow)?))
}

/// The values of texts, or of bytes.
pub(super) fn of_bytes<'a>(data_type: &DataType, values: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Scalar>> {
    let is_text = data_type.is_string();
    if !is_text {
        return of_array(Arc::new(arrow_array::LargeBinaryArray::from_iter_values(values)));
    }
    values.map(|value| of_text(&String::from_utf8_lossy(value))).collect()
}

fn of_text(text: &str) -> Result<Scalar> {
    raw(serde_json::to_string(text))
}

/// A float; infinities and NaN are text.
pub(super) fn of_float(number: f64) -> Result<Scalar> {
    match number {
        number if number.is_finite() => raw(serde_json::to_string(&number)),
        number if number.is_nan() => of_text("NaN"),
        number => of_text(if number > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}

pub(super) fn of<T: serde::Serialize>(value: &T) -> Result<Scalar> {
    raw(serde_json::to_string(value))
}

fn raw(text: serde_json::Result<String>) -> Result<Scalar> {
    let json = text.and_then(RawValue::from_string);
    json.map_err(|cause| Error::invalid("the value has no JSON form").caused_by(cause))
}
