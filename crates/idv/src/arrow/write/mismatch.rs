//! What does not fit into a column, and where.

use arrow_schema::DataType;
use container_core::Error;

use crate::arrow::tally::Count;

/// The row that an item is of, counted from the first one of an array.
pub(super) type RowOf<'a> = &'a dyn Fn(usize) -> u64;

/// What could not be kept of a column so far.
#[derive(Debug, Default)]
pub(super) struct LossCounts {
    pub(super) nulls: Count,
    pub(super) null_vectors: Count,
    pub(super) ambiguous: Count,
    pub(super) cut: Count,
}

/// The error for a null where none can be.
#[cold]
pub(super) fn missing(what: &str, row: u64) -> Error {
    Error::invalid(format!("null where a {what} is wanted, which cannot be missing")).in_row(row)
}

/// The error for an array of a type that the column was not made for.
#[cold]
pub(super) fn mismatch(found: &DataType) -> Error {
    Error::usage(format!("values of {found}, for which the column was not made"))
}
