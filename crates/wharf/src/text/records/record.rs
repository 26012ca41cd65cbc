//! Visits the records of a chunk, member by member or cell by cell.

use std::fmt;
use std::ops::Range;

use container_core::raw_json::{Name, check_nesting};
use container_core::{Error, Result};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Options;
use super::chunk::{Chunk, array_item, line_feeds};
use super::json::{invalid_json, is_blank, shortened};
use super::location::Location;
use super::split::Split;
use crate::text::TextFormat;

/// Receives the content of records.
pub(crate) trait RecordVisitor {
    /// A record begins.
    fn begin(&mut self, _location: Location) {}
    /// A member of an object; its value is valid JSON.
    fn member(&mut self, _name: &str, _value: &str, _location: Location) -> Result<()> {
        Ok(())
    }
    /// A cell of a CSV record, by index, and whether it was quoted. All cells of a record are visited, in order.
    fn cell(&mut self, _index: usize, _text: &str, _quoted: bool, _location: Location) -> Result<()> {
        Ok(())
    }
    /// The record ends.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Visits the records of a chunk in `rows`, which is relative to the chunk. A CSV record must have `cells` cells.
///
/// # Errors
/// The first fault, with its location; errors of `visitor` get the location of the record.
pub(crate) fn visit_records(
    chunk: &Chunk,
    options: &Options,
    cells: usize,
    rows: &Range<u64>,
    visitor: &mut impl RecordVisitor,
) -> Result<()> {
    let (text, damage) = match std::str::from_utf8(&chunk.bytes) {
        Ok(text) => (text, None),
        Err(cause) => {
            let valid = chunk.bytes.get(..cause.valid_up_to()).unwrap_or_default();
            let location =
                Location { line: chunk.start.line + line_feeds(valid), ..chunk.start.ahead(valid.len() as u64) };
            // Errors in earlier lines take precedence.
            let lines = valid.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let before = if chunk.array || options.format.is_cells() { 0 } else { lines };
            let text = std::str::from_utf8(valid).ok().and_then(|text| text.get(..before)).unwrap_or_default();
            (text, Some(Error::invalid("invalid UTF-8").in_line(location.line).at(location.byte)))
        }
    };
    let scan = RecordScan { start: chunk.start, rows, next_row: 0 };
    match options.format {
        TextFormat::Csv | TextFormat::Tsv => scan.csv(text, options.delimiter, cells, visitor),
        TextFormat::JsonLines if chunk.array => scan.array(text, visitor),
        TextFormat::JsonLines => scan.lines(text, visitor),
    }?;
    damage.map_or(Ok(()), Err)
}

struct RecordScan<'a> {
    start: Location,
    rows: &'a Range<u64>,
    next_row: u64,
}

impl RecordScan<'_> {
    /// Counts a record. True if it is selected.
    fn is_selected(&mut self) -> bool {
        self.next_row += 1;
        self.rows.contains(&(self.next_row - 1))
    }

    fn lines(mut self, text: &str, visitor: &mut impl RecordVisitor) -> Result<()> {
        let mut location = self.start;
        for line in text.split_inclusive('\n') {
            if self.next_row >= self.rows.end {
                break;
            }
            let indent = line.bytes().position(|byte| !is_blank(byte));
            if let Some(indent) = indent
                && self.is_selected()
            {
                let object = line.get(indent..).unwrap_or_default().trim_ascii_end();
                visit_object(object, "the line", location.ahead(indent as u64), visitor)?;
            }
            location = Location { line: location.line + 1, ..location.ahead(line.len() as u64) };
        }
        Ok(())
    }

    fn array(mut self, text: &str, visitor: &mut impl RecordVisitor) -> Result<()> {
        let (mut location, mut at) = (self.start, 0);
        while self.next_row < self.rows.end
            && let Some((start, end)) = array_item(text.as_bytes(), at)
        {
            let line = location.line + line_feeds(text.as_bytes().get(at..start).unwrap_or_default());
            location = Location { line, ..self.start.ahead(start as u64) };
            let item = text.get(start..end).unwrap_or_default();
            if self.is_selected() {
                visit_object(item, "the array's item", location, visitor)?;
            }
            location.line += line_feeds(item.as_bytes());
            at = end;
        }
        Ok(())
    }

    fn csv(mut self, text: &str, delimiter: u8, cells: usize, visitor: &mut impl RecordVisitor) -> Result<()> {
        let (mut at, mut number) = (0, self.start.line);
        let mut split = Split::new(delimiter);
        while self.next_row < self.rows.end {
            let Some(record) = split.next(text.as_bytes(), at) else { break };
            number += line_feeds(text.as_bytes().get(at..record.start).unwrap_or_default());
            if self.is_selected() {
                let location = Location { line: number, ..self.start.ahead(record.start as u64) };
                split.check(cells).map_err(|error| error.in_line(location.line).at(location.byte))?;
                visitor.begin(location);
                for (index, (cell, quoted)) in split.texts(text).enumerate() {
                    visitor.cell(index, cell, quoted, location).map_err(|error| in_record(error, location))?;
                }
                visitor.end().map_err(|error| in_record(error, location))?;
            }
            number += line_feeds(text.as_bytes().get(record.start..record.end).unwrap_or_default());
            at = record.end;
        }
        Ok(())
    }
}

/// Unquoted cells have no offset in the file, so errors get the record's location.
#[cold]
fn in_record(error: Error, location: Location) -> Error {
    let mut position = error.position().clone();
    (position.line, position.byte) = (Some(location.line), Some(location.byte));
    Error::new(error.kind(), error.detail().to_owned()).with_position(position)
}

/// A duplicate member.
#[cold]
pub(crate) fn duplicate() -> Error {
    Error::invalid("duplicate member")
}

/// Visits the object that `text` is.
pub(crate) fn visit_object(text: &str, what: &str, location: Location, visitor: &mut impl RecordVisitor) -> Result<()> {
    visitor.begin(location);
    visit_members(text, what, location, visitor)
        .and_then(|()| visitor.end())
        .map_err(|error| error.in_line(location.line).at(location.byte))
}

fn visit_members(text: &str, what: &str, location: Location, visitor: &mut impl RecordVisitor) -> Result<()> {
    if !text.starts_with('{') {
        let found = shortened(text.trim_end());
        return Err(Error::invalid(format!("{what}: expected an object, found {found}")));
    }
    let mut failed = None;
    let mut parser = serde_json::Deserializer::from_str(text);
    let members = Members { text, location, visitor, failed: &mut failed };
    let outcome = parser.deserialize_map(members).and_then(|()| parser.end());
    match (outcome, failed) {
        (_, Some(error)) => Err(error),
        (Ok(()), None) => Ok(()),
        (Err(cause), None) => {
            let (line, byte) = offset(text, &cause);
            let mut error = invalid_json(what, &cause);
            if cause.is_eof() {
                // Most likely an object that spans several lines.
                error = Error::invalid(format!("{}; each line must be a complete object", error.detail()));
            }
            Err(error.in_line(location.line + line).at(location.byte + byte))
        }
    }
}

/// Lines and bytes before the position of a parser's error.
pub(in crate::text) fn offset(text: &str, cause: &serde_json::Error) -> (u64, u64) {
    let line = cause.line().saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let byte = (before + cause.column().saturating_sub(1)).min(text.len());
    (line as u64, byte as u64)
}

struct Members<'a, L> {
    text: &'a str,
    location: Location,
    visitor: &'a mut L,
    failed: &'a mut Option<Error>,
}

impl<'de, L: RecordVisitor> Visitor<'de> for Members<'_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let begin = self.text.as_ptr().addr();
        while let Some(Name(name)) = map.next_key()? {
            let value = map.next_value::<&'de RawValue>()?.get();
            // The value is a slice of the text.
            let ahead = value.as_ptr().addr().saturating_sub(begin) as u64;
            let location = self.location.ahead(ahead);
            if let Err(error) = check_nesting(value, 1).and_then(|()| self.visitor.member(&name, value, location)) {
                // The error's offset is relative to the value.
                *self.failed = Some(error.in_column(name.into_owned()).shifted(location.byte).at(location.byte));
                return Err(serde::de::Error::custom("rejected member"));
            }
        }
        Ok(())
    }
}
