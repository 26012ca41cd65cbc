//! A walk over the rows of a text.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use container_core::raw_json::{Json, Members};
use container_core::{Error, Loss, Result, Rows, Scan};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::columns::json;
use super::cut::{Feeder, next_json};
use super::inner::place;
use super::records::csv::{cell_text, not_utf8};
use super::records::split::Split;
use super::seen::Kind;
use super::table::TextTable;
use super::values::{Cell, put_line, put_text};
use crate::text::records::chunk::Chunk;
use crate::text::records::place::Place;
use crate::text::records::record::Look;
use crate::workers::Workers;

pub(super) struct TextRows<'a> {
    table: &'a TextTable,
    feeder: Feeder<'a>,
    workers: Workers,
    chunks: VecDeque<Chunk>,
    /// What is wrong behind them.
    pending: Option<Error>,
    /// Where the next record of the first chunk is looked for, and its number.
    at: usize,
    next: u64,
    wanted: Range<u64>,
    /// The current record.
    current: Option<(Range<usize>, u64)>,
    split: Split,
    /// What the columns of CSV hold.
    kinds: &'a [Kind],
    chosen: Option<Chosen<'a>>,
    failed: bool,
}

/// Columns that are shown, in the order wanted.
struct Chosen<'a> {
    /// Their places in CSV, their names, and these as JSON.
    columns: Vec<(usize, &'a str, Vec<u8>)>,
    by_name: HashMap<&'a str, usize>,
    /// Where the current record has the value of each.
    found: Vec<Option<Range<usize>>>,
    start: u64,
}

impl<'a> TextRows<'a> {
    pub(super) fn new(table: &'a TextTable, scan: &Scan) -> Result<Self> {
        let text = &table.text;
        let chosen = match (&scan.columns, text.is_csv()) {
            (Some(columns), _) => {
                let column = |index: &usize| {
                    let name = table.column(*index)?.name.as_str();
                    Ok((*index, name))
                };
                Some(Chosen::new(columns.iter().map(column).collect::<Result<_>>()?))
            }
            (None, true) => Some(Chosen::new(text.names.iter().map(String::as_str).enumerate().collect())),
            (None, false) => None,
        };
        let kinds = table.kinds(scan.threads)?;
        Ok(Self { kinds, chosen, wanted: scan.rows.clone(), ..Self::bare(table) })
    }

    /// Records, not taken apart.
    pub(super) fn bare(table: &'a TextTable) -> Self {
        Self {
            table,
            feeder: Feeder::new(&table.text),
            workers: Workers::new(1),
            chunks: VecDeque::new(),
            pending: None,
            at: 0,
            next: 0,
            wanted: 0..u64::MAX,
            current: None,
            split: Split::new(table.text.options.delimiter),
            kinds: &[],
            chosen: None,
            failed: false,
        }
    }

    fn step(&mut self) -> Result<bool> {
        while self.next < self.wanted.end {
            let Some(chunk) = self.chunks.front() else {
                if let Some(error) = self.pending.take() {
                    return Err(error);
                }
                let (chunks, result) = self.feeder.next(&self.workers);
                self.pending = result.err();
                if chunks.is_empty() && self.pending.is_none() {
                    return Ok(false);
                }
                self.chunks.extend(chunks);
                self.at = 0;
                continue;
            };
            if self.at == 0 && chunk.row + chunk.records <= self.wanted.start {
                self.next = chunk.row + chunk.records;
                self.chunks.pop_front();
                continue;
            }
            let text = &self.table.text;
            let found = match text.is_csv() {
                true => self.split.next(&chunk.bytes, self.at).map(|record| (record.start..record.end, record.end)),
                false => next_json(chunk, self.at).map(|span| (span.start..span.end, span.next)),
            };
            let Some((span, next)) = found else {
                self.chunks.pop_front();
                self.at = 0;
                continue;
            };
            self.at = next;
            self.next += 1;
            if self.next <= self.wanted.start {
                continue;
            }
            let row = self.next - 1;
            if text.is_csv() {
                let bytes = chunk.bytes.get(span.clone()).unwrap_or_default();
                let valid = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()));
                let checked = valid.and_then(|_| self.split.check(text.names.len()));
                checked.map_err(|error| text.placed(error, chunk, span.start).in_row(row))?;
            } else {
                let checked = match &mut self.chosen {
                    Some(chosen) => {
                        chosen.found.fill(None);
                        chosen.start = chunk.start.byte;
                        json(chunk, span.clone(), chosen)
                    }
                    None => json(chunk, span.clone(), &mut Passing),
                };
                checked.map_err(|error| error.in_format(text.format).in_row(row))?;
            }
            self.current = Some((span, row));
            return Ok(true);
        }
        Ok(false)
    }

    /// A cell of the column at this place.
    fn cell<'c>(&self, index: usize, cell: &'c [u8], quoted: bool) -> Cell<'c> {
        let kind = self.kinds.get(index).copied().unwrap_or(Kind::Text);
        Cell { text: cell_text(cell), quoted, kind }
    }

    /// The bytes of a chunk, and the record that lies in them.
    pub(super) fn current(&self) -> Result<(&Chunk, &Range<usize>)> {
        match (self.chunks.front(), &self.current) {
            (Some(chunk), Some((span, _))) => Ok((chunk, span)),
            _ => Err(Error::usage("there is no current row").in_format(self.table.text.format)),
        }
    }
}

impl<'a> Chosen<'a> {
    fn new(columns: Vec<(usize, &'a str)>) -> Self {
        let by_name = columns.iter().enumerate().map(|(at, (_, name))| (*name, at)).collect();
        let found = vec![None; columns.len()];
        let json = |name: &str| {
            let mut json = Vec::new();
            put_text(name, &mut json);
            json
        };
        let columns = columns.into_iter().map(|(index, name)| (index, name, json(name))).collect();
        Self { columns, by_name, found, start: 0 }
    }
}

impl Look for Chosen<'_> {
    fn begin(&mut self, _: Place) {}

    fn member(&mut self, name: &str, value: &str, place: Place) -> Result<()> {
        if let Some(found) = self.by_name.get(name).and_then(|at| self.found.get_mut(*at)) {
            // It lies in the chunk, which is in memory.
            let start = usize::try_from(place.byte - self.start).unwrap_or(usize::MAX);
            *found = Some(start..start.saturating_add(value.len()));
            check_escapes(value)?;
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

/// Only looks whether it is an object of JSON.
struct Passing;

impl Look for Passing {
    fn begin(&mut self, _: Place) {}

    fn member(&mut self, _: &str, value: &str, _: Place) -> Result<()> {
        check_escapes(value)
    }

    fn cell(&mut self, _: usize, _: &str, _: bool, _: Place) -> Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Fails for half of a surrogate pair, which is the one thing that is not looked at where JSON is passed over. Counts bytes from the value.
fn check_escapes(json: &str) -> Result<()> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = match unit(escape) {
            None => escape + 2,
            Some(0xd800..=0xdbff) if matches!(unit(escape + 6), Some(0xdc00..=0xdfff)) => escape + 12,
            Some(0xd800..=0xdfff) => {
                let error = Error::invalid("the escape is half of a surrogate pair");
                return Err(error.at(escape as u64));
            }
            Some(_) => escape + 6,
        };
    }
    Ok(())
}

impl Rows for TextRows<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.current = None;
        if self.failed {
            return Ok(false);
        }
        let step = self.step();
        self.failed = step.is_err();
        step
    }

    fn index(&self) -> u64 {
        self.current.as_ref().map_or(0, |(_, row)| *row)
    }

    fn locate(&self, error: Error) -> Error {
        match self.current() {
            Ok((chunk, span)) => error.in_line(place(chunk, span.start).line),
            Err(_) => error,
        }
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let (chunk, span) = self.current()?;
        let Some(chosen) = &self.chosen else {
            put_line(chunk.bytes.get(span.clone()).unwrap_or_default(), out);
            return Ok(());
        };
        out.push(b'{');
        let first = out.len();
        let name = |name: &[u8], out: &mut Vec<u8>| {
            if out.len() > first {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
        };
        if self.table.text.is_csv() {
            let cells: Vec<_> = self.split.cells(&chunk.bytes).collect();
            for (index, _, json) in &chosen.columns {
                if let Some((cell, quoted)) = cells.get(*index) {
                    name(json, out);
                    self.cell(*index, cell, *quoted).put(out);
                }
            }
        } else {
            for ((_, _, json), found) in chosen.columns.iter().zip(&chosen.found) {
                // A member that the object has not is not there: null would say that it is.
                if let Some(found) = found {
                    name(json, out);
                    put_line(chunk.bytes.get(found.clone()).unwrap_or_default(), out);
                }
            }
        }
        out.push(b'}');
        Ok(())
    }

    fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }
}

/// The current row: a map of the columns that are shown.
impl Serialize for TextRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (chunk, span) = self.current().map_err(S::Error::custom)?;
        let text = |span: &Range<usize>| cell_text(chunk.bytes.get(span.clone()).unwrap_or_default());
        let mut map = serializer.serialize_map(None)?;
        match &self.chosen {
            Some(chosen) if self.table.text.is_csv() => {
                let cells: Vec<_> = self.split.cells(&chunk.bytes).collect();
                for (index, name, _) in &chosen.columns {
                    if let Some((cell, quoted)) = cells.get(*index) {
                        map.serialize_entry(name, &self.cell(*index, cell, *quoted))?;
                    }
                }
            }
            Some(chosen) => {
                for ((_, name, _), found) in chosen.columns.iter().zip(&chosen.found) {
                    if let Some(found) = found {
                        let raw: &RawValue = serde_json::from_str(text(found)).map_err(S::Error::custom)?;
                        map.serialize_entry(name, &Json::new(raw).with_keep_last())?;
                    }
                }
            }
            None => {
                let members: Members<'_> = serde_json::from_str(text(span)).map_err(S::Error::custom)?;
                let Members(members) = members.keep_last();
                for (name, raw) in &members {
                    map.serialize_entry(name, &Json::new(raw).with_keep_last())?;
                }
            }
        }
        map.end()
    }
}
