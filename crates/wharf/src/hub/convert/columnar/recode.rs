//! Converts arrays where ds and IDV hold the same values in different types, inside lists too. `meaning` chooses the conversion of each column.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int16Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, GenericStringArray, ListArray, OffsetSizeTrait, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Loss, Position, Result};
use idv::{DateTime, DateTimeOffset, ItemType, TimeSpan};

use super::super::super::DS;
use crate::batches::hidden::valid_items;
use crate::batches::of_integer;

/// Ticks of 100 ns in a microsecond, and in a minute.
const MICRO: i64 = 10;
const MINUTE: i64 = 600_000_000;

/// The NaN that .NET writes.
const NAN_SINGLE: f32 = f32::from_bits(0xFFC0_0000);
const NAN_DOUBLE: f64 = f64::from_bits(0xFFF8_0000_0000_0000);

/// The conversion of a column's items.
#[derive(Debug)]
pub(super) enum Recode {
    /// Unchanged.
    Keep,
    /// Ticks become microseconds.
    Micros,
    /// Ticks, times with an offset, and row ids become strings, as in rows.
    Texts(ItemType),
    /// Keys become their labels.
    Labels(ArrayRef),
    /// NaN becomes null.
    NanAsNull,
    /// Floats with integral values become integers, NaN becomes null.
    Integers(DataType),
    /// Strings become bytes.
    Bytes,
    /// Bytes become strings.
    Utf8,
    /// Microseconds become ticks.
    Ticks,
    /// Integers become floats, null becomes NaN. The nulls are counted.
    Doubles(NullCounts),
    /// Null becomes NaN, unless the column has NaN already.
    NullAsNan(NullCounts),
}

/// The first NaN and the first null of a column, and the number of nulls.
#[derive(Debug, Default)]
pub(super) struct NullCounts {
    /// The row of the first NaN.
    nan: Cell<Option<u64>>,
    /// The row of the first null.
    null: Cell<Option<u64>>,
    nulls: Cell<u64>,
}

/// Converts the columns of batches.
pub(super) struct Recoder {
    pub(super) schema: SchemaRef,
    /// For each output column, the index of its input column, and its conversion.
    pub(super) columns: Vec<(usize, Recode)>,
}

/// The index of a value that cannot be converted, and why.
type Fault = (usize, Error);

impl Recoder {
    /// Converts a batch whose first row is row `first` of its file.
    pub(super) fn batch(&self, batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let column = |((index, recode), field): (&(usize, Recode), &Arc<arrow_schema::Field>)| {
            let array = batch.columns().get(*index).ok_or_else(|| Error::usage("the batch has too few columns"))?;
            recode
                .apply(array, field.data_type(), first)
                .map_err(|error| error.in_column(field.name().clone()).in_format(DS))
        };
        let columns = self.columns.iter().zip(self.schema.fields()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(from_arrow)
    }
}

impl Recoder {
    /// Losses since the last call.
    pub(super) fn take_losses(&self) -> Vec<Loss> {
        let losses = self.columns.iter().zip(self.schema.fields()).filter_map(|((_, recode), field)| {
            let Recode::Doubles(rows) = recode else { return None };
            let count = rows.nulls.take();
            let mut first = Position::default();
            (first.column, first.row) = (Some(field.name().clone().into()), rows.null.take());
            let what = "null integer written as NaN, and its column as Double";
            (count > 0).then(|| Loss::new(what, count, first))
        });
        losses.collect()
    }
}

impl Recode {
    fn apply(&self, array: &ArrayRef, data_type: &DataType, first: u64) -> Result<ArrayRef> {
        let row_of = |wide: usize| move |place: usize| first + (place / wide.max(1)) as u64;
        let of_rows = |wide: usize| move |(place, error): Fault| error.in_row(row_of(wide)(place));
        match (array.data_type(), data_type) {
            (DataType::FixedSizeList(_, size), DataType::FixedSizeList(item, _)) => {
                let wide = usize::try_from(*size).unwrap_or(0);
                let items = valid_items(array.as_fixed_size_list(), wide)?;
                let items = self.items(&items, &row_of(wide)).map_err(of_rows(wide))?;
                let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, array.len());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            (DataType::List(_), DataType::FixedSizeList(item, size)) => {
                let wide = usize::try_from(*size).unwrap_or(0);
                let items = items_of_length(array.as_list::<i32>(), wide, first)?;
                let items = self.items(&items, &row_of(wide)).map_err(of_rows(wide))?;
                let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, array.len());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            (DataType::List(_), DataType::List(item)) => {
                let lists = array.as_list::<i32>();
                let row_of = |place: usize| {
                    let row = lists.value_offsets().partition_point(|end| usize::try_from(*end).unwrap_or(0) <= place);
                    first + row.saturating_sub(1) as u64
                };
                let items = self.items(lists.values(), &row_of);
                let items = items.map_err(|(place, error)| error.in_row(row_of(place)))?;
                let list = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), items, lists.nulls().cloned());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            _ => self.items(array, &row_of(1)).map_err(of_rows(1)),
        }
    }

    fn items(&self, array: &ArrayRef, row_of: &dyn Fn(usize) -> u64) -> Result<ArrayRef, Fault> {
        Ok(match self {
            Self::Keep => Arc::clone(array),
            Self::Micros => {
                let ticks = array.as_primitive::<Int64Type>();
                // A pass over the column found no such time.
                if let Some(place) = ticks.iter().position(|ticks| ticks.is_some_and(|ticks| ticks % MICRO != 0)) {
                    return Err((place, Error::invalid("a time is finer than a microsecond")));
                }
                Arc::new(ticks.unary::<_, Int64Type>(|ticks| ticks.div_euclid(MICRO)))
            }
            Self::Texts(item) => texts(*item, array)?,
            Self::Labels(labels) => {
                let numbers = key_numbers(array);
                let count = labels.len() as u64;
                if let Some(place) = numbers.iter().position(|key| key.is_some_and(|key| key >= count)) {
                    let detail = format!(
                        "key value {} has no label while others have: a variable has one type",
                        numbers.value(place)
                    );
                    return Err((place, Error::unsupported(detail)));
                }
                take(labels, &numbers, None).map_err(|error| (0, from_arrow(error)))?
            }
            Self::NanAsNull => match array.data_type() {
                DataType::Float32 => nan_as_null::<Float32Type>(array, |float| float.is_nan()),
                _ => nan_as_null::<Float64Type>(array, |float| float.is_nan()),
            },
            Self::Integers(data_type) => integers(array, data_type)?,
            Self::Bytes => {
                let texts = array.as_string::<i32>();
                Arc::new(BinaryArray::from(texts.clone()))
            }
            Self::Utf8 => match array.data_type() {
                DataType::LargeBinary => utf8::<i64>(array)?,
                _ => utf8::<i32>(array)?,
            },
            Self::Ticks => {
                let micros = array.as_primitive::<Int64Type>();
                let ticks = |(place, micros): (usize, Option<i64>)| {
                    let ticks = micros.map(|micros| micros.checked_mul(MICRO).ok_or(micros));
                    ticks.transpose().map_err(|micros| {
                        (place, Error::invalid(format!("{micros} microseconds are outside of the years 1 to 9999")))
                    })
                };
                Arc::new(micros.iter().enumerate().map(ticks).collect::<Result<PrimitiveArray<Int64Type>, Fault>>()?)
            }
            Self::Doubles(rows) => {
                rows.add_nulls(array, row_of);
                doubles(array)?
            }
            Self::NullAsNan(rows) => {
                rows.add_nulls(array, row_of);
                match array.data_type() {
                    DataType::Float32 => rows.null_as_nan::<Float32Type>(array, NAN_SINGLE, |x| x.is_nan(), row_of)?,
                    _ => rows.null_as_nan::<Float64Type>(array, NAN_DOUBLE, |x| x.is_nan(), row_of)?,
                }
            }
        })
    }
}

impl NullCounts {
    fn add_nulls(&self, array: &ArrayRef, row_of: &dyn Fn(usize) -> u64) {
        let nulls = array.null_count() as u64;
        if nulls > 0 && self.null.get().is_none() {
            self.null.set((0..array.len()).find(|place| array.is_null(*place)).map(row_of));
        }
        self.nulls.set(self.nulls.get() + nulls);
    }

    /// Replaces null by this NaN.
    fn null_as_nan<T: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        nan: T::Native,
        is_nan: impl Fn(&T::Native) -> bool,
        row_of: &dyn Fn(usize) -> u64,
    ) -> Result<ArrayRef, Fault> {
        let floats = array.as_primitive::<T>();
        let first = (0..floats.len()).find(|&place| floats.is_valid(place) && is_nan(&floats.value(place)));
        self.nan.set(self.nan.get().or(first.map(row_of)));
        if let (Some(nan), Some(null)) = (self.nan.get(), self.null.get()) {
            let detail = format!("NaN in row {nan} and a missing element in row {null}: IDV has NaN for both");
            let later = (0..floats.len()).find(|place| row_of(*place) >= nan.max(null)).unwrap_or(0);
            return Err((later, Error::unsupported(detail)));
        }
        let values = floats.iter().map(|float| float.unwrap_or(nan));
        Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
    }
}

/// The items of lists that all have this length; null for those of null lists. A pass over the column has shown their length.
fn items_of_length(lists: &ListArray, wide: usize, first: u64) -> Result<ArrayRef> {
    let offsets: Vec<usize> = lists.value_offsets().iter().map(|offset| offset.as_usize()).collect();
    let mut indexes = Vec::with_capacity(lists.len() * wide);
    for (row, pair) in offsets.windows(2).enumerate() {
        match pair {
            [start, end] if lists.is_valid(row) => {
                if end - start != wide {
                    let detail =
                        format!("expected a vector of {wide} items, as in the rows before, found {}", end - start);
                    return Err(Error::invalid(detail).in_row(first + row as u64));
                }
                indexes.extend((*start..*end).map(|at| Some(at as u64)));
            }
            _ => indexes.extend(std::iter::repeat_n(None, wide)),
        }
    }
    match offsets.first() {
        Some(start) if lists.null_count() == 0 => Ok(lists.values().slice(*start, indexes.len())),
        _ => take(lists.values(), &UInt64Array::from(indexes), None).map_err(from_arrow),
    }
}

/// Converts integers to floats exactly, null to NaN.
fn doubles(array: &ArrayRef) -> Result<ArrayRef, Fault> {
    fn all<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef) -> Result<ArrayRef, Fault> {
        let one = |(place, number): (usize, Option<T::Native>)| {
            let Some(number) = number.map(Into::into) else { return Ok(NAN_DOUBLE) };
            exact(number).ok_or_else(|| {
                let detail = format!(
                    "the integer {number} has no exact Double; the column becomes Double because others are null, which IDV integers cannot be"
                );
                (place, Error::unsupported(detail))
            })
        };
        let numbers = array.as_primitive::<T>().iter().enumerate().map(one).collect::<Result<Vec<f64>, Fault>>()?;
        Ok(Arc::new(PrimitiveArray::<Float64Type>::from(numbers)))
    }
    of_integer!(array.data_type(), all(array), _ => Ok(Arc::clone(array)))
}

/// The float that equals an integer, if there is one.
pub(in super::super) fn exact(number: i128) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "what is lost is found in the next line")]
    let float = number as f64;
    #[expect(clippy::cast_possible_truncation, reason = "a float that was an integer of 65 bits or fewer")]
    let back = float as i128;
    (back == number).then_some(float)
}

/// Converts bytes to strings.
fn utf8<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<ArrayRef, Fault> {
    let bytes = array.as_binary::<O>();
    for (place, bytes) in bytes.iter().enumerate() {
        if let Some(Err(error)) = bytes.map(std::str::from_utf8) {
            let detail = format!(
                "invalid UTF-8 at byte {} of a byte string, and IDV has only text: JSON lines keep the bytes",
                error.valid_up_to()
            );
            return Err((place, Error::unsupported(detail)));
        }
    }
    let texts = GenericStringArray::<O>::try_from_binary(bytes.clone());
    Ok(Arc::new(texts.map_err(|error| (0, from_arrow(error)))?))
}

/// Strings for values that ds has no type for, as in rows.
fn texts(item: ItemType, array: &ArrayRef) -> Result<ArrayRef, Fault> {
    let ticks = |show: fn(i64) -> String| -> ArrayRef {
        let texts = array.as_primitive::<Int64Type>().iter().map(|ticks| ticks.map(show));
        Arc::new(texts.collect::<StringArray>())
    };
    Ok(match item {
        ItemType::RowId => {
            let id = |id: Option<&[u8]>| id.and_then(|id| Some(u128::from_le_bytes(id.try_into().ok()?)));
            let texts = array.as_fixed_size_binary().iter().map(|bytes| id(bytes).map(|id| format!("{id:032x}")));
            Arc::new(texts.collect::<StringArray>())
        }
        ItemType::DateTimeOffset | ItemType::DvDateTimeZone => {
            let all = array.as_struct();
            let [moments, offsets] = all.columns() else { return Err((0, Error::usage("a time without an offset"))) };
            let (moments, offsets) = (moments.as_primitive::<Int64Type>(), offsets.as_primitive::<Int16Type>());
            let text = |place: usize| {
                let there = all.is_valid(place) && moments.is_valid(place) && offsets.is_valid(place);
                there.then(|| {
                    let (moment, minutes) = (moments.value(place), offsets.value(place));
                    DateTimeOffset::new(moment.wrapping_add(i64::from(minutes) * MINUTE), minutes).to_string()
                })
            };
            Arc::new((0..all.len()).map(text).collect::<StringArray>())
        }
        ItemType::DateTime | ItemType::DvDateTime => ticks(|ticks| DateTime(ticks).to_string()),
        _ => ticks(|ticks| TimeSpan(ticks).to_string()),
    })
}

/// Keys of any width.
fn key_numbers(array: &ArrayRef) -> UInt64Array {
    match array.data_type() {
        DataType::UInt8 => array.as_primitive::<UInt8Type>().unary(u64::from),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().unary(u64::from),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().unary(u64::from),
        _ => array.as_primitive::<UInt64Type>().clone(),
    }
}

fn nan_as_null<T: ArrowPrimitiveType>(array: &ArrayRef, is_nan: impl Fn(&T::Native) -> bool) -> ArrayRef {
    let floats = array.as_primitive::<T>();
    let there = BooleanBuffer::collect_bool(floats.len(), |at| floats.values().get(at).is_some_and(|x| !is_nan(x)));
    let nulls = NullBuffer::union(floats.nulls(), Some(&NullBuffer::new(there)));
    Arc::new(PrimitiveArray::<T>::new(floats.values().clone(), nulls))
}

/// Floats as the integers that they were.
fn integers(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, Fault> {
    fn all<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(array: &ArrayRef) -> Result<ArrayRef, Fault> {
        let one = |(place, float): (usize, Option<f64>)| {
            let Some(float) = float.filter(|float| !float.is_nan()) else { return Ok(None) };
            #[expect(clippy::cast_possible_truncation, reason = "what is beyond 128 bits is beyond all integers here")]
            let number = float as i128;
            let number = T::Native::try_from(number).ok().filter(|_| float.fract() == 0.0);
            number.map(Some).ok_or_else(|| {
                let detail = format!("{float} is not of the type {}, which the metadata name", T::DATA_TYPE);
                (place, Error::invalid(detail))
            })
        };
        let numbers = array.as_primitive::<Float64Type>().iter().enumerate().map(one);
        Ok(Arc::new(numbers.collect::<Result<PrimitiveArray<T>, Fault>>()?))
    }
    of_integer!(data_type, all(array), _ => Ok(Arc::clone(array)))
}
