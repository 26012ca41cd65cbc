//! Reads a table in batches.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, BatchSteps, from_arrow};
use container_core::parallel::{self, Pool};
use container_core::{Loss, Result};

use super::plan::Plan;
use super::structs;
use crate::FORMAT_NAME;
use crate::container::DsTable;
use crate::read::Variable;

pub(super) struct DsBatches<'a> {
    plan: Plan<'a>,
    scan: BatchScan,
    /// Rows not read yet.
    rows: Range<u64>,
    /// Bytes per row without those of strings.
    row_bytes: u64,
    /// True when a column has strings.
    has_strings: bool,
    pool: Pool,
}

impl<'a> DsBatches<'a> {
    pub(super) fn new(table: &'a DsTable, scan: &BatchScan) -> Result<Self> {
        let plan = Plan::new(table, scan)?;
        Ok(Self {
            rows: plan.rows.clone(),
            row_bytes: plan.row_bits().div_ceil(8),
            has_strings: plan.columns.iter().any(|column| column.kind.is_text()),
            pool: Pool::new(scan.scan.threads).map_err(|error| error.in_format(FORMAT_NAME))?,
            plan,
            scan: scan.clone(),
        })
    }

    /// The rows of the next batch.
    fn next_rows(&self) -> Result<Range<u64>> {
        let start = self.rows.start;
        let max_rows = self.scan.rows_per_batch(usize::try_from(self.row_bytes).unwrap_or(usize::MAX)) as u64;
        let mut rows = max_rows.min(self.rows.end - start);
        if self.has_strings && !self.fits(start..start + rows)? {
            // The index gives the bytes of any range of strings: binary search for the number of rows that fit.
            let mut too_many = rows;
            rows = 1;
            while too_many - rows > 1 {
                let middle = rows + (too_many - rows) / 2;
                if self.fits(start..start + middle)? { rows = middle } else { too_many = middle }
            }
        }
        Ok(start..start + rows)
    }

    /// True when these rows fit in a batch. A single row always does.
    fn fits(&self, rows: Range<u64>) -> Result<bool> {
        let count = rows.end - rows.start;
        let mut bytes = count.saturating_mul(self.row_bytes);
        for column in self.plan.columns.iter().filter(|column| column.kind.is_text()) {
            let (variable, row_len) = (&column.layout.variable, column.layout.row_len);
            bytes = bytes.saturating_add(string_bytes(variable, rows.start * row_len..rows.end * row_len)?);
        }
        Ok(count <= 1 || bytes <= self.scan.batch_bytes as u64)
    }

    fn columns(&self, rows: &Range<u64>) -> Result<Vec<ArrayRef>> {
        let columns: Vec<_> = self.plan.columns.iter().collect();
        let arrays = self.pool.install(|| parallel::map(columns, |column| column.array(rows)));
        let arrays: Vec<ArrayRef> = arrays.into_iter().collect::<Result<_>>()?;
        if self.plan.columns.iter().all(|column| column.layout.variable.member().is_none()) {
            return Ok(arrays);
        }
        structs::trees(&self.plan.columns).iter().map(|tree| tree.array(&self.plan.columns, &arrays)).collect()
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let rows = self.next_rows()?;
        let columns = self.columns(&rows)?;
        let count = rows.end - rows.start;
        let count = usize::try_from(count).map_err(|_| crate::read::fill::too_many(count))?;
        self.rows.start = rows.end;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(self.plan.schema.clone(), columns, &options);
        batch.map_err(|error| from_arrow(error).in_format(FORMAT_NAME))
    }
}

/// Total bytes of the strings in an element range.
fn string_bytes(variable: &Variable<'_>, elements: Range<u64>) -> Result<u64> {
    variable.with_layout(|layout| {
        if variable.reader.foreign.is_some() {
            let (values, _) = variable.elements(layout, elements.clone())?;
            return Ok(values.as_strings().map_or(0, |strings| strings.as_bytes().len() as u64));
        }
        let start = variable.text_start(layout, variable.rank(layout, elements.start)?)?;
        let end = variable.text_start(layout, variable.rank(layout, elements.end)?)?;
        Ok(end.saturating_sub(start))
    })
}

impl BatchSteps for DsBatches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows.is_empty() { Ok(None) } else { self.batch().map(Some) }
    }

    fn schema(&self) -> SchemaRef {
        self.plan.schema.clone()
    }

    fn losses(&self) -> Vec<Loss> {
        self.plan.losses()
    }
}
