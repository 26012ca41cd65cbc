//! INT96 times and INTERVALs: 12 bytes, of which the library drops some or lets them overflow. They are read as bytes and converted here.
//!
//! The unit of INT96 times follows from the footer alone, so that it does not depend on the rows that are read: that of the stored Arrow schema,
//! microseconds in files of Spark, whose times are never finer, otherwise nanoseconds. A time that does not fit the unit is an error.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    IntervalDayTime, IntervalDayTimeType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalYearMonthType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray};
use arrow_schema::{DataType, FieldRef, IntervalUnit, SchemaRef, TimeUnit};
use container_arrow::write_time;
use container_core::{Error, Result};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{Type, TypePtr};

use super::source::from_arrow;
use super::units::{Mismatch, with_fields, with_types};

/// Bytes of a value.
const WIDTH: i32 = 12;

/// The type that the values are read and written as.
pub(super) const BYTES: DataType = DataType::FixedSizeBinary(WIDTH);

const MONTH_DAY_NANO: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;

/// The Julian day of 1970-01-01.
const EPOCH: i64 = 2_440_588;

/// The key that Spark adds to the footer.
const SPARK_KEY: &str = "org.apache.spark.version";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Int96,
    Interval,
    Other,
}

impl Leaf {
    fn of(leaf: &Type) -> Self {
        let Type::PrimitiveType { basic_info, physical_type, .. } = leaf else { return Self::Other };
        match (physical_type, basic_info.logical_type_ref()) {
            // A column of nulls.
            (_, Some(LogicalType::Unknown)) => Self::Other,
            (Physical::INT96, _) => Self::Int96,
            (Physical::FIXED_LEN_BYTE_ARRAY, None) if basic_info.converted_type() == ConvertedType::INTERVAL => {
                Self::Interval
            }
            _ => Self::Other,
        }
    }
}

/// The leaves of a column; empty if all are read by the library.
fn leaves(column: &Type) -> Vec<Leaf> {
    fn push(from: &Type, leaves: &mut Vec<Leaf>) {
        match from {
            Type::GroupType { fields, .. } => fields.iter().for_each(|member| push(member, leaves)),
            Type::PrimitiveType { .. } => leaves.push(Leaf::of(from)),
        }
    }
    let mut leaves = Vec::new();
    push(column, &mut leaves);
    if leaves.iter().all(|leaf| *leaf == Leaf::Other) { Vec::new() } else { leaves }
}

/// The schema that the library reads, with the types that the values are converted to.
pub(super) fn schema(read: &SchemaRef, file: &FileMetaData) -> SchemaRef {
    let is_spark = file.key_value_metadata().into_iter().flatten().any(|pair| pair.key == SPARK_KEY);
    let columns = file.schema_descr().root_schema().get_fields();
    if columns.len() < read.fields().len() {
        return Arc::clone(read);
    }
    with_fields(read, |index, field| {
        let mut leaves = columns.get(index).map(|column| leaves(column)).unwrap_or_default().into_iter();
        with_types(field, &mut |found| match (leaves.next()?, found) {
            (Leaf::Other, _) => None,
            // The stored schema restores the unit of an interval, see `units`.
            (Leaf::Interval, _) => Some(MONTH_DAY_NANO),
            (Leaf::Int96, DataType::Timestamp(TimeUnit::Nanosecond, zone)) if is_spark => {
                Some(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
            }
            (Leaf::Int96, DataType::Dictionary(_, values)) => Some(DataType::clone(values)),
            (Leaf::Int96, _) => None,
        })
    })
}

/// The field of a column that the library is to read.
pub(super) fn field(field: &FieldRef, column: &Type) -> FieldRef {
    let mut leaves = leaves(column).into_iter();
    with_types(field, &mut |_| (leaves.next()? != Leaf::Other).then_some(BYTES))
}

/// A column of the file, with the leaves as plain bytes.
pub(super) fn column(column: &TypePtr) -> ParquetResult<TypePtr> {
    if leaves(column).is_empty() {
        return Ok(Arc::clone(column));
    }
    Ok(Arc::new(match column.as_ref() {
        Type::GroupType { basic_info, fields } => {
            let fields = fields.iter().map(self::column).collect::<ParquetResult<_>>()?;
            Type::GroupType { basic_info: basic_info.clone(), fields }
        }
        Type::PrimitiveType { basic_info, .. } => {
            Type::primitive_type_builder(basic_info.name(), Physical::FIXED_LEN_BYTE_ARRAY)
                .with_length(WIDTH)
                .with_repetition(basic_info.repetition())
                .build()?
        }
    }))
}

/// Bytes of a value, as three numbers.
fn words(value: &[u8]) -> Option<[i32; 3]> {
    let (words, []) = value.as_chunks() else { return None };
    let words: &[[u8; 4]; 3] = words.try_into().ok()?;
    Some(words.map(i32::from_le_bytes))
}

/// Nanoseconds since 1970 of an INT96 time: those of the day, then the Julian day.
fn nanoseconds(value: &[u8]) -> Option<i128> {
    let of_day = i64::from_le_bytes(*value.first_chunk()?);
    let [_, _, day] = words(value)?;
    Some(i128::from(i64::from(day) - EPOCH) * i128::from(NANOS_PER_DAY) + i128::from(of_day))
}

const fn unit_nanoseconds(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => NANOS_PER_SECOND,
        TimeUnit::Millisecond => NANOS_PER_MILLI,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Converts bytes to a type of [`schema`].
pub(super) fn unpack(array: &FixedSizeBinaryArray, to: &DataType) -> Result<std::result::Result<ArrayRef, Mismatch>> {
    let time = |unit: TimeUnit| {
        let unit = i128::from(unit_nanoseconds(unit));
        move |value: &[u8]| {
            let value = nanoseconds(value)?;
            (value % unit == 0).then_some(value / unit).and_then(|value| i64::try_from(value).ok())
        }
    };
    Ok(match to {
        DataType::Timestamp(unit @ TimeUnit::Second, _) => values::<TimestampSecondType>(array, to, time(*unit)),
        DataType::Timestamp(unit @ TimeUnit::Millisecond, _) => {
            values::<TimestampMillisecondType>(array, to, time(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Microsecond, _) => {
            values::<TimestampMicrosecondType>(array, to, time(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Nanosecond, _) => {
            values::<TimestampNanosecondType>(array, to, time(*unit))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            values::<IntervalYearMonthType>(array, to, |value| match words(value)? {
                [months, 0, 0] => Some(months),
                _ => None,
            })
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            values::<IntervalDayTimeType>(array, to, |value| match words(value)? {
                [0, days, millis] => Some(IntervalDayTime::new(days, millis)),
                _ => None,
            })
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => values::<IntervalMonthDayNanoType>(array, to, |value| {
            let [months, days, millis] = words(value)?;
            Some(IntervalMonthDayNano::new(months, days, i64::from(millis) * NANOS_PER_MILLI))
        }),
        other => return Err(Error::invalid(format!("expected a column of {other}, found {BYTES}"))),
    })
}

fn values<T: ArrowPrimitiveType>(
    array: &FixedSizeBinaryArray,
    to: &DataType,
    convert: impl Fn(&[u8]) -> Option<T::Native>,
) -> std::result::Result<ArrayRef, Mismatch> {
    let converted = array.iter().enumerate().map(|(index, value)| match value {
        Some(value) => convert(value).map(Some).ok_or(Mismatch { index, value: 0 }),
        None => Ok(None),
    });
    let converted = converted.collect::<std::result::Result<PrimitiveArray<T>, _>>()?;
    Ok(Arc::new(converted.with_data_type(to.clone())))
}

/// The error of bytes that a type cannot hold.
pub(super) fn unpack_error(value: &[u8], to: &DataType) -> Error {
    match (to, nanoseconds(value), words(value)) {
        (DataType::Interval(_), _, Some([months, days, millis])) => Error::invalid(format!(
            "the interval of {months} months, {days} days and {millis} ms does not fit {to}, which the file declares"
        )),
        (_, Some(nanoseconds), _) => {
            let mut text = String::new();
            let second = i128::from(NANOS_PER_SECOND);
            // The seconds of any 32-bit day fit.
            let seconds = i64::try_from(nanoseconds.div_euclid(second)).unwrap_or(0);
            write_time(&DataType::Timestamp(TimeUnit::Second, None), seconds, &mut text);
            let fraction = nanoseconds.rem_euclid(second);
            Error::unsupported(format!("the INT96 time {text}.{fraction:09} does not fit {to}"))
        }
        _ => Error::invalid(format!("expected {WIDTH} bytes, found {}", value.len())),
    }
}

/// Converts intervals of months, days and nanoseconds to bytes.
pub(super) fn pack(array: &ArrayRef) -> Result<std::result::Result<ArrayRef, Mismatch>> {
    let array = array.as_primitive::<IntervalMonthDayNanoType>();
    let mut packed = FixedSizeBinaryBuilder::with_capacity(array.len(), WIDTH);
    for (index, value) in array.iter().enumerate() {
        let Some(IntervalMonthDayNano { months, days, nanoseconds }) = value else {
            packed.append_null();
            continue;
        };
        let millis = (nanoseconds % NANOS_PER_MILLI == 0).then_some(nanoseconds / NANOS_PER_MILLI);
        let Some(millis) = millis.and_then(|millis| i32::try_from(millis).ok()) else {
            return Ok(Err(Mismatch { index, value: nanoseconds }));
        };
        let bytes = [months, days, millis].map(i32::to_le_bytes);
        packed.append_value(bytes.as_flattened()).map_err(from_arrow)?;
    }
    Ok(Ok(Arc::new(packed.finish())))
}
