//! Which rows of a table match.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_schema::{Field, Schema, SchemaRef};
use container_arrow::{ArrowTable, BatchReader, BatchScan, Filter, Predicate};
use container_core::{Error, Result};

use super::candidates::candidates;
use super::of_predicate;

/// Evaluates a predicate on batches of the columns that it mentions.
pub(super) struct Masks<'a> {
    table: &'a dyn ArrowTable,
    scan: BatchScan,
    batches: Box<dyn BatchReader + 'a>,
    filter: Filter,
    /// The number of the next row.
    next: u64,
    /// Later stretches of rows to read.
    stretches: std::vec::IntoIter<Range<u64>>,
}

/// The rows of a batch that match.
pub(super) struct Mask {
    /// The number of its first row.
    pub(super) first: u64,
    pub(super) mask: BooleanArray,
}

impl<'a> Masks<'a> {
    /// Reads the columns of `scan`, which are those of the predicate, of all rows that can match.
    pub(super) fn new(table: &'a dyn ArrowTable, mut scan: BatchScan, predicate: &Predicate) -> Result<Self> {
        let all = 0..u64::MAX;
        let mut stretches = candidates(table, &predicate.condition())?.unwrap_or_else(|| vec![all]).into_iter();
        scan.scan.rows = stretches.next().unwrap_or(0..0);
        let batches = table.batches(&scan)?;
        let filter = predicate.bind(&batches.schema()).map_err(of_predicate)?;
        Ok(Self { table, next: scan.scan.rows.start, scan, batches, filter, stretches })
    }

    /// The next rows; `None` at the end.
    pub(super) fn try_next(&mut self) -> Result<Option<Mask>> {
        let batch = loop {
            if let Some(batch) = self.batches.try_next()? {
                break batch;
            }
            let Some(stretch) = self.stretches.next() else { return Ok(None) };
            self.next = stretch.start;
            self.scan.scan.rows = stretch;
            self.batches = self.table.batches(&self.scan)?;
        };
        let first = self.next;
        self.next = first.saturating_add(batch.num_rows() as u64);
        let mask = self.filter.mask(&batch).map_err(|error| shifted(error, first))?;
        Ok(Some(Mask { first, mask }))
    }
}

/// Moves the row of an error from its batch to the table.
pub(super) fn shifted(error: Error, first: u64) -> Error {
    match error.position().row {
        Some(row) => error.in_row(first.saturating_add(row)),
        None => error,
    }
}

impl Mask {
    /// The numbers of the matching rows.
    pub(super) fn hits(&self) -> impl Iterator<Item = u64> {
        self.mask.values().set_indices().map(|row| self.first.saturating_add(row as u64))
    }

    /// Stretches that begin and end with a matching row, with fewer than `gap` other rows between two of these.
    pub(super) fn stretches(&self, gap: u64) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for (start, end) in self.mask.values().set_slices() {
            let (start, end) = (self.first.saturating_add(start as u64), self.first.saturating_add(end as u64));
            match all.last_mut() {
                Some(last) if start - last.end < gap => last.end = end,
                _ => all.push(start..end),
            }
        }
        all
    }
}

/// The inferred schema, with the types of declared columns.
pub(super) fn declared(inferred: &SchemaRef, declared: Option<&SchemaRef>) -> SchemaRef {
    let Some(declared) = declared else { return Arc::clone(inferred) };
    let field = |field: &Arc<Field>| match declared.column_with_name(field.name()) {
        Some((index, _)) => declared.fields().get(index).map_or_else(|| Arc::clone(field), Arc::clone),
        None => Arc::clone(field),
    };
    Arc::new(Schema::new(inferred.fields().iter().map(field).collect::<Vec<_>>()))
}
