//! Splits inputs into chunks of whole records, which can then be parsed in parallel.

use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use super::Options;
use super::csv::{self, Ending, Line};
use super::json::{end_of_nested, is_blank};
use super::location::Location;
use crate::text::TextFormat;

/// Bytes read per chunk; more if a record is longer.
pub(crate) const WINDOW: u64 = 1 << 20;

/// One input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) source: Source,
}

/// A run of whole records.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) bytes: Bytes,
    /// Where it begins.
    pub(crate) start: Location,
    /// The number of its first record, counted over all inputs.
    pub(crate) row: u64,
    pub(crate) records: u64,
    /// Whether records are items of a JSON array.
    pub(crate) array: bool,
    /// Whether each line is a row of CSV, ends with a line feed except for the last, and has no quotes and carriage returns.
    pub(crate) has_plain_lines: bool,
}

/// A sequence of chunks.
pub(crate) trait ChunkSource {
    /// The next chunk; `None` at the end of the last input.
    fn next(&mut self) -> Result<Option<Chunk>>;

    /// The column names of CSV; `None` before the first chunk.
    fn names(&self) -> Option<&[String]>;
}

/// Splits inputs into chunks, one input after another.
#[derive(Debug)]
pub(crate) struct Chunker<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    /// Maximum records per chunk.
    max_records: u64,
    at: Location,
    row: u64,
    state: State,
    /// The column names of CSV, once known.
    names: Option<Vec<String>>,
    window: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte.
    Begin,
    Lines,
    /// In an array; true after its first item.
    Array(bool),
    Csv,
    /// After the last record.
    End,
}

/// The whole records that a window begins with.
struct Prefix {
    /// Bytes of whole records.
    len: usize,
    records: u64,
    /// The rest of the input holds no records.
    last: bool,
}

impl<'a> Chunker<'a> {
    pub(crate) fn new(inputs: &'a [Input], options: &'a Options, max_records: u64) -> Self {
        let at = Location { input: 0, line: 1, byte: 0 };
        Self { inputs, options, max_records, at, row: 0, state: State::Begin, names: None, window: options.window }
    }

    /// Goes on at a row of CSV.
    pub(crate) fn resume(inputs: &'a [Input], options: &'a Options, at: Location, row: u64) -> Self {
        Self { at, row, state: State::Csv, ..Self::new(inputs, options, u64::MAX) }
    }

    /// Where the records of the first input begin, and whether they are items of an array. Call it before reading the first chunk.
    pub(crate) fn first_record(&mut self) -> Result<(Location, bool)> {
        if let (State::Begin, Some(input)) = (self.state, self.inputs.get(self.at.input)) {
            self.begin(&input.source).map_err(|error| error.at(self.at.byte).in_line(self.at.line))?;
        }
        Ok((self.at, matches!(self.state, State::Array(_))))
    }

    fn next_in(&mut self, source: &Source) -> Result<Option<Chunk>> {
        loop {
            if self.state == State::Begin {
                self.begin(source)?;
            }
            let left = source.len().saturating_sub(self.at.byte);
            if self.state == State::End || left == 0 {
                return self.end().map(|()| None);
            }
            let whole = left <= self.window;
            let bytes = source.read(self.at.byte..self.at.byte + left.min(self.window))?;
            let prefix = match self.state {
                State::Csv => self.csv_prefix(&bytes, whole, self.max_records)?,
                State::Array(_) => self.array_prefix(&bytes, whole)?,
                _ => lines_prefix(&bytes, whole, self.max_records),
            };
            if prefix.len == 0 {
                // The record is longer than the window.
                self.window = self.window.saturating_mul(2);
                continue;
            }
            self.window = self.options.window;
            let (start, row) = (self.at, self.row);
            let array = matches!(self.state, State::Array(_));
            let bytes = bytes.slice(..prefix.len);
            self.at.byte += prefix.len as u64;
            self.at.line += line_feeds(&bytes);
            self.row += prefix.records;
            if prefix.last {
                self.state = State::End;
            }
            if prefix.records > 0 {
                return Ok(Some(Chunk { bytes, start, row, records: prefix.records, array, has_plain_lines: false }));
            }
        }
    }

    /// Detects encoding and layout of an input, and where its records begin.
    fn begin(&mut self, source: &Source) -> Result<()> {
        let head = source.read(0..source.len().min(4))?;
        if head.starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.at.byte = 3;
        } else if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
            return Err(Error::invalid("expected UTF-8, found UTF-16").at(0));
        }
        match self.options.format {
            TextFormat::Csv | TextFormat::Tsv => {
                self.state = State::Csv;
                self.header(source)
            }
            TextFormat::JsonLines => {
                self.state = State::Lines;
                self.skip_blanks(source)?;
                if self.first_byte(source)? == Some(b'[') {
                    self.at.byte += 1;
                    self.state = State::Array(false);
                }
                Ok(())
            }
        }
    }

    fn first_byte(&self, source: &Source) -> Result<Option<u8>> {
        let range = self.at.byte..source.len().min(self.at.byte.saturating_add(1));
        Ok(source.read(range)?.first().copied())
    }

    fn skip_blanks(&mut self, source: &Source) -> Result<()> {
        loop {
            let left = source.len().saturating_sub(self.at.byte);
            let bytes = source.read(self.at.byte..self.at.byte + left.min(self.options.window))?;
            let blanks = bytes.iter().position(|&byte| !is_blank(byte));
            let skipped = bytes.get(..blanks.unwrap_or(bytes.len())).unwrap_or_default();
            self.at.byte += skipped.len() as u64;
            self.at.line += line_feeds(skipped);
            if blanks.is_some() || bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads the header, or counts the cells of the first record.
    fn header(&mut self, source: &Source) -> Result<()> {
        let (bytes, prefix) = loop {
            let left = source.len().saturating_sub(self.at.byte);
            let whole = left <= self.window;
            let bytes = source.read(self.at.byte..self.at.byte + left.min(self.window))?;
            let prefix = self.csv_prefix(&bytes, whole, 1)?;
            if prefix.records > 0 || whole {
                break (bytes, prefix);
            }
            // Empty lines only, or a longer record.
            match bytes.get(..prefix.len).unwrap_or_default() {
                [] => self.window = self.window.saturating_mul(2),
                empty => {
                    self.at.byte += empty.len() as u64;
                    self.at.line += line_feeds(empty);
                }
            }
        };
        let bytes = bytes.slice(..prefix.len);
        let mut line = Line::default();
        let Some(record) = csv::record(&bytes, 0, self.options.delimiter, &mut line) else {
            self.state = State::End;
            return Ok(());
        };
        let before = bytes.get(..record.start).unwrap_or_default();
        let (byte, number) = (self.at.byte + record.start as u64, self.at.line + line_feeds(before));
        let mut names = Vec::with_capacity(line.len());
        if self.options.header {
            for cell in line.iter() {
                let name = std::str::from_utf8(cell);
                let error = |cause| Error::invalid("column name is not valid UTF-8").caused_by(cause);
                let name = name.map_err(|cause| error(cause).at(byte).in_line(number))?;
                // Index columns often have no name, but a column must have one.
                names.push(if name.is_empty() { format!("c{}", names.len()) } else { name.to_owned() });
            }
            super::make_unique(&mut names);
            self.at.byte += prefix.len as u64;
            self.at.line += line_feeds(&bytes);
        } else {
            names.extend((0..line.len()).map(|index| format!("c{index}")));
        }
        match &self.names {
            None => self.names = Some(names),
            Some(first) => {
                let [first, names] = [first, &names].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
                crate::convert::same_columns(&first, &names).map_err(|error| error.at(byte).in_line(number))?;
            }
        }
        Ok(())
    }

    fn csv_prefix(&self, bytes: &[u8], whole: bool, max_records: u64) -> Result<Prefix> {
        let mut prefix = Prefix { len: 0, records: 0, last: false };
        while prefix.records < max_records {
            match csv::end(bytes, prefix.len, self.options.delimiter) {
                // Errors in earlier records take precedence.
                Some(record) if whole && record.ending == Ending::Quote && prefix.records == 0 => {
                    return Err(self.error_at(bytes, record.start, "unclosed quote in this record".to_owned()));
                }
                Some(record) if record.ending == Ending::Line || (whole && record.ending == Ending::Bytes) => {
                    prefix.len = record.end;
                    prefix.records += 1;
                }
                Some(_) => break,
                None => {
                    // Empty lines.
                    prefix.len = bytes.len();
                    break;
                }
            }
        }
        Ok(prefix)
    }

    /// Items of an array with the commas between them, up to the array's end.
    fn array_prefix(&mut self, bytes: &[u8], whole: bool) -> Result<Prefix> {
        let State::Array(mut any) = self.state else { return Ok(Prefix { len: 0, records: 0, last: false }) };
        let mut prefix = Prefix { len: 0, records: 0, last: false };
        while prefix.records < self.max_records && !prefix.last {
            match next_item(bytes, prefix.len, any, whole) {
                Ok(Some(ArrayToken::Item(end))) => {
                    any = true;
                    prefix.len = end;
                    prefix.records += 1;
                }
                Ok(Some(ArrayToken::End)) => prefix = Prefix { len: bytes.len(), last: true, ..prefix },
                Ok(None) => break,
                // Errors in earlier items take precedence.
                Err(_) if prefix.records > 0 => break,
                Err((at, detail)) => return Err(self.error_at(bytes, at, detail)),
            }
        }
        self.state = State::Array(any);
        Ok(prefix)
    }

    /// An error at an offset in a window.
    #[cold]
    fn error_at(&self, bytes: &[u8], at: usize, detail: String) -> Error {
        let before = bytes.get(..at).unwrap_or_default();
        Error::invalid(detail).at(self.at.byte + at as u64).in_line(self.at.line + line_feeds(before))
    }

    fn end(&self) -> Result<()> {
        match self.state {
            State::Array(_) => Err(Error::invalid("unclosed array: missing ]")),
            _ => Ok(()),
        }
    }
}

impl ChunkSource for Chunker<'_> {
    fn next(&mut self) -> Result<Option<Chunk>> {
        while let Some(input) = self.inputs.get(self.at.input) {
            let chunk = self.next_in(&input.source).map_err(|error| match error.position().byte {
                Some(_) => error.in_file(input.name.clone()),
                None => error.at(self.at.byte).in_line(self.at.line).in_file(input.name.clone()),
            });
            if let Some(chunk) = chunk? {
                return Ok(Some(chunk));
            }
            self.at = Location { input: self.at.input + 1, line: 1, byte: 0 };
            self.state = State::Begin;
        }
        Ok(None)
    }

    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}

/// The next token of an array.
enum ArrayToken {
    /// An item, and its end.
    Item(usize),
    /// The end of the array and of the input.
    End,
}

/// The next token of an array; with `any`, a comma must precede the item. `None` if more bytes are needed. An error has its
/// offset.
fn next_item(bytes: &[u8], at: usize, any: bool, whole: bool) -> Result<Option<ArrayToken>, (usize, String)> {
    let more = |what: &str| if whole { Err((bytes.len(), what.to_owned())) } else { Ok(None) };
    const UNCLOSED: &str = "unclosed array: missing ]";
    let Some(mut at) = next_after_blanks(bytes, at) else { return more(UNCLOSED) };
    if bytes.get(at) == Some(&b']') {
        return match next_after_blanks(bytes, at + 1) {
            Some(more) => Err((more, "unexpected data after the array".to_owned())),
            None if whole => Ok(Some(ArrayToken::End)),
            None => Ok(None),
        };
    }
    if any {
        if bytes.get(at) != Some(&b',') {
            return Err((at, format!("expected , or ], found {}", describe_byte(bytes, at))));
        }
        match next_after_blanks(bytes, at + 1) {
            Some(next) => at = next,
            None => return more(UNCLOSED),
        }
    }
    match end_of_item(bytes, at) {
        Some(end) if end > at => Ok(Some(ArrayToken::Item(end))),
        Some(_) => Err((at, format!("expected an object, found {}", describe_byte(bytes, at)))),
        None if whole => Err((at, "truncated last item of the array".to_owned())),
        None => Ok(None),
    }
}

fn describe_byte(bytes: &[u8], at: usize) -> String {
    match bytes.get(at) {
        Some(byte @ 0x20..0x7F) => char::from(*byte).to_string(),
        Some(byte) => format!("the byte {byte:02X}"),
        None => "the end".to_owned(),
    }
}

fn next_after_blanks(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.iter().position(|&byte| !is_blank(byte)).map(|blanks| at + blanks)
}

/// The end of an array's item; `None` if more bytes are needed. A scalar ends at the next comma, bracket or white space.
fn end_of_item(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let len = match rest.first()? {
        b'{' | b'[' => end_of_nested(rest)?,
        _ => rest.iter().position(|&byte| matches!(byte, b',' | b']' | b'}') || is_blank(byte))?,
    };
    Some(at + len)
}

/// Start and end of the next item in a chunk of an array.
pub(crate) fn array_item(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let blank = |&byte: &u8| is_blank(byte) || byte == b',';
    let start = at + bytes.get(at..)?.iter().position(|byte| !blank(byte))?;
    match bytes.get(start) {
        Some(b']') => None,
        _ => Some((start, end_of_item(bytes, start).unwrap_or(bytes.len()))),
    }
}

fn lines_prefix(bytes: &[u8], whole: bool, max_records: u64) -> Prefix {
    let mut prefix = Prefix { len: 0, records: 0, last: false };
    while prefix.records < max_records {
        let rest = bytes.get(prefix.len..).unwrap_or_default();
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end + 1,
            None if whole => rest.len(),
            None => break,
        };
        if end == 0 {
            break;
        }
        let blank = rest.get(..end).unwrap_or_default().iter().all(|&byte| is_blank(byte));
        prefix.records += u64::from(!blank);
        prefix.len += end;
    }
    prefix
}

pub(crate) fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The part of a row range that lies in a chunk, relative to the chunk's first row.
pub(crate) fn rows_in_chunk(rows: &Range<u64>, chunk: &Chunk) -> Range<u64> {
    let from = |row: u64| row.saturating_sub(chunk.row).min(chunk.records);
    from(rows.start)..from(rows.end)
}
