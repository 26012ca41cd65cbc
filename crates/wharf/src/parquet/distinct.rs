//! Which columns are worth a dictionary, by some of their values.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use arrow_array::RecordBatch;
use arrow_data::{ArrayData, ByteView};
use arrow_schema::{DataType, Field};

/// Values that are looked at, in a row and all over a column.
const LOOKED_AT: usize = 8192;

/// Fewer tell nothing.
const FEW: usize = 1024;

/// One in so many may be there twice. Of 8192 values out of 400,000, that many are: a dictionary of these is larger than a writer lets it become.
const TWICE: usize = 100;

/// By leaf, in the order in which Parquet stores them: are its values in these batches nearly all different, so that no dictionary is tried?
/// What is not looked at (lists in dictionaries, say) is not.
pub(super) fn nearly_all(fields: &[&Field], batches: &[RecordBatch]) -> Vec<bool> {
    let mut leaves = Vec::new();
    for (column, field) in fields.iter().enumerate() {
        let arrays = batches.iter().filter_map(|batch| Some(batch.columns().get(column)?.to_data())).collect();
        each_leaf(field.data_type(), arrays, &mut leaves);
    }
    leaves
}

/// Looks at the leaves of a type, whose arrays these are.
fn each_leaf(data_type: &DataType, arrays: Vec<ArrayData>, leaves: &mut Vec<bool>) {
    let child = |at: usize| arrays.iter().filter_map(|array| array.child_data().get(at).cloned()).collect();
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => each_leaf(item.data_type(), child(0), leaves),
        DataType::Struct(fields) => {
            fields.iter().enumerate().for_each(|(at, field)| each_leaf(field.data_type(), child(at), leaves));
        }
        _ => leaves.push(is_distinct(&arrays)),
    }
}

/// Are nearly all values different, in a row and from end to end?
fn is_distinct(arrays: &[ArrayData]) -> bool {
    let all: usize = arrays.iter().map(|array| array.len() - array.null_count()).sum();
    let step = all.div_ceil(LOOKED_AT).max(1);
    few_twice(arrays.iter().flat_map(|array| hashes(array, 1)).take(LOOKED_AT))
        && (step == 1 || few_twice(arrays.iter().flat_map(|array| hashes(array, step)).take(LOOKED_AT)))
}

fn few_twice(hashes: impl Iterator<Item = u64>) -> bool {
    let (mut seen, mut count) = (HashSet::with_capacity(LOOKED_AT), 0_usize);
    for hash in hashes {
        seen.insert(hash);
        count += 1;
    }
    count >= FEW && (count - seen.len()) * TWICE <= count
}

/// Every so manieth value that is not null, as a hash; nothing of types that are not looked at.
fn hashes(array: &ArrayData, step: usize) -> Box<dyn Iterator<Item = u64> + '_> {
    let state = RANDOM.with(Clone::clone);
    let rows = 0..array.len();
    // Not one by one where all are there.
    let rows: Box<dyn Iterator<Item = usize> + '_> = match array.null_count() {
        0 => Box::new(rows.step_by(step)),
        _ => Box::new(rows.filter(|row| array.is_valid(*row)).step_by(step)),
    };
    let start = array.offset();
    match array.data_type() {
        DataType::Boolean | DataType::Dictionary(..) => Box::new(std::iter::empty()),
        DataType::Utf8 | DataType::Binary => Box::new(texts::<i32>(array, rows, state)),
        DataType::LargeUtf8 | DataType::LargeBinary => Box::new(texts::<i64>(array, rows, state)),
        DataType::Utf8View | DataType::BinaryView => {
            let views = array.buffers().first().map(|buffer| buffer.typed_data::<u128>()).unwrap_or_default();
            Box::new(rows.filter_map(move |row| {
                let view = ByteView::from(*views.get(start + row)?);
                let place = |number: u32| usize::try_from(number).ok();
                let (length, from) = (place(view.length)?, place(view.offset)?);
                if length <= 12 {
                    // The value lies in the view itself.
                    return Some(state.hash_one(view.as_u128()));
                }
                let bytes = array.buffers().get(place(view.buffer_index)? + 1)?;
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
    /// The same for all values that are compared.
    static RANDOM: RandomState = RandomState::new();
}

fn texts<'a, O: arrow_buffer::ArrowNativeType>(
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

    fn of(arrays: &[ArrayRef]) -> Vec<bool> {
        let field = Field::new("a", arrays[0].data_type().clone(), true);
        let batches: Vec<_> =
            arrays.iter().map(|array| RecordBatch::try_from_iter([("a", Arc::clone(array))]).unwrap()).collect();
        nearly_all(&[&field], &batches)
    }

    fn numbers(value: impl Fn(i64) -> i64) -> Vec<bool> {
        of(&[Arc::new(Int64Array::from_iter_values((0..100_000).map(value)))])
    }

    #[test]
    fn only_columns_of_values_that_do_not_come_back_are_distinct() {
        assert_eq!(numbers(|at| at * 7919), [true]);
        // Each value twenty times, in a row and far from each other.
        assert_eq!(numbers(|at| at / 20), [false]);
        assert_eq!(numbers(|at| at % 5000), [false]);
        let random = |most: u64| {
            move |at: i64| {
                let mixed = (at.unsigned_abs() + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
                i64::try_from((mixed ^ mixed >> 31) % most).unwrap()
            }
        };
        assert_eq!(numbers(random(20_000)), [false]);
        assert_eq!(numbers(random(1 << 40)), [true]);
    }

    #[test]
    fn few_values_tell_nothing() {
        assert_eq!(of(&[Arc::new(Int64Array::from_iter_values(0..1000))]), [false]);
        assert_eq!(of(&[Arc::new(Int64Array::from(vec![None; 100_000]))]), [false]);
        let some = (0..100_000).map(|at| (at % 10 == 0).then_some(at));
        assert_eq!(of(&[Arc::new(some.collect::<Int64Array>())]), [true]);
    }

    #[test]
    fn leaves_are_looked_at_in_their_order_and_slices_where_they_are() {
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
        assert_eq!(of(&[Arc::clone(&structs)]), [true, false, false, true]);
        assert_eq!(of(&[structs.slice(0, 500), structs.slice(500, 2000)]), [true, false, false, true]);
        assert_eq!(of(&[structs.slice(0, 600), structs.slice(0, 600)]), [false; 4]);
    }
}
