//! Conversion of any container into any other: `Convert` and its options, with the feature `convert`.
//!
//! Without the feature: rows of any container as text, with the sinks [`JsonLines`] and [`Csv`], and [`Cells`] for custom sinks.
//!
//! [`copy`] writes a table to a sink in one call. To join tables, skip rows or count, call the steps yourself: [`Sink::begin`] for each
//! table, [`copy_rows`] for its rows, [`Sink::flush`] at the end.
//!
//! Sinks buffer up to 256 KiB, so the writer needs no buffer. Dropping a sink does not flush it: call `finish` or [`Sink::flush`].

mod buffered;
mod cells;
mod csv;
#[cfg(feature = "convert")]
#[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
pub mod import;
mod jsonl;
mod row;

#[cfg(test)]
mod tests;

pub(crate) use csv::DUPLICATE_MEMBER;

pub use cells::{Cell, CellKind, Cells};
pub use csv::{Csv, Delimiter, same_columns};
pub use jsonl::JsonLines;

#[cfg(all(feature = "convert", feature = "zarr"))]
#[cfg_attr(docsrs, doc(cfg(feature = "zarr")))]
pub use crate::hub::zarr::ZarrTarget;
#[cfg(feature = "convert")]
#[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
pub use crate::hub::{
    convert::{
        BatchTarget, ColumnMapping, Context, Convert, DatadingsTarget, DsTarget, IdvTarget, InputForm, InputPart,
        InputTable, IpcTarget, Job, MatchObserver, NetcdfTarget, OptionSpec, OptionValue, ParquetTarget, Report,
        Streaming, Target, TargetInfo, TargetUnit, TextInput, TextTarget, To, ZdsTarget,
    },
    env::Opener,
    inputs::Location,
    select::{Reading, RowRange, Selection},
};

use container_core::{Loss, Progress, Result, Rows, Scan, Table};

/// Rows between two progress reports.
const PROGRESS_ROWS: u64 = 256;

/// A destination for rows.
pub trait Sink {
    /// Begins a table, the first or another one, whose rows have these columns.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) if the columns do not match those of the table before; nothing of the table is written then.
    fn begin(&mut self, columns: &[&str]) -> Result<()>;

    /// Writes the current row.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer, after which every call fails;
    /// [`Invalid`](crate::ErrorKind::Invalid) for a value that the sink cannot represent; nothing of the row is written then.
    fn write(&mut self, rows: &dyn Rows) -> Result<()>;

    /// Writes the buffer and flushes the writer.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer, after which every call fails.
    fn flush(&mut self) -> Result<()>;

    /// Whether all columns must be known before the first row. If so, [`copy`] calls [`Table::infer_columns`] unless columns are selected.
    fn needs_columns(&self) -> bool {
        false
    }

    /// What the sink could not represent so far. Losses of the rows themselves are in [`Rows::losses`].
    fn losses(&self) -> Vec<Loss>;
}

/// The outcome of [`copy`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Rows written.
    pub rows: u64,
    /// Losses of the rows, and of the sink since its creation.
    pub losses: Vec<Loss>,
}

/// Writes the rows of a table that `scan` selects to a sink, and flushes it.
///
/// # Errors
/// Those of the table (see [`Table::rows`], [`Rows::advance`]) and of the sink. Rows before the failing one have been written to the sink.
pub fn copy(table: &dyn Table, scan: &Scan, sink: &mut dyn Sink) -> Result<Copied> {
    if sink.needs_columns() && scan.columns.is_none() {
        table.infer_columns()?;
    }
    let mut rows = table.rows(scan)?;
    sink.begin(&column_names(table, scan))?;
    let count = copy_rows(rows.as_mut(), u64::MAX, sink, None)?;
    sink.flush()?;
    let mut losses = rows.losses();
    losses.extend(sink.losses());
    Ok(Copied { rows: count, losses })
}

/// Writes the next rows, at most `limit`, to a sink and returns their number. Reports to `progress` every 256 rows.
///
/// # Errors
/// Those of the rows and of the sink. Rows before the failing one have been written to the sink.
pub fn copy_rows(rows: &mut dyn Rows, limit: u64, sink: &mut dyn Sink, progress: Option<&dyn Progress>) -> Result<u64> {
    let mut count = 0;
    while count < limit && rows.advance()? {
        sink.write(rows)?;
        count += 1;
        if count.is_multiple_of(PROGRESS_ROWS)
            && let Some(progress) = progress
        {
            progress.advance(PROGRESS_ROWS)?;
        }
    }
    if let Some(progress) = progress {
        progress.advance(count % PROGRESS_ROWS)?;
    }
    Ok(count)
}

/// Names of the columns that a scan selects, in its order; without a projection, of all readable columns.
#[must_use]
pub fn column_names<'t>(table: &'t dyn Table, scan: &Scan) -> Vec<&'t str> {
    let columns = table.columns();
    match &scan.columns {
        Some(selected) => selected.iter().filter_map(|&index| columns.get(index)).map(|c| c.name.as_str()).collect(),
        None => columns.iter().filter(|c| c.unreadable.is_none()).map(|c| c.name.as_str()).collect(),
    }
}
