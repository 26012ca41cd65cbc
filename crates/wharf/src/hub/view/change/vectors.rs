//! Elements of vectors as columns, and columns as elements of vectors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, UInt64Array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, FieldRef};
use arrow_select::concat::concat;
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::{Error, Result};

use crate::batches::hidden::valid_items;

/// Element `slot` of each vector; null for null vectors and for shorter ones.
pub(super) fn slot(array: &ArrayRef, slot: usize) -> Result<ArrayRef> {
    let (items, indexes): (&ArrayRef, UInt64Array) = match array.data_type() {
        DataType::FixedSizeList(_, size) => {
            let lists = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or(0);
            let index = |row: usize| (slot < size && lists.is_valid(row)).then(|| (row * size + slot) as u64);
            (lists.values(), (0..lists.len()).map(index).collect())
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            (lists.values(), indexes(lists.value_offsets(), lists, slot))
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            (lists.values(), indexes(lists.value_offsets(), lists, slot))
        }
        other => return Err(Error::usage(format!("{other} is no vector"))),
    };
    take(items, &indexes, None).map_err(from_arrow)
}

fn indexes<O: ArrowNativeType>(offsets: &[O], lists: &dyn Array, slot: usize) -> UInt64Array {
    let index = |(row, pair): (usize, &[O])| {
        let [start, end] = pair else { return None };
        let at = start.as_usize() + slot;
        (lists.is_valid(row) && at < end.as_usize()).then_some(at as u64)
    };
    offsets.windows(2).enumerate().map(index).collect()
}

/// The length of the longest vector; 0 when none has elements.
pub(super) fn longest(array: &ArrayRef) -> usize {
    fn of<O: ArrowNativeType>(offsets: &[O], lists: &dyn Array) -> usize {
        let length = |(row, pair): (usize, &[O])| match pair {
            [start, end] if lists.is_valid(row) => end.as_usize() - start.as_usize(),
            _ => 0,
        };
        offsets.windows(2).enumerate().map(length).max().unwrap_or(0)
    }
    match array.data_type() {
        DataType::List(_) => of(array.as_list::<i32>().value_offsets(), array),
        DataType::LargeList(_) => of(array.as_list::<i64>().value_offsets(), array),
        DataType::FixedSizeList(_, size) => usize::try_from(*size).unwrap_or(0),
        _ => 0,
    }
}

/// A member of a struct; null where the struct is.
pub(super) fn member(array: &ArrayRef, member: usize) -> Result<ArrayRef> {
    let structs = array.as_struct();
    let column = structs.columns().get(member).ok_or_else(|| Error::usage(format!("no member {member}")))?;
    if structs.null_count() == 0 {
        return Ok(Arc::clone(column));
    }
    let indexes: UInt64Array = (0..structs.len()).map(|row| structs.is_valid(row).then_some(row as u64)).collect();
    take(column, &indexes, None).map_err(from_arrow)
}

/// Vectors of the elements of all parts, which are items, or vectors of items, of one type. Null vectors have null elements.
pub(super) fn joined(parts: &[ArrayRef], rows: usize, item: &FieldRef) -> Result<ArrayRef> {
    let mut items: Vec<ArrayRef> = Vec::new();
    // Where the items of each part begin, and how many a row has.
    let mut widths: Vec<(usize, usize)> = Vec::new();
    let mut total = 0;
    for part in parts {
        let (values, width) = match part.data_type() {
            DataType::FixedSizeList(_, size) => {
                let width = usize::try_from(*size).unwrap_or(0);
                (valid_items(part.as_fixed_size_list(), width)?, width)
            }
            _ => (Arc::clone(part), 1),
        };
        widths.push((total, width));
        total += values.len();
        items.push(values);
    }
    let width: usize = widths.iter().map(|(_, width)| width).sum();
    let all = concat(&items.iter().map(AsRef::as_ref).collect::<Vec<_>>()).map_err(from_arrow)?;
    let mut indexes = Vec::with_capacity(rows * width);
    for row in 0..rows {
        for (start, width) in &widths {
            indexes.extend((0..*width).map(|slot| (start + row * width + slot) as u64));
        }
    }
    let items = take(&all, &UInt64Array::from(indexes), None).map_err(from_arrow)?;
    let size = i32::try_from(width).map_err(|_| Error::limit("elements of a vector", width as u64, i32::MAX as u64))?;
    let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), size, items, None, rows);
    Ok(Arc::new(lists.map_err(from_arrow)?))
}
