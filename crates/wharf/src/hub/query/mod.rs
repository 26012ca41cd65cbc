//! Questions to inputs of any format: statistics of columns, numbers of rows, differences.

pub mod count;
pub mod diff;
pub mod schema;
pub mod stats;

use arrow_array::{Array, ArrayRef};
use container_arrow::OnMismatch;
use container_core::{Error, Result};

use super::convert::Convert;
use stats::Scalar;

/// Values of a column can have any types, unless a schema declares them: then the column is read as JSON.
pub(super) fn accept_mixed_types(inputs: &mut Convert) {
    if inputs.text.schema.is_none() {
        inputs.mapping.on_mismatch.get_or_insert(OnMismatch::Json);
    }
}

/// The value of a row as JSON.
pub(super) fn scalar_of(array: &ArrayRef, row: usize) -> Result<Scalar> {
    let value = stats::scalars_of(array.slice(row, 1))?.pop();
    value.ok_or_else(|| Error::invalid("a batch has fewer rows than expected"))
}
