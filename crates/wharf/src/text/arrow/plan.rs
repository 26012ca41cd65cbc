//! Parses chunks of text into record batches.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use container_arrow::{BatchScan, Columns, Json};
use container_core::{Error, Loss, Result};

use super::super::chunk_reader::next_json_record;
use super::super::layout::Text;
use super::super::profile::{CellContext, CellProfile};
use super::super::records::csv::{cell_text, not_utf8};
use super::super::records::split::Split;
use super::cells::{AppendMode, Cell, append_cell};
use crate::text::records::chunk::Chunk;

/// How chunks are parsed; shared by all threads.
pub(super) struct ParsePlan<'a> {
    pub(super) text: &'a Text,
    pub(super) schema: SchemaRef,
    pub(super) scan: BatchScan,
    /// For each CSV cell, the column it belongs to and how it is appended; `None` if it is not selected.
    pub(super) cells: Vec<Option<(usize, AppendMode)>>,
}

/// A chunk, or the rest of it.
pub(super) struct ChunkTask {
    pub(super) chunk: Chunk,
    pub(super) at: usize,
    pub(super) row: u64,
}

/// The outcome of a task: batches, the rest of the chunk, and the error behind them.
#[derive(Default)]
pub(super) struct ParsedChunk {
    pub(super) batches: VecDeque<RecordBatch>,
    pub(super) losses: Vec<Loss>,
    /// Profiles of the CSV columns in these rows, if the schema was inferred from a sample.
    pub(super) profiles: Vec<CellProfile>,
    pub(super) rest: Option<ChunkTask>,
    pub(super) error: Option<Error>,
}

impl<'a> ParsePlan<'a> {
    pub(super) fn new(text: &'a Text, schema: SchemaRef, scan: &BatchScan) -> Self {
        let indexes: std::collections::HashMap<&str, usize> =
            schema.fields().iter().enumerate().map(|(at, field)| (field.name().as_str(), at)).collect();
        let cell = |name: &String| {
            let at = *indexes.get(name.as_str())?;
            Some((at, AppendMode::for_field(schema.fields().get(at)?, scan.schema.is_some() && !scan.is_sampled)))
        };
        let cells = text.names.iter().map(cell).collect();
        Self { text, schema: schema.clone(), scan: scan.clone(), cells }
    }

    /// Parses rows until the batches reach the size limit, or the chunk ends.
    pub(super) fn run(&self, mut task: ChunkTask) -> ParsedChunk {
        let mut parsed = ParsedChunk::default();
        if let Err(error) = self.parse_rows(&mut task, &mut parsed) {
            parsed.error = Some(error.in_format(self.text.format));
            parsed.rest = None;
        } else if task.at < task.chunk.bytes.len() && task.row < self.scan.scan.rows.end {
            parsed.rest = Some(task);
        }
        parsed
    }

    fn parse_rows(&self, task: &mut ChunkTask, parsed: &mut ParsedChunk) -> Result<()> {
        let mut columns = Columns::new(self.schema.clone(), &self.scan, &self.text.limits)?;
        let mut spent = 0;
        let mut readers = Readers::new(self.text);
        let bytes = task.chunk.bytes.clone();
        let valid = if self.text.is_csv() { valid_prefix(&bytes) } else { "" };
        if self.scan.is_sampled {
            readers.profiles.resize(self.text.names.len(), CellProfile::default());
        }
        let mut has_blocks = self.has_blocks(task, valid, &columns);
        let result = loop {
            if columns.is_full() {
                spent += columns.bytes();
                parsed.losses.extend(columns.take_losses());
                parsed.batches.push_back(columns.finish()?);
                if spent >= self.scan.batch_bytes {
                    break Ok(());
                }
            }
            if task.row >= self.scan.scan.rows.end {
                break Ok(());
            }
            has_blocks = has_blocks && self.block(task, valid, &mut columns, &mut readers);
            if has_blocks {
                continue;
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
        parsed.losses.extend(columns.take_losses());
        parsed.profiles = readers.profiles;
        if !columns.is_empty() {
            parsed.batches.push_back(columns.finish()?);
        }
        result
    }

    /// Appends the next row; false at the end of the chunk. For CSV, `valid` is the chunk's leading valid UTF-8.
    #[inline]
    fn row(&self, task: &mut ChunkTask, valid: &str, columns: &mut Columns, readers: &mut Readers) -> Result<bool> {
        let (chunk, text) = (&task.chunk, self.text);
        let selected = task.row >= self.scan.scan.rows.start;
        if text.is_csv() {
            let Some(record) = readers.split.next(&chunk.bytes, task.at) else { return Ok(false) };
            task.at = record.end;
            if selected {
                let locate_error = |error: Error| text.locate_error(error, chunk, record.start);
                readers.split.check(text.names.len()).map_err(locate_error)?;
                if record.end > valid.len() {
                    return Err(locate_error(not_utf8(valid.len().saturating_sub(record.start))));
                }
                let mut row = columns.row(task.row);
                readers.context.row = task.row;
                let mut profiles = readers.profiles.iter_mut();
                for ((text, quoted), mode) in readers.split.texts(valid).zip(&self.cells) {
                    let scalar =
                        profiles.next().and_then(|profile| profile.observe(text, quoted, &mut readers.context));
                    let Some((at, mode)) = mode else { continue };
                    let Some(slot) = row.at(*at) else { continue };
                    append_cell(slot, Cell { text, quoted, scalar }, *mode, &mut readers.json).map_err(locate_error)?;
                }
                row.end();
            }
        } else {
            let Some(span) = next_json_record(chunk, task.at) else { return Ok(false) };
            task.at = span.next;
            if selected {
                let json = chunk.bytes.get(span.start..span.end).unwrap_or_default();
                let mut row = columns.row(task.row);
                let appended = readers.json.append(json, &mut row);
                appended.map_err(|error| text.locate_error(error, chunk, span.start))?;
                row.end();
                if columns.contradicts_sample() {
                    return Err(text.locate_error(schema_mismatch(), chunk, span.start));
                }
            }
        }
        task.row += 1;
        Ok(true)
    }
}

/// The leading valid UTF-8 of bytes.
fn valid_prefix(bytes: &[u8]) -> &str {
    let valid = std::str::from_utf8(bytes);
    valid.unwrap_or_else(|error| cell_text(bytes.get(..error.valid_up_to()).unwrap_or_default()))
}

/// A row does not fit the schema inferred from a sample.
#[cold]
pub(super) fn schema_mismatch() -> Error {
    Error::invalid("the schema inferred from a sample does not fit all rows")
}

/// Parsers and buffers reused from row to row.
pub(super) struct Readers {
    split: Split,
    /// Where the cells of a block of rows start.
    pub(super) starts: Vec<u32>,
    pub(super) json: Json,
    /// Profiles of the columns; empty unless the schema was inferred from a sample.
    pub(super) profiles: Vec<CellProfile>,
    pub(super) context: CellContext,
}

impl Readers {
    fn new(text: &Text) -> Self {
        Self {
            split: Split::new(text.options.delimiter),
            starts: Vec::new(),
            json: Json::new(&text.limits),
            profiles: Vec::new(),
            context: CellContext::new(&text.limits),
        }
    }
}
