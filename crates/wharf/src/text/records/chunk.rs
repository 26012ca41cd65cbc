//! Inputs cut into pieces of whole records, which can then be looked at side by side.

use std::ops::Range;

use container_core::{Bytes, Error, Result, Source};

use super::csv::{self, Ending, Line};
use super::json::{end_of_nested, is_blank};
use super::place::Place;
use super::{Form, Options};

/// Bytes that are looked at for the ends of records; more when a record is longer.
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
    pub(crate) start: Place,
    /// The number of its first record over all inputs.
    pub(crate) row: u64,
    pub(crate) records: u64,
    /// Records are items of a JSON array.
    pub(crate) array: bool,
}

/// Who gives chunks, one after another.
pub(crate) trait Chunks {
    /// The next chunk; `None` at the end of the last input.
    fn next(&mut self) -> Result<Option<Chunk>>;

    /// The names of a CSV's cells; `None` before the first chunk.
    fn names(&self) -> Option<&[String]>;
}

/// Cuts inputs, one after another.
#[derive(Debug)]
pub(crate) struct Cutter<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    /// Records of a chunk at most.
    most: u64,
    at: Place,
    row: u64,
    state: State,
    /// The names of a CSV's cells, once they are known.
    names: Option<Vec<String>>,
    window: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte.
    Begin,
    Lines,
    /// In an array; whether an item was seen.
    Array(bool),
    Csv,
    /// Behind the last byte that matters.
    End,
}

/// What a window begins with.
struct Cut {
    /// Bytes of whole records.
    len: usize,
    records: u64,
    /// The rest of the input holds no records.
    last: bool,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(inputs: &'a [Input], options: &'a Options, most: u64) -> Self {
        let at = Place { input: 0, line: 1, byte: 0 };
        Self { inputs, options, most, at, row: 0, state: State::Begin, names: None, window: options.window }
    }

    /// Where the records of the first input begin, and whether they are items of an array. To be asked before the first chunk.
    pub(crate) fn begun(&mut self) -> Result<(Place, bool)> {
        if let (State::Begin, Some(input)) = (self.state, self.inputs.get(self.at.input)) {
            self.begin(&input.source).map_err(|error| error.at(self.at.byte).in_line(self.at.line))?;
        }
        Ok((self.at, matches!(self.state, State::Array(_))))
    }

    fn next_of(&mut self, source: &Source) -> Result<Option<Chunk>> {
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
            let cut = match self.state {
                State::Csv => self.cut_csv(&bytes, whole, self.most)?,
                State::Array(_) => self.cut_array(&bytes, whole)?,
                _ => cut_lines(&bytes, whole, self.most),
            };
            if cut.len == 0 {
                // The record is longer than what was looked at.
                self.window = self.window.saturating_mul(2);
                continue;
            }
            self.window = self.options.window;
            let (start, row) = (self.at, self.row);
            let array = matches!(self.state, State::Array(_));
            let bytes = bytes.slice(..cut.len);
            self.at.byte += cut.len as u64;
            self.at.line += line_feeds(&bytes);
            self.row += cut.records;
            if cut.last {
                self.state = State::End;
            }
            if cut.records > 0 {
                return Ok(Some(Chunk { bytes, start, row, records: cut.records, array }));
            }
        }
    }

    /// Finds out what an input is, and where its records begin.
    fn begin(&mut self, source: &Source) -> Result<()> {
        let head = source.read(0..source.len().min(4))?;
        if head.starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.at.byte = 3;
        } else if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
            return Err(Error::invalid("the text is UTF-16 where UTF-8 is wanted").at(0));
        }
        match self.options.form {
            Form::Csv => {
                self.state = State::Csv;
                self.header(source)
            }
            Form::JsonLines => {
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

    /// Reads the line of names, or looks at the first record for how many there are.
    fn header(&mut self, source: &Source) -> Result<()> {
        let (bytes, cut) = loop {
            let left = source.len().saturating_sub(self.at.byte);
            let whole = left <= self.window;
            let bytes = source.read(self.at.byte..self.at.byte + left.min(self.window))?;
            let cut = self.cut_csv(&bytes, whole, 1)?;
            if cut.records > 0 || whole {
                break (bytes, cut);
            }
            // Empty lines only, or a record that is longer.
            match bytes.get(..cut.len).unwrap_or_default() {
                [] => self.window = self.window.saturating_mul(2),
                empty => {
                    self.at.byte += empty.len() as u64;
                    self.at.line += line_feeds(empty);
                }
            }
        };
        let bytes = bytes.slice(..cut.len);
        let mut line = Line::default();
        let Some(record) = csv::record(&bytes, 0, self.options.delimiter, &mut line) else {
            self.state = State::End;
            return if self.options.header && !self.options.may_be_empty {
                Err(Error::invalid("there is no line of column names")
                    .advising("{no_header} where there is none")
                    .at(source.len()))
            } else {
                Ok(())
            };
        };
        let before = bytes.get(..record.start).unwrap_or_default();
        let (byte, number) = (self.at.byte + record.start as u64, self.at.line + line_feeds(before));
        let mut names = Vec::with_capacity(line.len());
        if self.options.header {
            for cell in line.iter() {
                let name = std::str::from_utf8(cell);
                let error = |cause| Error::invalid("a column name is not UTF-8").caused_by(cause);
                let name = name.map_err(|cause| error(cause).at(byte).in_line(number))?;
                // An index column has no name in many files, and a column must have one.
                names.push(if name.is_empty() { format!("c{}", names.len()) } else { name.to_owned() });
            }
            super::make_unique(&mut names);
            self.at.byte += cut.len as u64;
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

    fn cut_csv(&self, bytes: &[u8], whole: bool, most: u64) -> Result<Cut> {
        let mut cut = Cut { len: 0, records: 0, last: false };
        while cut.records < most {
            match csv::end(bytes, cut.len, self.options.delimiter) {
                // What is wrong with a record before comes first.
                Some(record) if whole && record.ending == Ending::Quote && cut.records == 0 => {
                    return Err(self.wrong(bytes, record.start, "a quote of this record is not closed".to_owned()));
                }
                Some(record) if record.ending == Ending::Line || (whole && record.ending == Ending::Bytes) => {
                    cut.len = record.end;
                    cut.records += 1;
                }
                Some(_) => break,
                None => {
                    // Empty lines.
                    cut.len = bytes.len();
                    break;
                }
            }
        }
        Ok(cut)
    }

    /// Items of an array with the commas between them, up to its end.
    fn cut_array(&mut self, bytes: &[u8], whole: bool) -> Result<Cut> {
        let State::Array(mut any) = self.state else { return Ok(Cut { len: 0, records: 0, last: false }) };
        let mut cut = Cut { len: 0, records: 0, last: false };
        while cut.records < self.most && !cut.last {
            match next_item(bytes, cut.len, any, whole) {
                Ok(Some(Piece::Item(end))) => {
                    any = true;
                    cut.len = end;
                    cut.records += 1;
                }
                Ok(Some(Piece::End)) => cut = Cut { len: bytes.len(), last: true, ..cut },
                Ok(None) => break,
                // What is wrong with an item before comes first.
                Err(_) if cut.records > 0 => break,
                Err((at, detail)) => return Err(self.wrong(bytes, at, detail)),
            }
        }
        self.state = State::Array(any);
        Ok(cut)
    }

    /// An error at a byte of a window.
    #[cold]
    fn wrong(&self, bytes: &[u8], at: usize, detail: String) -> Error {
        let before = bytes.get(..at).unwrap_or_default();
        Error::invalid(detail).at(self.at.byte + at as u64).in_line(self.at.line + line_feeds(before))
    }

    fn end(&self) -> Result<()> {
        match self.state {
            State::Array(_) => Err(Error::invalid("the array is not closed: ] is missing")),
            _ => Ok(()),
        }
    }
}

impl Chunks for Cutter<'_> {
    fn next(&mut self) -> Result<Option<Chunk>> {
        while let Some(input) = self.inputs.get(self.at.input) {
            let chunk = self.next_of(&input.source).map_err(|error| match error.position().byte {
                Some(_) => error.in_file(input.name.clone()),
                None => error.at(self.at.byte).in_line(self.at.line).in_file(input.name.clone()),
            });
            if let Some(chunk) = chunk? {
                return Ok(Some(chunk));
            }
            self.at = Place { input: self.at.input + 1, line: 1, byte: 0 };
            self.state = State::Begin;
        }
        Ok(None)
    }

    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}

/// What comes next in an array.
enum Piece {
    /// An item, and where it ends.
    Item(usize),
    /// The array is over, and the input too.
    End,
}

/// The next piece of an array; `any` says that an item was before, so that a comma must be. `None` when more bytes are
/// needed to tell; an error has its place.
fn next_item(bytes: &[u8], at: usize, any: bool, whole: bool) -> Result<Option<Piece>, (usize, String)> {
    let more = |what: &str| if whole { Err((bytes.len(), what.to_owned())) } else { Ok(None) };
    const UNCLOSED: &str = "the array is not closed: ] is missing";
    let Some(mut at) = next_after_blanks(bytes, at) else { return more(UNCLOSED) };
    if bytes.get(at) == Some(&b']') {
        return match next_after_blanks(bytes, at + 1) {
            Some(more) => Err((more, "something follows the array, which is the whole input".to_owned())),
            None if whole => Ok(Some(Piece::End)),
            None => Ok(None),
        };
    }
    if any {
        if bytes.get(at) != Some(&b',') {
            return Err((at, format!("{} where , or ] is wanted", shown(bytes, at))));
        }
        match next_after_blanks(bytes, at + 1) {
            Some(next) => at = next,
            None => return more(UNCLOSED),
        }
    }
    match end_of_item(bytes, at) {
        Some(end) if end > at => Ok(Some(Piece::Item(end))),
        Some(_) => Err((at, format!("{} where an object is wanted", shown(bytes, at)))),
        None if whole => Err((at, "the last item of the array is cut off".to_owned())),
        None => Ok(None),
    }
}

fn shown(bytes: &[u8], at: usize) -> String {
    match bytes.get(at) {
        Some(byte @ 0x20..0x7F) => char::from(*byte).to_string(),
        Some(byte) => format!("the byte {byte:02X}"),
        None => "the end".to_owned(),
    }
}

fn next_after_blanks(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.iter().position(|&byte| !is_blank(byte)).map(|blanks| at + blanks)
}

/// The end of an array's item, `None` when it is not here; of what is no object or array, the next comma or bracket.
fn end_of_item(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let len = match rest.first()? {
        b'{' | b'[' => end_of_nested(rest)?,
        _ => rest.iter().position(|&byte| matches!(byte, b',' | b']' | b'}') || is_blank(byte))?,
    };
    Some(at + len)
}

/// The next item of an array's piece and where it begins.
pub(crate) fn array_item(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let blank = |&byte: &u8| is_blank(byte) || byte == b',';
    let start = at + bytes.get(at..)?.iter().position(|byte| !blank(byte))?;
    match bytes.get(start) {
        Some(b']') => None,
        _ => Some((start, end_of_item(bytes, start).unwrap_or(bytes.len()))),
    }
}

fn cut_lines(bytes: &[u8], whole: bool, most: u64) -> Cut {
    let mut cut = Cut { len: 0, records: 0, last: false };
    while cut.records < most {
        let rest = bytes.get(cut.len..).unwrap_or_default();
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end + 1,
            None if whole => rest.len(),
            None => break,
        };
        if end == 0 {
            break;
        }
        let blank = rest.get(..end).unwrap_or_default().iter().all(|&byte| is_blank(byte));
        cut.records += u64::from(!blank);
        cut.len += end;
    }
    cut
}

pub(crate) fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The part of a range of rows that lies in a chunk, counted from its first.
pub(crate) fn part(rows: &Range<u64>, chunk: &Chunk) -> Range<u64> {
    let from = |row: u64| row.saturating_sub(chunk.row).min(chunk.records);
    from(rows.start)..from(rows.end)
}
