//! Arrow units without a Parquet type: stored in the nearest one, which every reader knows, and restored from the Arrow schema in the file.
//!
//! The library alone would store them as plain numbers for readers without Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Time32MillisecondType, Time32SecondType, TimestampMillisecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeListArray, LargeBinaryArray, LargeStringArray,
    OffsetSizeTrait, PrimitiveArray, StringArray, make_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, Schema, SchemaRef, TimeUnit};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use container_arrow::decimal_text;
use container_core::{Error, Result};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::FileMetaData;

use super::raw;
use super::source::from_arrow;
use crate::batches::hidden::without_hidden;

const MILLIS_PER_SECOND: i64 = 1000;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// The stored schema: the same one if Parquet has all types.
pub(super) fn stored(schema: &SchemaRef) -> SchemaRef {
    with_fields(schema, |_, field| stored_field(field, &mut stored_type))
}

/// The schema that describes the stored columns to the library: it has a Parquet type for intervals, which it cannot write.
pub(super) fn described(schema: &SchemaRef) -> SchemaRef {
    let described = |found: &DataType| if matches!(found, DataType::Interval(_)) { None } else { stored_type(found) };
    with_fields(schema, |_, field| stored_field(field, &mut { described }))
}

/// The schema to restore, as the file has it: the library reads no dictionaries of views.
pub(super) fn restorable(schema: &SchemaRef) -> SchemaRef {
    with_fields(schema, |_, field| with_types(field, &mut dictionary_without_views))
}

/// The schema with changed fields; the same one if nothing changes.
pub(super) fn with_fields(schema: &SchemaRef, mut change: impl FnMut(usize, &FieldRef) -> FieldRef) -> SchemaRef {
    let fields = schema.fields().iter().enumerate().map(|(index, field)| change(index, field));
    let fields: Vec<FieldRef> = fields.collect();
    if fields.iter().zip(schema.fields()).all(|(one, other)| Arc::ptr_eq(one, other)) {
        return Arc::clone(schema);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The stored field. pyarrow recognizes tensors only with nullable items.
fn stored_field(field: &FieldRef, stored_type: &mut impl FnMut(&DataType) -> Option<DataType>) -> FieldRef {
    with_items(&with_types(field, stored_type), true)
}

/// A tensor with items of this nullability; the same field if nothing changes.
fn with_items(field: &FieldRef, nullable: bool) -> FieldRef {
    match field.data_type() {
        DataType::FixedSizeList(item, size) if item.is_nullable() != nullable && is_tensor(field) => {
            let item = Arc::new(Field::clone(item).with_nullable(nullable));
            Arc::new(Field::clone(field).with_data_type(DataType::FixedSizeList(item, *size)))
        }
        _ => Arc::clone(field),
    }
}

fn is_tensor(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.fixed_shape_tensor")
}

/// Types of dictionaries and runs are kept, so that they are restored; the library cannot write those of views.
fn stored_type(found: &DataType) -> Option<DataType> {
    match found {
        DataType::Dictionary(..) => dictionary_without_views(found),
        DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Some(DataType::Timestamp(TimeUnit::Millisecond, zone.as_ref().map(Arc::clone)))
        }
        DataType::Date64 => Some(DataType::Date32),
        DataType::Interval(IntervalUnit::MonthDayNano) => Some(raw::BYTES),
        _ => None,
    }
}

/// The dictionary of the same values that are no views, for one of views.
fn dictionary_without_views(found: &DataType) -> Option<DataType> {
    let DataType::Dictionary(index, values) = found else { return None };
    let values = match **values {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        _ => return None,
    };
    Some(DataType::Dictionary(index.clone(), Box::new(values)))
}

/// Replaces the leaf types of a field; the same field if nothing changes.
pub(super) fn with_types(field: &FieldRef, change: &mut impl FnMut(&DataType) -> Option<DataType>) -> FieldRef {
    let mut wrap = |item: &FieldRef, make: &dyn Fn(FieldRef) -> DataType| {
        let changed = with_types(item, change);
        (!Arc::ptr_eq(item, &changed)).then(|| make(changed))
    };
    let changed = match field.data_type() {
        DataType::List(item) => wrap(item, &DataType::List),
        DataType::LargeList(item) => wrap(item, &DataType::LargeList),
        DataType::ListView(item) => wrap(item, &DataType::ListView),
        DataType::LargeListView(item) => wrap(item, &DataType::LargeListView),
        DataType::FixedSizeList(item, size) => wrap(item, &|item| DataType::FixedSizeList(item, *size)),
        DataType::Map(entries, sorted) => wrap(entries, &|entries| DataType::Map(entries, *sorted)),
        DataType::Struct(members) => {
            let changed: Vec<FieldRef> = members.iter().map(|member| with_types(member, change)).collect();
            let same = changed.iter().zip(members).all(|(one, other)| Arc::ptr_eq(one, other));
            (!same).then(|| DataType::Struct(changed.into()))
        }
        plain => change(plain),
    };
    changed.map_or_else(|| Arc::clone(field), |changed| Arc::new(Field::clone(field).with_data_type(changed)))
}

/// Restores the written schema from the schema that the library reads and the Arrow schema in the file.
pub(super) fn restored(read: &SchemaRef, file: &FileMetaData) -> Result<SchemaRef> {
    let pairs = file.key_value_metadata().into_iter().flatten();
    let encoded = pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).find_map(|pair| pair.value.as_ref());
    let Some(encoded) = encoded else { return Ok(Arc::clone(read)) };
    // The library has decoded it already.
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .map_err(|error| Error::invalid(format!("invalid base64 in the footer's Arrow schema: {error}")))?;
    let message = match bytes.split_at_checked(8) {
        Some((mark, message)) if mark.starts_with(&[255; 4]) => message,
        _ => &bytes,
    };
    let written = crate::batches::guarded("the footer's Arrow schema", || {
        arrow_ipc::convert::try_schema_from_flatbuffer_bytes(message).map_err(from_arrow)
    })?;
    Ok(with_fields(read, |index, field| match written.fields().get(index) {
        Some(written) if written.name() == field.name() => restored_field(field, written),
        _ => Arc::clone(field),
    }))
}

fn restored_field(read: &FieldRef, written: &Field) -> FieldRef {
    // Both have the same shape, so their leaves are visited in the same order.
    if !same_shape(read.data_type(), written.data_type()) {
        return Arc::clone(read);
    }
    let mut leaves = Vec::new();
    push_leaves(written.data_type(), &mut leaves);
    let mut leaves = leaves.into_iter();
    let restored = with_types(read, &mut |found| restored_type(found, leaves.next()?));
    match written.data_type() {
        DataType::FixedSizeList(item, _) if !item.is_nullable() && is_tensor(written) => with_items(&restored, false),
        _ => restored,
    }
}

fn restored_type(read: &DataType, written: &DataType) -> Option<DataType> {
    let restored = match (read, written) {
        (DataType::Time32(TimeUnit::Millisecond), DataType::Time32(TimeUnit::Second)) => written.clone(),
        (DataType::Timestamp(TimeUnit::Millisecond, read), DataType::Timestamp(TimeUnit::Second, zone))
            if read.is_some() == zone.is_some() =>
        {
            written.clone()
        }
        // Other writers store nanoseconds as microseconds for old format versions. Only the zone is restored.
        (DataType::Timestamp(unit, Some(_)), DataType::Timestamp(_, Some(zone))) => {
            DataType::Timestamp(*unit, Some(Arc::clone(zone)))
        }
        (DataType::Interval(_), DataType::Interval(_)) => written.clone(),
        _ => return None,
    };
    (restored != *read).then_some(restored)
}

/// The types nested in a type; `None` for leaves.
pub(super) fn nested_types(found: &DataType) -> Option<Vec<&DataType>> {
    match found {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Some(vec![item.data_type()]),
        DataType::Struct(members) => Some(members.iter().map(|member| member.data_type()).collect()),
        _ => None,
    }
}

fn same_shape(one: &DataType, other: &DataType) -> bool {
    match (nested_types(one), nested_types(other)) {
        (Some(some), Some(others)) => {
            std::mem::discriminant(one) == std::mem::discriminant(other)
                && some.len() == others.len()
                && some.into_iter().zip(others).all(|(one, other)| same_shape(one, other))
        }
        (None, None) => true,
        _ => false,
    }
}

/// The field with string and binary types as views; the same field if there are none.
pub(super) fn with_views(field: &FieldRef) -> FieldRef {
    with_types(field, &mut |found| match found {
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        _ => None,
    })
}

fn push_leaves<'a>(found: &'a DataType, leaves: &mut Vec<&'a DataType>) {
    match nested_types(found) {
        Some(types) => types.into_iter().for_each(|found| push_leaves(found, leaves)),
        None => leaves.push(found),
    }
}

/// The first value that the target type cannot hold, and its index in the array.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) index: usize,
    /// The value, if it is a number.
    pub(super) value: i64,
}

/// Converts values to a type from [`stored`], [`restored`] or [`with_views`], or the bytes of [`raw`] to theirs. `first` is the number of the first row, for errors.
pub(super) fn convert(array: &ArrayRef, to: &DataType, first: u64) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    // Only the nullability of items differs: zero-copy.
    if let (DataType::FixedSizeList(item, size), Some(lists)) = (to, array.as_fixed_size_list_opt())
        && lists.value_type() == *item.data_type()
    {
        let (values, nulls) = (Arc::clone(lists.values()), lists.nulls().cloned());
        let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, values, nulls, lists.len());
        return Ok(Arc::new(lists.map_err(from_arrow)?));
    }
    if let Some(types) = nested_types(to) {
        // Values under null structs and lists can be anything.
        let data = sliced_items(without_hidden(array)?.to_data())?;
        // Row numbers of nested values are unknown here.
        let items = |(items, to)| convert_items(&make_array(items), to);
        let children = data.child_data().iter().cloned().zip(types).map(items).collect::<Result<Vec<_>>>()?;
        let children = children.iter().map(Array::to_data).collect();
        let data = data.into_builder().data_type(to.clone()).child_data(children).build().map_err(from_arrow)?;
        return Ok(make_array(data));
    }
    convert_leaf(array, to)?
        .map_err(|mismatch| conversion_error(array, to, &mismatch).in_row(first + mismatch.index as u64))
}

/// Rejects decimals with more digits than their type has: the library would store some of their bits. `first`: the number of the first row, if the
/// values are those of rows.
pub(super) fn check_decimals(array: &ArrayRef, first: Option<u64>) -> Result<()> {
    fn check<T: DecimalType>(array: &ArrayRef, first: Option<u64>, precision: u8, scale: i8) -> Result<()> {
        let fits = |value| T::validate_decimal_precision(value, precision, scale).is_ok();
        let Some(at) = array.as_primitive::<T>().iter().position(|value| value.is_some_and(|value| !fits(value)))
        else {
            return Ok(());
        };
        let text = decimal_text(array, at).unwrap_or_default();
        let error = Error::unsupported(format!("{text} has more digits than {}", array.data_type()));
        Err(match first {
            Some(first) => error.in_row(first + at as u64),
            None => error,
        })
    }
    fn items<O: OffsetSizeTrait>(values: &dyn Array, offsets: &OffsetBuffer<O>) -> ArrayRef {
        let [start, end] = [offsets.first(), offsets.last()].map(|offset| offset.map_or(0, |offset| offset.as_usize()));
        values.slice(start, end - start)
    }
    if !has_decimals(array.data_type()) {
        return Ok(());
    }
    let array = &without_hidden(array)?;
    match array.data_type() {
        DataType::Decimal32(precision, scale) => check::<Decimal32Type>(array, first, *precision, *scale),
        DataType::Decimal64(precision, scale) => check::<Decimal64Type>(array, first, *precision, *scale),
        DataType::Decimal128(precision, scale) => check::<Decimal128Type>(array, first, *precision, *scale),
        DataType::Decimal256(precision, scale) => check::<Decimal256Type>(array, first, *precision, *scale),
        DataType::Struct(_) => array.as_struct().columns().iter().try_for_each(|member| check_decimals(member, first)),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            check_decimals(&items(lists.values(), lists.offsets()), None)
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            check_decimals(&items(lists.values(), lists.offsets()), None)
        }
        DataType::FixedSizeList(..) => check_decimals(array.as_fixed_size_list().values(), None),
        DataType::Map(..) => check_decimals(&items(array.as_map().entries(), array.as_map().offsets()), None),
        DataType::Dictionary(..) => check_decimals(array.as_any_dictionary().values(), None),
        _ => Ok(()),
    }
}

fn has_decimals(found: &DataType) -> bool {
    match found {
        DataType::Dictionary(_, values) => has_decimals(values),
        leaf => leaf.is_decimal() || nested_types(leaf).into_iter().flatten().any(has_decimals),
    }
}

/// Copies a slice of an array, without the items of other slices, so that these are not converted once per slice.
fn sliced_items(data: ArrayData) -> Result<ArrayData> {
    // List views may share items between rows: copying could multiply them.
    if has_views(data.data_type()) {
        return Ok(data);
    }
    let rows = data.len();
    let mut own = MutableArrayData::new(vec![&data], false, rows);
    own.try_extend(0, 0, rows).map_err(from_arrow)?;
    Ok(own.freeze())
}

fn has_views(found: &DataType) -> bool {
    matches!(found, DataType::ListView(_) | DataType::LargeListView(_))
        || nested_types(found).into_iter().flatten().any(has_views)
}

fn convert_items(items: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if nested_types(to).is_some() || items.data_type() == to {
        return convert(items, to, 0);
    }
    convert_leaf(items, to)?.map_err(|mismatch| conversion_error(items, to, &mismatch))
}

fn conversion_error(array: &ArrayRef, to: &DataType, mismatch: &Mismatch) -> Error {
    let (value, from) = (mismatch.value, array.data_type());
    if let Some(bytes) = array.as_fixed_size_binary_opt() {
        return raw::unpack_error(bytes.value(mismatch.index), to);
    }
    match to {
        DataType::FixedSizeBinary(_) => Error::unsupported(format!(
            "the interval with {value} ns is not one of whole milliseconds in 32 bits, which Parquet has"
        )),
        DataType::Date32 => Error::unsupported(format!(
            "the date of {value} ms is not a multiple of {MILLIS_PER_DAY} ms: Parquet has dates of whole days only"
        )),
        DataType::Time32(TimeUnit::Second) | DataType::Timestamp(TimeUnit::Second, _) => {
            Error::invalid(format!("the time of {value} ms is not a whole second, but the file declares {to}"))
        }
        _ => Error::unsupported(format!("{value} ({from}) is out of range for Parquet's {to}")),
    }
}

fn convert_leaf(array: &ArrayRef, to: &DataType) -> Result<std::result::Result<ArrayRef, Mismatch>> {
    use DataType::{Date32, Date64, FixedSizeBinary, Interval, Time32, Timestamp};
    use TimeUnit::{Millisecond, Second};
    let to_millis = |value: i64| value.checked_mul(MILLIS_PER_SECOND);
    let to_seconds = |value: i64| (value % MILLIS_PER_SECOND == 0).then_some(value / MILLIS_PER_SECOND);
    let days = |value: i64| (value % MILLIS_PER_DAY == 0).then_some(value / MILLIS_PER_DAY);
    let converted = match (array.data_type(), to) {
        (Time32(Second), Time32(Millisecond)) => {
            convert_values::<Time32SecondType, Time32MillisecondType>(array, to, to_millis)
        }
        (Time32(Millisecond), Time32(Second)) => {
            convert_values::<Time32MillisecondType, Time32SecondType>(array, to, to_seconds)
        }
        (Timestamp(Second, _), Timestamp(Millisecond, _)) => {
            convert_values::<TimestampSecondType, TimestampMillisecondType>(array, to, to_millis)
        }
        (Timestamp(Millisecond, _), Timestamp(Second, _)) => {
            convert_values::<TimestampMillisecondType, TimestampSecondType>(array, to, to_seconds)
        }
        (Date64, Date32) => convert_values::<Date64Type, Date32Type>(array, to, days),
        (DataType::Utf8View, DataType::Utf8) => {
            Ok(Arc::new(array.as_string_view().iter().collect::<StringArray>()) as _)
        }
        (DataType::Utf8View, DataType::LargeUtf8) => {
            Ok(Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()) as _)
        }
        (DataType::BinaryView, DataType::Binary) => {
            Ok(Arc::new(array.as_binary_view().iter().collect::<BinaryArray>()) as _)
        }
        (DataType::BinaryView, DataType::LargeBinary) => {
            Ok(Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()) as _)
        }
        // Only the zone differs.
        (Timestamp(one, _), Timestamp(other, _)) if one == other => {
            let data = array.to_data().into_builder().data_type(to.clone()).build().map_err(from_arrow)?;
            Ok(make_array(data))
        }
        (DataType::Dictionary(..), DataType::Dictionary(_, to)) => {
            let dictionary = array.as_any_dictionary();
            Ok(dictionary.with_values(convert_items(dictionary.values(), to)?))
        }
        (Interval(IntervalUnit::MonthDayNano), FixedSizeBinary(_)) => raw::pack(array)?,
        (from, to) => match array.as_fixed_size_binary_opt() {
            Some(bytes) => raw::unpack(bytes, to)?,
            None => return Err(Error::invalid(format!("expected a column of {to}, found {from}"))),
        },
    };
    Ok(converted)
}

fn convert_values<A, B>(
    array: &ArrayRef,
    to: &DataType,
    step: impl Fn(i64) -> Option<i64>,
) -> std::result::Result<ArrayRef, Mismatch>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    A::Native: Into<i64>,
    B::Native: TryFrom<i64>,
{
    let array: &PrimitiveArray<A> = array.as_primitive();
    let fit = |value: A::Native| step(value.into()).and_then(|value| B::Native::try_from(value).ok());
    match array.try_unary::<_, B, ()>(|value| fit(value).ok_or(())) {
        Ok(converted) => Ok(Arc::new(converted.with_data_type(to.clone()))),
        Err(()) => {
            let mismatch = array.iter().enumerate().find(|(_, value)| value.is_some_and(|value| fit(value).is_none()));
            let (index, value) = mismatch.map_or((0, 0), |(index, value)| (index, value.map_or(0, Into::into)));
            Err(Mismatch { index, value })
        }
    }
}
