//! Questions to inputs of any format: statistics of columns, numbers of rows, differences.

pub mod count;
pub mod diff;
pub mod schema;
pub mod stats;

use arrow_array::{Array, ArrayRef};
use arrow_schema::SchemaRef;
use container_arrow::{BatchWriter, OnMismatch};
use container_core::{Error, Result};

use super::convert::{Convert, Report};
use super::env::Opener;
use stats::Scalar;

/// Values of a column can have any types, unless a schema declares them: then the column is read as JSON.
pub(super) fn accept_mixed_types(inputs: &mut Convert) {
    if inputs.text.schema.is_none() {
        inputs.mapping.on_mismatch.get_or_insert(OnMismatch::Json);
    }
}

/// Passes the selected rows of all inputs, joined into one table, to the writer that `begin` makes for their schema.
fn read<W: BatchWriter>(
    inputs: &Convert,
    opener: &mut Opener<'_>,
    report: &mut Report,
    begin: impl FnOnce(SchemaRef) -> Result<W>,
) -> Result<W> {
    let writer = inputs.read_batches(opener, report, |schema| begin(schema).map(Box::new))?;
    Ok(*writer)
}

/// The value of a row as JSON.
pub(super) fn scalar_of(array: &ArrayRef, row: usize) -> Result<Scalar> {
    let value = stats::scalars_of(array.slice(row, 1))?.pop();
    value.ok_or_else(|| Error::invalid("a batch has fewer rows than expected"))
}
