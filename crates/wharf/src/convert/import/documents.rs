//! Rows of containers as the lines of JSON that they are.

use std::fmt;

use container_core::{Bytes, Container, Error, Result, Rows, Scan, Table};

use crate::text::records::chunk::{Chunk, Chunks, WINDOW};
use crate::text::records::place::Place;

/// Some rows of a table.
pub(crate) struct Documents {
    name: String,
    container: Box<dyn Container>,
    /// The table, by its place.
    table: usize,
    scan: Scan,
}

impl Documents {
    /// Rows of the table at this place. Errors call the container by this name.
    pub(crate) fn new(name: String, container: Box<dyn Container>, table: usize, scan: Scan) -> Self {
        Self { name, container, table, scan }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn format(&self) -> &'static str {
        self.container.format()
    }

    /// How many there are, where that is known.
    pub(super) fn len(&self) -> Option<u64> {
        self.table().ok().and_then(Table::len)
    }

    fn table(&self) -> Result<&dyn Table> {
        let tables = self.container.tables();
        tables.get(self.table).copied().ok_or_else(|| Error::usage(format!("there is no table {}", self.table)))
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An error in a line that was made of a row: the row is what can be found.
pub(super) fn of_row(error: Error, name: Option<&str>) -> Error {
    let mut position = error.position().clone();
    if let Some(line) = position.line.take() {
        position.row.get_or_insert(line - 1);
    }
    position.byte = None;
    let error = error.with_position(position);
    match name {
        Some(name) => error.in_file(name.to_owned()),
        None => error,
    }
}

/// Rows, one table after the other.
pub(super) struct Lines<'a> {
    all: &'a [Documents],
    /// Records of a chunk at most.
    most: u64,
    input: usize,
    rows: Option<Box<dyn Rows + 'a>>,
    /// Rows of all inputs that were passed.
    passed: u64,
    /// What is wrong behind the latest chunk.
    pending: Option<Error>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(all: &'a [Documents], most: u64) -> Self {
        Self { all, most, input: 0, rows: None, passed: 0, pending: None }
    }

    /// Appends lines, says how many, and the number of the first.
    fn fill(&mut self, documents: &'a Documents, lines: &mut Vec<u8>) -> Result<(u64, u64)> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(documents.table()?.rows(&documents.scan)?),
        };
        let (mut records, mut first) = (0, 0);
        while records < self.most && (lines.len() as u64) < WINDOW {
            let start = lines.len();
            let next = rows.advance().and_then(|more| if more { rows.json(lines).map(|()| true) } else { Ok(false) });
            match next {
                Ok(true) => lines.push(b'\n'),
                Ok(false) => break,
                // What is right before it comes first.
                Err(error) => {
                    lines.truncate(start);
                    self.pending = Some(error.in_file(documents.name.clone()));
                    break;
                }
            }
            if records == 0 {
                first = rows.index();
            }
            records += 1;
        }
        Ok((records, first))
    }
}

impl Chunks for Lines<'_> {
    fn next(&mut self) -> Result<Option<Chunk>> {
        while let Some(documents) = self.all.get(self.input) {
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            let mut lines = Vec::new();
            let filled = self.fill(documents, &mut lines);
            let (records, first) = filled.map_err(|error| error.in_file(documents.name.clone()))?;
            if records > 0 {
                // As a line, the first row has the number 1.
                let start = Place { input: self.input, line: first + 1, byte: 0 };
                let row = self.passed;
                self.passed += records;
                return Ok(Some(Chunk { bytes: Bytes::from(lines), start, row, records, array: false }));
            }
            if self.pending.is_none() {
                self.input += 1;
                self.rows = None;
            }
        }
        Ok(None)
    }

    fn names(&self) -> Option<&[String]> {
        None
    }
}
