//! Which columns a text has, and what is in them.

use std::borrow::Cow;
use std::collections::HashMap;

use container_core::{ColumnInfo, Error, Limits, Result};
use serde_json::{Map, Value};

use super::cut::{Feeder, next_json};
use super::inner::{Text, place};
use super::records::csv::not_utf8;
use super::records::split::Split;
use super::seen::{Kind, Rows, Seen};
use crate::text::records::chunk::Chunk;
use crate::text::records::place::Place;
use crate::text::records::record::{Look, one};
use crate::workers::Workers;

/// The columns that were found in some rows.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) rows: u64,
    pub(super) csv: Vec<Seen>,
    fields: Vec<Field>,
    by_name: HashMap<Box<str>, usize>,
}

/// Columns as they are shown.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) infos: Vec<ColumnInfo>,
    /// Rows that have each.
    counts: Vec<u64>,
    /// Rows that were looked at.
    rows: u64,
    /// What is wrong with the row behind them.
    pub(super) error: Option<Error>,
}

impl Columns {
    pub(super) fn summary(&self, index: usize) -> Map<String, Value> {
        let members = |count: &u64| [("rows", *count), ("rows_looked_at", self.rows)];
        let members = self.counts.get(index).map(members).into_iter().flatten();
        members.map(|(name, count)| (name.to_owned(), count.into())).collect()
    }
}

/// A member of objects.
#[derive(Debug)]
struct Field {
    name: Box<str>,
    /// Kinds of values, a bit each.
    kinds: u8,
    /// Rows that have it, and the last one.
    count: u64,
    last: u64,
}

/// In the order in which they are told: null comes last.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "null"];

impl Survey {
    /// Looks at chunks, all or those that are taken together first; and what is wrong with one, or behind the last one. Broken rows of CSV are passed
    /// over.
    pub(super) fn of(text: &Text, workers: &Workers, all: bool) -> (Self, Result<()>) {
        let mut survey = Self::default();
        let mut feeder = Feeder::new(text);
        let mut broken = None;
        loop {
            let (chunks, result) = feeder.next(workers);
            let done = chunks.is_empty() || !all;
            for (part, result) in workers.map(chunks, |chunk| Self::chunk(text, &chunk)) {
                if let Err(error) = survey.merge(part, &text.limits).and(result) {
                    let error = error.in_format(text.format);
                    if !text.is_csv() {
                        return (survey, Err(error));
                    }
                    broken.get_or_insert(error);
                }
            }
            if result.is_err() || done {
                return (survey, broken.map_or(result, Err));
            }
        }
    }

    /// Looks at the rows of a chunk; those of JSON up to a broken one.
    pub(super) fn chunk(text: &Text, chunk: &Chunk) -> (Self, Result<()>) {
        let mut part = Self::default();
        if text.is_csv() {
            let result = csv(text, chunk, &mut part.csv, &mut part.rows);
            return (part, result);
        }
        let mut at = 0;
        while let Some(span) = next_json(chunk, at) {
            at = span.next;
            let mut look = Fields { survey: &mut part, limits: &text.limits, next: 0 };
            if let Err(error) = json(chunk, span.start..span.end, &mut look) {
                return (part, Err(error));
            }
        }
        (part, Ok(()))
    }

    fn merge(&mut self, other: Self, limits: &Limits) -> Result<()> {
        self.rows += other.rows;
        match self.csv.is_empty() {
            true => self.csv = other.csv,
            false => self.csv.iter_mut().zip(other.csv).for_each(|(own, other)| own.merge(other)),
        }
        for field in other.fields {
            let at = match self.by_name.get(&field.name) {
                Some(at) => *at,
                None => self.add(&field.name, limits)?,
            };
            if let Some(own) = self.fields.get_mut(at) {
                own.kinds |= field.kinds;
                own.count += field.count;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, limits: &Limits) -> Result<usize> {
        let at = self.fields.len();
        limits.check_columns("the number of columns", at as u64 + 1)?;
        self.fields.push(Field { name: name.into(), kinds: 0, count: 0, last: 0 });
        self.by_name.insert(name.into(), at);
        Ok(at)
    }

    /// What the columns of CSV hold.
    pub(super) fn kinds(&self, text: &Text) -> Box<[Kind]> {
        let mut kinds: Vec<_> = self.csv.iter().map(Seen::row_kind).collect();
        kinds.resize(text.names.len(), Kind::Null); // without rows there is nothing yet
        kinds.into()
    }

    /// The columns, as far as an error let them be found.
    pub(super) fn columns(self, text: &Text, error: Option<Error>) -> Columns {
        let rows = self.rows;
        let is_unknown = rows == 0 && error.is_some();
        if text.is_csv() {
            let column = |(name, seen): (&String, &Seen)| {
                if is_unknown {
                    return (ColumnInfo::new(name, "unknown"), 0);
                }
                let kind = seen.kind();
                let null = if seen.nulls() > 0 && kind != Kind::Null { " or null" } else { "" };
                (ColumnInfo::new(name, format!("{}{null}", kind.name())), rows - seen.nulls())
            };
            let mut csv = self.csv;
            csv.resize_with(text.names.len(), Seen::default); // without rows there is nothing yet
            let (infos, counts) = text.names.iter().zip(&csv).map(column).unzip();
            return Columns { infos, counts, rows, error };
        }
        let column = |field: &Field| {
            let kinds = KINDS.iter().enumerate().filter(|(bit, _)| field.kinds & 1 << bit != 0).map(|(_, kind)| *kind);
            (ColumnInfo::new(&*field.name, kinds.collect::<Vec<_>>().join(" or ")), field.count)
        };
        drop(self.by_name);
        let (infos, counts) = self.fields.iter().map(column).unzip();
        Columns { infos, counts, rows, error }
    }
}

/// Looks at the rows of a chunk, and counts them. Broken rows are passed over, and the first is what comes back.
fn csv(text: &Text, chunk: &Chunk, seen: &mut Vec<Seen>, count: &mut u64) -> Result<()> {
    seen.resize(text.names.len(), Seen::default());
    let mut split = Split::new(text.options.delimiter);
    let (shown, invalid) = readable(&chunk.bytes);
    let mut here = Rows::new(&text.limits);
    let (mut at, mut row, mut broken) = (0, chunk.row, Ok(()));
    while let Some(record) = split.next(&chunk.bytes, at) {
        at = record.end;
        here.row = row;
        row += 1;
        let checked = split.check(seen.len()).and_then(|()| {
            let behind = invalid.partition_point(|byte| *byte < record.start);
            match invalid.get(behind) {
                Some(byte) if *byte < record.end => Err(not_utf8(byte - record.start)),
                _ => Ok(()),
            }
        });
        if let Err(error) = checked {
            broken = broken.and_then(|()| Err(text.placed(error, chunk, record.start)));
            continue;
        }
        *count += 1;
        for (seen, (cell, quoted)) in seen.iter_mut().zip(split.texts(&shown)) {
            seen.see(cell, quoted, &mut here);
        }
    }
    broken
}

/// The text of bytes, with a `?` for each that is not UTF-8, and where those begin.
fn readable(bytes: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut text, mut invalid) = (String::with_capacity(bytes.len()), Vec::new());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            invalid.push(text.len());
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
    }
    (Cow::Owned(text), invalid)
}

/// Shows the members of an object that lies here.
pub(super) fn json(chunk: &Chunk, span: std::ops::Range<usize>, look: &mut impl Look) -> Result<()> {
    let start = span.start;
    // The line is counted only where something is wrong.
    let here = Place { line: 0, ..chunk.start.ahead(start as u64) };
    let bytes = chunk.bytes.get(span).unwrap_or_default();
    let what = if chunk.array { "the array's item" } else { "the line" };
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()).shifted(here.byte));
    text.and_then(|text| one(text, what, here, look)).map_err(|error| {
        let line = place(chunk, start).line + error.position().line.unwrap_or(0);
        let mut own = Error::new(error.kind(), error.detail().to_owned()).in_line(line);
        own = own.at(error.position().byte.unwrap_or(here.byte));
        match &error.position().column {
            Some(column) => own.in_column(column.clone()),
            None => own,
        }
    })
}

struct Fields<'s> {
    survey: &'s mut Survey,
    limits: &'s Limits,
    /// The column that the next member is probably of.
    next: usize,
}

impl Look for Fields<'_> {
    fn begin(&mut self, _: Place) {
        self.survey.rows += 1;
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, _: Place) -> Result<()> {
        let expected = self.survey.fields.get(self.next).is_some_and(|field| *field.name == *name);
        let at = match self.survey.by_name.get(name) {
            _ if expected => self.next,
            Some(at) => *at,
            None => self.survey.add(name, self.limits)?,
        };
        self.next = at + 1;
        let row = self.survey.rows;
        if let Some(field) = self.survey.fields.get_mut(at) {
            field.kinds |= match value.as_bytes().first() {
                Some(b't' | b'f') => 1,
                Some(b'"') => 4,
                Some(b'[') => 8,
                Some(b'{') => 16,
                Some(b'n') => 32,
                _ => 2,
            };
            field.count += u64::from(field.last != row);
            field.last = row;
        }
        Ok(())
    }

    fn cell(&mut self, _: usize, _: &str, _: bool, _: Place) -> Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
