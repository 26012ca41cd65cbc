//! A part of an input of JSON lines, gone through by one thread.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use container_core::{Error, Limits, Result};
use serde_json::Value;

use crate::read::rebuild::line_bytes;
use crate::wire::index::{AROUND, Entry, put};
use crate::wire::lines::{Line, lines_from};
use crate::wire::{id, json};
use crate::write::members::{find, is_named, members, without};
use crate::write::schema::Schema;

/// What a line has to be, and becomes.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) id_field: Option<String>,
    pub(crate) validate: bool,
    pub(crate) schema: Option<Schema>,
    pub(crate) limits: Limits,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Part {
    /// Where it lies in its window.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) documents: usize,
    /// Entries of its documents: offsets are those of the lines in the input, lengths those of what is to be written.
    pub(crate) entries: Vec<u8>,
    /// It can be taken as it is.
    pub(crate) is_plain: bool,
    /// Offsets of lines that are not taken, in their order.
    pub(crate) left_out: Vec<u64>,
}

impl Part {
    /// Goes through all lines of a part of a window that begins at a byte of the input.
    ///
    /// # Errors
    /// What is wrong with the first line with which something is, with its byte in the input.
    pub(crate) fn read(bytes: &[u8], at: u64, rules: &Rules) -> Result<Self> {
        // A guess from the first line: of documents alike it is enough.
        let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1).max(64);
        let mut part = Self {
            start: 0,
            end: bytes.len(),
            documents: 0,
            entries: Vec::with_capacity(bytes.len() / line * (AROUND + 16)),
            is_plain: true,
            left_out: Vec::new(),
        };
        let mut scratch = Vec::new();
        let mut expected = at;
        for line in lines_from(bytes, at, 0) {
            let placed = |error: Error| error.at(line.offset);
            let is_whole = line.is_ended && line.end - line.offset == line.bytes.len() as u64 + 1;
            part.is_plain &= line.offset == expected && is_whole;
            expected = line.end;
            let (id, length) = match &rules.id_field {
                None => (own_id(&line, rules.validate)?, line.bytes.len()),
                Some(_) => {
                    scratch.clear();
                    let (id, is_as_it_was) = render(&line, rules, &mut scratch)?;
                    part.is_plain &= is_as_it_was;
                    (id, scratch.len())
                }
            };
            if let Some(schema) = &rules.schema {
                let found = Schema::of(line.bytes).map_err(placed)?;
                schema.admit(&found).map_err(|error| placed(error.in_key(id.to_string())))?;
            }
            let length = line_bytes(length as u64 + 1, &rules.limits).map_err(placed)?;
            put(&Entry { id: id.as_bytes(), offset: line.offset, length }, &mut part.entries)?;
            part.documents += 1;
        }
        part.is_plain &= expected == at + bytes.len() as u64;
        Ok(part)
    }

    /// The lines of this part as they are to be written.
    ///
    /// # Errors
    /// None but of an input that has changed.
    pub(crate) fn render(&self, window: &[u8], at: u64, rules: &Rules) -> Result<Vec<u8>> {
        let bytes = window.get(self.start..self.end).unwrap_or_default();
        let mut out = Vec::with_capacity(bytes.len() + 1);
        let mut left_out = self.left_out.iter().peekable();
        for line in lines_from(bytes, at + self.start as u64, 0) {
            if left_out.next_if(|offset| **offset == line.offset).is_none() {
                render(&line, rules, &mut out)?;
                out.push(b'\n');
            }
        }
        Ok(out)
    }
}

/// The id of a line, which is its own, and legal.
fn own_id<'l>(line: &Line<'l>, validate: bool) -> Result<Cow<'l, str>> {
    let placed = |error: Error| error.at(line.offset);
    if !validate && let Some(id) = line.plain_id() {
        // Of what characters it is, is known.
        return if id.len() <= id::MOST {
            Ok(Cow::Borrowed(id))
        } else {
            Err(placed(id::check(id).err().unwrap_or_else(no_id)))
        };
    }
    let id = scan(line)?.into_id().ok_or_else(|| placed(no_id()))?;
    id::check(&id).map_err(placed)?;
    Ok(id)
}

/// As [`Line::scan`], but that the number of the line, which is one in this part, is not told.
fn scan<'l>(line: &Line<'l>) -> Result<json::Scanned<'l>> {
    json::scan(line.bytes).map_err(|error| error.shifted(line.offset))
}

fn no_id() -> Error {
    Error::invalid("the document has no \"_id\"")
}

/// Puts a line behind what there is, in the form in which it is to be written, without a line feed; gives its id, and whether it is as it was.
pub(crate) fn render<'l>(line: &Line<'l>, rules: &Rules, out: &mut Vec<u8>) -> Result<(Cow<'l, str>, bool)> {
    let Some(field) = &rules.id_field else {
        out.extend_from_slice(line.bytes);
        return Ok((Cow::Borrowed(""), true));
    };
    let placed = |error: Error| error.at(line.offset);
    let own = scan(line)?.into_id();
    let id = id_in(line.bytes, field).map_err(placed)?;
    id::check(&id).map_err(placed)?;
    match own {
        Some(own) if own != id => {
            let detail = format!("the document has another \"_id\" than its {field:?}: {own:?}");
            return Err(placed(Error::usage(detail).in_key(id)));
        }
        Some(_) if members(line.bytes).next().is_some_and(|first| is_named(line.bytes, &first, "_id")) => {
            out.extend_from_slice(line.bytes);
            return Ok((Cow::Owned(id), true));
        }
        _ => {}
    }
    let changed = own.map(|_| without(line.bytes, "_id"));
    let object = changed.as_deref().unwrap_or(line.bytes);
    let open = memchr::memchr(b'{', object).map_or(0, |at| at + 1);
    out.extend_from_slice(b"{\"_id\":\"");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(object.get(open..).unwrap_or_default());
    Ok((Cow::Owned(id), false))
}

/// The id that another member has: a text, or an integer.
fn id_in(object: &[u8], field: &str) -> Result<String> {
    let member = find(object, field)
        .ok_or_else(|| Error::invalid(format!("the document has no {field:?}, which is to be its id")))?;
    let value = object.get(member.value).unwrap_or_default();
    match serde_json::from_slice(value) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        _ => {
            let shown = String::from_utf8_lossy(value.get(..value.len().min(40)).unwrap_or_default()).into_owned();
            Err(Error::invalid(format!("{field:?}, which is to be the id, is neither a text nor an integer: {shown}")))
        }
    }
}

/// Divides whole lines into parts of about so many bytes, and does the work on each; the results come in their order.
pub(crate) fn on_threads(
    bytes: &[u8],
    at: u64,
    each: usize,
    threads: usize,
    work: impl Fn(&[u8], u64) -> Result<Part> + Sync,
) -> Vec<Result<Part>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let behind = bytes.get(start + each..).and_then(|behind| memchr::memchr(b'\n', behind));
        let end = behind.map_or(bytes.len(), |feed| start + each + feed + 1);
        parts.push(start..end);
        start = end;
    }
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(parts.len()));
    let one_after_another = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { break };
            let found = work(bytes.get(part.clone()).unwrap_or_default(), at + part.start as u64);
            let found = found.map(|found| Part { start: part.start, end: part.end, ..found });
            if found.is_err() {
                // What stands behind does not matter any more; what stands in front was begun.
                next.store(parts.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, found));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            scope.spawn(one_after_another);
        }
        one_after_another();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, found)| found).collect()
}
