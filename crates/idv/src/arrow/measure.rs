//! Approximate sizes of array ranges, in time independent of the number of rows.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Bits per item of fixed width; for others, of their offset.
pub(super) fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(width) => u64::from(width.unsigned_abs()) * 8,
        DataType::Dictionary(keys, _) => width(keys),
        DataType::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum(),
        DataType::FixedSizeList(item, size) => width(item.data_type()).saturating_mul(u64::from(size.unsigned_abs())),
        // Texts and lists have an offset.
        other => other.primitive_width().map_or(32, |bytes| bytes as u64 * 8),
    }
}

/// Approximate bytes of a range of rows.
pub(super) fn bytes(array: &ArrayRef, rows: Range<usize>) -> u64 {
    let fixed = || (rows.len() as u64).saturating_mul(width(array.data_type())).div_ceil(8);
    match array.data_type() {
        DataType::Utf8 => {
            let (start, end) = ends(array.as_string::<i32>().value_offsets(), &rows);
            (end - start) as u64 + fixed()
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (start, end) = ends(list.value_offsets(), &rows);
            bytes(list.values(), start..end).saturating_add(fixed())
        }
        DataType::FixedSizeList(item, size) if !is_fixed(item.data_type()) => {
            let size = usize::try_from(*size).unwrap_or(0);
            bytes(array.as_fixed_size_list().values(), rows.start * size..rows.end * size)
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|part| bytes(part, rows.clone())).fold(0, u64::saturating_add)
        }
        _ => fixed(),
    }
}

fn is_fixed(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Utf8 | DataType::List(_) | DataType::Struct(_))
}

/// Start and end of the values of a range of rows.
fn ends(offsets: &[i32], rows: &Range<usize>) -> (usize, usize) {
    let at = |row: usize| offsets.get(row).and_then(|&offset| usize::try_from(offset).ok()).unwrap_or(0);
    (at(rows.start), at(rows.end).max(at(rows.start)))
}
