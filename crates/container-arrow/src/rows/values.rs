//! Typed access to arrays, by their JSON form.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use container_core::{Error, Limits, Result};

use crate::resolve::JSON;
use crate::tensor::{self, PermutedTensor};

/// An array with its type resolved. Shares the memory of the array.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) data: Data,
    pub(super) nulls: Option<NullBuffer>,
}

#[derive(Debug)]
pub(super) enum Data {
    Null,
    Bool(BooleanBuffer),
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
    /// Widened to `f32`.
    F16(Vec<f32>),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
    /// Dates, times, timestamps and durations.
    Time32(DataType, ScalarBuffer<i32>),
    Time64(DataType, ScalarBuffer<i64>),
    Decimal(ArrayRef),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    /// JSON text.
    Json(Box<Values>),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
    List(OffsetBuffer<i32>, Box<Values>),
    LargeList(OffsetBuffer<i64>, Box<Values>),
    /// Size, shape (if it is a multi-dimensional tensor) and elements.
    FixedList(usize, Vec<usize>, Box<Values>),
    Struct(Vec<Member>),
    /// Offsets, keys and values.
    Map(OffsetBuffer<i32>, Box<Values>, Box<Values>),
    /// Indexes and values.
    Dictionary(Vec<usize>, Box<Values>),
}

/// A column, or a member of a struct.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The name as JSON, followed by a colon.
    pub(super) key: Vec<u8>,
    pub(super) values: Values,
}

impl Member {
    pub(super) fn new(field: &Field, array: &ArrayRef, depth: u32) -> Result<Self> {
        let name = field.name().clone();
        let mut key = serde_json::to_vec(&name).unwrap_or_default(); // serializing text does not fail
        key.push(b':');
        let values = Values::new(field, array, depth).map_err(|error| error.in_column(name.clone()))?;
        Ok(Self { name, key, values })
    }
}

impl Values {
    pub(super) fn new(field: &Field, array: &ArrayRef, depth: u32) -> Result<Self> {
        let nulls = array.nulls().cloned();
        let is_json = field.extension_type_name() == Some(JSON);
        let inner = |field: &Field, array: &ArrayRef| Self::new(field, array, deeper(depth)?).map(Box::new);
        macro_rules! values {
            ($type:ty) => {
                array.as_primitive::<$type>().values().clone()
            };
        }
        let data_type = array.data_type();
        let time32 = |values| Data::Time32(data_type.clone(), values);
        let time64 = |values| Data::Time64(data_type.clone(), values);
        let data = match data_type {
            DataType::Null => Data::Null,
            DataType::Boolean => {
                let array: &BooleanArray = array.as_boolean();
                Data::Bool(array.values().clone())
            }
            DataType::Int8 => Data::I8(values!(Int8Type)),
            DataType::Int16 => Data::I16(values!(Int16Type)),
            DataType::Int32 => Data::I32(values!(Int32Type)),
            DataType::Int64 => Data::I64(values!(Int64Type)),
            DataType::UInt8 => Data::U8(values!(UInt8Type)),
            DataType::UInt16 => Data::U16(values!(UInt16Type)),
            DataType::UInt32 => Data::U32(values!(UInt32Type)),
            DataType::UInt64 => Data::U64(values!(UInt64Type)),
            DataType::Float16 => Data::F16(values!(Float16Type).iter().map(|half| half.to_f32()).collect()),
            DataType::Float32 => Data::F32(values!(Float32Type)),
            DataType::Float64 => Data::F64(values!(Float64Type)),
            DataType::Date32 => time32(values!(Date32Type)),
            DataType::Date64 => time64(values!(Date64Type)),
            DataType::Time32(TimeUnit::Second) => time32(values!(Time32SecondType)),
            DataType::Time32(_) => time32(values!(Time32MillisecondType)),
            DataType::Time64(TimeUnit::Nanosecond) => time64(values!(Time64NanosecondType)),
            DataType::Time64(_) => time64(values!(Time64MicrosecondType)),
            DataType::Timestamp(TimeUnit::Second, _) => time64(values!(TimestampSecondType)),
            DataType::Timestamp(TimeUnit::Millisecond, _) => time64(values!(TimestampMillisecondType)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => time64(values!(TimestampMicrosecondType)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => time64(values!(TimestampNanosecondType)),
            DataType::Duration(TimeUnit::Second) => time64(values!(DurationSecondType)),
            DataType::Duration(TimeUnit::Millisecond) => time64(values!(DurationMillisecondType)),
            DataType::Duration(TimeUnit::Microsecond) => time64(values!(DurationMicrosecondType)),
            DataType::Duration(TimeUnit::Nanosecond) => time64(values!(DurationNanosecondType)),
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                Data::Decimal(array.clone())
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let text = match data_type {
                    DataType::Utf8 => Data::Text(array.as_string().clone()),
                    DataType::LargeUtf8 => Data::LargeText(array.as_string().clone()),
                    _ => Data::TextView(array.as_string_view().clone()),
                };
                match is_json {
                    true => Data::Json(Box::new(Self { data: text, nulls: None })),
                    false => text,
                }
            }
            DataType::Binary => Data::Bytes(array.as_binary().clone()),
            DataType::LargeBinary => Data::LargeBytes(array.as_binary().clone()),
            DataType::BinaryView => Data::BytesView(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Data::Fixed(array.as_fixed_size_binary().clone()),
            DataType::List(element) => {
                let list = array.as_list::<i32>();
                Data::List(list.offsets().clone(), inner(element, list.values())?)
            }
            DataType::LargeList(element) => {
                let list = array.as_list::<i64>();
                Data::LargeList(list.offsets().clone(), inner(element, list.values())?)
            }
            DataType::FixedSizeList(element, size) => {
                let list = array.as_fixed_size_list();
                let size = usize::try_from(*size).unwrap_or(0);
                let values = inner(element, list.values())?;
                match PermutedTensor::of(field, size) {
                    Some(tensor) => {
                        let data = Data::Dictionary(tensor.indexes(list.len()).collect(), values);
                        Data::FixedList(size, tensor.shape().to_vec(), Box::new(Self { data, nulls: None }))
                    }
                    None => Data::FixedList(size, shape(field, size), values),
                }
            }
            DataType::Struct(fields) => {
                let depth = deeper(depth)?;
                let columns = fields.iter().zip(array.as_struct().columns());
                Data::Struct(columns.map(|(field, column)| Member::new(field, column, depth)).collect::<Result<_>>()?)
            }
            DataType::Map(entries, _) => {
                let map = array.as_map();
                let (keys, values) = match entries.data_type() {
                    DataType::Struct(fields) if fields.len() == 2 => (fields.first(), fields.last()),
                    _ => (None, None),
                };
                match (keys, values) {
                    (Some(keys), Some(values)) => {
                        Data::Map(map.offsets().clone(), inner(keys, map.keys())?, inner(values, map.values())?)
                    }
                    _ => return Err(unsupported(data_type)),
                }
            }
            DataType::Dictionary(..) => {
                let array = array.as_any_dictionary();
                // Indexes of nulls are arbitrary.
                let indexes = if array.values().is_empty() { vec![0; array.len()] } else { array.normalized_keys() };
                Data::Dictionary(indexes, inner(field, array.values())?)
            }
            _ => return Err(unsupported(data_type)),
        };
        Ok(Self { data, nulls })
    }

    #[inline]
    pub(super) fn is_null(&self, at: usize) -> bool {
        matches!(self.data, Data::Null)
            || self.nulls.as_ref().is_some_and(|nulls| at >= nulls.len() || nulls.is_null(at))
    }

    /// The text at an index, if this is text.
    #[inline]
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        match &self.data {
            Data::Text(texts) if at < texts.len() => Some(texts.value(at)),
            Data::LargeText(texts) if at < texts.len() => Some(texts.value(at)),
            Data::TextView(texts) if at < texts.len() => Some(texts.value(at)),
            Data::Json(texts) => texts.text(at),
            _ => None,
        }
    }

    /// The bytes at an index, if this is binary.
    pub(super) fn bytes(&self, at: usize) -> Option<&[u8]> {
        match &self.data {
            Data::Bytes(bytes) if at < bytes.len() => Some(bytes.value(at)),
            Data::LargeBytes(bytes) if at < bytes.len() => Some(bytes.value(at)),
            Data::BytesView(bytes) if at < bytes.len() => Some(bytes.value(at)),
            Data::Fixed(bytes) if at < bytes.len() => Some(bytes.value(at)),
            _ => None,
        }
    }
}

/// The depth one level down.
fn deeper(depth: u32) -> Result<u32> {
    let (depth, limit) = (depth.saturating_add(1), Limits::default().depth);
    match depth > limit {
        true => Err(Error::limit("the nesting of columns", depth.into(), limit.into())),
        false => Ok(depth),
    }
}

#[cold]
fn unsupported(data_type: &DataType) -> Error {
    Error::unsupported(format!("values of type {data_type} have no JSON form"))
}

/// The shape of a tensor field, or empty if it is not a row-major tensor of `size` elements with at least two dimensions.
fn shape(field: &Field, size: usize) -> Vec<usize> {
    let metadata = tensor::metadata(field).filter(|metadata| {
        let axes = metadata.get("permutation").and_then(|axes| axes.as_array());
        axes.is_none_or(|axes| axes.iter().zip(0_u64..).all(|(axis, at)| axis.as_u64() == Some(at)))
    });
    metadata.and_then(|metadata| tensor::shape(&metadata, size)).unwrap_or_default()
}
