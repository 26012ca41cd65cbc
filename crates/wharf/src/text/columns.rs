//! Inference of a text table's columns: names, kinds and counts.

use std::borrow::Cow;
use std::collections::HashMap;

use container_core::{ColumnInfo, Error, Limits, Result, Unit, Watch};
use serde_json::{Map, Value};

use super::chunk_reader::{ChunkReader, next_json_record};
use super::layout::{Text, location_of};
use super::profile::{CellContext, CellProfile, ColumnKind};
use super::records::csv::not_utf8;
use super::records::json::Kind;
use super::records::split::Split;
use crate::text::records::chunk::Chunk;
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, visit_object};
use crate::workers::Workers;

/// Columns inferred from scanned rows.
#[derive(Debug, Default)]
pub(super) struct ColumnInference {
    pub(super) rows: u64,
    pub(super) csv: Vec<CellProfile>,
    fields: Vec<Field>,
    by_name: HashMap<Box<str>, usize>,
}

/// Inferred columns as [`ColumnInfo`].
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) infos: Vec<ColumnInfo>,
    /// Rows that have a value, by column.
    counts: Vec<u64>,
    /// Scanned rows.
    rows: u64,
    /// Why the scan stopped early.
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
    /// Kinds of values, a bit for each of `KINDS`.
    kinds: u8,
    /// Rows that have it.
    count: u64,
    last: u64,
}

/// Those of [`Kind`], in the order in which they are reported.
const KINDS: [&str; 6] = ["boolean", "number", "string", "array", "object", "null"];

impl ColumnInference {
    /// Scans all chunks, or the first group. Returns the first error as well; broken rows of CSV are skipped.
    pub(super) fn scan(text: &Text, workers: &Workers, all: bool, watch: &Watch) -> (Self, Result<()>) {
        let mut inference = Self::default();
        let mut chunk_reader = ChunkReader::new(text);
        let mut broken = None;
        watch.begin(Unit::Bytes, Some(text.len()));
        loop {
            let (chunks, result) = chunk_reader.next(workers);
            if let Err(cancelled) = watch.advance(bytes(&chunks)) {
                return (inference, Err(cancelled));
            }
            let done = chunks.is_empty() || !all;
            for (part, result) in workers.map(chunks, |chunk| Self::chunk(text, &chunk)) {
                if let Err(error) = inference.merge(part, &text.limits).and(result) {
                    let error = error.in_format(text.format);
                    if !text.is_csv() {
                        return (inference, Err(error));
                    }
                    broken.get_or_insert(error);
                }
            }
            if result.is_err() || done {
                return (inference, broken.map_or(result, Err));
            }
        }
    }

    /// Scans the rows of a chunk; of JSON those before the first broken one.
    pub(super) fn chunk(text: &Text, chunk: &Chunk) -> (Self, Result<()>) {
        let mut part = Self::default();
        if text.is_csv() {
            let result = profile_csv(text, chunk, &mut part.csv, &mut part.rows);
            return (part, result);
        }
        let mut at = 0;
        while let Some(span) = next_json_record(chunk, at) {
            at = span.next;
            let mut visitor = Fields { inference: &mut part, limits: &text.limits, next: 0 };
            if let Err(error) = visit_json(chunk, span.start..span.end, &mut visitor) {
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

    /// Kinds of the CSV columns.
    pub(super) fn kinds(&self, text: &Text) -> Box<[ColumnKind]> {
        let mut kinds: Vec<_> = self.csv.iter().map(CellProfile::row_kind).collect();
        kinds.resize(text.names.len(), ColumnKind::Null); // empty if there were no rows
        kinds.into()
    }

    /// The columns, as far as they were scanned before an error.
    pub(super) fn columns(self, text: &Text, error: Option<Error>) -> Columns {
        let rows = self.rows;
        let is_unknown = rows == 0 && error.is_some();
        if text.is_csv() {
            let column = |(name, profile): (&String, &CellProfile)| {
                if is_unknown {
                    return (ColumnInfo::new(name, "unknown"), 0);
                }
                let kind = profile.kind();
                let null = if profile.nulls() > 0 && kind != ColumnKind::Null { " or null" } else { "" };
                (ColumnInfo::new(name, format!("{}{null}", kind.name())), rows - profile.nulls())
            };
            let mut csv = self.csv;
            csv.resize_with(text.names.len(), CellProfile::default); // empty if there were no rows
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

/// The bytes of chunks.
pub(super) fn bytes(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum()
}

/// Profiles and counts the rows of a CSV chunk. Skips broken rows, and returns the first error.
fn profile_csv(text: &Text, chunk: &Chunk, profiles: &mut Vec<CellProfile>, count: &mut u64) -> Result<()> {
    profiles.resize(text.names.len(), CellProfile::default());
    let mut split = Split::new(text.options.delimiter);
    let (lossy, invalid) = decode_lossy(&chunk.bytes);
    let mut context = CellContext::new(&text.limits);
    let (mut at, mut row, mut broken) = (0, chunk.row, Ok(()));
    while let Some(record) = split.next(&chunk.bytes, at) {
        at = record.end;
        context.row = row;
        row += 1;
        let checked = split.check(profiles.len()).and_then(|()| {
            let behind = invalid.partition_point(|byte| *byte < record.start);
            match invalid.get(behind) {
                Some(byte) if *byte < record.end => Err(not_utf8(byte - record.start)),
                _ => Ok(()),
            }
        });
        if let Err(error) = checked {
            broken = broken.and_then(|()| Err(text.locate_error(error, chunk, record.start)));
            continue;
        }
        *count += 1;
        for (profile, (cell, quoted)) in profiles.iter_mut().zip(split.texts(&lossy)) {
            profile.observe(cell, quoted, &mut context);
        }
    }
    broken
}

/// Decodes UTF-8 with a `?` for each invalid byte, so that offsets stay the same. Also returns the offsets of invalid sequences.
fn decode_lossy(bytes: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
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

/// Visits the members of the object at `span`.
pub(super) fn visit_json(chunk: &Chunk, span: std::ops::Range<usize>, visitor: &mut impl RecordVisitor) -> Result<()> {
    let start = span.start;
    // Lines are counted only if there is an error.
    let here = Location { line: 0, ..chunk.start.ahead(start as u64) };
    let bytes = chunk.bytes.get(span).unwrap_or_default();
    let what = if chunk.array { "the array's item" } else { "the line" };
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()).shifted(here.byte));
    text.and_then(|text| visit_object(text, what, here, visitor)).map_err(|error| {
        let mut position = error.position().clone();
        position.line = Some(location_of(chunk, start).line + position.line.unwrap_or(0));
        Error::new(error.kind(), error.detail().to_owned()).with_position(position).at(here.byte)
    })
}

struct Fields<'s> {
    inference: &'s mut ColumnInference,
    limits: &'s Limits,
    /// The column that the next member probably belongs to.
    next: usize,
}

impl RecordVisitor for Fields<'_> {
    fn begin(&mut self, _: Location) {
        self.inference.rows += 1;
        self.next = 0;
    }

    fn member(&mut self, name: &str, value: &str, _: Location) -> Result<()> {
        let expected = self.inference.fields.get(self.next).is_some_and(|field| *field.name == *name);
        let at = match self.inference.by_name.get(name) {
            _ if expected => self.next,
            Some(at) => *at,
            None => self.inference.add(name, self.limits)?,
        };
        self.next = at + 1;
        let row = self.inference.rows;
        if let Some(field) = self.inference.fields.get_mut(at) {
            field.kinds |= 1 << Kind::of(value) as u8;
            field.count += u64::from(field.last != row);
            field.last = row;
        }
        Ok(())
    }
}
