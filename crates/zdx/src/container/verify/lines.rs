//! Verification of the lines of the data, and of the index entries that point at them.

use container_core::{Bytes, Error, ErrorKind, Limits, Result, Source, Unit, VerifyOptions};

use super::super::table::CollectionTable;
use super::findings::{Batch, FindingKind, Findings};
use crate::layout::{DATA, META};
use crate::read::line::line as line_at;
use crate::read::offsets::LineRef;
use crate::read::rebuild::{checked_line_length, document_id, read_lines};
use crate::read::table::Table;
use crate::read::{Condition, IndexState};
use crate::wire::lines::{BYTE_ORDER_MARK, Line, lines_from};
use crate::wire::{id, json};

/// Minimum bytes per thread.
const MIN_PART: usize = 1 << 20;

/// What to verify against.
struct Plan<'a> {
    data: &'a Source,
    table: &'a Table,
    line_refs: &'a [LineRef],
    /// Whether the index decides which lines are documents; otherwise all lines are.
    is_indexed: bool,
    /// Whether lines before the end of the index may belong to deleted documents.
    has_dead: bool,
    limits: &'a Limits,
}

pub(super) fn check(
    table: &CollectionTable,
    condition: &Condition,
    options: &VerifyOptions,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let collection = &table.collection;
    let located = |error: Error| table.located(error);
    let (Some(data), Some(index)) = (&collection.data, collection.table().map_err(located)?) else { return Ok(()) };
    let line_refs = collection.line_refs().map_err(located)?;
    let is_indexed = matches!(condition.index, IndexState::Valid | IndexState::Text);
    let has_dead = is_indexed || matches!(condition.index, IndexState::Stale | IndexState::Journal);
    let plan = Plan { data, table: index, line_refs, is_indexed, has_dead, limits: &collection.options.limits };
    if let Some(progress) = &options.progress {
        progress.begin(Unit::Bytes, Some(data.len()));
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, Into::into),
        some => some,
    };
    let (mut at, mut lines) = (0, 0);
    while at < data.len() {
        let window = read_lines(data, at, collection.options.limits).map_err(located)?;
        for (batch, count) in on_threads(parts(&window, at, threads), |(part, at)| plan.part(&part, at)) {
            findings.add(batch, lines);
            lines += count;
        }
        at += window.len() as u64;
        if let Some(progress) = &options.progress {
            progress.advance(window.len() as u64)?;
        }
    }
    let past_end = line_refs.partition_point(|line_ref| line_ref.offset < data.len());
    let mut batch = Batch::default();
    for line_ref in line_refs.get(past_end..).unwrap_or_default() {
        plan.report_entry(*line_ref, &mut batch);
    }
    findings.add(batch, lines);
    Ok(())
}

/// Divides whole lines into parts, one per thread, with their offsets.
fn parts(window: &Bytes, offset: u64, threads: usize) -> Vec<(Bytes, u64)> {
    let each = window.len().div_ceil(threads.max(1)).max(MIN_PART);
    let mut parts = Vec::new();
    let mut at = 0;
    while at < window.len() {
        let rest = window.get(at..).unwrap_or_default();
        let feed = rest.get(each..).and_then(|behind| memchr::memchr(b'\n', behind));
        let end = feed.map_or(window.len(), |feed| at + each + feed + 1);
        parts.push((window.slice(at..end), offset + at as u64));
        at = end;
    }
    parts
}

/// Calls `work` for each element on a thread of its own; returns the results in order.
pub(super) fn on_threads<T: Send, R: Send>(mut all: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let last = all.pop();
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = all.into_iter().map(|one| scope.spawn(move || work(one))).collect();
        let last = last.map(work);
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        others.chain(last).collect()
    })
}

impl Plan<'_> {
    /// Verifies the lines of a part at offset `at`; also returns their number.
    fn part(&self, part: &[u8], at: u64) -> (Batch, u64) {
        let mut batch = Batch::default();
        let end = at + part.len() as u64;
        let before = |byte: u64| self.line_refs.partition_point(|line_ref| line_ref.offset < byte);
        let mut line_refs = self.line_refs.get(before(at)..before(end)).unwrap_or_default();
        for line in lines_from(part, at, 0) {
            // A leading byte order mark may or may not be counted as part of the line.
            let start = if line.offset == BYTE_ORDER_MARK.len() as u64 && at == 0 && line.number == 1 {
                0
            } else {
                line.offset
            };
            while let Some((line_ref, rest)) = line_refs.split_first().filter(|(line_ref, _)| line_ref.offset < start) {
                self.report_entry(*line_ref, &mut batch);
                line_refs = rest;
            }
            let mut is_indexed_line = false;
            while let Some((line_ref, rest)) = line_refs
                .split_first()
                .filter(|(line_ref, _)| line_ref.offset == start || line_ref.offset == line.offset)
            {
                is_indexed_line = true;
                self.check_live(*line_ref, &line, &mut batch);
                line_refs = rest;
            }
            if !is_indexed_line {
                self.check_dead(&line, &mut batch);
            }
        }
        for line_ref in line_refs {
            self.report_entry(*line_ref, &mut batch);
        }
        (batch, memchr::memchr_iter(b'\n', part).count() as u64)
    }

    fn id(&self, line_ref: LineRef) -> &str {
        let id = self.table.entry(line_ref.position).map(|entry| entry.id).unwrap_or_default();
        std::str::from_utf8(id).unwrap_or_default() // validated when the index was read
    }

    /// Reports an entry that does not point at a line, or at an empty one. Its document may still be readable.
    fn report_entry(&self, line_ref: LineRef, batch: &mut Batch) {
        batch.push(FindingKind::Entry, None, || {
            let error = match line_at(self.data, line_ref.offset, line_ref.length) {
                Err(error) => error,
                Ok(line) if line.iter().all(u8::is_ascii_whitespace) => {
                    Error::invalid("the index entry points at an empty line").at(line_ref.offset)
                }
                Ok(_) => Error::invalid("the document follows a torn one on the same line").at(line_ref.offset),
            };
            in_data(error).in_key(self.id(line_ref).to_owned())
        });
    }

    /// Verifies a line that an entry points at.
    fn check_live(&self, line_ref: LineRef, line: &Line<'_>, batch: &mut Batch) {
        let number = Some(line.number);
        let named = |error: Error| in_data(error).in_key(self.id(line_ref).to_owned());
        let length = u64::from(line_ref.length);
        if length != line.end - line_ref.offset
            && length != line.bytes.len() as u64
            && let Err(error) = line_at(self.data, line_ref.offset, line_ref.length)
        {
            batch.push(FindingKind::Entry, number, || named(error));
            return;
        }
        if let Err(error) = checked_line_length(line.end - line.offset, self.limits) {
            batch.push(FindingKind::Line, number, || named(error.at(line.offset)));
            return;
        }
        match json::scan(line.bytes) {
            Err(error) => batch.push(FindingKind::Line, number, || named(error.shifted(line.offset))),
            Ok(scanned) => match scanned.id() {
                None => {
                    let error = || Error::invalid("the document has no \"_id\"").at(line.offset);
                    batch.push(FindingKind::Id, number, || named(error()));
                }
                Some(own) if own != self.id(line_ref) => batch.push(FindingKind::OtherId, number, || {
                    let error = Error::invalid(format!("the index entry points at the line of document {own:?}"));
                    named(error.at(line.offset))
                }),
                Some(own) => {
                    if let Err(error) = id::check(own) {
                        batch.push(FindingKind::Id, number, || named(error.at(line.offset)));
                    }
                }
            },
        }
    }

    /// Verifies a line that no entry points at: of a deleted or replaced document, or not a document at all.
    fn check_dead(&self, line: &Line<'_>, batch: &mut Batch) {
        let number = Some(line.number);
        let is_plain = || self.has_dead && line.plain_id().is_some();
        let found = match checked_line_length(line.end - line.offset, self.limits).map(|_| is_plain()) {
            Err(error) => Err(error.at(line.offset)),
            Ok(true) => json::scan(line.bytes).map(|_| None).map_err(|error| error.shifted(line.offset)),
            Ok(false) => document_id(&Line { number: 0, ..*line }, self.limits).map(Some),
        };
        match found {
            // A torn line is reported as such.
            Err(_) if !line.is_ended && !self.is_indexed => {}
            Err(error) => {
                let what = if self.has_dead { FindingKind::DeadLine } else { FindingKind::Line };
                let byte = error.position().byte.unwrap_or(line.offset);
                let reported = || match error.kind() {
                    ErrorKind::Invalid => Error::invalid(error.detail().to_owned()),
                    kind => Error::new(kind, error.detail().to_owned()),
                };
                batch.push(what, number, || in_data(reported().at(byte)));
            }
            Ok(Some(own)) if !self.has_dead && self.table.find(own.as_bytes()).is_some() => {
                batch.push(FindingKind::Duplicate, number, || {
                    let error = Error::invalid("a later document with the same id replaces this one");
                    in_data(error.at(line.offset)).in_key(own.clone().into_owned())
                });
            }
            Ok(_) => {}
        }
    }
}

fn in_data(error: Error) -> Error {
    error.in_file(format!("{META}/{DATA}"))
}
