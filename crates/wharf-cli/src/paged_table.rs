//! A sink that prints rows as human-readable tables, a page at a time.

use std::io::Write;

use comfy_table::{ColumnConstraint, Row, Width};
use container_core::{Error, Loss, Result, Rows};
use wharf::convert::{Cells, Sink, same_columns};

use super::display;

/// Maximum rows per page. Every page repeats the header.
const PAGE_ROWS: usize = 50;
/// Bytes of text that end a page early.
const PAGE_BYTES: usize = 4 << 20;
/// Minimum characters of a truncated column. A column with less room is hidden.
const MIN_WIDTH: usize = 12;
/// Spaces between columns.
const PADDING: usize = 2;
/// Maximum characters of a column where the table's width is unlimited.
const MAX_WIDTH: usize = 60;

/// Prints rows as tables. Only one page is in memory.
pub(crate) struct PagedTable<W> {
    out: W,
    /// Width of the terminal; `None` is unlimited.
    width: Option<u16>,
    cells: Option<Cells>,
    page: Vec<Vec<TextCell>>,
    bytes: usize,
    /// Number of columns that fit, decided by the first page.
    visible: Option<usize>,
    failed: bool,
    /// Number of values outside the known columns.
    unknown: u64,
}

struct TextCell {
    text: String,
    is_numeric: bool,
}

impl<W: Write> PagedTable<W> {
    pub(crate) fn new(out: W, width: Option<u16>) -> Self {
        Self { out, width, cells: None, page: Vec::new(), bytes: 0, visible: None, failed: false, unknown: 0 }
    }

    /// Upper bound of the number of visible columns.
    pub(crate) fn max_columns(&self) -> usize {
        self.width.map_or(usize::MAX, |width| usize::from(width) / (PADDING + 1) + 1)
    }

    /// Number of columns that did not fit.
    pub(crate) fn hidden(&self) -> usize {
        let all = self.cells.as_ref().map_or(0, Cells::len);
        self.visible.map_or(0, |visible| all.saturating_sub(visible))
    }

    /// Number of values of rows that belong to none of the columns.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    fn print(&mut self) -> Result<()> {
        let Some(cells) = &self.cells else { return Ok(()) };
        if self.failed {
            return Err(Error::usage("the table cannot be used after a failed write"));
        }
        let names: Vec<String> = cells.columns().map(|name| display::clean(name).into_owned()).collect();
        let page = std::mem::take(&mut self.page);
        self.bytes = 0;
        let widths: Vec<usize> = (0..=names.len()).map(|column| full_width(column, &names, &page)).collect();
        let visible = *self.visible.get_or_insert_with(|| visible_columns(&widths, self.width));
        let mut table = display::table(self.width);
        let header: Row = std::iter::once("row").chain(names.iter().take(visible).map(String::as_str)).into();
        table.set_header(single_line(header));
        for row in &page {
            let row: Row = row.iter().take(visible + 1).map(|cell| cell.text.as_str()).into();
            table.add_row(single_line(row));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            if page.iter().filter_map(|row| row.get(index)).all(|cell| cell.is_numeric) {
                column.set_cell_alignment(display::ALIGN_RIGHT);
            }
            if index == 0 {
                column.set_constraint(ColumnConstraint::ContentWidth);
            } else if self.width.is_none() {
                let max = u16::try_from(MAX_WIDTH + PADDING).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(max)));
            }
        }
        self.failed = true;
        self.out
            .write_all(display::render(&mut table).as_bytes())
            .map_err(|cause| Error::io("cannot write to standard output", cause))?;
        self.failed = false;
        Ok(())
    }
}

/// Characters of the longest cell of a column. Column 0 is the row number.
fn full_width(column: usize, names: &[String], page: &[Vec<TextCell>]) -> usize {
    let name = column.checked_sub(1).and_then(|index| names.get(index)).map_or("row", String::as_str);
    let cells = page.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
    cells.max().unwrap_or(0).max(name.chars().count())
}

/// Number of columns that fit beside the row number, at least one.
fn visible_columns(widths: &[usize], width: Option<u16>) -> usize {
    let mut room = width.map_or(usize::MAX, usize::from);
    let mut visible = 0;
    for (index, &full) in widths.iter().enumerate() {
        let needed = if index == 0 { full } else { full.min(MIN_WIDTH) } + PADDING;
        match room.checked_sub(needed) {
            Some(left) => room = left,
            None if index > 1 => break,
            None => {}
        }
        visible = index;
    }
    visible
}

fn single_line(mut row: Row) -> Row {
    row.max_height(1);
    row
}

impl<W: Write> Sink for PagedTable<W> {
    fn begin(&mut self, columns: &[&str]) -> Result<()> {
        if let Some(cells) = &self.cells {
            return same_columns(&cells.columns().collect::<Vec<_>>(), columns);
        }
        // A cell shows at most one line of the terminal; a character has at most four bytes.
        let max_chars = self.width.map_or(MAX_WIDTH, usize::from);
        self.cells = Some(Cells::new(columns).with_limit(4 * max_chars));
        Ok(())
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        let cells = self.cells.as_mut().ok_or_else(|| Error::usage("a row was written before `begin`"))?;
        self.unknown += cells.fill(rows.row()).map_err(|error| error.in_row(rows.index()))?;
        let number = TextCell { text: rows.index().to_string(), is_numeric: true };
        let values = cells
            .iter()
            .map(|cell| TextCell { text: display::cell_text(&cell), is_numeric: display::is_numeric(&cell) });
        let row: Vec<TextCell> = std::iter::once(number).chain(values).collect();
        self.bytes += row.iter().map(|cell| cell.text.len() + size_of::<TextCell>()).sum::<usize>();
        self.page.push(row);
        if self.page.len() >= PAGE_ROWS || self.bytes >= PAGE_BYTES {
            self.print()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        // Without rows, print the header alone.
        if !self.page.is_empty() || self.visible.is_none() {
            self.print()?;
        }
        self.out.flush().map_err(|cause| Error::io("cannot write to standard output", cause))
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}
