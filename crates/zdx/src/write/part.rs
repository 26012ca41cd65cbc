//! A part of a JSON lines input, parsed by one thread.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use container_core::{Error, Limits, Result};
use serde_json::Value;

use crate::read::rebuild::checked_line_length;
use crate::wire::index::{ENTRY_OVERHEAD, Entry, put};
use crate::wire::lines::{Line, lines_from};
use crate::wire::{id, json};
use crate::write::members::{find, is_named, members, remove};
use crate::write::schema::Schema;

/// Requirements on a line.
#[derive(Debug)]
pub(crate) struct LineRules {
    pub(crate) id_field: Option<String>,
    pub(crate) validate: bool,
    pub(crate) schema: Option<Schema>,
    pub(crate) limits: Limits,
}

/// A parsed part.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its range within the window.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) documents: usize,
    /// Index entries of its documents: offsets are those of the lines in the input, lengths those of the lines to be written.
    pub(crate) entries: Vec<u8>,
    /// Whether it can be appended verbatim.
    pub(crate) is_verbatim: bool,
    /// Input offsets of lines to be skipped, in order.
    pub(crate) skipped: Vec<u64>,
}

impl Part {
    /// Parses and validates the lines of a part, which begins at offset `at` of the input.
    ///
    /// # Errors
    /// Of the first invalid line, with its byte in the input.
    pub(crate) fn read(bytes: &[u8], at: u64, rules: &LineRules) -> Result<Self> {
        // Capacity estimated from the length of the first line.
        let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1).max(64);
        let mut part = Self {
            start: 0,
            end: bytes.len(),
            documents: 0,
            entries: Vec::with_capacity(bytes.len() / line * (ENTRY_OVERHEAD + 16)),
            is_verbatim: true,
            skipped: Vec::new(),
        };
        let mut scratch = Vec::new();
        let mut expected = at;
        for line in lines_from(bytes, at, 0) {
            let placed = |error: Error| error.at(line.offset);
            let is_clean = line.is_ended && line.end - line.offset == line.bytes.len() as u64 + 1;
            part.is_verbatim &= line.offset == expected && is_clean;
            expected = line.end;
            let (id, length) = match &rules.id_field {
                None => (line_id(&line, rules.validate)?, line.bytes.len()),
                Some(_) => {
                    scratch.clear();
                    let (id, is_unchanged) = render(&line, rules, &mut scratch)?;
                    part.is_verbatim &= is_unchanged;
                    (id, scratch.len())
                }
            };
            if let Some(schema) = &rules.schema {
                let other = Schema::of(line.bytes).map_err(placed)?;
                schema.check_matches(&other).map_err(|error| placed(error.in_key(id.to_string())))?;
            }
            let length = checked_line_length(length as u64 + 1, &rules.limits).map_err(placed)?;
            put(&Entry { id: id.as_bytes(), offset: line.offset, length }, &mut part.entries)?;
            part.documents += 1;
        }
        part.is_verbatim &= expected == at + bytes.len() as u64;
        Ok(part)
    }

    /// Renders the lines of this part that are not skipped, in the form in which they are written.
    ///
    /// # Errors
    /// Only if the input has changed.
    pub(crate) fn render(&self, window: &[u8], at: u64, rules: &LineRules) -> Result<Vec<u8>> {
        let bytes = window.get(self.start..self.end).unwrap_or_default();
        let mut out = Vec::with_capacity(bytes.len() + 1);
        let mut skipped = self.skipped.iter().peekable();
        for line in lines_from(bytes, at + self.start as u64, 0) {
            if skipped.next_if(|offset| **offset == line.offset).is_none() {
                render(&line, rules, &mut out)?;
                out.push(b'\n');
            }
        }
        Ok(out)
    }
}

/// The valid id of a line's document.
fn line_id<'l>(line: &Line<'l>, validate: bool) -> Result<Cow<'l, str>> {
    let placed = |error: Error| error.at(line.offset);
    if !validate && let Some(id) = line.plain_id() {
        // All its characters are valid.
        return if id.len() <= id::MAX_ID_LEN {
            Ok(Cow::Borrowed(id))
        } else {
            Err(placed(id::check(id).err().unwrap_or_else(missing_id)))
        };
    }
    let id = scan(line)?.into_id().ok_or_else(|| placed(missing_id()))?;
    id::check(&id).map_err(placed)?;
    Ok(id)
}

/// As [`Line::scan`], without the line number, which would be relative to this part.
fn scan<'l>(line: &Line<'l>) -> Result<json::Scanned<'l>> {
    json::scan(line.bytes).map_err(|error| error.shifted(line.offset))
}

fn missing_id() -> Error {
    Error::invalid("the document has no \"_id\"")
}

/// Appends a line to `out` in the form in which it is written, without a line feed. Returns its id, and whether it is unchanged.
pub(crate) fn render<'l>(line: &Line<'l>, rules: &LineRules, out: &mut Vec<u8>) -> Result<(Cow<'l, str>, bool)> {
    let Some(field) = &rules.id_field else {
        out.extend_from_slice(line.bytes);
        return Ok((Cow::Borrowed(""), true));
    };
    let placed = |error: Error| error.at(line.offset);
    let own = scan(line)?.into_id();
    let id = id_from_field(line.bytes, field).map_err(placed)?;
    id::check(&id).map_err(placed)?;
    match own {
        Some(own) if own != id => {
            let detail = format!("the document's {field:?} differs from its \"_id\", {own:?}");
            return Err(placed(Error::usage(detail).in_key(id)));
        }
        Some(_) if members(line.bytes).next().is_some_and(|first| is_named(line.bytes, &first, "_id")) => {
            out.extend_from_slice(line.bytes);
            return Ok((Cow::Owned(id), true));
        }
        _ => {}
    }
    let changed = own.map(|_| remove(line.bytes, "_id"));
    let object = changed.as_deref().unwrap_or(line.bytes);
    let open = memchr::memchr(b'{', object).map_or(0, |at| at + 1);
    out.extend_from_slice(b"{\"_id\":\"");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(object.get(open..).unwrap_or_default());
    Ok((Cow::Owned(id), false))
}

/// The id taken from another member: a string or an integer.
fn id_from_field(object: &[u8], field: &str) -> Result<String> {
    let member =
        find(object, field).ok_or_else(|| Error::invalid(format!("the document has no {field:?} to use as its id")))?;
    let value = object.get(member.value).unwrap_or_default();
    match serde_json::from_slice(value) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        _ => {
            let value = String::from_utf8_lossy(value.get(..value.len().min(40)).unwrap_or_default()).into_owned();
            Err(Error::invalid(format!("{field:?}, used as id: expected a string or an integer, found {value}")))
        }
    }
}

/// Divides whole lines into parts of about `each` bytes and calls `work` for each, on several threads; returns the results in order.
pub(crate) fn parse_parts(
    bytes: &[u8],
    at: u64,
    each: usize,
    threads: usize,
    work: impl Fn(&[u8], u64) -> Result<Part> + Sync,
) -> Vec<Result<Part>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let feed = bytes.get(start + each..).and_then(|behind| memchr::memchr(b'\n', behind));
        let end = feed.map_or(bytes.len(), |feed| start + each + feed + 1);
        parts.push(start..end);
        start = end;
    }
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(parts.len()));
    let run_worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { break };
            let result = work(bytes.get(part.clone()).unwrap_or_default(), at + part.start as u64);
            let result = result.map(|parsed| Part { start: part.start, end: part.end, ..parsed });
            if result.is_err() {
                // Skip the parts that follow; those before have been started.
                next.store(parts.len(), Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            scope.spawn(run_worker);
        }
        run_worker();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
