//! Decides from a sample which columns are not worth a dictionary.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use arrow_array::RecordBatch;
use arrow_data::{ArrayData, ByteView};
use arrow_schema::{DataType, Field};

/// Values sampled: once consecutive, once spread over the column.
const SAMPLE: usize = 8192;

/// Minimum number of values for a decision.
const MIN_VALUES: usize = 1024;

/// At most one in this many values may be a duplicate. That is the rate of 8192 values drawn from 400,000, whose dictionary would exceed the
/// writer's limit.
const MAX_DUPLICATES: usize = 100;

/// For each leaf column, in Parquet's order: whether nearly all values in these batches are distinct, so that a dictionary is not tried. False for
/// types that are not sampled.
pub(super) fn mostly_distinct(fields: &[&Field], batches: &[RecordBatch]) -> Vec<bool> {
    let mut leaves = Vec::new();
    for (column, field) in fields.iter().enumerate() {
        let arrays = batches.iter().filter_map(|batch| Some(batch.columns().get(column)?.to_data())).collect();
        visit_leaves(field.data_type(), arrays, &mut leaves);
    }
    leaves
}

/// Samples the leaves of a type with these arrays.
fn visit_leaves(data_type: &DataType, arrays: Vec<ArrayData>, leaves: &mut Vec<bool>) {
    let child = |at: usize| arrays.iter().filter_map(|array| array.child_data().get(at).cloned()).collect();
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => visit_leaves(item.data_type(), child(0), leaves),
        DataType::Struct(fields) => {
            fields.iter().enumerate().for_each(|(at, field)| visit_leaves(field.data_type(), child(at), leaves));
        }
        _ => leaves.push(is_distinct(&arrays)),
    }
}

/// Whether nearly all values are distinct, both consecutively and over the whole column.
fn is_distinct(arrays: &[ArrayData]) -> bool {
    let all: usize = arrays.iter().map(|array| array.len() - array.null_count()).sum();
    let step = all.div_ceil(SAMPLE).max(1);
    has_few_duplicates(arrays.iter().flat_map(|array| hashes(array, 1)).take(SAMPLE))
        && (step == 1 || has_few_duplicates(arrays.iter().flat_map(|array| hashes(array, step)).take(SAMPLE)))
}

fn has_few_duplicates(hashes: impl Iterator<Item = u64>) -> bool {
    let (mut unique, mut count) = (HashSet::with_capacity(SAMPLE), 0_usize);
    for hash in hashes {
        unique.insert(hash);
        count += 1;
    }
    count >= MIN_VALUES && (count - unique.len()) * MAX_DUPLICATES <= count
}

/// Hashes of every `step`-th value that is not null; empty for types that are not sampled.
fn hashes(array: &ArrayData, step: usize) -> Box<dyn Iterator<Item = u64> + '_> {
    let state = HASHER.with(Clone::clone);
    let rows = 0..array.len();
    // Without nulls no validity checks are needed.
    let rows: Box<dyn Iterator<Item = usize> + '_> = match array.null_count() {
        0 => Box::new(rows.step_by(step)),
        _ => Box::new(rows.filter(|row| array.is_valid(*row)).step_by(step)),
    };
    let start = array.offset();
    match array.data_type() {
        DataType::Boolean | DataType::Dictionary(..) => Box::new(std::iter::empty()),
        DataType::Utf8 | DataType::Binary => Box::new(byte_hashes::<i32>(array, rows, state)),
        DataType::LargeUtf8 | DataType::LargeBinary => Box::new(byte_hashes::<i64>(array, rows, state)),
        DataType::Utf8View | DataType::BinaryView => {
            let views = array.buffers().first().map(|buffer| buffer.typed_data::<u128>()).unwrap_or_default();
            Box::new(rows.filter_map(move |row| {
                let view = ByteView::from(*views.get(start + row)?);
                let index = |number: u32| usize::try_from(number).ok();
                let (length, from) = (index(view.length)?, index(view.offset)?);
                if length <= 12 {
                    // The value is stored inline.
                    return Some(state.hash_one(view.as_u128()));
                }
                let bytes = array.buffers().get(index(view.buffer_index)? + 1)?;
                Some(state.hash_one(bytes.get(from..from + length)?))
            }))
        }
        other => {
            let width = other.primitive_width().or(match other {
                DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                _ => None,
            });
            let bytes = array.buffers().first().map(|buffer| buffer.as_slice()).unwrap_or_default();
            let width = width.unwrap_or(0);
            let value = move |row: usize| bytes.get((start + row) * width..)?.get(..width);
            Box::new(rows.filter(move |_| width > 0).filter_map(move |row| Some(state.hash_one(value(row)?))))
        }
    }
}

thread_local! {
    /// One hasher for all values that are compared.
    static HASHER: RandomState = RandomState::new();
}

fn byte_hashes<'a, O: arrow_buffer::ArrowNativeType>(
    array: &'a ArrayData,
    rows: impl Iterator<Item = usize> + 'a,
    state: RandomState,
) -> impl Iterator<Item = u64> + 'a {
    let (start, buffers) = (array.offset(), array.buffers());
    let offsets = buffers.first().map(|buffer| buffer.typed_data::<O>()).unwrap_or_default();
    let bytes = buffers.get(1).map(|buffer| buffer.as_slice()).unwrap_or_default();
    rows.filter_map(move |row| {
        let (from, to) = (offsets.get(start + row)?.as_usize(), offsets.get(start + row + 1)?.as_usize());
        Some(state.hash_one(bytes.get(from..to)?))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, StringArray, StringViewArray,
        StructArray,
    };

    use super::*;

    fn distinct_leaves(arrays: &[ArrayRef]) -> Vec<bool> {
        let field = Field::new("a", arrays[0].data_type().clone(), true);
        let batches: Vec<_> =
            arrays.iter().map(|array| RecordBatch::try_from_iter([("a", Arc::clone(array))]).unwrap()).collect();
        mostly_distinct(&[&field], &batches)
    }

    fn numbers(value: impl Fn(i64) -> i64) -> Vec<bool> {
        distinct_leaves(&[Arc::new(Int64Array::from_iter_values((0..100_000).map(value)))])
    }

    #[test]
    fn repeated_values_are_not_distinct() {
        assert_eq!(numbers(|at| at * 7919), [true]);
        // Each value twenty times, adjacent and far apart.
        assert_eq!(numbers(|at| at / 20), [false]);
        assert_eq!(numbers(|at| at % 5000), [false]);
        let random = |limit: u64| {
            move |at: i64| {
                let mixed = (at.unsigned_abs() + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
                i64::try_from((mixed ^ mixed >> 31) % limit).unwrap()
            }
        };
        assert_eq!(numbers(random(20_000)), [false]);
        assert_eq!(numbers(random(1 << 40)), [true]);
    }

    #[test]
    fn too_few_values_are_not_distinct() {
        assert_eq!(distinct_leaves(&[Arc::new(Int64Array::from_iter_values(0..1000))]), [false]);
        assert_eq!(distinct_leaves(&[Arc::new(Int64Array::from(vec![None; 100_000]))]), [false]);
        let some = (0..100_000).map(|at| (at % 10 == 0).then_some(at));
        assert_eq!(distinct_leaves(&[Arc::new(some.collect::<Int64Array>())]), [true]);
    }

    #[test]
    fn samples_leaves_in_order_and_slices_at_their_offset() {
        let texts: StringArray = (0..3000).map(|at| Some(format!("text {at}"))).collect();
        let views: StringViewArray = (0..3000).map(|at| Some(format!("a longer text {}", at % 7))).collect();
        let yes = BooleanArray::from(vec![true; 3000]);
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        let floats = Arc::new(Float32Array::from_iter_values((0..6000).map(|at| at as f32)));
        let lists = FixedSizeListArray::try_new(item, 2, floats, None).unwrap();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("texts", Arc::new(texts)),
            ("views", Arc::new(views)),
            ("yes", Arc::new(yes)),
            ("lists", Arc::new(lists)),
        ];
        let structs: ArrayRef = Arc::new(StructArray::try_from(columns).unwrap());
        assert_eq!(distinct_leaves(&[Arc::clone(&structs)]), [true, false, false, true]);
        assert_eq!(distinct_leaves(&[structs.slice(0, 500), structs.slice(500, 2000)]), [true, false, false, true]);
        assert_eq!(distinct_leaves(&[structs.slice(0, 600), structs.slice(0, 600)]), [false; 4]);
    }
}
