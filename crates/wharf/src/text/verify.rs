//! Verification: reports every fault of a text source.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use container_core::{Error, ErrorKind, Finding, Result, Unit, VerifyOptions};
use serde::Deserializer;
use serde::de::{Deserialize, MapAccess, SeqAccess, Visitor};

use super::chunk_reader::{ChunkReader, next_json_record};
use super::columns::visit_json;
use super::layout::{Text, location_of};
use super::records::csv::not_utf8;
use super::records::json::invalid_json;
use super::records::split::Split;
use crate::text::records::chunk::Chunk;
use crate::text::records::location::Location;
use crate::text::records::record::{RecordVisitor, offset};
use crate::workers::Workers;

pub(super) fn verify(text: &Text, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
    let workers = Workers::new(options.threads);
    if let Some(progress) = &options.progress {
        progress.begin(Unit::Bytes, Some(text.len()));
    }
    check_header(text, report);
    let mut chunk_reader = ChunkReader::new(text);
    loop {
        let (chunks, result) = chunk_reader.next(&workers);
        let done = chunks.is_empty();
        let bytes: u64 = chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
        let check = |chunk: Chunk| if text.is_csv() { check_rows(text, &chunk) } else { check_objects(text, &chunk) };
        workers.map(chunks, check).into_iter().flatten().for_each(&mut *report);
        if let Some(progress) = &options.progress {
            progress.advance(bytes)?;
        }
        match result {
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(error) => {
                report(Finding::error(error));
                return Ok(());
            }
            Ok(()) if done => return Ok(()),
            Ok(()) => {}
        }
    }
}

/// Checks the header of CSV.
fn check_header(text: &Text, report: &mut dyn FnMut(Finding)) {
    if !text.is_csv() || !text.options.header {
        return;
    }
    let mut warn = |detail: String| {
        report(Finding::warning(Error::invalid(detail).in_line(1).at(0).in_format(text.format)));
    };
    let Ok(bytes) = text.read(0..text.begin.byte.min(text.len())) else { return };
    let mark: &[u8] = b"\xEF\xBB\xBF";
    let mut split = Split::new(text.options.delimiter);
    if split.next(&bytes, if bytes.starts_with(mark) { mark.len() } else { 0 }).is_none() {
        return warn("missing header line".to_owned());
    }
    let mut known = HashSet::new();
    for (cell, _) in split.cells(&bytes) {
        let name = String::from_utf8_lossy(cell);
        if !name.is_empty() && !known.insert(cell) {
            warn(format!("duplicate column name {name:?}"));
        }
    }
}

fn check_rows(text: &Text, chunk: &Chunk) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut split = Split::new(text.options.delimiter);
    let mut at = 0;
    while let Some(record) = split.next(&chunk.bytes, at) {
        at = record.end;
        let bytes = chunk.bytes.get(record.start..record.end).unwrap_or_default();
        let mut report = |error: Error| findings.push(Finding::error(text.locate_error(error, chunk, record.start)));
        if let Err(error) = split.check(text.names.len()) {
            report(error);
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            report(not_utf8(error.valid_up_to()));
        }
        // Read unchanged, but not portable.
        if let Some(nul) = memchr::memchr(0, bytes) {
            let error = Error::invalid("NUL byte in the row: some CSV readers reject it").at(nul as u64);
            findings.push(Finding::warning(text.locate_error(error, chunk, record.start)));
        }
    }
    findings
}

fn check_objects(text: &Text, chunk: &Chunk) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut members = Members::default();
    let mut at = 0;
    while let Some(span) = next_json_record(chunk, at) {
        at = span.next;
        let checked = visit_json(chunk, span.start..span.end, &mut members);
        for (name, byte) in members.repeated.drain(..) {
            let error = Error::invalid(format!("duplicate member {name:?}: the last one is used"));
            let line = location_of(chunk, span.start).line;
            findings.push(Finding::warning(error.in_line(line).at(byte).in_format(text.format)));
        }
        if let Err(error) = checked {
            findings.push(Finding::error(error.in_format(text.format)));
        }
    }
    findings
}

/// Finds duplicate members.
#[derive(Default)]
struct Members {
    /// The last record that had each member.
    last: HashMap<Box<str>, u64>,
    record: u64,
    /// Names and offsets of duplicates.
    repeated: Vec<(String, u64)>,
}

impl RecordVisitor for Members {
    fn begin(&mut self, _: Location) {
        self.record += 1;
        // Bounds the memory for names.
        if self.last.len() > 1 << 16 {
            self.last.clear();
        }
    }

    fn member(&mut self, name: &str, value: &str, location: Location) -> Result<()> {
        match self.last.get_mut(name) {
            Some(last) if *last == self.record => self.repeated.push((name.to_owned(), location.byte)),
            Some(last) => *last = self.record,
            None => drop(self.last.insert(name.into(), self.record)),
        }
        let needs_parsing = value.starts_with(['{', '[']) || value.starts_with('"') && value.contains('\\');
        if !needs_parsing {
            return Ok(());
        }
        match serde_json::from_str::<Deep>(value) {
            Ok(Deep(repeated)) => {
                self.repeated.extend(repeated.map(|name| (name, location.byte)));
                Ok(())
            }
            // Valid JSON, though it does not fit 64 bits.
            Err(cause) if cause.to_string().starts_with("number out of range") => Ok(()),
            Err(cause) => Err(invalid_json("the value", &cause).at(offset(value, &cause).1)),
        }
    }
}

/// A completely parsed value, and the first duplicate member name in it.
struct Deep(Option<String>);

impl<'de> Deserialize<'de> for Deep {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(DeepVisitor)
    }
}

struct DeepVisitor;

/// Visits of values that contain no members.
macro_rules! not_nested {
    ($($visit:ident($of:ty))*) => { $(fn $visit<E>(self, _: $of) -> Result<Deep, E> { Ok(Deep(None)) })* };
}

impl<'de> Visitor<'de> for DeepVisitor {
    type Value = Deep;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    not_nested! { visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_unit<E>(self) -> Result<Deep, E> {
        Ok(Deep(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Deep, A::Error> {
        let mut duplicate = None;
        while let Some(Deep(element)) = list.next_element()? {
            duplicate = duplicate.or(element);
        }
        Ok(Deep(duplicate))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Deep, A::Error> {
        let (mut duplicate, mut names) = (None, HashSet::new());
        while let Some((name, Deep(value))) = map.next_entry::<Cow<'_, str>, Deep>()? {
            duplicate = duplicate.or(value);
            if names.contains(&name) {
                duplicate = duplicate.or_else(|| Some(name.clone().into_owned()));
            }
            names.insert(name);
        }
        Ok(Deep(duplicate))
    }
}
