//! Converting the items of a block to an Arrow array, zero-copy where the representations agree.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use container_arrow::{Times, from_arrow, numbers};
use container_core::{Bytes, Error, Result};

use super::array::{array, checked};
use super::tally::{Rows, Tally};
use super::times::{self, Meaning};
use crate::codec::numbers::Number;
use crate::codec::shared::SharedItems;
use crate::codec::{Texts, Values};
use crate::wire::{ItemType, KeyType, KeyWidth};

/// How the items of a column convert to Arrow.
#[derive(Debug, Clone)]
pub(super) struct ItemPlan {
    pub(super) item: ItemType,
    pub(super) data_type: DataType,
    pub(super) nullable: bool,
    /// Dictionary values, for keys with labels.
    pub(super) labels: Option<ArrayRef>,
    pub(super) times: Times,
    /// The minimum of a signed integer is missing.
    pub(super) missing_integers: bool,
    /// NaN is missing.
    pub(super) missing_floats: bool,
    /// The minimum duration is missing.
    pub(super) missing_spans: bool,
}

impl ItemPlan {
    /// The items of a range as an array of [`data_type`](Self::data_type).
    ///
    /// # Errors
    /// [`Invalid`](container_core::ErrorKind::Invalid), with the row, for a time that cannot be converted,
    /// [`Limit`](container_core::ErrorKind::Limit) for 2 GiB of text.
    pub(super) fn build(
        &self,
        items: SharedItems,
        range: Range<usize>,
        rows: &Rows<'_>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        match items {
            SharedItems::Fixed(bytes) => self.fixed(&bytes, range, rows, tally),
            SharedItems::Zoned { minutes, ticks } => self.zoned(&minutes, &ticks, range, rows, tally),
            SharedItems::Bits(bytes) => {
                let bits = BooleanBuffer::new(Buffer::from(bytes), range.start, range.len());
                Ok(Arc::new(BooleanArray::new(bits, None)))
            }
            SharedItems::Values(Values::Text(all)) => texts(all, range),
            SharedItems::Values(Values::DvBool(all)) => {
                Ok(Arc::new(BooleanArray::from_iter(all.get(range).unwrap_or_default())))
            }
            // Vectors without items do not know their item type.
            SharedItems::Values(_) => Ok(arrow_array::new_empty_array(&self.data_type)),
        }
    }

    /// The default item of sparse vectors, as an array of one.
    pub(super) fn default_item(&self, row: u64) -> Result<ArrayRef> {
        const ZEROS: Bytes = Bytes::from_static(&[0; 16]);
        let items = match self.item {
            ItemType::Boolean => SharedItems::Bits(ZEROS),
            ItemType::DvBool => SharedItems::Values(Values::DvBool(vec![Some(false)])),
            ItemType::DateTimeOffset | ItemType::DvDateTimeZone => SharedItems::Zoned { minutes: ZEROS, ticks: ZEROS },
            ItemType::Text => {
                let mut text = Texts::default();
                text.push("")?;
                SharedItems::Values(Values::Text(text))
            }
            _ => SharedItems::Fixed(ZEROS),
        };
        self.build(items, 0..1, &Rows(&|_| row), &mut Tally::default())
    }

    fn fixed(&self, bytes: &Bytes, range: Range<usize>, rows: &Rows<'_>, tally: &mut Tally) -> Result<ArrayRef> {
        let missing = self.missing_integers;
        match self.item {
            ItemType::SByte => integers::<Int8Type>(bytes, range, missing.then_some(i8::MIN)),
            ItemType::Byte => integers::<UInt8Type>(bytes, range, None),
            ItemType::Int16 => integers::<Int16Type>(bytes, range, missing.then_some(i16::MIN)),
            ItemType::UInt16 => integers::<UInt16Type>(bytes, range, None),
            ItemType::Int32 => integers::<Int32Type>(bytes, range, missing.then_some(i32::MIN)),
            ItemType::UInt32 => integers::<UInt32Type>(bytes, range, None),
            ItemType::Int64 => integers::<Int64Type>(bytes, range, missing.then_some(i64::MIN)),
            ItemType::UInt64 => integers::<UInt64Type>(bytes, range, None),
            ItemType::Single => floats::<Float32Type>(bytes, range, self.missing_floats, f32::is_nan),
            ItemType::Double => floats::<Float64Type>(bytes, range, self.missing_floats, f64::is_nan),
            ItemType::RowId => {
                let bytes = Buffer::from(part(bytes, 16, range));
                Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes, None).map_err(from_arrow)?))
            }
            ItemType::TimeSpan | ItemType::DvTimeSpan => {
                let missing = self.missing_spans || self.item == ItemType::DvTimeSpan;
                self.ticks(bytes, range, Meaning::Span, missing, rows, tally)
            }
            ItemType::DateTime | ItemType::DvDateTime => self.ticks(bytes, range, Meaning::Time, true, rows, tally),
            ItemType::Key(key) => match key.width {
                KeyWidth::Byte => self.keys(&little_endian::<u8>(bytes, range), key, rows, tally),
                KeyWidth::UInt16 => self.keys(&little_endian::<u16>(bytes, range), key, rows, tally),
                KeyWidth::UInt32 => self.keys(&little_endian::<u32>(bytes, range), key, rows, tally),
                KeyWidth::UInt64 => self.keys(&little_endian::<u64>(bytes, range), key, rows, tally),
            },
            // Not of fixed width: handled by `build`.
            ItemType::DateTimeOffset | ItemType::DvDateTimeZone => Ok(arrow_array::new_empty_array(&self.data_type)),
            ItemType::Boolean | ItemType::DvBool | ItemType::Text => Ok(arrow_array::new_empty_array(&self.data_type)),
        }
    }

    fn ticks(
        &self,
        bytes: &Bytes,
        range: Range<usize>,
        meaning: Meaning,
        can_be_missing: bool,
        rows: &Rows<'_>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        let ticks = little_endian::<i64>(bytes, range);
        let nulls = can_be_missing.then(|| nulls_where(&ticks, |&ticks| ticks == i64::MIN)).flatten();
        if self.times == Times::Ticks {
            return array::<Int64Type>(ticks, nulls);
        }
        times::array(&ticks, nulls, meaning, self.times, rows, tally)
    }

    fn zoned(
        &self,
        minutes: &Bytes,
        ticks: &Bytes,
        range: Range<usize>,
        rows: &Rows<'_>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        let (minutes, ticks) = (little_endian::<i16>(minutes, range.clone()), little_endian::<i64>(ticks, range));
        let valid: BooleanBuffer = ticks
            .iter()
            .zip(minutes.iter())
            .map(|(&ticks, &minutes)| ticks != i64::MIN && minutes != i16::MIN)
            .collect();
        let nulls = null_buffer(valid);
        let moments = times::moments(&ticks, &minutes, nulls.as_ref(), rows)?;
        // The struct is null, its fields are not: they get zeros.
        let moments: Vec<i64> = match &nulls {
            None => moments,
            Some(nulls) => {
                moments.iter().zip(nulls).map(|(&moment, there)| if there { moment } else { times::EPOCH }).collect()
            }
        };
        let zeroed = |minutes: &ScalarBuffer<i16>, nulls: &NullBuffer| {
            minutes.iter().zip(nulls).map(|(&minutes, there)| if there { minutes } else { 0 }).collect()
        };
        let minutes = nulls.as_ref().map_or(minutes.clone(), |nulls| zeroed(&minutes, nulls));
        let time = times::zoned_array(&moments, self.times, rows, tally)?;
        let DataType::Struct(fields) = &self.data_type else {
            return Ok(arrow_array::new_empty_array(&self.data_type));
        };
        let parts = vec![time, array::<Int16Type>(minutes, None)?];
        Ok(Arc::new(StructArray::try_new(fields.clone(), parts, nulls).map_err(from_arrow)?))
    }

    /// Keys as dictionary keys, or as key values.
    fn keys<S: Copy + Into<u64> + ArrowNativeType>(
        &self,
        stored: &[S],
        key: KeyType,
        rows: &Rows<'_>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        let max_stored = if key.count == 0 { u64::MAX } else { key.count };
        if stored.iter().any(|&stored| stored.into() > max_stored) {
            for (index, _) in stored.iter().enumerate().filter(|(_, stored)| (**stored).into() > max_stored) {
                tally.bad_keys.add(1, rows.row(index));
            }
        }
        let kind = match &self.data_type {
            DataType::Dictionary(places, _) => places,
            plain => plain,
        };
        match kind {
            DataType::UInt8 => self.key_array::<S, UInt8Type>(stored, max_stored),
            DataType::UInt16 => self.key_array::<S, UInt16Type>(stored, max_stored),
            DataType::UInt32 => self.key_array::<S, UInt32Type>(stored, max_stored),
            _ => self.key_array::<S, UInt64Type>(stored, max_stored),
        }
    }

    fn key_array<S: Copy + Into<u64>, T>(&self, stored: &[S], max_stored: u64) -> Result<ArrayRef>
    where
        T: ArrowDictionaryKeyType,
        T::Native: TryFrom<u64> + Default,
    {
        let index = |stored: &S| match (*stored).into() {
            stored if stored <= max_stored => T::Native::try_from(stored.wrapping_sub(1)).unwrap_or_default(),
            _ => T::Native::default(),
        };
        let places: Vec<T::Native> = stored.iter().map(index).collect();
        let nulls = nulls_where(stored, |&stored| !(1..=max_stored).contains(&stored.into()));
        let places = checked(PrimitiveArray::<T>::try_new(places.into(), nulls))?;
        Ok(match &self.labels {
            Some(labels) => Arc::new(DictionaryArray::try_new(places, Arc::clone(labels)).map_err(from_arrow)?),
            None => Arc::new(places),
        })
    }
}

/// The null buffer of values, if any is null.
fn nulls_where<T>(values: &[T], is_null: impl Fn(&T) -> bool) -> Option<NullBuffer> {
    if !values.iter().any(&is_null) {
        return None;
    }
    null_buffer(BooleanBuffer::collect_bool(values.len(), |index| {
        values.get(index).is_some_and(|value| !is_null(value))
    }))
}

fn null_buffer(valid: BooleanBuffer) -> Option<NullBuffer> {
    Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0)
}

/// The bytes of a range of fixed-width items.
fn part(bytes: &Bytes, width: usize, range: Range<usize>) -> Bytes {
    // In bounds: the decoder checked the length.
    let end = range.end.saturating_mul(width).min(bytes.len());
    bytes.slice(range.start.saturating_mul(width).min(end)..end)
}

/// Numbers of a block: zero-copy if aligned. With Arrow, the machine is little-endian.
fn little_endian<T: Number + ArrowNativeType>(bytes: &Bytes, range: Range<usize>) -> ScalarBuffer<T> {
    numbers(part(bytes, size_of::<T>(), range))
}

fn integers<T: ArrowPrimitiveType>(bytes: &Bytes, range: Range<usize>, missing: Option<T::Native>) -> Result<ArrayRef>
where
    T::Native: Number,
{
    let values = little_endian::<T::Native>(bytes, range);
    let nulls = missing.and_then(|missing| nulls_where(&values, |&value| value == missing));
    array::<T>(values, nulls)
}

fn floats<T: ArrowPrimitiveType>(
    bytes: &Bytes,
    range: Range<usize>,
    missing: bool,
    is_nan: impl Fn(T::Native) -> bool,
) -> Result<ArrayRef>
where
    T::Native: Number,
{
    let values = little_endian::<T::Native>(bytes, range);
    let nulls = missing.then(|| nulls_where(&values, |&value| is_nan(value))).flatten();
    array::<T>(values, nulls)
}

/// Text: the joined text is moved, not copied.
fn texts(all: Texts, range: Range<usize>) -> Result<ArrayRef> {
    let (joined, ends, missing) = all.into_parts();
    let max_len = 0x7FFF_FFFF;
    if joined.len() > max_len {
        return Err(Error::limit("bytes of texts in a block", joined.len() as u64, max_len as u64));
    }
    let offset = |&end: &u32| i32::try_from(end).unwrap_or(i32::MAX);
    let mut offsets = Vec::with_capacity(range.len() + 1);
    offsets.push(range.start.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, offset));
    offsets.extend(ends.get(range.clone()).unwrap_or_default().iter().map(offset));
    let nulls = missing.get(range).and_then(|missing| nulls_where(missing, |&missing| missing));
    // Text boundaries do not decrease.
    let offsets = OffsetBuffer::new(offsets.into());
    let array = StringArray::try_new(offsets, Buffer::from_vec(joined.into_bytes()), nulls);
    Ok(Arc::new(array.map_err(from_arrow)?))
}

/// The struct fields of a time with offset.
pub(super) fn zoned_fields(times: Times) -> Fields {
    let time = Field::new("time", times::data_type(Meaning::Time, times, true), false);
    Fields::from(vec![time, Field::new("offset", DataType::Int16, false)])
}
