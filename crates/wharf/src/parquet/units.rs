//! Units of Arrow that Parquet has no type for: they are stored in the next one that it has, which every reader knows, and come back as they were
//! by the schema of Arrow in the file.
//!
//! Without this, the library stores them as plain numbers, and whoever does not follow its reading of that schema sees numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Time32MillisecondType, Time32SecondType, TimestampMillisecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeListArray, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, StringArray, make_array,
};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use container_core::{Error, Result};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::FileMetaData;

use super::source::from_arrow;

const SECOND: i64 = 1000;
const DAY: i64 = 86_400_000;

/// The schema of what is stored: itself where all has its type in Parquet.
pub(super) fn stored(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(stored_field).collect();
    if fields.iter().zip(schema.fields()).all(|(one, other)| Arc::ptr_eq(one, other)) {
        return Arc::clone(schema);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A column as it is stored. pyarrow takes a tensor for one only where the items are optional: its type for tensors has no others.
fn stored_field(field: &FieldRef) -> FieldRef {
    with_items(&with_types(field, &mut stored_type), true)
}

/// The tensor with nullable items, or with others; the same field if it is no tensor or has them.
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

/// The types of dictionaries and runs stay: that they come back as such is worth more.
fn stored_type(found: &DataType) -> Option<DataType> {
    match found {
        DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Some(DataType::Timestamp(TimeUnit::Millisecond, zone.as_ref().map(Arc::clone)))
        }
        DataType::Date64 => Some(DataType::Date32),
        _ => None,
    }
}

/// The field with other types of what is not nested in it; the same one if there are none.
fn with_types(field: &FieldRef, change: &mut impl FnMut(&DataType) -> Option<DataType>) -> FieldRef {
    let mut inner = |item: &FieldRef, make: &dyn Fn(FieldRef) -> DataType| {
        let changed = with_types(item, change);
        (!Arc::ptr_eq(item, &changed)).then(|| make(changed))
    };
    let changed = match field.data_type() {
        DataType::List(item) => inner(item, &DataType::List),
        DataType::LargeList(item) => inner(item, &DataType::LargeList),
        DataType::ListView(item) => inner(item, &DataType::ListView),
        DataType::LargeListView(item) => inner(item, &DataType::LargeListView),
        DataType::FixedSizeList(item, size) => inner(item, &|item| DataType::FixedSizeList(item, *size)),
        DataType::Map(entries, sorted) => inner(entries, &|entries| DataType::Map(entries, *sorted)),
        DataType::Struct(members) => {
            let changed: Vec<FieldRef> = members.iter().map(|member| with_types(member, change)).collect();
            let same = changed.iter().zip(members).all(|(one, other)| Arc::ptr_eq(one, other));
            (!same).then(|| DataType::Struct(changed.into()))
        }
        plain => change(plain),
    };
    changed.map_or_else(|| Arc::clone(field), |changed| Arc::new(Field::clone(field).with_data_type(changed)))
}

/// The schema that was written, as far as it can be had of what the library reads by what the file says.
pub(super) fn restored(read: &SchemaRef, file: &FileMetaData) -> Result<SchemaRef> {
    let pairs = file.key_value_metadata().into_iter().flatten();
    let encoded = pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).find_map(|pair| pair.value.as_ref());
    let Some(encoded) = encoded else { return Ok(Arc::clone(read)) };
    // The library has decoded it, or there would be no schema.
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .map_err(|error| Error::invalid(format!("the schema of Arrow in the footer is no base64: {error}")))?;
    let message = match bytes.split_at_checked(8) {
        Some((mark, message)) if mark.starts_with(&[255; 4]) => message,
        _ => &bytes,
    };
    let written = crate::batches::guarded("the schema of Arrow in the footer", || {
        arrow_ipc::convert::try_schema_from_flatbuffer_bytes(message).map_err(from_arrow)
    })?;
    let fields: Vec<FieldRef> = read
        .fields()
        .iter()
        .enumerate()
        .map(|(place, field)| match written.fields().get(place) {
            Some(written) if written.name() == field.name() => restored_field(field, written),
            _ => Arc::clone(field),
        })
        .collect();
    if fields.iter().zip(read.fields()).all(|(one, other)| Arc::ptr_eq(one, other)) {
        return Ok(Arc::clone(read));
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, read.metadata().clone())))
}

fn restored_field(read: &FieldRef, written: &Field) -> FieldRef {
    // Both are walked in one order, as their shapes are the same.
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
        // Other writers store nanoseconds as microseconds, where they are asked for an old version: the zone is the same.
        (DataType::Timestamp(unit, Some(_)), DataType::Timestamp(_, Some(zone))) => {
            DataType::Timestamp(*unit, Some(Arc::clone(zone)))
        }
        _ => return None,
    };
    (restored != *read).then_some(restored)
}

/// What is nested in a type, or nothing.
fn inner(found: &DataType) -> Option<Vec<&DataType>> {
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
    match (inner(one), inner(other)) {
        (Some(some), Some(others)) => {
            std::mem::discriminant(one) == std::mem::discriminant(other)
                && some.len() == others.len()
                && some.into_iter().zip(others).all(|(one, other)| same_shape(one, other))
        }
        (None, None) => true,
        _ => false,
    }
}

/// The field with views of texts and of bytes; the same one if there are none.
pub(super) fn with_views(field: &FieldRef) -> FieldRef {
    with_types(field, &mut |found| match found {
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        _ => None,
    })
}

fn push_leaves<'a>(found: &'a DataType, leaves: &mut Vec<&'a DataType>) {
    match inner(found) {
        Some(types) => types.into_iter().for_each(|found| push_leaves(found, leaves)),
        None => leaves.push(found),
    }
}

/// A value that the other type does not hold, by its place among those of its array.
#[derive(Debug)]
struct Misfit {
    place: usize,
    value: i64,
}

/// The values in another type that [`stored`], [`restored`] or [`with_views`] gave. `first` is the number of the first row, for errors.
pub(super) fn convert(array: &ArrayRef, to: &DataType, first: u64) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    // The same items, which may be null or not: nothing is copied.
    if let (DataType::FixedSizeList(item, size), Some(lists)) = (to, array.as_fixed_size_list_opt())
        && lists.value_type() == *item.data_type()
    {
        let (values, nulls) = (Arc::clone(lists.values()), lists.nulls().cloned());
        let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, values, nulls, lists.len());
        return Ok(Arc::new(lists.map_err(from_arrow)?));
    }
    if let Some(types) = inner(to) {
        let data = own_items(array.to_data())?;
        // Rows of nested values are not known here.
        let items = |(items, to)| convert_plain(&make_array(items), to);
        let children = data.child_data().iter().cloned().zip(types).map(items).collect::<Result<Vec<_>>>()?;
        let children = children.iter().map(Array::to_data).collect();
        let data = data.into_builder().data_type(to.clone()).child_data(children).build().map_err(from_arrow)?;
        return Ok(make_array(data));
    }
    convert_leaf(array, to)?.map_err(|misfit| refused(array, to, &misfit).in_row(first + misfit.place as u64))
}

/// A piece of a long array has the items of all of it: of the piece's own alone, so that many pieces do not convert them each.
fn own_items(data: ArrayData) -> Result<ArrayData> {
    // Items of views may be there for many rows: copied for each they would be more than there are.
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
        || inner(found).into_iter().flatten().any(has_views)
}

fn convert_plain(items: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if inner(to).is_some() || items.data_type() == to {
        return convert(items, to, 0);
    }
    convert_leaf(items, to)?.map_err(|misfit| refused(items, to, &misfit))
}

fn refused(array: &ArrayRef, to: &DataType, misfit: &Misfit) -> Error {
    let (value, from) = (misfit.value, array.data_type());
    match to {
        DataType::Date32 => Error::unsupported(format!(
            "the date of {value} ms is no whole day (of {DAY} ms), and Parquet has dates of whole days alone"
        )),
        DataType::Time32(TimeUnit::Second) | DataType::Timestamp(TimeUnit::Second, _) => Error::invalid(format!(
            "a time is {value} ms, which is no whole second, and the file says it was written as {to}"
        )),
        _ => Error::unsupported(format!("{value} ({from}) is more than Parquet's {to} holds")),
    }
}

fn convert_leaf(array: &ArrayRef, to: &DataType) -> Result<std::result::Result<ArrayRef, Misfit>> {
    use DataType::{Date32, Date64, Time32, Timestamp};
    use TimeUnit::{Millisecond, Second};
    let longer = |value: i64| value.checked_mul(SECOND);
    let shorter = |value: i64| (value % SECOND == 0).then_some(value / SECOND);
    let days = |value: i64| (value % DAY == 0).then_some(value / DAY);
    let converted = match (array.data_type(), to) {
        (Time32(Second), Time32(Millisecond)) => each::<Time32SecondType, Time32MillisecondType>(array, to, longer),
        (Time32(Millisecond), Time32(Second)) => each::<Time32MillisecondType, Time32SecondType>(array, to, shorter),
        (Timestamp(Second, _), Timestamp(Millisecond, _)) => {
            each::<TimestampSecondType, TimestampMillisecondType>(array, to, longer)
        }
        (Timestamp(Millisecond, _), Timestamp(Second, _)) => {
            each::<TimestampMillisecondType, TimestampSecondType>(array, to, shorter)
        }
        (Date64, Date32) => each::<Date64Type, Date32Type>(array, to, days),
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
        // Another zone: the numbers are the same.
        (Timestamp(one, _), Timestamp(other, _)) if one == other => {
            let data = array.to_data().into_builder().data_type(to.clone()).build().map_err(from_arrow)?;
            Ok(make_array(data))
        }
        (from, to) => return Err(Error::invalid(format!("the column is {from} where the schema says {to}"))),
    };
    Ok(converted)
}

fn each<A, B>(
    array: &ArrayRef,
    to: &DataType,
    step: impl Fn(i64) -> Option<i64>,
) -> std::result::Result<ArrayRef, Misfit>
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
            let misfit = array.iter().enumerate().find(|(_, value)| value.is_some_and(|value| fit(value).is_none()));
            let (place, value) = misfit.map_or((0, 0), |(place, value)| (place, value.map_or(0, Into::into)));
            Err(Misfit { place, value })
        }
    }
}
