//! The lines of the data, and the entries of the index that name them.

use container_core::{Bytes, Error, ErrorKind, Limits, Result, Source, Unit, VerifyOptions};

use super::super::table::CollectionTable;
use super::findings::{Batch, Findings, What};
use crate::layout::{DATA, META};
use crate::read::line::line as line_at;
use crate::read::offsets::LineRef;
use crate::read::rebuild::{checked_line_length, document_id, read_lines};
use crate::read::table::Table;
use crate::read::{Condition, IndexState};
use crate::wire::lines::{BYTE_ORDER_MARK, Line, lines_from};
use crate::wire::{id, json};

/// Parts of fewer bytes are not divided among threads.
const SMALL: usize = 1 << 20;

/// What is checked.
struct Plan<'a> {
    data: &'a Source,
    table: &'a Table,
    places: &'a [LineRef],
    /// The index says which lines there are; else all lines do.
    is_indexed: bool,
    /// Lines in front of the index's end may be those of deleted documents, whatever else there is.
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
    let places = collection.line_refs().map_err(located)?;
    let is_indexed = matches!(condition.index, IndexState::Valid | IndexState::Text);
    let has_dead = is_indexed || matches!(condition.index, IndexState::Stale | IndexState::Journal);
    let plan = Plan { data, table: index, places, is_indexed, has_dead, limits: &collection.options.limits };
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
        for (batch, count) in side_by_side(parts(&window, at, threads), |(part, at)| plan.part(&part, at)) {
            findings.take(batch, lines);
            lines += count;
        }
        at += window.len() as u64;
        if let Some(progress) = &options.progress {
            progress.advance(window.len() as u64);
        }
    }
    let behind = places.partition_point(|place| place.offset < data.len());
    let mut batch = Batch::default();
    for place in places.get(behind..).unwrap_or_default() {
        plan.no_line(*place, &mut batch);
    }
    findings.take(batch, lines);
    Ok(())
}

/// Whole lines cut into a part for each thread, and where each begins.
fn parts(window: &Bytes, offset: u64, threads: usize) -> Vec<(Bytes, u64)> {
    let each = window.len().div_ceil(threads.max(1)).max(SMALL);
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

/// Does work in a thread for each.
pub(super) fn side_by_side<T: Send, R: Send>(mut all: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
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
    /// Checks whole lines that begin at a byte of the data; says how many lines they are.
    fn part(&self, part: &[u8], at: u64) -> (Batch, u64) {
        let mut batch = Batch::default();
        let end = at + part.len() as u64;
        let before = |byte: u64| self.places.partition_point(|place| place.offset < byte);
        let mut places = self.places.get(before(at)..before(end)).unwrap_or_default();
        for line in lines_from(part, at, 0) {
            // A byte order mark in front belongs to the line or not.
            let start = if line.offset == BYTE_ORDER_MARK.len() as u64 && at == 0 && line.number == 1 {
                0
            } else {
                line.offset
            };
            while let Some((place, rest)) = places.split_first().filter(|(place, _)| place.offset < start) {
                self.no_line(*place, &mut batch);
                places = rest;
            }
            let mut is_named = false;
            while let Some((place, rest)) =
                places.split_first().filter(|(place, _)| place.offset == start || place.offset == line.offset)
            {
                is_named = true;
                self.live(*place, &line, &mut batch);
                places = rest;
            }
            if !is_named {
                self.dead(&line, &mut batch);
            }
        }
        for place in places {
            self.no_line(*place, &mut batch);
        }
        (batch, memchr::memchr_iter(b'\n', part).count() as u64)
    }

    fn id(&self, place: LineRef) -> &str {
        let id = self.table.entry(place.position).map(|entry| entry.id).unwrap_or_default();
        std::str::from_utf8(id).unwrap_or_default() // it was checked when the index was read
    }

    /// An entry that names no beginning of a line, or the one of an empty line. What it names may be read all the same.
    fn no_line(&self, place: LineRef, batch: &mut Batch) {
        batch.push(What::Entry, None, || {
            let error = match line_at(self.data, place.offset, place.length) {
                Err(error) => error,
                Ok(line) if line.iter().all(u8::is_ascii_whitespace) => {
                    Error::invalid("the index names an empty line").at(place.offset)
                }
                Ok(_) => Error::invalid("the document stands behind the rest of another one in the same line")
                    .at(place.offset),
            };
            in_data(error).in_key(self.id(place).to_owned())
        });
    }

    /// A line that an entry names.
    fn live(&self, place: LineRef, line: &Line<'_>, batch: &mut Batch) {
        let number = Some(line.number);
        let named = |error: Error| in_data(error).in_key(self.id(place).to_owned());
        let length = u64::from(place.length);
        if length != line.end - place.offset
            && length != line.bytes.len() as u64
            && let Err(error) = line_at(self.data, place.offset, place.length)
        {
            batch.push(What::Entry, number, || named(error));
            return;
        }
        if let Err(error) = checked_line_length(line.end - line.offset, self.limits) {
            batch.push(What::Line, number, || named(error.at(line.offset)));
            return;
        }
        match json::scan(line.bytes) {
            Err(error) => batch.push(What::Line, number, || named(error.shifted(line.offset))),
            Ok(scanned) => match scanned.id() {
                None => {
                    let error = || Error::invalid("the document has no \"_id\"").at(line.offset);
                    batch.push(What::Id, number, || named(error()));
                }
                Some(own) if own != self.id(place) => batch.push(What::OtherId, number, || {
                    let error = Error::invalid(format!("the index names the line of the document {own:?}"));
                    named(error.at(line.offset))
                }),
                Some(own) => {
                    if let Err(error) = id::check(own) {
                        batch.push(What::Id, number, || named(error.at(line.offset)));
                    }
                }
            },
        }
    }

    /// A line that none names: of a deleted document, or of one whose id comes again; or it is no document.
    fn dead(&self, line: &Line<'_>, batch: &mut Batch) {
        let number = Some(line.number);
        let is_plain = || self.has_dead && line.plain_id().is_some();
        let found = match checked_line_length(line.end - line.offset, self.limits).map(|_| is_plain()) {
            Err(error) => Err(error.at(line.offset)),
            Ok(true) => json::scan(line.bytes).map(|_| None).map_err(|error| error.shifted(line.offset)),
            Ok(false) => document_id(&Line { number: 0, ..*line }, self.limits).map(Some),
        };
        match found {
            // What is torn is told as such.
            Err(_) if !line.is_ended && !self.is_indexed => {}
            Err(error) => {
                let what = if self.has_dead { What::Dead } else { What::Line };
                let byte = error.position().byte.unwrap_or(line.offset);
                let told = || match error.kind() {
                    ErrorKind::Invalid => Error::invalid(error.detail().to_owned()),
                    kind => Error::new(kind, error.detail().to_owned()),
                };
                batch.push(what, number, || in_data(told().at(byte)));
            }
            Ok(Some(own)) if !self.has_dead && self.table.find(own.as_bytes()).is_some() => {
                batch.push(What::Again, number, || {
                    let error = Error::invalid("a document with the same id comes later, which holds");
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
