//! Converting whole arrays to values.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericStringArray, OffsetSizeTrait};
use arrow_schema::DataType;
use container_core::{Error, Result};

use super::mismatch::{RowOf, mismatch, missing};
use crate::codec::{Texts, Values};

/// Fails at the first null.
pub(super) fn reject_nulls(array: &ArrayRef, what: &str, row_of: RowOf<'_>) -> Result<()> {
    if array.null_count() == 0 {
        return Ok(());
    }
    let index = (0..array.len()).find(|&index| array.is_null(index));
    index.map_or(Ok(()), |index| Err(missing(what, row_of(index))))
}

pub(super) fn integers<T: ArrowPrimitiveType>(
    out: &mut Vec<T::Native>,
    array: &ArrayRef,
    row_of: RowOf<'_>,
) -> Result<()> {
    let numbers = array.as_primitive_opt::<T>().ok_or_else(|| mismatch(array.data_type()))?;
    reject_nulls(array, &format!("number of type {}", T::DATA_TYPE), row_of)
        .map_err(|error| error.advising("{null_integers} double makes the column floats"))?;
    out.extend_from_slice(numbers.values());
    Ok(())
}

/// Integers as `Double`, if exact.
pub(super) fn exact_integers(
    out: &mut Vec<f64>,
    array: &ArrayRef,
    values: impl Iterator<Item = i128>,
    row_of: RowOf<'_>,
) -> Result<()> {
    for (index, value) in values.enumerate() {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the round trip is checked")]
        let (double, back) = (value as f64, value as f64 as i128);
        if back != value && array.is_valid(index) {
            return Err(
                Error::invalid(format!("integer {value} is not exactly representable as Double")).in_row(row_of(index))
            );
        }
        out.push(double);
    }
    Ok(())
}

/// Decimals as `Double`, with at most 15 digits, which round-trip.
pub(super) fn decimals(
    out: &mut Vec<f64>,
    array: &ArrayRef,
    values: impl Iterator<Item = i128>,
    scale: i8,
    row_of: RowOf<'_>,
) -> Result<()> {
    const DIGITS: u128 = 1_000_000_000_000_000;
    for (index, value) in values.enumerate() {
        let mut digits = value.unsigned_abs();
        while digits >= DIGITS && digits % 10 == 0 {
            digits /= 10;
        }
        let text = format!("{value}e{}", -i32::from(scale));
        if digits >= DIGITS && array.is_valid(index) {
            let detail = format!("decimal {text} has more than the 15 digits of a Double");
            return Err(Error::invalid(detail).in_row(row_of(index)));
        }
        out.push(text.parse().unwrap_or(f64::NAN)); // always a number
    }
    Ok(())
}

pub(super) fn row_ids(out: &mut Vec<u128>, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
    let ids = array.as_fixed_size_binary_opt().ok_or_else(|| mismatch(array.data_type()))?;
    reject_nulls(array, "row id", row_of)?;
    let id = |index| <[u8; 16]>::try_from(ids.value(index)).map(u128::from_le_bytes);
    for index in 0..ids.len() {
        out.push(id(index).map_err(|_| mismatch(array.data_type()))?);
    }
    Ok(())
}

pub(super) fn texts(out: &mut Texts, array: &ArrayRef) -> Result<()> {
    match array.data_type() {
        DataType::Utf8 => joined(out, array.as_string::<i32>()),
        DataType::LargeUtf8 => joined(out, array.as_string::<i64>()),
        DataType::Utf8View => one_by_one(out, array.as_string_view().iter()),
        DataType::Null => {
            (0..array.len()).for_each(|_| out.push_missing());
            Ok(())
        }
        other => Err(mismatch(other)),
    }
}

fn one_by_one<'a>(out: &mut Texts, texts: impl Iterator<Item = Option<&'a str>>) -> Result<()> {
    for text in texts {
        match text {
            Some(text) => out.push(text)?,
            None => out.push_missing(),
        }
    }
    Ok(())
}

fn joined<O: OffsetSizeTrait>(out: &mut Texts, array: &GenericStringArray<O>) -> Result<()> {
    let offsets = array.value_offsets();
    let start = offsets.first().map_or(0, |offset| offset.as_usize());
    let end = offsets.last().map_or(0, |offset| offset.as_usize());
    let bytes = array.value_data().get(start..end).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        // Nulls may have bytes.
        Ok(all) if array.null_count() == 0 && u32::try_from(all.len()).is_ok() => {
            // At most the last, which fits.
            let ends = offsets.iter().skip(1).map(|end| u32::try_from(end.as_usize() - start).unwrap_or(u32::MAX));
            out.extend_joined(all, ends)
        }
        _ => one_by_one(out, array.iter()),
    }
}

/// Keys without labels, as key values from 0.
pub(super) fn numbers_as_keys(out: &mut Values, array: &ArrayRef, row_of: RowOf<'_>) -> Result<()> {
    let value: Box<dyn Fn(usize) -> u64> = match array.data_type() {
        DataType::UInt8 => Box::new(|row| array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Box::new(|row| array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Box::new(|row| array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Box::new(|row| array.as_primitive::<UInt64Type>().value(row)),
        other => return Err(mismatch(other)),
    };
    let stored = (0..array.len()).map(|row| match array.is_null(row) {
        true => Ok(0),
        false => value(row).checked_add(1).ok_or_else(|| above(u64::MAX).in_row(row_of(row))),
    });
    extend_stored(out, stored)
}

#[cold]
fn above(key: u64) -> Error {
    Error::invalid(format!("key value {key} exceeds the column's key width"))
}

/// Appends stored keys. The writer checks them against the key count.
pub(super) fn extend_stored(out: &mut Values, stored: impl Iterator<Item = Result<u64>>) -> Result<()> {
    macro_rules! narrow {
        ($out:expr, $type:ty) => {
            for stored in stored {
                let stored = stored?;
                $out.push(<$type>::try_from(stored).map_err(|_| above(stored - 1))?);
            }
        };
    }
    match out {
        Values::Byte(out) => narrow!(out, u8),
        Values::UInt16(out) => narrow!(out, u16),
        Values::UInt32(out) => narrow!(out, u32),
        Values::UInt64(out) => {
            for stored in stored {
                out.push(stored?);
            }
        }
        other => return Err(Error::usage(format!("expected {} values, found keys", other.variant()))),
    }
    Ok(())
}
