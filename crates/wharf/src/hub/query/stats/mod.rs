//! Statistics of columns.

mod column;
mod distinct;
mod numbers;
mod scalars;
mod sketch;
mod summary;
#[cfg(test)]
mod tests;
mod texts;
mod variables;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::BatchWriter;
use container_core::{Error, Loss, Result, Table, Watch};

use super::super::convert::{Convert, Report, quoted};
use super::super::env::Opener;
use super::super::inputs::Location;
use crate::Registry;
use crate::workers::Workers;
use column::Column;
pub use scalars::Scalar;
pub(in crate::hub::query) use scalars::of_array as scalars_of;
pub use summary::{ColumnStats, Estimates, Lengths};

/// Maximum columns, with those that are nested.
const MAX_COLUMNS: usize = 10_000;
/// Values that all columns together count exactly, at least.
const TOTAL_CAPACITY: usize = 1 << 21;
/// Values in the buffer of a column.
const CAPACITY: std::ops::RangeInclusive<usize> = 256..=1 << 16;

/// Computes statistics of columns, in one pass over the rows of any format.
///
/// Counts, extremes, means and deviations are exact, whatever the number of rows: sums of integers are exact, those of floats compensated. Quantiles,
/// distinct values and frequent values are exact for columns of up to 131,072 distinct values (fewer if there are more than 32 columns), and otherwise
/// estimates whose errors [`Estimates`] has. Texts count their distinct values exactly up to 8 MiB. All variables of one ds or NetCDF file, read
/// whole, have exact quantiles.
///
/// Several inputs are one table, as for [`Convert`](crate::Convert). Results do not depend on the number of threads. Memory: at most 10 MB for each
/// column, less if there are many.
///
/// ```no_run
/// use wharf::{Registry, Stats};
///
/// for column in Stats::new(["adult.idv"]).compute(&Registry::builtin())? {
///     println!("{}: {} rows, {} missing", column.column, column.count, column.nulls);
/// }
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Inputs, columns, rows, and how text is read.
    pub inputs: Convert,
    /// Maximum number of frequent values of each column. Default: 5.
    pub top: usize,
}

impl Stats {
    /// Computes statistics of all columns of files, one after the other.
    #[must_use]
    pub fn new<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Self::of(Convert::new(inputs))
    }

    /// Computes statistics of the selected columns and rows of these inputs.
    #[must_use]
    pub fn of(inputs: Convert) -> Self {
        Self { inputs, top: 5 }
    }

    /// Returns the statistics of all columns.
    ///
    /// # Errors
    /// As [`run`](Self::run), and those of single columns.
    pub fn compute(&self, registry: &Registry) -> Result<Vec<ColumnStats>> {
        let columns = self.run(&mut Opener::new(registry.clone()), &mut Report::default())?;
        columns.into_iter().collect()
    }

    /// Returns the statistics of each column, or its error. `report` has the losses.
    ///
    /// # Errors
    /// An input cannot be opened or read; inputs differ in columns or their meaning; a column is unknown or has a type without statistics;
    /// [`Limit`](crate::ErrorKind::Limit) for more than 10,000 columns.
    pub fn run(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<Vec<Result<ColumnStats>>> {
        opener.apply(&self.inputs.selection)?;
        let watch = Watch::new(Arc::clone(&self.inputs.progress.0));
        if let [location] = self.inputs.inputs.as_slice()
            && self.is_whole()
        {
            let of_rows = |opener: &mut Opener<'_>, name: &str| {
                let mut stats = self.clone();
                stats.inputs.selection.columns = quoted([name]);
                let opened = location.open(opener)?;
                let has_it = |table: &&dyn Table| table.columns().iter().any(|column| column.name == name);
                let table = opened.container.tables().into_iter().find(has_it);
                stats.inputs.selection.reading.table = table.map(|table| table.name().to_owned());
                stats.of_rows(opener, report)
            };
            let names = &self.inputs.selection.columns;
            if let Some(variables) = variables::stats(location, names, opener, &watch, of_rows)? {
                return Ok(variables);
            }
        }
        self.of_rows(opener, report)
    }

    fn of_rows(&self, opener: &mut Opener<'_>, report: &mut Report) -> Result<Vec<Result<ColumnStats>>> {
        let mut inputs = self.inputs.clone();
        super::accept_mixed_types(&mut inputs);
        let threads = inputs.selection.reading.threads;
        let collector = super::with_exact_times(&inputs, report, |inputs, report| {
            inputs.read_batches(opener, report, |schema| Collector::new(&schema, threads).map(Box::new))
        })?;
        let columns = collector.columns.into_iter();
        let mut all = Vec::new();
        columns.for_each(|column| summary::add(column, self.top, &mut all));
        Ok(all)
    }

    /// Whether all rows are read as they are.
    fn is_whole(&self) -> bool {
        let selection = &self.inputs.selection;
        let reading = &selection.reading;
        selection.rows.is_none()
            && selection.limit.is_none()
            && selection.filter.is_none()
            && !selection.tidy
            && reading.table.is_none()
            && reading.time.is_none()
            && !reading.missing_as_null
    }
}

impl From<Location> for Stats {
    fn from(location: Location) -> Self {
        let mut inputs = Convert::default();
        inputs.inputs.push(location);
        Self::of(inputs)
    }
}

/// Collects the statistics of all columns.
struct Collector {
    columns: Vec<Column>,
    workers: Workers,
}

impl Collector {
    fn new(schema: &SchemaRef, threads: usize) -> Result<Self> {
        let count: usize = schema.fields().iter().map(|field| column::count(field.data_type())).sum();
        if count > MAX_COLUMNS {
            let error = Error::limit("columns with statistics", count as u64, MAX_COLUMNS as u64);
            return Err(error.advising("select some with {columns}"));
        }
        let capacity = (TOTAL_CAPACITY / count.max(1)).clamp(*CAPACITY.start(), *CAPACITY.end());
        let column = |field: &arrow_schema::FieldRef| Column::new(field.name().clone(), field.data_type(), capacity, 0);
        let columns = schema.fields().iter().map(column).collect::<Result<_>>()?;
        Ok(Self { columns, workers: Workers::new(threads) })
    }
}

impl BatchWriter for Collector {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = self.columns.iter_mut().zip(batch.columns()).collect();
        let added = self.workers.map(columns, |(column, array): (&mut Column, _)| {
            column.add(array, None).map_err(|error| error.in_column(column.name.clone()))
        });
        added.into_iter().collect()
    }

    fn finish(self: Box<Self>) -> Result<Vec<Loss>> {
        Ok(Vec::new())
    }
}
