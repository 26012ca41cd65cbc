//! Constructors of primitive arrays.

use std::sync::Arc;

use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use container_core::Result;

pub(super) fn array<T: ArrowPrimitiveType>(
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    checked(PrimitiveArray::<T>::try_new(values, nulls)).map(|array| Arc::new(array) as ArrayRef)
}

/// A primitive array.
pub(super) fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    array::<T>(values.into(), nulls)
}

/// Converts the error of a constructor.
pub(super) fn checked<T: ArrowPrimitiveType>(
    array: Result<PrimitiveArray<T>, arrow_schema::ArrowError>,
) -> Result<PrimitiveArray<T>> {
    array.map_err(container_arrow::from_arrow)
}
