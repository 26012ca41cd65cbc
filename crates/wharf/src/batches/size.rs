//! Sizes of batches, and splitting them by size.

use arrow_array::{Array, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use container_arrow::BatchSlices;

/// Approximate bytes of a batch's rows. Shared buffers count in proportion.
pub(crate) fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| array_bytes(&column.to_data())).fold(0, usize::saturating_add)
}

/// Approximate bytes of an array.
pub(crate) fn array_bytes(data: &ArrayData) -> usize {
    let len = data.len();
    let nulls = if data.nulls().is_some() { len / 8 } else { 0 };
    let part = |children: usize, whole: usize, count: usize| match whole {
        0 => 0,
        // Slices of lists share their children.
        whole => (children as u128 * count as u128 / whole as u128).try_into().unwrap_or(usize::MAX),
    };
    let children = || data.child_data().iter().map(array_bytes).fold(0, usize::saturating_add);
    let own = match data.data_type() {
        DataType::Struct(_) | DataType::Union(..) => {
            let children = data.child_data().iter().map(|child| part(array_bytes(child), child.len(), len));
            children.fold(len, usize::saturating_add)
        }
        DataType::List(_) | DataType::Map(..) => items::<i32>(data).saturating_add(len * 4),
        DataType::LargeList(_) => items::<i64>(data).saturating_add(len * 8),
        DataType::FixedSizeList(_, width) => {
            let count = len.saturating_mul(usize::try_from(*width).unwrap_or(0));
            part(children(), data.child_data().first().map_or(0, ArrayData::len), count)
        }
        DataType::Dictionary(key, _) => {
            // Batches share the values.
            len.saturating_mul(key.primitive_width().unwrap_or(4))
        }
        DataType::Utf8View | DataType::BinaryView => {
            let views = data.buffers().first().map(|buffer| buffer.typed_data::<u128>()).unwrap_or_default();
            let views = views.get(data.offset()..data.offset() + len).unwrap_or_default();
            // The length is the lowest four bytes; up to twelve bytes are stored inline.
            let lengths = views.iter().map(|view| usize::try_from(view & 0xFFFF_FFFF).unwrap_or(0));
            lengths.map(|length| if length > 12 { 16 + length } else { 16 }).fold(0, usize::saturating_add)
        }
        DataType::ListView(_) | DataType::LargeListView(_) | DataType::RunEndEncoded(..) => {
            children().saturating_add(len * 8)
        }
        _ => data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size()),
    };
    own.saturating_add(nulls)
}

/// Bytes of the items of lists.
fn items<O: ArrowNativeType>(data: &ArrayData) -> usize {
    let offsets = data.buffers().first().map(|buffer| buffer.typed_data::<O>()).unwrap_or_default();
    let at = |index: usize| offsets.get(data.offset() + index).map_or(0, |at| at.as_usize());
    let (start, end) = (at(0), at(data.len()));
    let child = data.child_data().first().filter(|child| start <= end && end <= child.len());
    child.map_or(0, |child| array_bytes(&child.slice(start, end - start)))
}

/// Splits a batch into slices of at most `rows` rows and about `bytes` bytes, at least one row each.
pub(crate) fn batch_slices(batch: RecordBatch, rows: usize, bytes: usize) -> BatchSlices {
    let count = batch.num_rows();
    let size = bytes_of(&batch);
    if size <= bytes {
        return BatchSlices::new(batch, rows);
    }
    let fit = (bytes as u128 * count as u128 / size.max(1) as u128).try_into().unwrap_or(usize::MAX);
    BatchSlices::new(batch, rows.min(fit))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, BinaryViewArray, Int64Array, ListArray, StringArray, StructArray};

    use super::*;

    fn bytes(array: &dyn Array) -> usize {
        array_bytes(&array.to_data())
    }

    #[test]
    fn slices_count_in_proportion() {
        let numbers = Int64Array::from_iter_values(0..1000);
        assert_eq!((bytes(&numbers), bytes(&numbers.slice(10, 100))), (8000, 800));
        let texts =
            StringArray::from_iter_values((0..1000).map(|at| if at < 10 { "x".repeat(1000) } else { String::new() }));
        assert_eq!((bytes(&texts.slice(0, 10)), bytes(&texts.slice(500, 10))), (10_044, 44));
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..100).map(|n| Some(vec![Some(1); if n < 50 { 10 } else { 0 }])),
        );
        assert!(
            bytes(&lists.slice(0, 50)) >= 2000 && bytes(&lists.slice(50, 50)) <= 200,
            "{}",
            bytes(&lists.slice(50, 50))
        );
        let views = BinaryViewArray::from_iter_values([vec![1_u8; 100], vec![1; 3]]);
        assert_eq!((bytes(&views), bytes(&views.slice(1, 1))), (132, 16));
        let column: ArrayRef = Arc::new(numbers);
        let structs = StructArray::try_from(vec![("a", Arc::clone(&column)), ("b", column)]).unwrap();
        assert!((1600..2000).contains(&bytes(&structs.slice(0, 100))), "{}", bytes(&structs.slice(0, 100)));
    }

    #[test]
    fn splits_batches_by_bytes() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let rows =
            |rows, bytes| batch_slices(batch.clone(), rows, bytes).map(|slice| slice.num_rows()).collect::<Vec<_>>();
        assert_eq!(rows(600, 1 << 20), [600, 400]);
        assert_eq!(rows(600, 2400), [300, 300, 300, 100]);
        assert_eq!(rows(600, 0).len(), 1000);
    }
}
