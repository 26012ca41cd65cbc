//! Errors and loss counts of a column builder.

use arrow_schema::DataType;
use container_core::Error;

use crate::arrow::tally::Count;

/// Maps an array index to a row.
pub(super) type RowOf<'a> = &'a dyn Fn(usize) -> u64;

/// Losses of a column so far.
#[derive(Debug, Default)]
pub(super) struct LossCounts {
    pub(super) nulls: Count,
    pub(super) null_vectors: Count,
    pub(super) ambiguous: Count,
    pub(super) cut: Count,
}

/// The error for a null in a type that cannot be missing.
#[cold]
pub(super) fn missing(what: &str, row: u64) -> Error {
    Error::invalid(format!("unexpected null: a {what} cannot be missing")).in_row(row)
}

/// The error for an array of an unplanned type.
#[cold]
pub(super) fn mismatch(found: &DataType) -> Error {
    Error::usage(format!("unexpected array type {found}"))
}
