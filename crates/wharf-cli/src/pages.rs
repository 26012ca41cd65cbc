//! Rows as tables for people, page by page.

use std::io::Write;

use comfy_table::{ColumnConstraint, Row, Width};
use container_core::{Error, Loss, Result, Rows};
use wharf::convert::{Cells, Sink, same_columns};

use super::human;

/// Rows of a page: the header is repeated on each.
const PAGE_ROWS: usize = 50;
/// A page of large rows ends earlier.
const PAGE_BYTES: usize = 4 << 20;
/// A column is shown when at least so many of its characters fit, or all.
const NARROWEST: usize = 12;
/// The blanks around a column.
const PADDING: usize = 2;
/// The widest a column gets where the width is not bounded.
const WIDEST: usize = 60;

/// A sink for people. Only one page is held in memory.
pub(crate) struct Pages<W> {
    out: W,
    /// The terminal's width; without one, lines are as long as they are.
    width: Option<u16>,
    cells: Option<Cells>,
    page: Vec<Vec<Shown>>,
    bytes: usize,
    /// How many columns fit, decided by the first page.
    fit: Option<usize>,
    failed: bool,
    /// Fields of rows that are none of the columns.
    unknown: u64,
}

struct Shown {
    text: String,
    number: bool,
}

impl<W: Write> Pages<W> {
    pub(crate) fn new(out: W, width: Option<u16>) -> Self {
        Self { out, width, cells: None, page: Vec::new(), bytes: 0, fit: None, failed: false, unknown: 0 }
    }

    /// No more columns than this can be seen.
    pub(crate) fn most_columns(&self) -> usize {
        self.width.map_or(usize::MAX, |width| usize::from(width) / (PADDING + 1) + 1)
    }

    /// How many of the columns given did not fit.
    pub(crate) fn hidden(&self) -> usize {
        let all = self.cells.as_ref().map_or(0, Cells::len);
        self.fit.map_or(0, |fit| all.saturating_sub(fit))
    }

    /// How many values of the rows stood in no column.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    fn print(&mut self) -> Result<()> {
        let Some(cells) = &self.cells else { return Ok(()) };
        if self.failed {
            return Err(Error::usage("the table was used after a write to it failed"));
        }
        let names: Vec<String> = cells.columns().map(|name| human::clean(name).into_owned()).collect();
        let page = std::mem::take(&mut self.page);
        self.bytes = 0;
        let widths: Vec<usize> = (0..=names.len()).map(|column| widest(column, &names, &page)).collect();
        let fit = *self.fit.get_or_insert_with(|| fitting(&widths, self.width));
        let mut table = human::table(self.width);
        let header: Row = std::iter::once("row").chain(names.iter().take(fit).map(String::as_str)).into();
        table.set_header(single_line(header));
        for row in &page {
            let row: Row = row.iter().take(fit + 1).map(|shown| shown.text.as_str()).into();
            table.add_row(single_line(row));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            if page.iter().filter_map(|row| row.get(index)).all(|shown| shown.number) {
                column.set_cell_alignment(human::RIGHT);
            }
            if index == 0 {
                column.set_constraint(ColumnConstraint::ContentWidth);
            } else if self.width.is_none() {
                let most = u16::try_from(WIDEST + PADDING).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(most)));
            }
        }
        self.failed = true;
        self.out
            .write_all(human::print(&mut table).as_bytes())
            .map_err(|cause| Error::io("cannot write to standard output", cause))?;
        self.failed = false;
        Ok(())
    }
}

/// The width of a column that would show all of it, as far as its characters tell.
fn widest(column: usize, names: &[String], page: &[Vec<Shown>]) -> usize {
    let name = column.checked_sub(1).and_then(|index| names.get(index)).map_or("row", String::as_str);
    let cells = page.iter().filter_map(|row| row.get(column)).map(|shown| shown.text.chars().count());
    cells.max().unwrap_or(0).max(name.chars().count())
}

/// How many columns fit, besides that of the row numbers: one at least.
fn fitting(widths: &[usize], width: Option<u16>) -> usize {
    let mut room = width.map_or(usize::MAX, usize::from);
    let mut fit = 0;
    for (index, &wide) in widths.iter().enumerate() {
        let needed = if index == 0 { wide } else { wide.min(NARROWEST) } + PADDING;
        match room.checked_sub(needed) {
            Some(left) => room = left,
            None if index > 1 => break,
            None => {}
        }
        fit = index;
    }
    fit
}

fn single_line(mut row: Row) -> Row {
    row.max_height(1);
    row
}

impl<W: Write> Sink for Pages<W> {
    fn begin(&mut self, columns: &[&str]) -> Result<()> {
        if let Some(cells) = &self.cells {
            return same_columns(&cells.columns().collect::<Vec<_>>(), columns);
        }
        // More than a line of the terminal is never seen; four bytes make a character at most.
        let seen = self.width.map_or(WIDEST, usize::from);
        self.cells = Some(Cells::new(columns).with_limit(4 * seen));
        Ok(())
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        let cells = self.cells.as_mut().ok_or_else(|| Error::usage("a row was written before the table began"))?;
        self.unknown += cells.fill(rows.row()).map_err(|error| error.in_row(rows.index()))?;
        let number = Shown { text: rows.index().to_string(), number: true };
        let shown = cells.iter().map(|cell| Shown { text: human::shown(&cell), number: human::is_number(&cell) });
        let row: Vec<Shown> = std::iter::once(number).chain(shown).collect();
        self.bytes += row.iter().map(|shown| shown.text.len() + size_of::<Shown>()).sum::<usize>();
        self.page.push(row);
        if self.page.len() >= PAGE_ROWS || self.bytes >= PAGE_BYTES {
            self.print()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        // A table without rows is shown by its header.
        if !self.page.is_empty() || self.fit.is_none() {
            self.print()?;
        }
        self.out.flush().map_err(|cause| Error::io("cannot write to standard output", cause))
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}
