//! JSON objects as samples.

use std::collections::HashMap;
use std::ops::Range;

use container_core::{Limits, Result};
use datadings::json::{FloatWords, to_msgpack, to_msgpack_with};

use super::message::{Messages, write_sample};
use super::{KEY, SampleOptions, duplicate_key_column, key_not_text, missing_key, row_key};
use crate::text::records::Options;
use crate::text::records::chunk::Chunk;
use crate::text::records::json::{Kind, shortened, unescaped};
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, duplicate, visit_records};

/// Converts the records of a chunk to samples.
pub(super) struct JsonSamples<'a> {
    options: &'a SampleOptions,
    /// Where strings are floats.
    words: Option<&'a FloatWords>,
    /// Member names, and the last record with each.
    names: Vec<(Box<str>, usize)>,
    by_name: HashMap<Box<str>, usize>,
    /// The expected index of the next member's name.
    next: usize,
    records: usize,
    /// The number of the first record.
    row: u64,
    /// Its position in the output; `None` for a record that is not selected.
    position: Option<u64>,
    location: Location,
    key: Option<String>,
    fields: Vec<Field>,
    values: Vec<u8>,
    messages: Messages,
}

/// A member of the current record.
struct Field {
    /// Its rank in the sample.
    rank: usize,
    name: usize,
    value: Range<usize>,
}

impl<'a> JsonSamples<'a> {
    pub(super) fn new(options: &'a SampleOptions, words: Option<&'a FloatWords>) -> Self {
        let present = vec![false; options.columns.as_ref().map_or(0, Vec::len)];
        Self {
            options,
            words,
            names: Vec::new(),
            by_name: HashMap::new(),
            next: 0,
            records: 0,
            row: 0,
            position: None,
            location: Location { input: 0, line: 1, byte: 0 },
            key: None,
            fields: Vec::new(),
            values: Vec::new(),
            messages: Messages::new(present),
        }
    }

    /// The samples of selected records, up to the first error.
    pub(super) fn messages(mut self, chunk: &Chunk, options: &Options, selected: &Range<u64>) -> Messages {
        self.row = chunk.row + selected.start;
        let outcome = visit_records(chunk, options, 0, selected, &mut self);
        self.messages.error = outcome.err();
        self.messages
    }

    fn name(&mut self, name: &str) -> Result<usize> {
        if self.names.get(self.next).is_some_and(|(known, _)| &**known == name) {
            return Ok(self.next);
        }
        if let Some(&index) = self.by_name.get(name) {
            return Ok(index);
        }
        let index = self.names.len();
        Limits::default().check_columns("number of columns", index as u64 + 1)?;
        self.names.push((name.into(), 0));
        self.by_name.insert(name.into(), index);
        Ok(index)
    }
}

impl RecordVisitor for JsonSamples<'_> {
    fn begin(&mut self, location: Location) {
        self.location = location;
        self.position = self.options.position(self.row + self.records as u64);
        self.records += 1;
        self.next = 0;
        self.key = None;
        self.fields.clear();
        self.values.clear();
    }

    fn member(&mut self, name: &str, value: &str, _: Location) -> Result<()> {
        if self.position.is_none() {
            return Ok(());
        }
        let index = self.name(name)?;
        self.next = index + 1;
        let records = self.records;
        if self.names.get_mut(index).is_some_and(|(_, last)| std::mem::replace(last, records) == records) {
            return Err(duplicate());
        }
        if self.options.key_column() == Some(name) {
            self.key = Some(key_text(value, name)?);
        }
        let Some(rank) = self.options.rank(name, self.fields.len()) else { return Ok(()) };
        if name == KEY && self.options.makes_key() {
            return Err(duplicate_key_column());
        }
        if let Some(present) = rank.checked_sub(1).and_then(|chosen| self.messages.present.get_mut(chosen)) {
            *present = true;
        }
        let start = self.values.len();
        match self.words.and_then(|words| words.member(name)) {
            Some(words) => to_msgpack_with(value.as_bytes(), words, &mut self.values)?,
            None => to_msgpack(value.as_bytes(), &mut self.values)?,
        }
        self.fields.push(Field { rank, name: index, value: start..self.values.len() });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(position) = self.position else { return Ok(()) };
        let made = match (self.options.key_column(), &self.key) {
            (None, _) => Some(row_key(position)),
            (Some(column), None) => return Err(missing_key(column)),
            (Some(_), Some(key)) => self.options.makes_key().then(|| key.clone()),
        };
        if self.options.columns.is_some() {
            self.fields.sort_unstable_by_key(|field| field.rank);
        }
        let fields = self.fields.iter().map(|field| {
            let name = self.names.get(field.name).map(|(name, _)| &**name).unwrap_or_default();
            (name, self.values.get(field.value.clone()).unwrap_or_default())
        });
        self.messages.push(self.location, |out| write_sample(out, made.as_deref(), fields))
    }
}

/// The text of a key: of a string, or the digits of an integer if the key comes from another column.
fn key_text(value: &str, column: &str) -> Result<String> {
    let digits = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    match Kind::of(value) {
        Kind::String => Ok(unescaped(value)?.into_owned()),
        Kind::Number if column != KEY && value.bytes().all(digits) => Ok(value.to_owned()),
        _ if column == KEY => Err(key_not_text(&shortened(value), "text")),
        _ => Err(key_not_text(&shortened(value), "text or an integer")),
    }
}
