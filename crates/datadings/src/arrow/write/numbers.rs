//! Uniform access to the numbers of an array.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BooleanArray};
use arrow_schema::{DataType, TimeUnit};

use crate::wire::{put_bool, put_f32, put_f64, put_int, put_nil, put_uint};

/// The numbers or booleans of an array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numbers<'a> {
    Bool(&'a BooleanArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F16(&'a [<Float16Type as ArrowPrimitiveType>::Native]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// A single number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// The bits of a 16-bit float.
    F16(u16),
    F32(f32),
    F64(f64),
}

impl<'a> Numbers<'a> {
    /// `None` if the array does not consist of numbers. Times of all kinds are numbers.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        macro_rules! values {
            ($type:ty) => {
                array.as_primitive_opt::<$type>()?.values()
            };
        }
        Some(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean_opt()?),
            DataType::Int8 => Self::I8(values!(Int8Type)),
            DataType::Int16 => Self::I16(values!(Int16Type)),
            DataType::Int32 => Self::I32(values!(Int32Type)),
            DataType::Int64 => Self::I64(values!(Int64Type)),
            DataType::UInt8 => Self::U8(values!(UInt8Type)),
            DataType::UInt16 => Self::U16(values!(UInt16Type)),
            DataType::UInt32 => Self::U32(values!(UInt32Type)),
            DataType::UInt64 => Self::U64(values!(UInt64Type)),
            DataType::Float16 => Self::F16(values!(Float16Type)),
            DataType::Float32 => Self::F32(values!(Float32Type)),
            DataType::Float64 => Self::F64(values!(Float64Type)),
            DataType::Date32 => Self::I32(values!(Date32Type)),
            DataType::Date64 => Self::I64(values!(Date64Type)),
            DataType::Time32(TimeUnit::Second) => Self::I32(values!(Time32SecondType)),
            DataType::Time32(TimeUnit::Millisecond) => Self::I32(values!(Time32MillisecondType)),
            DataType::Time64(TimeUnit::Microsecond) => Self::I64(values!(Time64MicrosecondType)),
            DataType::Time64(TimeUnit::Nanosecond) => Self::I64(values!(Time64NanosecondType)),
            DataType::Timestamp(TimeUnit::Second, _) => Self::I64(values!(TimestampSecondType)),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Self::I64(values!(TimestampMillisecondType)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::I64(values!(TimestampMicrosecondType)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Self::I64(values!(TimestampNanosecondType)),
            DataType::Duration(TimeUnit::Second) => Self::I64(values!(DurationSecondType)),
            DataType::Duration(TimeUnit::Millisecond) => Self::I64(values!(DurationMillisecondType)),
            DataType::Duration(TimeUnit::Microsecond) => Self::I64(values!(DurationMicrosecondType)),
            DataType::Duration(TimeUnit::Nanosecond) => Self::I64(values!(DurationNanosecondType)),
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Number> {
        Some(match self {
            Self::Bool(array) => Number::Bool((at < array.len()).then(|| array.value(at))?),
            Self::I8(values) => Number::Signed((*values.get(at)?).into()),
            Self::I16(values) => Number::Signed((*values.get(at)?).into()),
            Self::I32(values) => Number::Signed((*values.get(at)?).into()),
            Self::I64(values) => Number::Signed(*values.get(at)?),
            Self::U8(values) => Number::Unsigned((*values.get(at)?).into()),
            Self::U16(values) => Number::Unsigned((*values.get(at)?).into()),
            Self::U32(values) => Number::Unsigned((*values.get(at)?).into()),
            Self::U64(values) => Number::Unsigned(*values.get(at)?),
            Self::F16(values) => Number::F16(values.get(at)?.to_bits()),
            Self::F32(values) => Number::F32(*values.get(at)?),
            Self::F64(values) => Number::F64(*values.get(at)?),
        })
    }

    /// Appends a number as msgpack.
    #[inline]
    pub(super) fn put_msgpack(&self, at: usize, out: &mut Vec<u8>) {
        macro_rules! put {
            ($values:expr, $put:expr) => {
                match $values.get(at) {
                    Some(value) => $put(out, (*value).into()),
                    None => put_nil(out), // unreachable: there is one per row
                }
            };
        }
        match self {
            Self::Bool(array) => put_bool(out, at < array.len() && array.value(at)),
            Self::I8(values) => put!(values, put_int),
            Self::I16(values) => put!(values, put_int),
            Self::I32(values) => put!(values, put_int),
            Self::I64(values) => put!(values, put_int),
            Self::U8(values) => put!(values, put_uint),
            Self::U16(values) => put!(values, put_uint),
            Self::U32(values) => put!(values, put_uint),
            Self::U64(values) => put!(values, put_uint),
            Self::F16(values) => match values.get(at) {
                Some(value) => put_f32(out, crate::numpy::F16(value.to_bits()).to_f32()),
                None => put_nil(out),
            },
            Self::F32(values) => put!(values, put_f32),
            Self::F64(values) => put!(values, put_f64),
        }
    }

    /// Appends the bytes of a range in big-endian or little-endian order.
    pub(super) fn put(&self, range: std::ops::Range<usize>, is_big: bool, out: &mut Vec<u8>) {
        macro_rules! bytes {
            ($values:expr) => {{
                let values = $values.get(range).unwrap_or_default();
                match is_big {
                    true => values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes())),
                    false => values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes())),
                }
            }};
        }
        match self {
            Self::Bool(array) => out.extend(range.map(|at| u8::from(at < array.len() && array.value(at)))),
            Self::I8(values) => bytes!(values),
            Self::I16(values) => bytes!(values),
            Self::I32(values) => bytes!(values),
            Self::I64(values) => bytes!(values),
            Self::U8(values) => out.extend_from_slice(values.get(range).unwrap_or_default()),
            Self::U16(values) => bytes!(values),
            Self::U32(values) => bytes!(values),
            Self::U64(values) => bytes!(values),
            Self::F16(values) => bytes!(values),
            Self::F32(values) => bytes!(values),
            Self::F64(values) => bytes!(values),
        }
    }

    /// Bytes per number in a numpy array.
    pub(super) const fn width(&self) -> usize {
        match self {
            Self::Bool(_) | Self::I8(_) | Self::U8(_) => 1,
            Self::I16(_) | Self::U16(_) | Self::F16(_) => 2,
            Self::I32(_) | Self::U32(_) | Self::F32(_) => 4,
            Self::I64(_) | Self::U64(_) | Self::F64(_) => 8,
        }
    }
}
