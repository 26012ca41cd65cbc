//! Chunks of whole records, one after another. Where each begins is kept once all were gone through.

use container_core::{Error, Result};
use memchr::{memchr, memchr_iter, memrchr};

use super::inner::{Index, Mark, Text};
use crate::text::records::chunk::{Chunk, Chunks, Cutter, array_item};
use crate::text::records::json::is_blank;
use crate::text::records::place::Place;
use crate::workers::Workers;

/// Gives chunks, in order.
#[derive(Debug)]
pub(super) struct Feeder<'a> {
    text: &'a Text,
    from: From<'a>,
    /// Those that were given, to be kept.
    marks: Vec<Mark>,
    row: u64,
}

#[derive(Debug)]
enum From<'a> {
    Known(std::slice::Iter<'a, Mark>),
    /// Lines of JSON, from here on.
    Lines(Place),
    Others(Box<Cutter<'a>>),
    End,
}

impl<'a> Feeder<'a> {
    pub(super) fn new(text: &'a Text) -> Self {
        let from = match text.index.get() {
            Some(index) => From::Known(index.marks.iter()),
            None if text.is_csv() || text.array => {
                From::Others(Box::new(Cutter::new(&text.inputs, &text.options, u64::MAX)))
            }
            None => From::Lines(text.begin),
        };
        Self { text, from, marks: Vec::new(), row: 0 }
    }

    /// The next chunks; none at the end. Also why there are no more, if that is an error: what is wrong before it comes first.
    pub(super) fn next(&mut self, workers: &Workers) -> (Vec<Chunk>, Result<()>) {
        let width = workers.width();
        let (chunks, result) = match &mut self.from {
            From::End => return (Vec::new(), Ok(())),
            From::Known(marks) => {
                let mut chunks = Vec::new();
                for mark in marks.take(width) {
                    match self.text.read(mark.start.byte..mark.start.byte + mark.len) {
                        Ok(bytes) => chunks.push(Chunk {
                            bytes,
                            start: mark.start,
                            row: mark.row,
                            records: mark.records,
                            array: self.text.array,
                        }),
                        Err(error) => return (chunks, Err(error.in_format(self.text.format))),
                    }
                }
                return (chunks, Ok(()));
            }
            From::Lines(at) => {
                let (mut chunks, result) = lines(self.text, at, width);
                // Which rows and lines they are is not known before those in front are counted.
                let counts = workers.map(chunks.iter().map(|chunk| &chunk.bytes).collect(), |bytes| count(bytes));
                let mut line = chunks.first().map_or(0, |chunk| chunk.start.line);
                for (chunk, (records, feeds)) in chunks.iter_mut().zip(counts) {
                    (chunk.start.line, chunk.row, chunk.records) = (line, self.row, records);
                    line += feeds;
                    self.row += records;
                }
                at.line = line.max(at.line);
                (chunks, result)
            }
            From::Others(cutter) => {
                let mut chunks = Vec::new();
                let mut result = Ok(());
                while chunks.len() < width {
                    match cutter.next() {
                        Ok(Some(chunk)) => {
                            self.row = chunk.row + chunk.records;
                            chunks.push(chunk);
                        }
                        Ok(None) => break,
                        Err(error) => {
                            result = Err(nameless(&error));
                            break;
                        }
                    }
                }
                (chunks, result)
            }
        };
        for chunk in &chunks {
            let Chunk { bytes, start, row, records, .. } = chunk;
            self.marks.push(Mark { start: *start, len: bytes.len() as u64, row: *row, records: *records });
        }
        if let Err(error) = result {
            self.from = From::End;
            return (chunks, Err(error.in_format(self.text.format)));
        }
        if chunks.is_empty() {
            self.from = From::End;
            let index = Index { marks: std::mem::take(&mut self.marks), rows: self.row };
            let _ = self.text.index.set(index); // somebody else may have been faster, with the same
        }
        (chunks, result)
    }

    /// Goes through what is left.
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

/// The same error without the input's name: the command knows the file's, and the only input has no other.
pub(super) fn nameless(error: &Error) -> Error {
    let position = error.position();
    let mut own = Error::new(error.kind(), error.detail().to_owned());
    if let Some(cause) = std::error::Error::source(error) {
        own = own.caused_by(cause.to_string());
    }
    if let Some(column) = &position.column {
        own = own.in_column(column.clone());
    }
    if let Some(byte) = position.byte {
        own = own.at(byte);
    }
    match position.line {
        Some(line) => own.in_line(line),
        None => own,
    }
}

/// Some pieces of whole lines.
fn lines(text: &Text, at: &mut Place, width: usize) -> (Vec<Chunk>, Result<()>) {
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
        // What stands behind the last line feed is a line only at the end.
        let len = if left <= window { bytes.len() } else { len };
        window = text.options.window;
        chunks.push(Chunk { bytes: bytes.slice(..len), start: *at, row: 0, records: 0, array: false });
        at.byte += len as u64;
    }
    (chunks, Ok(()))
}

/// Lines that are not blank, and line feeds.
fn count(bytes: &[u8]) -> (u64, u64) {
    let (mut records, mut feeds, mut at) = (0, 0, 0);
    let blank = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default().iter().all(|&byte| is_blank(byte));
    for end in memchr_iter(b'\n', bytes) {
        records += u64::from(!blank(at..end));
        feeds += 1;
        at = end + 1;
    }
    records += u64::from(!blank(at..bytes.len()));
    (records, feeds)
}

/// A record of JSON in a chunk: where it begins and ends, and where the next one is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
}

/// The next record of JSON.
pub(super) fn next_json(chunk: &Chunk, mut at: usize) -> Option<Span> {
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
