//! Builds Arrow arrays from ranges of a variable, zero-copy if possible.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, BinaryType, ByteArrayType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    LargeBinaryType, LargeUtf8Type, TimestampMicrosecondType, TimestampNanosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type, Utf8Type,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, GenericByteArray, PrimitiveArray, new_null_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType as ArrowType;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use super::bits;
use super::plan::{Column, Kind, element_type};
use super::times::{self, Clock, Instant, Unit};
use crate::array::{Array, Mask, Strings, each_kind};
use crate::read::layout::Layout;
use crate::read::values::by_number;
use crate::read::{Variable, strings};
use crate::time::Units;
use crate::types::{DataType, Element};
use crate::wire::bit_bytes;

/// A number with its Arrow type.
pub(super) trait ArrowNumber: Element + ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;
}

macro_rules! arrow_numbers {
    ($($number:ty, $arrow:ty;)*) => {$(
        impl ArrowNumber for $number {
            type Arrow = $arrow;
        }
    )*};
}

arrow_numbers! {
    f32, Float32Type;
    f64, Float64Type;
    i8, Int8Type;
    i16, Int16Type;
    i32, Int32Type;
    i64, Int64Type;
    u8, UInt8Type;
    u16, UInt16Type;
    u32, UInt32Type;
    u64, UInt64Type;
}

impl Column<'_> {
    /// The array of a row range, which must exist.
    pub(super) fn array(&self, rows: &Range<u64>) -> Result<ArrayRef> {
        let variable = &self.layout.variable;
        let count = rows.end - rows.start;
        let len = usize::try_from(count).map_err(|_| crate::read::fill::too_many(count))?;
        if matches!(self.kind, Kind::Empty) {
            return Ok(new_null_array(&element_type(self.kind, variable), len));
        }
        let elements = rows.start * self.layout.row_len..rows.end * self.layout.row_len;
        let array = variable.with_layout(|layout| self.elements(layout, elements, rows.start))?;
        match self.field.data_type() {
            ArrowType::FixedSizeList(item, size) => {
                let list = FixedSizeListArray::try_new_with_length(item.clone(), *size, array, None, len);
                Ok(Arc::new(list.map_err(|error| variable.in_variable(from_arrow(error)))?))
            }
            _ => Ok(array),
        }
    }

    fn elements(&self, layout: &Layout, range: Range<u64>, row: u64) -> Result<ArrayRef> {
        let variable = &self.layout.variable;
        match self.kind {
            Kind::Timestamp(clock) => return self.timestamps(layout, range, row, clock),
            Kind::Julian(units) => return self.julian_dates(layout, range, row, units),
            Kind::Empty | Kind::Plain(_) | Kind::Large(_) => {}
        }
        if variable.reader.foreign.is_some() {
            return self.convert(&self.read(layout, range)?);
        }
        let mask = variable.mask_bits(layout, range.clone())?;
        let mask = mask.as_ref();
        let large = matches!(self.kind, Kind::Large(_));
        by_number!(layout.data_type,
            Number => self.numbers::<Number>(layout, range, mask),
            DataType::Bool => booleans(variable, layout, range, mask),
            DataType::Str => match large {
                true => strings::<LargeBinaryType>(variable, layout, range, mask),
                false => strings::<BinaryType>(variable, layout, range, mask),
            },
            DataType::Unicode => match large {
                true => strings::<LargeUtf8Type>(variable, layout, range, mask),
                false => strings::<Utf8Type>(variable, layout, range, mask),
            }
        )
    }

    fn numbers<T: ArrowNumber>(&self, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<ArrayRef> {
        let variable = &self.layout.variable;
        let width = size_of::<T>() as u64;
        let numbers: ScalarBuffer<T> = if mask.is_none() && (width == 1 || !layout.swap()) {
            let bytes = layout.data.start + range.start * width..layout.data.start + range.end * width;
            container_arrow::numbers(variable.reader.source.read(bytes)?)
        } else {
            variable.owned_numbers::<T>(layout, range, mask, T::default())?.into()
        };
        self.with_nulls::<T>(numbers, mask)
    }

    /// Converts values in memory.
    fn convert(&self, array: &Array<'_>) -> Result<ArrayRef> {
        let (values, mask) = (array.values(), array.mask());
        let nulls = || mask.and_then(bits::validity);
        let large = matches!(self.kind, Kind::Large(_));
        each_kind!(values,
                    numbers => self.with_nulls(numbers.to_vec().into(), mask),
        bools => Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(bools.as_ref()), nulls()))),
        strings => match (values.data_type(), large) {
        (DataType::Unicode, true) => from_strings::<LargeUtf8Type>(strings, nulls()),
        (DataType::Unicode, false) => from_strings::<Utf8Type>(strings, nulls()),
        (_, true) => from_strings::<LargeBinaryType>(strings, nulls()),
        (_, false) => from_strings::<BinaryType>(strings, nulls()),
                    }
                )
    }

    fn with_nulls<T: ArrowNumber>(&self, numbers: ScalarBuffer<T>, mask: Option<&Mask<'_>>) -> Result<ArrayRef> {
        let mut nulls = mask.and_then(bits::validity);
        #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
        let is_nan = |number: &T| number != number;
        if self.missing_as_null && numbers.iter().any(is_nan) {
            let valid = BooleanBuffer::collect_bool(numbers.len(), |at| numbers.get(at).is_some_and(|n| !is_nan(n)));
            nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(valid)));
        }
        Ok(Arc::new(PrimitiveArray::<T::Arrow>::try_new(numbers, nulls).map_err(from_arrow)?))
    }

    fn timestamps(&self, layout: &Layout, range: Range<u64>, row: u64, clock: Clock) -> Result<ArrayRef> {
        let array = self.read(layout, range)?;
        let missing = |at| array.mask().is_some_and(|mask| mask.is_missing(at));
        let mut has_nulls = false;
        let mut instants: Vec<i64> = Vec::with_capacity(array.len());
        let mut valid: Vec<bool> = Vec::with_capacity(array.len());
        for at in 0..array.len() {
            let instant = match clock.instant(array.values(), at) {
                _ if missing(at) => None,
                Instant::Exact(instant) => Some(instant),
                Instant::Truncated(instant) => {
                    self.changed.add(row + (at as u64) / self.layout.row_len.max(1));
                    Some(instant)
                }
                // The plan checked all values: this one is NaN, and null by the scan's options.
                Instant::None => None,
            };
            has_nulls |= instant.is_none();
            instants.push(instant.unwrap_or_default());
            valid.push(instant.is_some());
        }
        let nulls = has_nulls.then(|| NullBuffer::from(valid));
        let numbers = ScalarBuffer::from(instants);
        let array: ArrayRef = match clock.unit() {
            Unit::Micros => {
                Arc::new(PrimitiveArray::<TimestampMicrosecondType>::try_new(numbers, nulls).map_err(from_arrow)?)
            }
            Unit::Nanos => {
                Arc::new(PrimitiveArray::<TimestampNanosecondType>::try_new(numbers, nulls).map_err(from_arrow)?)
            }
        };
        Ok(array)
    }

    fn julian_dates(&self, layout: &Layout, range: Range<u64>, row: u64, units: Units) -> Result<ArrayRef> {
        let array = self.read(layout, range)?;
        let dates = (0..array.len()).map(|at| {
            if array.mask().is_some_and(|mask| mask.is_missing(at)) {
                return None;
            }
            match times::julian_date(units, array.values(), at) {
                Ok(date) if date.is_nan() && self.missing_as_null => None,
                Ok(date) => Some(date),
                Err(()) => {
                    self.changed.add(row + (at as u64) / self.layout.row_len.max(1));
                    None
                }
            }
        });
        Ok(Arc::new(dates.collect::<PrimitiveArray<Float64Type>>()))
    }

    fn read(&self, layout: &Layout, range: Range<u64>) -> Result<Array<'_>> {
        let count = range.end - range.start;
        let (values, mask) = self.layout.variable.elements(layout, range)?;
        Ok(Array::new_unchecked(vec![count], values, mask))
    }
}

fn booleans(variable: &Variable<'_>, layout: &Layout, range: Range<u64>, mask: Option<&Mask<'_>>) -> Result<ArrayRef> {
    let values = match mask {
        Some(_) => variable.owned_bools(layout, range, mask)?.into(),
        None => {
            let (start, end) = (layout.data.start + range.start / 8, layout.data.start + bit_bytes(range.end));
            let mut buffer = Vec::new();
            let bytes = variable.reader.source.view(start..end.max(start), &mut buffer)?;
            let count = range.end - range.start;
            let len = usize::try_from(count).ok();
            let values = len.and_then(|len| bits::booleans(bytes, usize::try_from(range.start % 8).unwrap_or(0), len));
            values.ok_or_else(|| crate::read::fill::too_many(count))?
        }
    };
    let nulls = mask.and_then(bits::validity);
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != values.len()) {
        return Err(Error::invalid("the mask has another length than the values").at(layout.data.start));
    }
    Ok(Arc::new(BooleanArray::new(values, nulls)))
}

/// Copies strings in memory.
fn from_strings<T: ByteArrayType>(strings: &Strings<'_>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let len = strings.as_bytes().len();
    // `from_lengths` would panic on overflow.
    if T::Offset::from_usize(len).is_none() {
        return Err(Error::limit("bytes of the strings in a batch", len as u64, i32::MAX as u64));
    }
    let lengths = strings.iter().map(<[u8]>::len);
    let offsets = OffsetBuffer::<T::Offset>::from_lengths(lengths);
    let bytes = Buffer::from(strings.as_bytes());
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, bytes, nulls).map_err(from_arrow)?))
}

fn strings<T: ByteArrayType>(
    variable: &Variable<'_>,
    layout: &Layout,
    range: Range<u64>,
    mask: Option<&Mask<'_>>,
) -> Result<ArrayRef> {
    let first = range.start;
    let (ends, bytes) = variable.text_ends(layout, range, mask)?;
    let start = bytes.start;
    let mut offsets: Vec<T::Offset> = Vec::with_capacity(ends.len() + 1);
    offsets.push(T::Offset::usize_as(0));
    for end in &ends {
        let end = T::Offset::from_usize(*end);
        offsets.push(end.ok_or_else(|| Error::invalid("its strings exceed 32-bit offsets").at(start))?);
    }
    let bytes = variable.reader.source.read(bytes)?;
    let nulls = mask.and_then(bits::validity);
    // Ends computed from lengths never decrease.
    let array = GenericByteArray::<T>::try_new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Buffer::from(bytes.clone()),
        nulls,
    );
    match array {
        Ok(array) => Ok(Arc::new(array)),
        Err(error) => Err(match strings::check_utf8(&bytes, &ends) {
            Err(error) => error.at(first + error.index as u64, start + error.start as u64),
            Ok(()) => from_arrow(error),
        }),
    }
}
