//! The engine behind `cat` and `convert`: rows of several inputs, one after another, into a sink.

use std::ops::Range;

use crate::convert::{Sink, column_names, copy_rows};
use container_core::{Error, ErrorKind, Loss, Position, Result, Rows, Scan, Table, Unit};

use super::Bar;
use super::Lost;
use super::convert::alike::Alike;
use super::convert::job::Report;
use super::env::Opener;
use super::inputs::Location;
use super::select::{self, Selection};

/// What to pour.
pub struct Job<'a> {
    pub locations: &'a [Location],
    pub selection: &'a Selection,
    /// The sink shows so many columns at most; reading more would be for nothing.
    pub most_columns: usize,
    /// All inputs have to have the same columns, and not only those columns that several have the same meaning.
    pub alike: bool,
    /// Hears how far it is.
    pub progress: &'a Bar,
}

/// What is read now, of several.
pub(super) fn nth(name: String, number: usize, all: usize) -> String {
    match all {
        1 => name,
        all => format!("{name} ({} of {all})", number + 1),
    }
}

impl Job<'_> {
    /// Into a sink that keeps what comes before an error, and is flushed.
    pub fn stream(&self, sink: &mut dyn Sink, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let outcome = self.run(sink, opener, report);
        // What was right before the error is worth having; whether it can be written does not change the error.
        let flushed = match &outcome {
            Err(_) if report.rows == 0 => Ok(()),
            _ => sink.flush(),
        };
        self.ask(sink, report);
        outcome.and(flushed)
    }

    /// Pours the selected rows; `report` tells how far it came. The sink is not flushed.
    pub fn run(&self, sink: &mut dyn Sink, opener: &mut Opener<'_>, report: &mut Report) -> Result<()> {
        let bar = self.progress;
        let wanted = self.selection.rows.as_ref().map_or(0..u64::MAX, |range| range.rows.clone());
        let last = self.selection.limit.map_or(wanted.end, |limit| wanted.start.saturating_add(limit).min(wanted.end));
        opener.join_cells(self.locations, last, self.selection.reading.threads);
        // Rows of the files before, and whether they are all that there are.
        let (mut before, mut complete) = (0_u64, true);
        let mut alike = if self.alike { Alike::default() } else { Alike::of_samples() };
        for (number, location) in self.locations.iter().enumerate() {
            if number > 0 && before >= last {
                complete = false;
                break;
            }
            bar.name(&nth(location.name(), number, self.locations.len()));
            let file = |error: Error| error.in_file(location.name());
            let opened = location.open(opener)?;
            let table =
                select::table(opened.container.as_ref(), self.selection.reading.table.as_deref()).map_err(file)?;
            if self.locations.len() > 1 {
                let chosen = select::columns(table, &self.selection.columns).map_err(file)?;
                alike.check(&location.name(), opened.container.as_ref(), table, chosen.as_deref()).map_err(file)?;
            }
            let rows = wanted.start.saturating_sub(before)..last.saturating_sub(before);
            let walked = self.table(location, table, rows, sink, bar, report);
            let walked = walked.map_err(|error| if report.sink_failed { error } else { file(error) })?;
            before = before.saturating_add(walked);
        }
        match &self.selection.rows {
            Some(range) if complete => range.check(before),
            _ => Ok(()),
        }
    }

    /// Tells what the sink could not keep.
    pub fn ask(&self, sink: &dyn Sink, report: &mut Report) {
        let file = match self.locations {
            [location] => Some(location.name()),
            _ => None,
        };
        report.losses.extend(sink.losses().into_iter().map(|loss| Lost { file: file.clone(), loss }));
    }

    /// Pours rows of one table and says how many rows it has, as far as it matters for those that follow.
    fn table(
        &self,
        location: &Location,
        table: &dyn Table,
        wanted: Range<u64>,
        sink: &mut dyn Sink,
        bar: &Bar,
        report: &mut Report,
    ) -> Result<u64> {
        let mut scan = self.selection.reading.scan();
        scan.columns = select::columns(table, &self.selection.columns)?;
        if sink.needs_columns() && scan.columns.is_none() {
            table.survey()?;
        }
        self.hide(location, table, &mut scan, report);
        sink.begin(&column_names(table, &scan))?;
        // Where the length is not known, rows are counted by walking over them.
        let skip = match table.len() {
            Some(len) if 0 < len && len <= wanted.start => return Ok(len),
            // Of a table without rows too, the walk tells which columns it leaves out.
            Some(len) => {
                scan.rows = wanted.start.min(len)..wanted.end.min(len);
                0
            }
            None => {
                scan.rows = 0..wanted.end;
                wanted.start
            }
        };
        let total = table.len().map(|_| scan.rows.end.saturating_sub(scan.rows.start));
        bar.begin(Unit::Rows, total);
        let mut rows = table.rows(&scan)?;
        let outcome = walk(rows.as_mut(), skip, sink, bar, report);
        let told = rows.losses().into_iter().map(|loss| Lost { file: Some(location.name()), loss });
        report.losses.extend(told);
        // A table that ends before the range does is counted whole; otherwise nothing follows.
        outcome.map(|walked| table.len().unwrap_or(walked))
    }

    /// Leaves out columns that the sink would not show.
    fn hide(&self, location: &Location, table: &dyn Table, scan: &mut Scan, report: &mut Report) {
        let readable = |&index: &usize| table.columns().get(index).is_some_and(|column| column.unreadable.is_none());
        let count = match &scan.columns {
            Some(chosen) => chosen.len(),
            None => (0..table.columns().len()).filter(readable).count(),
        };
        report.hidden = count.saturating_sub(self.most_columns);
        if report.hidden > 0 {
            if scan.columns.is_none() {
                // A walk over chosen columns does not tell of the others.
                report.losses.extend(unreadable(location, table));
            }
            let all = scan.columns.take().unwrap_or_else(|| (0..table.columns().len()).filter(readable).collect());
            scan.columns = Some(all.into_iter().take(self.most_columns).collect());
        }
    }
}

/// Skips rows, pours the others, and says how many it walked over.
fn walk(rows: &mut dyn Rows, skip: u64, sink: &mut dyn Sink, bar: &Bar, report: &mut Report) -> Result<u64> {
    let mut skipped = 0;
    while skipped < skip {
        if !rows.advance()? {
            return Ok(skipped);
        }
        skipped += 1;
    }
    Ok(skipped + copy_rows(rows, u64::MAX, &mut Counting { sink, report }, Some(bar))?)
}

/// Counts what reaches the sink, also when an error follows.
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

/// Columns that are in the file and not in the result.
pub fn unreadable(location: &Location, table: &dyn Table) -> Vec<Lost> {
    let told = table.columns().iter().filter_map(|column| {
        let why = column.unreadable.as_ref()?;
        let mut first = Position::default();
        first.column = Some(column.name.clone().into());
        Some(Lost { file: Some(location.name()), loss: Loss::new(format!("column left out ({why})"), 1, first) })
    });
    told.collect()
}
