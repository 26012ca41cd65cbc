//! Values that two formats hold in different types: arrays of one become those of the other, in lists, too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, ListArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Result};
use idv::{DateTime, DateTimeOffset, ItemType, TimeSpan};

/// Ticks of a microsecond and of a minute.
const MICRO: i64 = 10;
const MINUTE: i64 = 600_000_000;

/// What becomes of the items of a column.
#[derive(Debug)]
pub(super) enum Recode {
    /// They stay what they are.
    Keep,
    /// Ticks become microseconds.
    Micros,
    /// Ticks, times with an offset, and row ids become the texts that rows show.
    Texts(ItemType),
    /// Numbers of keys become their labels.
    Labels(ArrayRef),
    /// NaN becomes null.
    NanAsNull,
    /// Floats become the integers that they are, NaN null.
    Integers(DataType),
    /// Texts become their bytes.
    Bytes,
}

/// Batches with columns of other types.
pub(super) struct Recoder {
    pub(super) schema: SchemaRef,
    /// The column of a batch that each comes from.
    pub(super) columns: Vec<(usize, Recode)>,
}

/// A value that has no like, and its place.
type Fault = (usize, Error);

impl Recoder {
    /// The same rows, of which the first is row `first` of its file.
    pub(super) fn batch(&self, batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let column = |((index, recode), field): (&(usize, Recode), &Arc<arrow_schema::Field>)| {
            let array = batch.columns().get(*index).ok_or_else(|| Error::usage("the batch lacks a column"))?;
            recode.apply(array, field.data_type(), first).map_err(|error| error.in_column(field.name().clone()))
        };
        let columns = self.columns.iter().zip(self.schema.fields()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(from_arrow)
    }
}

impl Recode {
    fn apply(&self, array: &ArrayRef, wanted: &DataType, first: u64) -> Result<ArrayRef> {
        let of_rows = |wide: usize| move |(place, error): Fault| error.in_row(first + (place / wide.max(1)) as u64);
        match (array.data_type(), wanted) {
            (DataType::FixedSizeList(_, size), DataType::FixedSizeList(item, _)) => {
                let wide = usize::try_from(*size).unwrap_or(0);
                let items = self.items(array.as_fixed_size_list().values()).map_err(of_rows(wide))?;
                let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, array.len());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            (DataType::List(_), DataType::FixedSizeList(item, size)) => {
                let lists = array.as_list::<i32>();
                let start = lists.value_offsets().first().map_or(0, |start| usize::try_from(*start).unwrap_or(0));
                let wide = usize::try_from(*size).unwrap_or(0);
                // All lists have this length: their column was walked over before.
                let items = lists.values().slice(start, array.len() * wide);
                let items = self.items(&items).map_err(of_rows(wide))?;
                let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, array.len());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            (DataType::List(_), DataType::List(item)) => {
                let lists = array.as_list::<i32>();
                let items = self.items(lists.values()).map_err(|(place, error)| {
                    let row = lists.value_offsets().partition_point(|end| usize::try_from(*end).unwrap_or(0) <= place);
                    error.in_row(first + row.saturating_sub(1) as u64)
                })?;
                let list = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), items, lists.nulls().cloned());
                Ok(Arc::new(list.map_err(from_arrow)?))
            }
            _ => self.items(array).map_err(of_rows(1)),
        }
    }

    fn items(&self, array: &ArrayRef) -> Result<ArrayRef, Fault> {
        Ok(match self {
            Self::Keep => Arc::clone(array),
            Self::Micros => {
                let micros = |ticks: i64| ticks.div_euclid(MICRO);
                Arc::new(array.as_primitive::<Int64Type>().unary::<_, Int64Type>(micros))
            }
            Self::Texts(item) => texts(*item, array)?,
            Self::Labels(labels) => {
                let numbers = key_numbers(array);
                let count = labels.len() as u64;
                if let Some(place) = numbers.iter().position(|key| key.is_some_and(|key| key >= count)) {
                    let detail = format!(
                        "the key value {} has no label, and others have: a variable has one type",
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
        })
    }
}

/// What rows show of values that ds has no type for.
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
        let one = |(place, float): (usize, &f64)| {
            if float.is_nan() {
                return Ok(None);
            }
            #[expect(clippy::cast_possible_truncation, reason = "what is beyond 128 bits is beyond all integers here")]
            let number = *float as i128;
            let number = T::Native::try_from(number).ok().filter(|_| float.fract() == 0.0);
            number.map(Some).ok_or_else(|| {
                let detail = format!("{float} is not of the type {}, which the metadata name", T::DATA_TYPE);
                (place, Error::invalid(detail))
            })
        };
        let numbers = array.as_primitive::<Float64Type>().values().iter().enumerate().map(one);
        Ok(Arc::new(numbers.collect::<Result<PrimitiveArray<T>, Fault>>()?))
    }
    match data_type {
        DataType::Int8 => all::<Int8Type>(array),
        DataType::Int16 => all::<Int16Type>(array),
        DataType::Int32 => all::<Int32Type>(array),
        DataType::UInt8 => all::<UInt8Type>(array),
        DataType::UInt16 => all::<UInt16Type>(array),
        DataType::UInt32 => all::<UInt32Type>(array),
        DataType::UInt64 => all::<UInt64Type>(array),
        _ => all::<Int64Type>(array),
    }
}
