use std::io::Write;

use container_core::{Error, Loss, Position, Result, Rows};

use super::Sink;
use super::buffered::Buffered;
use super::cells::{Cell, CellKind, Cells};

/// The delimiter between two cells of a [`Csv`] line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Delimiter {
    /// `,`: CSV.
    #[default]
    Comma,
    /// Tab: TSV.
    Tab,
    /// `;`: CSV for locales with a decimal comma.
    Semicolon,
}

impl Delimiter {
    const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Semicolon => b';',
        }
    }
}

/// Writes rows as CSV: a header line, then a line per row, each ended by a line feed.
///
/// | value | cell |
/// |---|---|
/// | null | empty |
/// | empty string | `""`, to differ from null |
/// | text | unchanged; quoted if it has a quote, the delimiter or a line break (RFC 4180) |
/// | bool, number | `true`, `-1`, `0.1`, `NaN`, `Infinity`, `-Infinity` |
/// | vector, nested value | JSON |
///
/// Most readers skip empty lines, so in a table of one column null is written as `""`, and counted as a loss: it reads back as an empty
/// string. Rows without columns are left out, also a loss.
///
/// ```no_run
/// use wharf::convert::{Csv, Delimiter, copy};
/// # let container = wharf::open("x")?;
/// let mut tsv = Csv::new(std::io::stdout().lock()).with_delimiter(Delimiter::Tab);
/// copy(container.tables()[0], &wharf::Scan::default(), &mut tsv)?;
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug)]
pub struct Csv<W> {
    out: Buffered<W>,
    delimiter: Delimiter,
    cells: Option<Cells>,
    lost_null: Option<Loss>,
    lost_rows: Option<Loss>,
    lost_fields: Option<Loss>,
    lost_duplicates: Option<Loss>,
}

impl<W: Write> Csv<W> {
    /// Writes to `out`, buffered.
    pub fn new(out: W) -> Self {
        let out = Buffered::new(out);
        Self {
            out,
            delimiter: Delimiter::Comma,
            cells: None,
            lost_null: None,
            lost_rows: None,
            lost_fields: None,
            lost_duplicates: None,
        }
    }

    /// Sets the delimiter.
    #[must_use]
    pub fn with_delimiter(mut self, delimiter: Delimiter) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        self.out.get_ref()
    }

    /// Flushes the buffer and returns the writer.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) of the writer; [`Usage`](crate::ErrorKind::Usage) if a write failed before.
    pub fn finish(self) -> Result<W> {
        self.out.finish()
    }
}

impl<W: Write> Sink for Csv<W> {
    /// Writes the header for the first table. Later tables must have the same columns in the same order.
    fn begin(&mut self, columns: &[&str]) -> Result<()> {
        self.out.check()?;
        if let Some(cells) = &self.cells {
            return same_columns(&cells.columns().collect::<Vec<_>>(), columns);
        }
        let mut separator = None;
        for column in columns {
            self.out.buffer.extend(separator);
            write_quoted(&mut self.out.buffer, column.as_bytes(), self.delimiter);
            separator = Some(self.delimiter.byte());
        }
        if !columns.is_empty() {
            self.out.buffer.push(b'\n');
        }
        self.cells = Some(Cells::new(columns));
        self.out.row_done()
    }

    fn write(&mut self, rows: &dyn Rows) -> Result<()> {
        self.out.check()?;
        let cells = self.cells.as_mut().ok_or_else(|| Error::usage("a row was written before the table began"))?;
        let unknown = cells.fill(rows.row()).map_err(|error| error.in_row(rows.index()))?;
        let row = rows.index();
        count(&mut self.lost_fields, "field without a column left out", unknown, row);
        count(&mut self.lost_duplicates, DUPLICATE_MEMBER, cells.duplicates(), row);
        let buffer = &mut self.out.buffer;
        match cells.len() {
            0 => {
                count(&mut self.lost_rows, "row without columns left out", 1, row);
                return Ok(());
            }
            1 if cells.iter().all(|cell| cell.kind == CellKind::Null) => {
                count(&mut self.lost_null, "null in the only column written as an empty string", 1, row);
                buffer.extend_from_slice(b"\"\"");
            }
            _ => {
                let mut separator = None;
                for cell in cells.iter() {
                    buffer.extend(separator);
                    write_cell(buffer, &cell, self.delimiter);
                    separator = Some(self.delimiter.byte());
                }
            }
        }
        buffer.push(b'\n');
        self.out.row_done()
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    fn needs_columns(&self) -> bool {
        true
    }

    fn losses(&self) -> Vec<Loss> {
        let all = [&self.lost_null, &self.lost_rows, &self.lost_fields, &self.lost_duplicates];
        all.into_iter().flatten().cloned().collect()
    }
}

/// The loss of all but the last member of an object with a name, as conversions into columns report it.
pub(crate) const DUPLICATE_MEMBER: &str = "duplicate object member: last value kept";

fn count(loss: &mut Option<Loss>, what: &str, times: u64, row: u64) {
    if times > 0 {
        let first = || Loss::new(what.to_owned(), 0, Position::of_row(row));
        loss.get_or_insert_with(first).count += times;
    }
}

fn write_cell(buffer: &mut Vec<u8>, cell: &Cell<'_>, delimiter: Delimiter) {
    match cell.kind {
        CellKind::Null => {}
        // Digits, signs and letters never need quotes.
        CellKind::Plain => buffer.extend_from_slice(cell.bytes),
        CellKind::Text | CellKind::Nested => write_quoted(buffer, cell.bytes, delimiter),
    }
}

fn write_quoted(buffer: &mut Vec<u8>, text: &[u8], delimiter: Delimiter) {
    let special = |&byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || byte == delimiter.byte();
    // At the start of a file it would be a byte order mark.
    let is_mark = text.starts_with("\u{feff}".as_bytes());
    if !text.is_empty() && !is_mark && !text.iter().any(special) {
        buffer.extend_from_slice(text);
        return;
    }
    buffer.push(b'"');
    let mut parts = text.split(|&byte| byte == b'"');
    buffer.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        buffer.extend_from_slice(b"\"\"");
        buffer.extend_from_slice(part);
    }
    buffer.push(b'"');
}

/// Fails if the columns differ from those of the table before, and lists the differences. For sinks whose tables must have equal columns.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid).
pub fn same_columns(first: &[&str], other: &[&str]) -> Result<()> {
    if first == other {
        return Ok(());
    }
    let missing_in = |columns: &[&str], others: &[&str]| -> Vec<String> {
        let columns: std::collections::HashSet<_> = columns.iter().copied().collect();
        others.iter().filter(|name| !columns.contains(**name)).map(|name| format!("{name:?}")).collect()
    };
    let (missing, new) = (missing_in(other, first), missing_in(first, other));
    let mut differences = Vec::new();
    if !missing.is_empty() {
        differences.push(format!("missing: {}", abbreviated(&missing)));
    }
    if !new.is_empty() {
        differences.push(format!("new: {}", abbreviated(&new)));
    }
    if differences.is_empty() {
        let pairs = first.iter().zip(other).enumerate();
        let moved = pairs.filter(|(_, (a, b))| a != b).map(|(i, (a, b))| format!("column {i} is {b:?}, was {a:?}"));
        differences.push(format!("different order: {}", abbreviated(&moved.collect::<Vec<_>>())));
    }
    Err(Error::invalid(format!("the columns differ from those of the table before: {}", differences.join("; "))))
}

fn abbreviated(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.get(..SHOWN).unwrap_or(names).join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
