//! Chunks of text parsed into columns.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, Columns, Json};
use container_core::{Error, Loss, Result};

use super::super::cut::next_json;
use super::super::inner::Text;
use super::super::records::csv::{cell_text, not_utf8};
use super::super::records::split::Split;
use super::super::seen::{Rows, Seen};
use super::cells::{Cell, Put, cell_into};
use crate::text::records::chunk::Chunk;

/// What the parsing of a chunk takes.
pub(super) struct Plan<'a> {
    text: &'a Text,
    pub(super) schema: SchemaRef,
    pub(super) scan: BatchScan,
    /// Which column a cell of CSV belongs to, and how it is put there.
    cells: Vec<Option<(usize, Put)>>,
}

/// A chunk, or what is left of it.
pub(super) struct Task {
    pub(super) chunk: Chunk,
    pub(super) at: usize,
    pub(super) row: u64,
}

/// What came of a task: batches, what is left of it, and what is wrong behind them.
#[derive(Default)]
pub(super) struct Done {
    pub(super) batches: VecDeque<RecordBatch>,
    pub(super) losses: Vec<Loss>,
    /// What the columns of CSV hold in these rows, where the schema is a guess.
    pub(super) seen: Vec<Seen>,
    pub(super) rest: Option<Task>,
    pub(super) error: Option<Error>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(text: &'a Text, schema: SchemaRef, scan: &BatchScan) -> Self {
        let places: std::collections::HashMap<&str, usize> =
            schema.fields().iter().enumerate().map(|(at, field)| (field.name().as_str(), at)).collect();
        let cell = |name: &String| {
            let at = *places.get(name.as_str())?;
            Some((at, Put::into(schema.fields().get(at)?, scan.schema.is_some() && !scan.is_sampled)))
        };
        let cells = text.names.iter().map(cell).collect();
        Self { text, schema: schema.clone(), scan: scan.clone(), cells }
    }

    /// Parses rows until a batch is full of those that are allowed at once, or the chunk ends.
    pub(super) fn run(&self, mut task: Task) -> Done {
        let mut done = Done::default();
        if let Err(error) = self.fill(&mut task, &mut done) {
            done.error = Some(error.in_format(self.text.format));
            done.rest = None;
        } else if task.at < task.chunk.bytes.len() && task.row < self.scan.scan.rows.end {
            done.rest = Some(task);
        }
        done
    }

    fn fill(&self, task: &mut Task, done: &mut Done) -> Result<()> {
        let mut columns = Columns::new(self.schema.clone(), &self.scan, &self.text.limits)?;
        let mut spent = 0;
        let mut readers = Readers::new(self.text);
        let bytes = task.chunk.bytes.clone();
        let valid = if self.text.is_csv() { valid(&bytes) } else { "" };
        if self.scan.is_sampled {
            readers.seen.resize(self.text.names.len(), Seen::default());
        }
        let result = loop {
            if columns.is_full() {
                spent += columns.bytes();
                done.losses.extend(columns.take_losses());
                done.batches.push_back(columns.finish()?);
                if spent >= self.scan.batch_bytes {
                    break Ok(());
                }
            }
            if task.row >= self.scan.scan.rows.end {
                break Ok(());
            }
            match self.row(task, valid, &mut columns, &mut readers) {
                Ok(true) => {}
                Ok(false) => {
                    task.at = task.chunk.bytes.len();
                    break Ok(());
                }
                Err(error) => {
                    columns.roll_back();
                    break Err(error);
                }
            }
        };
        done.losses.extend(columns.take_losses());
        done.seen = readers.seen;
        if !columns.is_empty() {
            done.batches.push_back(columns.finish()?);
        }
        result
    }

    /// Puts the next row; false at the end of the chunk. So much of the chunk is `valid` UTF-8, if it is CSV.
    #[inline]
    fn row(&self, task: &mut Task, valid: &str, columns: &mut Columns, readers: &mut Readers) -> Result<bool> {
        let (chunk, text) = (&task.chunk, self.text);
        let wanted = task.row >= self.scan.scan.rows.start;
        if text.is_csv() {
            let Some(record) = readers.split.next(&chunk.bytes, task.at) else { return Ok(false) };
            task.at = record.end;
            if wanted {
                let placed = |error: Error| text.placed(error, chunk, record.start);
                readers.split.check(text.names.len()).map_err(placed)?;
                if record.end > valid.len() {
                    return Err(placed(not_utf8(valid.len().saturating_sub(record.start))));
                }
                let mut row = columns.row(task.row);
                readers.here.row = task.row;
                let mut seen = readers.seen.iter_mut();
                for ((text, quoted), put) in readers.split.texts(valid).zip(&self.cells) {
                    let word = seen.next().and_then(|seen| seen.see(text, quoted, &mut readers.here));
                    let Some((at, put)) = put else { continue };
                    let Some(slot) = row.at(*at) else { continue };
                    cell_into(slot, Cell { text, quoted, word }, *put, &mut readers.json).map_err(placed)?;
                }
                row.end();
            }
        } else {
            let Some(span) = next_json(chunk, task.at) else { return Ok(false) };
            task.at = span.next;
            if wanted {
                let json = chunk.bytes.get(span.start..span.end).unwrap_or_default();
                let mut row = columns.row(task.row);
                let put = readers.json.append(json, &mut row);
                put.map_err(|error| text.placed(error, chunk, span.start))?;
                row.end();
                if columns.contradicts_sample() {
                    return Err(text.placed(missed(), chunk, span.start));
                }
            }
        }
        task.row += 1;
        Ok(true)
    }
}

/// What of bytes is UTF-8, from the first one on.
fn valid(bytes: &[u8]) -> &str {
    let valid = std::str::from_utf8(bytes);
    valid.unwrap_or_else(|error| cell_text(bytes.get(..error.valid_up_to()).unwrap_or_default()))
}

/// The rows are others than those that the schema was guessed from.
#[cold]
pub(super) fn missed() -> Error {
    Error::invalid("the schema that was guessed is not that of all rows")
}

/// What is reused from row to row.
struct Readers {
    split: Split,
    json: Json,
    /// What the cells are, column by column; empty where nobody wants to know.
    seen: Vec<Seen>,
    here: Rows,
}

impl Readers {
    fn new(text: &Text) -> Self {
        Self {
            split: Split::new(text.options.delimiter),
            json: Json::new(&text.limits),
            seen: Vec::new(),
            here: Rows::new(&text.limits),
        }
    }
}
