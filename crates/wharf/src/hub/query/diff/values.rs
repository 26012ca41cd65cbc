//! Compares the values of aligned batches, and collects what differs.

use arrow_array::{Array, ArrayRef, RecordBatch};
use container_core::{Error, Result};

use super::cells::{Cells, Tolerance};
use super::schema::Pair;
use super::{Differences, ValueDifference};
use crate::hub::query::scalar_of as scalar;
use crate::workers::Workers;

/// What differs so far.
pub(super) struct Found {
    pairs: Vec<Pair>,
    counts: Vec<u64>,
    tolerance: Tolerance,
    limit: usize,
    workers: Workers,
    /// The number of the first selected row of each input.
    pub(super) first_rows: [u64; 2],
    pub(super) differences: Differences,
}

/// Batches of the same number of rows, whose rows belong together.
pub(super) struct Aligned<'a> {
    pub(super) batches: [&'a RecordBatch; 2],
    /// The row of each input, for a row of the batches.
    pub(super) rows: &'a dyn Fn(usize) -> [u64; 2],
    /// The key column of the first batch.
    pub(super) key: Option<&'a ArrayRef>,
}

impl Found {
    pub(super) fn new(pairs: Vec<Pair>, tolerance: Tolerance, limit: usize, threads: usize) -> Self {
        let counts = vec![0; pairs.len()];
        let differences = Differences::default();
        Self { pairs, counts, tolerance, limit, workers: Workers::new(threads), first_rows: [0, 0], differences }
    }

    /// The numbers of rows in their inputs, from those among the selected rows.
    pub(super) fn numbers(&self, [one, other]: [Option<u64>; 2]) -> [Option<u64>; 2] {
        let [first, first_other] = self.first_rows;
        [one.map(|row| first + row), other.map(|row| first_other + row)]
    }

    /// How many differences are still to be shown.
    pub(super) fn space(&self) -> usize {
        self.limit - self.differences.first.len().min(self.limit)
    }

    /// Compares the columns of both batches.
    pub(super) fn compare(&mut self, aligned: &Aligned<'_>) -> Result<()> {
        let [one, other] = aligned.batches;
        let column = |batch: &RecordBatch, index: usize| {
            let column = batch.columns().get(index).cloned();
            column.ok_or_else(|| Error::invalid("a batch has fewer columns than its schema"))
        };
        let arrays = self
            .pairs
            .iter()
            .map(|Pair { indexes: [at, at_other], .. }| Ok([column(one, *at)?, column(other, *at_other)?]));
        let arrays: Vec<[ArrayRef; 2]> = arrays.collect::<Result<_>>()?;
        let tolerance = self.tolerance;
        let differing =
            self.workers.map(arrays.iter().collect(), |[one, other]: &[ArrayRef; 2]| differing(one, other, &tolerance));
        let mut rows: Vec<usize> = Vec::new();
        let mut shown: Vec<(usize, usize)> = Vec::new();
        for (column, (found, pair)) in differing.into_iter().zip(&self.pairs).enumerate() {
            let found = found.map_err(|error| error.in_column(pair.name.clone()))?;
            if let Some(count) = self.counts.get_mut(column) {
                *count += found.len() as u64;
            }
            shown.extend(found.iter().take(self.space()).map(|row| (*row, column)));
            rows.extend(found);
        }
        rows.sort_unstable();
        rows.dedup();
        self.differences.differing_rows += rows.len() as u64;
        shown.sort_unstable();
        for (row, column) in shown.into_iter().take(self.space()) {
            let (Some(pair), Some([one, other])) = (self.pairs.get(column), arrays.get(column)) else { continue };
            self.differences.first.push(ValueDifference {
                rows: self.numbers((aligned.rows)(row).map(Some)),
                key: aligned.key.map(|key| scalar(key, row)).transpose()?,
                column: Some(pair.name.clone()),
                values: [Some(scalar(one, row)?), Some(scalar(other, row)?)],
            });
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Differences {
        let counts = self.pairs.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        Differences { counts: counts.map(|(pair, count)| (pair.name, count)).collect(), ..self.differences }
    }
}

/// The rows whose values differ.
fn differing(one: &ArrayRef, other: &ArrayRef, tolerance: &Tolerance) -> Result<Vec<usize>> {
    // Comparing buffers is fast. It is exact, and thus never finds unequal values equal.
    if one.data_type() == other.data_type() && one.to_data() == other.to_data() {
        return Ok(Vec::new());
    }
    let (one, other) = (Cells::new(one)?, Cells::new(other)?);
    let len = one.len();
    Ok((0..len).filter(|row| !one.equals(*row, &other, *row, tolerance)).collect())
}
