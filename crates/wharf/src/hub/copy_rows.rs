//! Copies the rows of several inputs, one after another, into a sink: for `cat`, text outputs and documents.

use std::collections::HashSet;
use std::ops::Range;

use crate::convert::{Sink, column_names, copy_rows};
use container_core::{ColumnInfo, Error, ErrorKind, Loss, Result, Rows, Scan, Table, Unit};

use super::Bar;
use super::Lost;
use super::convert::SchemaCheck;
use super::convert::job::Report;
use super::env::Opener;
use super::inputs::Location;
use super::select::{self, Selection};

/// Which rows to copy.
pub struct CopyRows<'a> {
    pub locations: &'a [Location],
    pub selection: &'a Selection,
    /// Maximum columns that the sink shows; others are not read.
    pub max_columns: usize,
    /// Inputs may have different columns: a sink that lays out columns gets those of all.
    pub union: bool,
    /// All inputs must have the same columns. Otherwise only columns that several inputs share must have the same meaning.
    pub same_columns: bool,
    /// Receives progress reports.
    pub progress: &'a Bar,
}

/// The label of an input in progress reports: `a.csv (1 of 3)`.
pub(super) fn input_label(name: String, number: usize, all: usize) -> String {
    match all {
        1 => name,
        all => format!("{name} ({} of {all})", number + 1),
    }
}

impl CopyRows<'_> {
    /// As [`run`](Self::run), for a sink that keeps the rows before an error. The sink is flushed.
    pub fn stream(&self, sink: &mut dyn Sink, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let outcome = self.run(sink, opener, report);
        // The rows before an error are worth keeping. Failing to write them does not change the error.
        let flushed = match &outcome {
            Err(_) if report.rows == 0 => Ok(()),
            _ => sink.flush(),
        };
        self.report_losses(sink, report);
        outcome.and(flushed)
    }

    /// Copies the selected rows; `report` counts them, also before an error. The sink is not flushed.
    pub fn run(&self, sink: &mut dyn Sink, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let progress = self.progress;
        let requested = self.selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        let last = self
            .selection
            .limit
            .map_or(requested.end, |limit| requested.start.saturating_add(limit).min(requested.end));
        opener.infer_common_types(self.locations, last, self.selection.reading.threads);
        opener.allow_lacking(self.locations, self.selection, self.union);
        // Rows of the inputs before this one, and whether all inputs were read.
        let (mut before, mut complete) = (0_u64, true);
        let mut schemas =
            if self.same_columns && !self.union { SchemaCheck::default() } else { SchemaCheck::by_name() };
        let union = if self.union { Some(self.union_of_columns(sink, opener)?) } else { None };
        for (number, location) in self.locations.iter().enumerate() {
            if number > 0 && before >= last {
                complete = false;
                break;
            }
            progress.name(&input_label(location.name(), number, self.locations.len()));
            let file = |error: Error| error.in_file(location.name());
            let opened = location.open(opener)?;
            let table =
                select::table(opened.container.as_ref(), self.selection.reading.table.as_deref()).map_err(file)?;
            if self.locations.len() > 1 {
                let selected = self.selected(table).map_err(file)?;
                schemas.check(&location.name(), opened.container.as_ref(), table, selected.as_deref()).map_err(file)?;
            }
            let rows = requested.start.saturating_sub(before)..last.saturating_sub(before);
            let passed = self.table((location, table), rows, union.as_deref(), sink, report);
            let passed = passed.map_err(|error| if report.sink_failed { error } else { file(error) })?;
            before = before.saturating_add(passed);
        }
        match &self.selection.rows {
            Some(range) if complete => range.check(before),
            _ => Ok(()),
        }
    }

    /// The selected columns of a table; of a union, those that it has.
    fn selected(&self, table: &dyn Table) -> Result<Option<Vec<usize>>> {
        if !self.union || self.selection.columns.is_empty() {
            return select::columns(table, &self.selection.columns);
        }
        table.infer_columns()?;
        let mut columns = Vec::new();
        for argument in &self.selection.columns {
            let names = select::split(argument)?;
            columns.extend(names.iter().filter_map(|name| table.columns().iter().position(|c| c.name == *name)));
        }
        Ok(Some(columns))
    }

    /// The names of the columns of all inputs, in the order of the selection or of their first appearance.
    fn union_of_columns(&self, sink: &dyn Sink, opener: &mut Opener<'_>) -> Result<Vec<String>> {
        let mut all: Vec<ColumnInfo> = Vec::new();
        let mut known = HashSet::new();
        for location in self.locations {
            let file = |error: Error| error.in_file(location.name());
            let opened = location.open(opener)?;
            let table =
                select::table(opened.container.as_ref(), self.selection.reading.table.as_deref()).map_err(file)?;
            if sink.needs_columns() || !self.selection.columns.is_empty() {
                table.infer_columns().map_err(file)?;
            }
            let readable = table.columns().iter().filter(|column| column.unreadable.is_none());
            all.extend(readable.filter(|column| known.insert(column.name.clone())).cloned());
        }
        let name = |column: &ColumnInfo| column.name.clone();
        match select::columns_of(&all, &self.selection.columns)? {
            None => Ok(all.iter().map(name).collect()),
            Some(selected) => Ok(selected.into_iter().filter_map(|index| all.get(index)).map(name).collect()),
        }
    }

    /// Adds to the report what the sink could not keep.
    pub fn report_losses(&self, sink: &dyn Sink, report: &mut Report) {
        let file = match self.locations {
            [location] => Some(location.name()),
            _ => None,
        };
        report.losses.extend(sink.losses().into_iter().map(|loss| Lost { file: file.clone(), loss }));
    }

    /// Copies rows of one table. Returns the number of its rows, or a smaller number when no later input is read.
    fn table(
        &self,
        (location, table): (&Location, &dyn Table),
        requested: Range<u64>,
        union: Option<&[String]>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<u64> {
        let mut scan = self.selection.reading.scan();
        scan.columns = self.selected(table)?;
        if sink.needs_columns() && scan.columns.is_none() {
            table.infer_columns()?;
        }
        self.limit_columns(location, table, &mut scan, report);
        match union {
            Some(names) => sink.begin(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
            None => sink.begin(&column_names(table, &scan))?,
        }
        // Without a known length, rows are counted as they come.
        let skip = match table.len() {
            Some(len) if 0 < len && len <= requested.start => return Ok(len),
            // Reading an empty table, too, reports the columns that it leaves out.
            Some(len) => {
                scan.rows = requested.start.min(len)..requested.end.min(len);
                0
            }
            None => {
                scan.rows = 0..requested.end;
                requested.start
            }
        };
        let total = table.len().map(|_| scan.rows.end.saturating_sub(scan.rows.start));
        self.progress.begin(Unit::Rows, total);
        let mut rows = table.rows(&scan)?;
        let outcome = skip_and_copy(rows.as_mut(), skip, sink, self.progress, report);
        report.losses.extend(Lost::all(rows.losses(), Some(&location.name())));
        // A table that ends before the range is read to its end; otherwise no input follows.
        outcome.map(|passed| table.len().unwrap_or(passed))
    }

    /// Drops columns that the sink does not show.
    fn limit_columns(&self, location: &Location, table: &dyn Table, scan: &mut Scan, report: &mut Report) {
        let readable = |&index: &usize| table.columns().get(index).is_some_and(|column| column.unreadable.is_none());
        let count = match &scan.columns {
            Some(selected) => selected.len(),
            None => (0..table.columns().len()).filter(readable).count(),
        };
        report.hidden = count.saturating_sub(self.max_columns);
        if report.hidden > 0 {
            if scan.columns.is_none() {
                // Reading selected columns does not report the others.
                report.losses.extend(unreadable(location, table));
            }
            let all = scan.columns.take().unwrap_or_else(|| (0..table.columns().len()).filter(readable).collect());
            scan.columns = Some(all.into_iter().take(self.max_columns).collect());
        }
    }
}

/// Skips rows, copies the others, and returns the number of both.
fn skip_and_copy(
    rows: &mut dyn Rows,
    skip: u64,
    sink: &mut dyn Sink,
    progress: &Bar,
    report: &mut Report,
) -> Result<u64> {
    let mut skipped = 0;
    while skipped < skip {
        if !rows.advance()? {
            return Ok(skipped);
        }
        skipped += 1;
    }
    Ok(skipped + copy_rows(rows, u64::MAX, &mut Counting { sink, report }, Some(progress))?)
}

/// Counts the rows that reach the sink, also when an error follows.
struct Counting<'a> {
    sink: &'a mut dyn Sink,
    report: &'a mut Report,
}

impl Sink for Counting<'_> {
    fn begin(&mut self, columns: &[&str]) -> Result<()> {
        self.sink.begin(columns)
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        let outcome = self.sink.write(rows);
        match &outcome {
            Ok(()) => self.report.rows += 1,
            Err(error) => self.report.sink_failed = error.kind() == ErrorKind::Io,
        }
        outcome
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.flush()
    }

    fn needs_columns(&self) -> bool {
        self.sink.needs_columns()
    }

    fn losses(&self) -> Vec<Loss> {
        self.sink.losses()
    }
}

/// A loss for each column that cannot be read.
pub fn unreadable(location: &Location, table: &dyn Table) -> Vec<Lost> {
    Lost::all(table.columns().iter().filter_map(ColumnInfo::left_out).collect(), Some(&location.name())).collect()
}
