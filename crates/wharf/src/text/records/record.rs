//! The records of a chunk, taken apart.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use container_core::raw_json::check_nesting;
use container_core::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::chunk::{Chunk, array_item, line_feeds};
use super::json::{is_blank, no_json, shortened};
use super::place::Place;
use super::split::Split;
use super::{Form, Options};

/// Who looks at records.
pub(crate) trait Look {
    /// A record begins.
    fn begin(&mut self, place: Place);
    /// A member of an object: its value is a valid JSON text.
    fn member(&mut self, name: &str, value: &str, place: Place) -> Result<()>;
    /// A cell of a CSV record, by its number, and whether it had quotes. All cells of a record come, in order.
    fn cell(&mut self, index: usize, text: &str, quoted: bool, place: Place) -> Result<()>;
    /// The record is over.
    fn end(&mut self) -> Result<()>;
}

/// Shows the records of a chunk; `wanted` counts them from the chunk's first. `cells` is how many a CSV record must have.
///
/// # Errors
/// The first that is found, with its place; those of `look` get the place of the record.
pub(crate) fn records(
    chunk: &Chunk,
    options: &Options,
    cells: usize,
    wanted: &Range<u64>,
    look: &mut impl Look,
) -> Result<()> {
    let (text, damage) = match std::str::from_utf8(&chunk.bytes) {
        Ok(text) => (text, None),
        Err(cause) => {
            let valid = chunk.bytes.get(..cause.valid_up_to()).unwrap_or_default();
            let place = Place { line: chunk.start.line + line_feeds(valid), ..chunk.start.ahead(valid.len() as u64) };
            // What is wrong with a line before comes first.
            let lines = valid.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let before = if chunk.array || options.form == Form::Csv { 0 } else { lines };
            let text = std::str::from_utf8(valid).ok().and_then(|text| text.get(..before)).unwrap_or_default();
            (text, Some(Error::invalid("the text is not UTF-8").in_line(place.line).at(place.byte)))
        }
    };
    let walk = Walk { start: chunk.start, wanted, seen: 0 };
    match options.form {
        Form::Csv => walk.csv(text, options.delimiter, cells, look),
        Form::JsonLines if chunk.array => walk.array(text, look),
        Form::JsonLines => walk.lines(text, look),
    }?;
    damage.map_or(Ok(()), Err)
}

struct Walk<'a> {
    start: Place,
    wanted: &'a Range<u64>,
    seen: u64,
}

impl Walk<'_> {
    /// Counts a record; whether it is wanted.
    fn is_wanted(&mut self) -> bool {
        self.seen += 1;
        self.wanted.contains(&(self.seen - 1))
    }

    fn lines(mut self, text: &str, look: &mut impl Look) -> Result<()> {
        let mut place = self.start;
        for line in text.split_inclusive('\n') {
            if self.seen >= self.wanted.end {
                break;
            }
            let indent = line.bytes().position(|byte| !is_blank(byte));
            if let Some(indent) = indent
                && self.is_wanted()
            {
                let object = line.get(indent..).unwrap_or_default().trim_ascii_end();
                one(object, "the line", place.ahead(indent as u64), look)?;
            }
            place = Place { line: place.line + 1, ..place.ahead(line.len() as u64) };
        }
        Ok(())
    }

    fn array(mut self, text: &str, look: &mut impl Look) -> Result<()> {
        let (mut place, mut at) = (self.start, 0);
        while self.seen < self.wanted.end
            && let Some((start, end)) = array_item(text.as_bytes(), at)
        {
            let line = place.line + line_feeds(text.as_bytes().get(at..start).unwrap_or_default());
            place = Place { line, ..self.start.ahead(start as u64) };
            let item = text.get(start..end).unwrap_or_default();
            if self.is_wanted() {
                one(item, "the array's item", place, look)?;
            }
            place.line += line_feeds(item.as_bytes());
            at = end;
        }
        Ok(())
    }

    fn csv(mut self, text: &str, delimiter: u8, cells: usize, look: &mut impl Look) -> Result<()> {
        let (mut at, mut number) = (0, self.start.line);
        let mut split = Split::new(delimiter);
        while self.seen < self.wanted.end {
            let Some(record) = split.next(text.as_bytes(), at) else { break };
            number += line_feeds(text.as_bytes().get(at..record.start).unwrap_or_default());
            if self.is_wanted() {
                let place = Place { line: number, ..self.start.ahead(record.start as u64) };
                split.check(cells).map_err(|error| error.in_line(place.line).at(place.byte))?;
                look.begin(place);
                for (index, (cell, quoted)) in split.texts(text).enumerate() {
                    look.cell(index, cell, quoted, place).map_err(|error| in_record(error, place))?;
                }
                look.end().map_err(|error| in_record(error, place))?;
            }
            number += line_feeds(text.as_bytes().get(record.start..record.end).unwrap_or_default());
            at = record.end;
        }
        Ok(())
    }
}

/// A cell's bytes do not lie in the file as they are, so the record's place has to do.
#[cold]
fn in_record(error: Error, place: Place) -> Error {
    let mut told = Error::new(error.kind(), error.detail().to_owned());
    if let Some(column) = &error.position().column {
        told = told.in_column(column.clone());
    }
    told.in_line(place.line).at(place.byte)
}

/// A member that an object has already.
#[cold]
pub(crate) fn duplicate() -> Error {
    Error::invalid("the member is there twice")
}

/// Shows the object that a text is.
pub(crate) fn one(text: &str, what: &str, place: Place, look: &mut impl Look) -> Result<()> {
    look.begin(place);
    object(text, what, place, look).and_then(|()| look.end()).map_err(|error| error.in_line(place.line).at(place.byte))
}

fn object(text: &str, what: &str, place: Place, look: &mut impl Look) -> Result<()> {
    if !text.starts_with('{') {
        let found = shortened(text.trim_end());
        return Err(Error::invalid(format!("{what} is {found} where an object is wanted")));
    }
    let mut failed = None;
    let mut parser = serde_json::Deserializer::from_str(text);
    let members = Members { text, place, look, failed: &mut failed };
    let outcome = parser.deserialize_map(members).and_then(|()| parser.end());
    match (outcome, failed) {
        (_, Some(error)) => Err(error),
        (Ok(()), None) => Ok(()),
        (Err(cause), None) => {
            let (line, byte) = offset(text, &cause);
            let mut error = no_json(what, &cause);
            if cause.is_eof() {
                // Most likely an object that goes on on the next line.
                error = Error::invalid(format!("{}; a line holds a whole object", error.detail()));
            }
            Err(error.in_line(place.line + line).at(place.byte + byte))
        }
    }
}

/// Lines and bytes before the place of a parser's error.
fn offset(text: &str, cause: &serde_json::Error) -> (u64, u64) {
    let line = cause.line().saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let byte = (before + cause.column().saturating_sub(1)).min(text.len());
    (line as u64, byte as u64)
}

struct Members<'a, L> {
    text: &'a str,
    place: Place,
    look: &'a mut L,
    failed: &'a mut Option<Error>,
}

impl<'de, L: Look> Visitor<'de> for Members<'_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let begin = self.text.as_ptr().addr();
        while let Some(name) = map.next_key_seed(Name)? {
            let value = map.next_value::<&'de RawValue>()?.get();
            // The value is a piece of the text.
            let ahead = value.as_ptr().addr().saturating_sub(begin) as u64;
            let place = self.place.ahead(ahead);
            if let Err(error) = check_nesting(value, 1).and_then(|()| self.look.member(&name, value, place)) {
                // A byte counts from the value's beginning.
                *self.failed = Some(error.in_column(name.into_owned()).shifted(place.byte).at(place.byte));
                return Err(serde::de::Error::custom("the member is refused"));
            }
        }
        Ok(())
    }
}

/// A member's name, borrowed where nothing is escaped in it.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
