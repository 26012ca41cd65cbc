//! Questions to inputs of any format: statistics of columns, numbers of rows, differences.

pub mod count;
pub mod diff;
pub mod schema;
pub mod stats;

use arrow_array::{Array, ArrayRef};
use container_arrow::{OnMismatch, Times};
use container_core::{Error, ErrorKind, Result};

use super::convert::{Convert, Report};
use stats::Scalar;

/// Values of a column can have any types, unless a schema declares them: then the column is read as JSON.
pub(super) fn accept_mixed_types(inputs: &mut Convert) {
    if inputs.text.schema.is_none() {
        inputs.mapping.on_mismatch.get_or_insert(OnMismatch::Json);
    }
}

/// Runs a query with times as they are. If microseconds cannot hold them, with nanoseconds; if these cannot either, rounded down, which is a loss.
///
/// Ticks of IDV are 100 ns in the years 1 to 9999: microseconds hold those years, nanoseconds hold the fraction.
pub(super) fn with_exact_times<T>(
    inputs: &Convert,
    report: &mut Report,
    mut run: impl FnMut(&Convert, &mut Report) -> Result<T>,
) -> Result<T> {
    let mut inputs = inputs.clone();
    for times in [Times::Exact, Times::Nanoseconds] {
        if inputs.mapping.times.is_some() {
            break;
        }
        let mut attempt = inputs.clone();
        attempt.mapping.times = Some(times);
        let mut losses = Report::default();
        match run(&attempt, &mut losses) {
            Err(error) if error.kind() == ErrorKind::Invalid => {}
            done => {
                report.losses.append(&mut losses.losses);
                return done;
            }
        }
    }
    inputs.mapping.times.get_or_insert(Times::Floor);
    run(&inputs, report)
}

/// The value of a row as JSON.
pub(super) fn scalar_of(array: &ArrayRef, row: usize) -> Result<Scalar> {
    let value = stats::scalars_of(array.slice(row, 1))?.pop();
    value.ok_or_else(|| Error::invalid("a batch has fewer rows than expected"))
}
