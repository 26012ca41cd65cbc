//! What lies under the nulls of structs and lists, which can be anything.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use container_arrow::from_arrow;
use container_core::Result;

/// A column whose null structs and vectors have null members, and whose null lists and maps have no items. The nulls of what is nested in them are
/// unchanged.
pub(crate) fn without_hidden(array: &ArrayRef) -> Result<ArrayRef> {
    if array.null_count() == 0 {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::Struct(members) => {
            let structs = array.as_struct();
            let valid: UInt64Array =
                (0..structs.len()).map(|row| structs.is_valid(row).then_some(row as u64)).collect();
            let member = |column: &ArrayRef| take(column, &valid, None).map_err(from_arrow);
            let columns = structs.columns().iter().map(member).collect::<Result<Vec<_>>>()?;
            let nulls = structs.nulls().cloned();
            let structs = StructArray::try_new_with_length(members.clone(), columns, nulls, structs.len());
            Arc::new(structs.map_err(from_arrow)?)
        }
        DataType::FixedSizeList(item, size) => {
            let lists = array.as_fixed_size_list();
            let items = valid_items(lists, usize::try_from(*size).unwrap_or(0))?;
            let nulls = lists.nulls().cloned();
            let lists = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, nulls, lists.len());
            Arc::new(lists.map_err(from_arrow)?)
        }
        DataType::List(_) => of_lists(array.as_list::<i32>())?.unwrap_or_else(|| Arc::clone(array)),
        DataType::LargeList(_) => of_lists(array.as_list::<i64>())?.unwrap_or_else(|| Arc::clone(array)),
        DataType::Map(entries, is_sorted) => {
            let maps = array.as_map();
            match valid_ranges(maps.value_offsets(), maps) {
                Some((offsets, indexes)) => {
                    let found = take(maps.entries(), &indexes, None).map_err(from_arrow)?;
                    let found = found.as_struct().clone();
                    let maps =
                        MapArray::try_new(Arc::clone(entries), offsets, found, maps.nulls().cloned(), *is_sorted);
                    Arc::new(maps.map_err(from_arrow)?)
                }
                None => Arc::clone(array),
            }
        }
        _ => Arc::clone(array),
    })
}

fn of_lists<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Result<Option<ArrayRef>> {
    let (DataType::List(item) | DataType::LargeList(item)) = lists.data_type() else { return Ok(None) };
    let Some((offsets, indexes)) = valid_ranges(lists.value_offsets(), lists) else { return Ok(None) };
    let items = take(lists.values(), &indexes, None).map_err(from_arrow)?;
    let lists = GenericListArray::try_new(Arc::clone(item), offsets, items, lists.nulls().cloned());
    Ok(Some(Arc::new(lists.map_err(from_arrow)?)))
}

/// The offsets without those of null lists, and the indexes of the items; `None` if null lists have no items.
fn valid_ranges<O: OffsetSizeTrait>(offsets: &[O], lists: &dyn Array) -> Option<(OffsetBuffer<O>, UInt64Array)> {
    let ranges = || {
        offsets.windows(2).enumerate().map(|(row, pair)| match pair {
            [start, end] => (lists.is_valid(row), start.as_usize()..end.as_usize()),
            _ => (true, 0..0),
        })
    };
    if !ranges().any(|(is_valid, range)| !is_valid && !range.is_empty()) {
        return None;
    }
    let valid = || ranges().map(|(is_valid, range)| if is_valid { range } else { 0..0 });
    let indexes = valid().flatten().map(|at| at as u64).collect::<Vec<_>>();
    Some((OffsetBuffer::from_lengths(valid().map(|range| range.len())), UInt64Array::from(indexes)))
}

/// The items of vectors; those of null vectors are null.
pub(crate) fn valid_items(lists: &FixedSizeListArray, width: usize) -> Result<ArrayRef> {
    if lists.null_count() == 0 {
        return Ok(Arc::clone(lists.values()));
    }
    let indexes = (0..lists.len() * width).map(|at| lists.is_valid(at / width.max(1)).then_some(at as u64));
    take(lists.values(), &indexes.collect::<UInt64Array>(), None).map_err(from_arrow)
}
