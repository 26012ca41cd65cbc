//! Any container into any other: `Convert` and its options, with the feature `convert`.
//!
//! Without it, rows of any container into text: [`JsonLines`] and [`Csv`] over [`Table`] and [`Rows`], and [`Cells`] for sinks of
//! your own.
//!
//! [`copy`] takes a table to a sink in one call. Whoever joins several tables, skips rows or counts along does the steps
//! alone: [`Sink::begin`] for each table, [`pour`] over its rows, [`Sink::flush`] at the end.
//!
//! Sinks hold back up to 256 KiB and write them in one piece, so the writer needs no buffer of its own. Dropping a sink
//! writes nothing: call `finish` or [`Sink::flush`].

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

pub use cells::{Cell, CellKind, Cells};
pub use csv::{Csv, Delimiter, same_columns};
pub use jsonl::JsonLines;

#[cfg(feature = "convert")]
#[cfg_attr(docsrs, doc(cfg(feature = "convert")))]
pub use crate::hub::{
    convert::{
        ColumnarOutput, Convert, DatadingsOutput, DsOutput, IdvOutput, InputForm, NetcdfOutput, OptionSpec,
        OptionValue, OutputForm, Report, TextInput, To, ZdsOutput,
    },
    env::Opener,
    inputs::Location,
    select::{Reading, RowRange, Selection},
};

use container_core::{Loss, Progress, Result, Rows, Scan, Table};

/// How many rows pass between two words to a [`Progress`].
const STRIDE: u64 = 256;

/// What rows are written to.
pub trait Sink {
    /// A table begins, or the next one: the columns that its rows will have.
    ///
    /// # Errors
    /// [`Usage`](crate::ErrorKind::Usage) when they do not fit those of the table before; nothing of it is written then.
    fn begin(&mut self, columns: &[&str]) -> Result<()>;

    /// Writes the current row.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer, after which every call fails;
    /// [`Invalid`](crate::ErrorKind::Invalid) for a value that has no form here, of which nothing is written then.
    fn write(&mut self, rows: &dyn Rows) -> Result<()>;

    /// Writes what is held back and flushes the writer.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer, after which every call fails.
    fn flush(&mut self) -> Result<()>;

    /// True when all columns are laid out before the first row: those of a table that has no schema are surveyed then (see
    /// [`Table::infer_columns`]), unless they are chosen.
    fn needs_columns(&self) -> bool {
        false
    }

    /// What the form could not keep, so far; what the rows themselves could not show is in [`Rows::losses`].
    fn losses(&self) -> Vec<Loss>;
}

/// What [`copy`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Rows written.
    pub rows: u64,
    /// What could not be kept: of the rows, and of the sink over its whole life.
    pub losses: Vec<Loss>,
}

/// Writes the rows of a table, as far as `scan` selects them, to a sink, and flushes it.
///
/// # Errors
/// Of the table (see [`Table::rows`], [`Rows::advance`]) and of the sink. Rows before the failing one have been given to
/// the sink.
pub fn copy(table: &dyn Table, scan: &Scan, sink: &mut dyn Sink) -> Result<Copied> {
    if sink.needs_columns() && scan.columns.is_none() {
        table.infer_columns()?;
    }
    let mut rows = table.rows(scan)?;
    sink.begin(&column_names(table, scan))?;
    let count = pour(rows.as_mut(), u64::MAX, sink, None)?;
    sink.flush()?;
    let mut losses = rows.losses();
    losses.extend(sink.losses());
    Ok(Copied { rows: count, losses })
}

/// Writes rows from where the walk is, at most `most`, and says how many there were. `progress` hears of them in steps.
///
/// # Errors
/// Of the walk and of the sink. Rows before the failing one have been given to the sink.
pub fn pour(rows: &mut dyn Rows, most: u64, sink: &mut dyn Sink, progress: Option<&dyn Progress>) -> Result<u64> {
    let mut count = 0;
    while count < most && rows.advance()? {
        sink.write(rows)?;
        count += 1;
        if count.is_multiple_of(STRIDE)
            && let Some(progress) = progress
        {
            progress.advance(STRIDE);
        }
    }
    if let Some(progress) = progress {
        progress.advance(count % STRIDE);
    }
    Ok(count)
}

/// The names of the columns that a scan walks over, in its order: those it lists, or all that can be read.
#[must_use]
pub fn column_names<'t>(table: &'t dyn Table, scan: &Scan) -> Vec<&'t str> {
    let columns = table.columns();
    match &scan.columns {
        Some(chosen) => chosen.iter().filter_map(|&index| columns.get(index)).map(|c| c.name.as_str()).collect(),
        None => columns.iter().filter(|c| c.unreadable.is_none()).map(|c| c.name.as_str()).collect(),
    }
}
