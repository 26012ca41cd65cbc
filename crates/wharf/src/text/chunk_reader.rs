//! Reads a text source as chunks of whole records, in order. The locations of chunks are kept after a complete pass.

use container_core::{Error, Result};
use memchr::{memchr, memchr_iter, memchr2, memrchr};

use super::layout::{ChunkLocation, Index, Text};
use crate::text::records::chunk::{Chunk, ChunkSource, Chunker, array_item, line_feeds};
use crate::text::records::json::is_blank;
use crate::text::records::location::Location;
use crate::workers::Workers;

/// Reads chunks in order.
#[derive(Debug)]
pub(super) struct ChunkReader<'a> {
    text: &'a Text,
    state: State<'a>,
    /// Chunks read so far, kept for the index.
    locations: Vec<ChunkLocation>,
    row: u64,
}

#[derive(Debug)]
enum State<'a> {
    Indexed(std::slice::Iter<'a, ChunkLocation>),
    /// Lines from this location on: of JSON, or of CSV as long as each line is a row.
    Lines(Location),
    Chunked(Box<Chunker<'a>>),
    End,
}

impl<'a> ChunkReader<'a> {
    pub(super) fn new(text: &'a Text) -> Self {
        let state = match text.index.get() {
            Some(index) => State::Indexed(index.chunks.iter()),
            None if text.array => State::Chunked(Box::new(Chunker::new(&text.inputs, &text.options, u64::MAX))),
            None => State::Lines(text.begin),
        };
        Self { text, state, locations: Vec::new(), row: 0 }
    }

    /// The next chunks, none at the end, and the error behind them, if any. Process the chunks first: an earlier error takes precedence.
    pub(super) fn next(&mut self, workers: &Workers) -> (Vec<Chunk>, Result<()>) {
        let width = workers.width();
        let (chunks, result) = match &mut self.state {
            State::End => return (Vec::new(), Ok(())),
            State::Indexed(locations) => {
                let mut chunks = Vec::new();
                for location in locations.take(width) {
                    match self.text.read(location.start.byte..location.start.byte + location.len) {
                        Ok(bytes) => chunks.push(Chunk {
                            bytes,
                            start: location.start,
                            row: location.row,
                            records: location.records,
                            array: self.text.array,
                            has_plain_lines: location.has_plain_lines,
                        }),
                        Err(error) => return (chunks, Err(error.in_format(self.text.format))),
                    }
                }
                return (chunks, Ok(()));
            }
            State::Lines(at) => {
                let text = self.text;
                let (mut chunks, mut result) = read_lines(text, at, width);
                // Row and line numbers follow from the counts of the chunks before.
                let bytes = chunks.iter().map(|chunk| &chunk.bytes).collect();
                let counts =
                    workers.map(bytes, |bytes| if text.is_csv() { count_rows(bytes) } else { count_lines(bytes) });
                let mut line = at.line;
                let mut plain = 0;
                for (chunk, count) in chunks.iter_mut().zip(counts) {
                    let Some((records, feeds)) = count else { break };
                    (chunk.start.line, chunk.row, chunk.records) = (line, self.row, records);
                    chunk.has_plain_lines = text.is_csv();
                    line += feeds;
                    self.row += records;
                    plain += 1;
                }
                at.line = line;
                if text.is_csv() {
                    result = result.map_err(|error| match error.position().byte {
                        Some(_) => error,
                        None => error.at(at.byte).in_line(line),
                    });
                }
                if let Some(chunk) = chunks.get(plain) {
                    let rest = Location { line, ..chunk.start };
                    self.state = State::Chunked(Box::new(Chunker::resume(&text.inputs, &text.options, rest, self.row)));
                    chunks.truncate(plain);
                    if plain == 0 {
                        return self.next(workers);
                    }
                    result = Ok(());
                }
                (chunks, result)
            }
            State::Chunked(chunker) => {
                let mut chunks = Vec::new();
                let mut result = Ok(());
                while chunks.len() < width {
                    match chunker.next() {
                        Ok(Some(chunk)) => {
                            self.row = chunk.row + chunk.records;
                            chunks.push(chunk);
                        }
                        Ok(None) => break,
                        Err(error) => {
                            result = Err(without_file_name(&error));
                            break;
                        }
                    }
                }
                (chunks, result)
            }
        };
        for chunk in &chunks {
            let Chunk { bytes, start, row, records, has_plain_lines, .. } = chunk;
            let (len, has_plain_lines) = (bytes.len() as u64, *has_plain_lines);
            self.locations.push(ChunkLocation { start: *start, len, row: *row, records: *records, has_plain_lines });
        }
        if let Err(error) = result {
            self.state = State::End;
            return (chunks, Err(error.in_format(self.text.format)));
        }
        if chunks.is_empty() {
            self.state = State::End;
            let index = Index { chunks: std::mem::take(&mut self.locations), rows: self.row };
            let _ = self.text.index.set(index); // ignore: a concurrent reader set the same value
        }
        (chunks, result)
    }

    /// Reads to the end.
    pub(super) fn finish(&mut self, workers: &Workers) -> Result<()> {
        loop {
            let (chunks, result) = self.next(workers);
            result?;
            if chunks.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Removes the input's name from an error: the caller adds the file's.
pub(super) fn without_file_name(error: &Error) -> Error {
    let mut position = error.position().clone();
    position.file = None;
    let own = Error::new(error.kind(), error.detail().to_owned()).with_position(position);
    match std::error::Error::source(error) {
        Some(cause) => own.caused_by(cause.to_string()),
        None => own,
    }
}

/// Reads up to `width` chunks of whole lines, not yet counted.
fn read_lines(text: &Text, at: &mut Location, width: usize) -> (Vec<Chunk>, Result<()>) {
    let mut chunks = Vec::new();
    let mut window = text.options.window;
    while chunks.len() < width {
        let left = text.len().saturating_sub(at.byte);
        if left == 0 {
            break;
        }
        let bytes = match text.read(at.byte..at.byte + left.min(window)) {
            Ok(bytes) => bytes,
            Err(error) => return (chunks, Err(error)),
        };
        let len = match memrchr(b'\n', &bytes) {
            Some(end) => end + 1,
            None if left <= window => bytes.len(),
            None => {
                window = window.saturating_mul(2);
                continue;
            }
        };
        // Bytes after the last line feed are a line only at the end of the source.
        let len = if left <= window { bytes.len() } else { len };
        window = text.options.window;
        chunks.push(Chunk {
            bytes: bytes.slice(..len),
            start: *at,
            row: 0,
            records: 0,
            array: false,
            has_plain_lines: false,
        });
        at.byte += len as u64;
    }
    (chunks, Ok(()))
}

/// Counts lines that are not blank, and line feeds.
fn count_lines(bytes: &[u8]) -> Option<(u64, u64)> {
    let (mut records, mut feeds, mut at) = (0, 0, 0);
    let blank = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default().iter().all(|&byte| is_blank(byte));
    for end in memchr_iter(b'\n', bytes) {
        records += u64::from(!blank(at..end));
        feeds += 1;
        at = end + 1;
    }
    records += u64::from(!blank(at..bytes.len()));
    Some((records, feeds))
}

/// Counts rows of CSV, and line feeds. `None` if a row may be more or less than a line: with quotes, carriage returns or empty lines.
fn count_rows(bytes: &[u8]) -> Option<(u64, u64)> {
    let next = bytes.get(1..).unwrap_or_default();
    // Without an early exit this compiles to vector instructions.
    let is_empty = |(byte, next): (&u8, &u8)| (*byte == b'\n') & (*next == b'\n');
    let has_empty_line =
        bytes.first() == Some(&b'\n') || bytes.iter().zip(next).fold(false, |any, pair| any | is_empty(pair));
    if has_empty_line || memchr2(b'"', b'\r', bytes).is_some() {
        return None;
    }
    let feeds = line_feeds(bytes);
    Some((feeds + u64::from(bytes.last() != Some(&b'\n')), feeds))
}

/// Offsets of a JSON record in a chunk, and the offset at which the search for the next one begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
}

/// The next JSON record.
pub(super) fn next_json_record(chunk: &Chunk, mut at: usize) -> Option<Span> {
    let bytes = &*chunk.bytes;
    if chunk.array {
        return array_item(bytes, at).map(|(start, end)| Span { start, end, next: end });
    }
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest.get(..end).unwrap_or_default();
        if let Some(indent) = line.iter().position(|&byte| !is_blank(byte)) {
            let blanks = line.iter().rev().take_while(|&&byte| is_blank(byte)).count();
            return Some(Span { start: at + indent, end: at + end - blanks, next: at + end });
        }
        at += end;
    }
}
