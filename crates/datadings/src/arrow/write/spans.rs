//! Element ranges of lists.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// The element ranges of an array of lists.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spans<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
    Fixed(usize),
}

impl Spans<'_> {
    #[inline]
    pub(super) fn range(&self, at: usize) -> Range<usize> {
        fn of<T: Copy + TryInto<usize>>(offsets: &[T], at: usize) -> Option<Range<usize>> {
            Some((*offsets.get(at)?).try_into().ok()?..(*offsets.get(at + 1)?).try_into().ok()?)
        }
        match self {
            Self::Small(offsets) => of(offsets, at).unwrap_or_default(), // an array has one more offset than rows
            Self::Large(offsets) => of(offsets, at).unwrap_or_default(),
            Self::Fixed(size) => at * size..(at + 1) * size,
        }
    }
}

/// The elements of an array of lists, and their ranges.
pub(super) fn list(array: &dyn Array) -> Option<(Spans<'_>, &ArrayRef)> {
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list_opt::<i32>()?;
            (Spans::Small(list.offsets()), list.values())
        }
        DataType::LargeList(_) => {
            let list = array.as_list_opt::<i64>()?;
            (Spans::Large(list.offsets()), list.values())
        }
        DataType::FixedSizeList(_, size) => {
            (Spans::Fixed(usize::try_from(*size).ok()?), array.as_fixed_size_list_opt()?.values())
        }
        _ => return None,
    })
}
