//! Casts: every value exactly as another type, or not at all.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, PrimitiveArray, StructArray, UInt64Array,
    downcast_temporal,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use arrow_select::take::take;
use container_arrow::{
    BatchScan, Class, Columns, Mapping, OnMismatch, Slot, add_losses, decimal_text, from_arrow, parse_time, write_time,
};
use container_core::{Error, ErrorKind, Limits, Loss, Result};

use super::FloatWidth;
use crate::batches::hidden::without_hidden;
use crate::batches::of_integer;
use crate::text::scalar::Scalar;

/// More digits than this have no exact form as a double.
const DOUBLE_DIGITS: usize = 15;

/// The type that a cast to `to` gives a column of this type: that of the elements of a vector, when `to` is not a vector.
pub(super) fn target(from: &DataType, to: &DataType) -> DataType {
    let is_list = |data_type: &DataType| {
        matches!(data_type, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
    };
    if is_list(to) {
        return to.clone();
    }
    let item = |item: &FieldRef| Arc::new(Field::clone(item).with_data_type(target(item.data_type(), to)));
    match from {
        DataType::List(of) => DataType::List(item(of)),
        DataType::LargeList(of) => DataType::LargeList(item(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of), *size),
        _ => to.clone(),
    }
}

/// The type with all floating-point numbers in this width.
pub(super) fn with_floats(from: &DataType, width: FloatWidth) -> DataType {
    let item = |item: &FieldRef| Arc::new(Field::clone(item).with_data_type(with_floats(item.data_type(), width)));
    match from {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => width.data_type(),
        DataType::List(of) => DataType::List(item(of)),
        DataType::LargeList(of) => DataType::LargeList(item(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of), *size),
        DataType::Struct(members) => DataType::Struct(members.iter().map(item).collect()),
        other => other.clone(),
    }
}

/// The type with nullable elements and members at all levels, for casts that can make a value null.
pub(super) fn nullable(data_type: &DataType) -> DataType {
    let item = |item: &FieldRef| {
        let data_type = nullable(item.data_type());
        Arc::new(Field::clone(item).with_data_type(data_type).with_nullable(true))
    };
    match data_type {
        DataType::List(of) => DataType::List(item(of)),
        DataType::LargeList(of) => DataType::LargeList(item(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(item(of), *size),
        DataType::Struct(members) => DataType::Struct(members.iter().map(item).collect()),
        other => other.clone(),
    }
}

/// Whether a cast from this type can make a value null that was none.
pub(super) fn makes_null(from: &DataType, on_mismatch: OnMismatch) -> bool {
    match from {
        _ if on_mismatch == OnMismatch::Null => true,
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            makes_null(of.data_type(), on_mismatch)
        }
        DataType::Dictionary(_, labels) => makes_null(labels, on_mismatch),
        DataType::Null => true,
        other => is_text(other),
    }
}

/// Fails when no value of the first type has a form in the other.
pub(super) fn check(from: &DataType, to: &DataType) -> Result<()> {
    let all = match (from, to) {
        (from, to) if from == to => return Ok(()),
        (DataType::Dictionary(_, labels), to) => return check(labels, to),
        (DataType::FixedSizeList(from, size), DataType::FixedSizeList(to, same)) if size == same => {
            return check(from.data_type(), to.data_type());
        }
        (DataType::List(from), DataType::List(to)) | (DataType::LargeList(from), DataType::LargeList(to)) => {
            return check(from.data_type(), to.data_type());
        }
        (DataType::Struct(from), DataType::Struct(to)) if from.len() == to.len() => {
            let mut members = from.iter().zip(to);
            return members.try_for_each(|(from, to)| check(from.data_type(), to.data_type()));
        }
        (DataType::Null, to) => !to.is_nested(),
        (from, to) if is_text(from) => is_text(to) || is_number(to) || *to == DataType::Boolean || is_time(to),
        (DataType::Boolean, to) => is_text(to) || is_number(to),
        (from, DataType::Boolean) => from.is_integer(),
        (from, to) if is_number(from) || from.is_decimal() => is_text(to) || is_number(to),
        (from, to) if is_time(from) => is_text(to) || same_times(from, to),
        _ => false,
    };
    if all { Ok(()) } else { Err(Error::usage(format!("{from} cannot be cast to {to}"))) }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, labels) => is_text(labels),
        other => other.is_string(),
    }
}

pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating()
}

fn is_time(data_type: &DataType) -> bool {
    data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
}

/// Whether values of both types mean the same kind of time. Times with and without a zone do not.
fn same_times(from: &DataType, to: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};

    match (from, to) {
        (Timestamp(_, one), Timestamp(_, other)) => one.is_some() == other.is_some(),
        (Date32 | Date64 | Timestamp(_, None), Date32 | Date64 | Timestamp(_, None))
        | (Time32(_) | Time64(_), Time32(_) | Time64(_))
        | (Duration(_), Duration(_)) => true,
        _ => false,
    }
}

/// Where values are, and what becomes of those that do not fit.
pub(super) struct Cast<'a> {
    /// The name of the column.
    pub(super) column: &'a str,
    /// The number of the first row.
    pub(super) first: u64,
    pub(super) on_mismatch: OnMismatch,
    /// Receives values that became null.
    pub(super) losses: &'a mut Vec<Loss>,
}

/// The row of an element of an array, counted from the first one.
type RowOf<'r> = &'r dyn Fn(usize) -> usize;

impl Cast<'_> {
    /// Casts a column. [`check`] accepts the types.
    pub(super) fn column(&mut self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        self.array(array, to, &|row| row)
    }

    fn array(&mut self, array: &ArrayRef, to: &DataType, row: RowOf<'_>) -> Result<ArrayRef> {
        if array.data_type() == to {
            return Ok(Arc::clone(array));
        }
        // Values under null structs and lists can be anything.
        let array = &without_hidden(array)?;
        match (array.data_type(), to) {
            (DataType::Dictionary(..), _) => {
                let labels = array.as_any_dictionary();
                let plain = take(labels.values(), &indexes(array), None).map_err(from_arrow)?;
                self.array(&plain, to, row)
            }
            (DataType::FixedSizeList(_, size), DataType::FixedSizeList(item, _)) => {
                let lists = array.as_fixed_size_list();
                let width = usize::try_from(*size).unwrap_or(0);
                let items = self.array(lists.values(), item.data_type(), &|at| row(at / width.max(1)))?;
                let nulls = lists.nulls().cloned();
                let cast = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, nulls, lists.len());
                Ok(Arc::new(cast.map_err(from_arrow)?))
            }
            (DataType::List(_), DataType::List(item)) => self.lists(array.as_list::<i32>(), item, row),
            (DataType::LargeList(_), DataType::LargeList(item)) => self.lists(array.as_list::<i64>(), item, row),
            (DataType::Struct(_), DataType::Struct(members)) => self.members(array.as_struct(), members, row),
            (DataType::Float64, DataType::Float32) => match narrowed(array.as_primitive()) {
                Some(narrow) => Ok(Arc::new(narrow)),
                None => self.leaves(array, to, row),
            },
            _ => self.leaves(array, to, row),
        }
    }

    fn lists<O: OffsetSizeTrait>(
        &mut self,
        lists: &GenericListArray<O>,
        item: &FieldRef,
        row: RowOf<'_>,
    ) -> Result<ArrayRef> {
        let offsets = lists.value_offsets();
        let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
        let (start, end) = (at(offsets.first()), at(offsets.last()));
        let items = lists.values().slice(start, end - start);
        let row_of = |at: usize| row(offsets.partition_point(|offset| offset.as_usize() <= at + start) - 1);
        let items = self.array(&items, item.data_type(), &row_of)?;
        let lengths = offsets.windows(2).map(|pair| at(pair.get(1)) - at(pair.first()));
        let cast = GenericListArray::<O>::try_new(
            Arc::clone(item),
            OffsetBuffer::from_lengths(lengths),
            items,
            lists.nulls().cloned(),
        );
        Ok(Arc::new(cast.map_err(from_arrow)?))
    }

    fn members(&mut self, structs: &StructArray, members: &Fields, row: RowOf<'_>) -> Result<ArrayRef> {
        let columns = structs.columns().iter().zip(members);
        let columns = columns.map(|(column, member)| self.array(column, member.data_type(), row));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let cast = StructArray::try_new_with_length(members.clone(), columns, structs.nulls().cloned(), structs.len());
        Ok(Arc::new(cast.map_err(from_arrow)?))
    }

    /// Casts values one by one.
    fn leaves(&mut self, array: &ArrayRef, to: &DataType, row: RowOf<'_>) -> Result<ArrayRef> {
        let on_mismatch = match self.on_mismatch {
            OnMismatch::Null => OnMismatch::Null,
            // A cast names the type, so that nothing else can be read in its place.
            _ => OnMismatch::Error,
        };
        let scan = BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
        let schema = Schema::new(vec![Field::new(self.column, to.clone(), true)]);
        let mut columns = Columns::new(Arc::new(schema), &scan, &Limits::default())?;
        let mut values = Values::new(array)?;
        let mut text = String::new();
        for at in 0..array.len() {
            let number = self.first.saturating_add(row(at) as u64);
            let mut object = columns.row(number);
            if let Some(slot) = object.at(0) {
                let put = match array.is_null(at) {
                    true => {
                        slot.null();
                        Ok(())
                    }
                    false => values.put(at, slot, &mut text),
                };
                put.map_err(|error| self.failed(error, &values.shown(at), number, to))?;
            }
            object.end();
        }
        let cast = columns.finish()?;
        let mut losses = columns.take_losses();
        losses.iter_mut().for_each(|loss| loss.what = format!("value that cannot be cast to {to} shown as null"));
        add_losses(self.losses, losses);
        Ok(Arc::clone(cast.column(0)))
    }

    #[cold]
    fn failed(&self, error: Error, value: &str, row: u64, to: &DataType) -> Error {
        if error.kind() != ErrorKind::Invalid {
            return error;
        }
        let advice = "{on_mismatch} null makes such values null";
        let detail = format!("{value} cannot be cast to {to}");
        Error::invalid(detail).in_row(row).in_column(self.column.to_owned()).advising(advice)
    }
}

/// The index of each label of a dictionary; null for null.
fn indexes(array: &ArrayRef) -> UInt64Array {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return UInt64Array::new_null(array.len());
    }
    let keys = dictionary.normalized_keys().into_iter().map(|key| key as u64);
    UInt64Array::new(keys.collect(), dictionary.nulls().cloned())
}

/// Rounds to single precision; `None` when a finite number becomes infinite.
fn narrowed(array: &PrimitiveArray<Float64Type>) -> Option<PrimitiveArray<Float32Type>> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what this cast is for")]
    let narrow = |value: f64| value as f32;
    let overflows = array.iter().flatten().any(|value| value.is_finite() && narrow(value).is_infinite());
    (!overflows).then(|| array.unary(narrow))
}

/// The values of an array, by kind.
enum Values<'a> {
    Null,
    Bool(&'a arrow_array::BooleanArray),
    Integer(Box<dyn Fn(usize) -> i128 + 'a>),
    Float(Box<dyn Fn(usize) -> f64 + 'a>),
    /// Floats whose shortest digits are those of 32 bits.
    Single(Box<dyn Fn(usize) -> f32 + 'a>),
    Decimal(Box<dyn Fn(usize) -> String + 'a>),
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
    Time(&'a DataType, Box<dyn Fn(usize) -> i64 + 'a>),
}

impl<'a> Values<'a> {
    fn new(array: &'a ArrayRef) -> Result<Self> {
        fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef) -> Values<'_> {
            let values = array.as_primitive::<T>();
            Values::Integer(Box::new(|at| values.value(at).into()))
        }

        fn times<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Values<'_> {
            let values = array.as_primitive::<T>();
            Values::Time(array.data_type(), Box::new(|at| values.value(at).into()))
        }

        macro_rules! times_of {
            ($of:ty, $array:ident) => {
                times::<$of>($array)
            };
        }

        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Float16 => {
                let values = array.as_primitive::<Float16Type>();
                Self::Single(Box::new(|at| values.value(at).to_f32()))
            }
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>();
                Self::Single(Box::new(|at| values.value(at)))
            }
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>();
                Self::Float(Box::new(|at| values.value(at)))
            }
            other if other.is_decimal() => Self::Decimal(Box::new(|at| decimal_text(array, at).unwrap_or_default())),
            DataType::Utf8 => {
                let values = array.as_string::<i32>();
                Self::Text(Box::new(|at| values.value(at)))
            }
            DataType::LargeUtf8 => {
                let values = array.as_string::<i64>();
                Self::Text(Box::new(|at| values.value(at)))
            }
            DataType::Utf8View => {
                let values = array.as_string_view();
                Self::Text(Box::new(|at| values.value(at)))
            }
            DataType::Duration(TimeUnit::Second) => times::<DurationSecondType>(array),
            DataType::Duration(TimeUnit::Millisecond) => times::<DurationMillisecondType>(array),
            DataType::Duration(TimeUnit::Microsecond) => times::<DurationMicrosecondType>(array),
            DataType::Duration(TimeUnit::Nanosecond) => times::<DurationNanosecondType>(array),
            other => downcast_temporal! {
                other => (times_of, array),
                other if other.is_integer() => of_integer!(other, integers(array), _ => Self::Null),
                other => return Err(Error::usage(format!("{other} cannot be cast"))),
            },
        })
    }

    /// A value in messages.
    fn shown(&self, at: usize) -> String {
        const MAX_SHOWN: usize = 60;
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(values) => values.value(at).to_string(),
            Self::Integer(value) => value(at).to_string(),
            Self::Single(value) => value(at).to_string(),
            Self::Float(value) => format!("{:?}", value(at)),
            Self::Decimal(value) => value(at),
            Self::Text(value) => format!("{:?}", value(at).chars().take(MAX_SHOWN).collect::<String>()),
            Self::Time(from, value) => {
                let mut text = String::new();
                if write_time(from, value(at), &mut text) { text } else { value(at).to_string() }
            }
        }
    }

    /// Writes a value that is not null. `text` is a buffer.
    fn put(&mut self, at: usize, slot: Slot<'_>, text: &mut String) -> Result<()> {
        text.clear();
        let to_text = is_text(slot.data_type());
        match self {
            Self::Null => {
                slot.null();
                Ok(())
            }
            Self::Bool(values) => match values.value(at) {
                value if to_text => slot.str(if value { "true" } else { "false" }),
                value => slot.i64(value.into()),
            },
            Self::Integer(value) => put_integer(value(at), to_text, slot, text),
            Self::Single(value) => match value(at) {
                value if to_text && value.is_finite() => slot.str(&shortest(&value)),
                value if to_text => slot.str(word(value.into())),
                value => put_float(value.into(), slot),
            },
            Self::Float(value) => match value(at) {
                value if to_text && value.is_finite() => slot.str(&shortest(&value)),
                value if to_text => slot.str(word(value)),
                value => put_float(value, slot),
            },
            Self::Decimal(value) => {
                let digits = value(at);
                match to_text {
                    true => slot.str(&digits),
                    false if slot.data_type().is_floating() && significant(&digits) > DOUBLE_DIGITS => {
                        slot.on_mismatch(Class::Number)
                    }
                    false => put_text(&digits, slot),
                }
            }
            Self::Text(value) => put_text(value(at), slot),
            Self::Time(from, value) => match write_time(from, value(at), text) {
                true => put_time(text, slot),
                false => slot.on_mismatch(Class::Integer),
            },
        }
    }
}

fn put_integer(value: i128, to_text: bool, slot: Slot<'_>, text: &mut String) -> Result<()> {
    if to_text {
        // Writing to memory does not fail.
        let _ = write!(text, "{value}");
        return slot.str(text);
    }
    match (slot.data_type(), value) {
        (DataType::Boolean, 0 | 1) => slot.bool(value == 1),
        (DataType::Boolean, _) => slot.on_mismatch(Class::Integer),
        _ => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => slot.i64(value),
            (_, Ok(value)) => slot.u64(value),
            _ => slot.on_mismatch(Class::Integer),
        },
    }
}

/// Writes a float; a narrower float column gets it rounded.
fn put_float(value: f64, slot: Slot<'_>) -> Result<()> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what this cast is for")]
    let single = value as f32;
    let rounded = match slot.data_type() {
        DataType::Float32 => single,
        DataType::Float16 => <Float16Type as ArrowPrimitiveType>::Native::from_f64(value).to_f32(),
        _ => return slot.f64(value),
    };
    match value.is_finite() && rounded.is_infinite() {
        true => slot.on_mismatch(Class::Float),
        false => slot.f32(rounded),
    }
}

/// Writes text as a cell of CSV denotes it; empty text is null, except for text.
fn put_text(text: &str, slot: Slot<'_>) -> Result<()> {
    let to = slot.data_type();
    if is_text(to) {
        return slot.str(text);
    }
    if text.is_empty() {
        slot.null();
        return Ok(());
    }
    if is_time(to) {
        return put_time(text, slot);
    }
    match (Scalar::parse(text), to) {
        (Scalar::Bool(value), DataType::Boolean) => slot.bool(value),
        (_, DataType::Boolean) => slot.on_mismatch(Class::Text),
        (Scalar::Integer(value), _) => slot.i64(value),
        (Scalar::Large(value, exact), _) => match u64::try_from(value) {
            Ok(value) => slot.u64(value),
            Err(_) if exact => put_float(text.parse().unwrap_or(f64::NAN), slot),
            Err(_) => slot.on_mismatch(Class::Number),
        },
        (Scalar::Float(value), _) => put_float(value.or_else(|| text.parse().ok()).unwrap_or(f64::NAN), slot),
        (Scalar::NonFinite, to) if to.is_floating() => slot.str(text),
        (Scalar::Overflow, _) => slot.on_mismatch(Class::Number),
        _ => slot.on_mismatch(Class::Text),
    }
}

/// Writes ISO 8601. Midnight is a date.
fn put_time(text: &str, slot: Slot<'_>) -> Result<()> {
    match slot.data_type() {
        to @ (DataType::Date32 | DataType::Date64) if parse_time(to, text).is_none() => {
            slot.str(text.strip_suffix("T00:00:00").unwrap_or(text))
        }
        _ => slot.str(text),
    }
}

/// The fewest digits of a finite float that read back the same, as JSON and CSV outputs have them.
fn shortest(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

const fn word(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

/// The number of significant digits of a decimal.
fn significant(text: &str) -> usize {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    if text.contains('.') { digits.trim_end_matches('0').len() } else { digits.len() }
}
