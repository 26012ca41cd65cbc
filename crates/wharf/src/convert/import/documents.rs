//! Rows of containers as chunks of JSON lines, so that they take the same path as text.

use std::fmt;

use container_core::{Bytes, Container, Error, Result, Rows, Scan, Table};

use crate::text::records::chunk::{Chunk, ChunkSource, WINDOW};
use crate::text::records::location::Location;

/// Selected rows of a container's table.
pub(crate) struct Documents {
    name: String,
    container: Box<dyn Container>,
    /// Index of the table.
    table: usize,
    scan: Scan,
}

impl Documents {
    /// Rows of the table with this index. Errors name the container `name`.
    pub(crate) fn new(name: String, container: Box<dyn Container>, table: usize, scan: Scan) -> Self {
        Self { name, container, table, scan }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn format(&self) -> &'static str {
        self.container.format()
    }

    /// The number of rows, if known.
    pub(super) fn len(&self) -> Option<u64> {
        self.table().ok().and_then(Table::len)
    }

    fn table(&self) -> Result<&dyn Table> {
        let tables = self.container.tables();
        tables.get(self.table).copied().ok_or_else(|| Error::usage(format!("no table {}", self.table)))
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Replaces the line of an error by the row it was made from, and adds the input's name.
pub(super) fn with_row(error: Error, name: Option<&str>) -> Error {
    let mut position = error.position().clone();
    if let Some(line) = position.line.take() {
        position.row.get_or_insert(line - 1);
    }
    position.byte = None;
    error.with_position(position).in_optional_file(name.map(str::to_owned))
}

/// Chunks of rows, one table after another.
pub(super) struct DocumentChunks<'a> {
    all: &'a [Documents],
    /// Maximum records per chunk.
    max_records: u64,
    input: usize,
    rows: Option<Box<dyn Rows + 'a>>,
    /// Rows read so far, over all inputs.
    next_row: u64,
    /// The error behind the latest chunk.
    pending: Option<Error>,
}

impl<'a> DocumentChunks<'a> {
    pub(super) fn new(all: &'a [Documents], max_records: u64) -> Self {
        Self { all, max_records, input: 0, rows: None, next_row: 0, pending: None }
    }

    /// Appends lines. Returns how many, and the row number of the first.
    fn read_lines(&mut self, documents: &'a Documents, lines: &mut Vec<u8>) -> Result<(u64, u64)> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(documents.table()?.rows(&documents.scan)?),
        };
        let (mut records, mut first) = (0, 0);
        while records < self.max_records && (lines.len() as u64) < WINDOW {
            let start = lines.len();
            let next = rows.advance().and_then(|more| if more { rows.json(lines).map(|()| true) } else { Ok(false) });
            match next {
                Ok(true) => lines.push(b'\n'),
                Ok(false) => break,
                // Return the rows before the error first.
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

impl ChunkSource for DocumentChunks<'_> {
    fn next(&mut self) -> Result<Option<Chunk>> {
        while let Some(documents) = self.all.get(self.input) {
            if let Some(error) = self.pending.take() {
                return Err(error);
            }
            let mut lines = Vec::new();
            let read = self.read_lines(documents, &mut lines);
            let (records, first) = read.map_err(|error| error.in_file(documents.name.clone()))?;
            if records > 0 {
                // Lines count from 1, rows from 0.
                let start = Location { input: self.input, line: first + 1, byte: 0 };
                let row = self.next_row;
                self.next_row += records;
                return Ok(Some(Chunk {
                    bytes: Bytes::from(lines),
                    start,
                    row,
                    records,
                    array: false,
                    has_plain_lines: false,
                }));
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
