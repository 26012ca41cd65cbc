//! Iteration over the rows of a text table.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use container_core::raw_json::{Json, Members};
use container_core::{Error, Loss, Position, Result, Rows, Scan};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::chunk_reader::{ChunkReader, next_json_record};
use super::columns::visit_json;
use super::layout::location_of;
use super::profile::ColumnKind;
use super::records::csv::{cell_text, not_utf8};
use super::records::split::Split;
use super::table::RecordsTable;
use super::values::{Cell, write_json_string, write_single_line};
use crate::convert::DUPLICATE_MEMBER;
use crate::text::records::chunk::Chunk;
use crate::text::records::location::Location;
use crate::text::records::record::RecordVisitor;
use crate::workers::Workers;

pub(super) struct TextRows<'a> {
    table: &'a RecordsTable,
    chunk_reader: ChunkReader<'a>,
    workers: Workers,
    chunks: VecDeque<Chunk>,
    /// The error behind `chunks`.
    pending: Option<Error>,
    /// Offset in the first chunk at which the search for the next record begins, and that record's row number.
    at: usize,
    next: u64,
    row_range: Range<u64>,
    /// Byte range in the first chunk and row number of the current record.
    current: Option<(Range<usize>, u64)>,
    split: Split,
    /// Kinds of the CSV columns.
    kinds: &'a [ColumnKind],
    projection: Option<Projection<'a>>,
    /// Members of objects that a projection left out because a later one has the same name.
    duplicates: Option<Loss>,
    failed: bool,
}

/// Selected columns, in the order requested.
struct Projection<'a> {
    /// Column index, name, and name as a JSON string.
    columns: Vec<(usize, &'a str, Vec<u8>)>,
    by_name: HashMap<&'a str, usize>,
    /// Byte range of each column's value in the current record.
    values: Vec<Option<Range<usize>>>,
    start: u64,
    /// Members of the current record whose value another one of the same name replaced, and the first of their columns.
    replaced: u64,
    first_replaced: Option<&'a str>,
}

impl<'a> TextRows<'a> {
    pub(super) fn new(table: &'a RecordsTable, scan: &Scan) -> Result<Self> {
        let text = &table.text;
        let projection = match (&scan.columns, text.is_csv()) {
            (Some(columns), _) => {
                let column = |index: &usize| {
                    let name = table.column(*index)?.name.as_str();
                    Ok((*index, name))
                };
                Some(Projection::new(columns.iter().map(column).collect::<Result<_>>()?))
            }
            (None, true) => Some(Projection::new(text.names.iter().map(String::as_str).enumerate().collect())),
            (None, false) => None,
        };
        let kinds = table.kinds(scan.threads)?;
        Ok(Self { kinds, projection, row_range: scan.rows.clone(), ..Self::bare(table) })
    }

    /// Records only, without projection.
    pub(super) fn bare(table: &'a RecordsTable) -> Self {
        Self {
            table,
            chunk_reader: ChunkReader::new(&table.text),
            workers: Workers::new(1),
            chunks: VecDeque::new(),
            pending: None,
            at: 0,
            next: 0,
            row_range: 0..u64::MAX,
            current: None,
            split: Split::new(table.text.options.delimiter),
            kinds: &[],
            projection: None,
            duplicates: None,
            failed: false,
        }
    }

    fn step(&mut self) -> Result<bool> {
        while self.next < self.row_range.end {
            let Some(chunk) = self.chunks.front() else {
                if let Some(error) = self.pending.take() {
                    return Err(error);
                }
                let (chunks, result) = self.chunk_reader.next(&self.workers);
                self.pending = result.err();
                if chunks.is_empty() && self.pending.is_none() {
                    return Ok(false);
                }
                self.chunks.extend(chunks);
                self.at = 0;
                continue;
            };
            if self.at == 0 && chunk.row + chunk.records <= self.row_range.start {
                self.next = chunk.row + chunk.records;
                self.chunks.pop_front();
                continue;
            }
            let text = &self.table.text;
            let record = match text.is_csv() {
                true => self.split.next(&chunk.bytes, self.at).map(|record| (record.start..record.end, record.end)),
                false => next_json_record(chunk, self.at).map(|span| (span.start..span.end, span.next)),
            };
            let Some((span, next)) = record else {
                self.chunks.pop_front();
                self.at = 0;
                continue;
            };
            self.at = next;
            self.next += 1;
            if self.next <= self.row_range.start {
                continue;
            }
            let row = self.next - 1;
            if text.is_csv() {
                let bytes = chunk.bytes.get(span.clone()).unwrap_or_default();
                let valid = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()));
                let checked = valid.and_then(|_| self.split.check(text.names.len()));
                checked.map_err(|error| text.locate_error(error, chunk, span.start).in_row(row))?;
            } else {
                let checked = match &mut self.projection {
                    Some(projection) => {
                        projection.values.fill(None);
                        projection.start = chunk.start.byte;
                        visit_json(chunk, span.clone(), projection)
                    }
                    None => visit_json(chunk, span.clone(), &mut ValidateEscapes),
                };
                checked.map_err(|error| error.in_format(text.format).in_row(row))?;
                if let Some(projection) = &mut self.projection
                    && let Some(column) = projection.first_replaced.take()
                {
                    let first = || Loss::new(DUPLICATE_MEMBER, 0, Position::of_column(column.to_owned()).in_row(row));
                    self.duplicates.get_or_insert_with(first).count += std::mem::take(&mut projection.replaced);
                }
            }
            self.current = Some((span, row));
            return Ok(true);
        }
        Ok(false)
    }

    /// A cell of the column with this index.
    fn cell<'c>(&self, index: usize, cell: &'c [u8], quoted: bool) -> Cell<'c> {
        let kind = self.kinds.get(index).copied().unwrap_or(ColumnKind::Text);
        Cell { text: cell_text(cell), quoted, kind }
    }

    /// The current chunk, and the current record's byte range in it.
    pub(super) fn current(&self) -> Result<(&Chunk, &Range<usize>)> {
        match (self.chunks.front(), &self.current) {
            (Some(chunk), Some((span, _))) => Ok((chunk, span)),
            _ => Err(Error::usage("no current row").in_format(self.table.text.format)),
        }
    }
}

impl<'a> Projection<'a> {
    fn new(columns: Vec<(usize, &'a str)>) -> Self {
        let by_name = columns.iter().enumerate().map(|(at, (_, name))| (*name, at)).collect();
        let values = vec![None; columns.len()];
        let json = |name: &str| {
            let mut json = Vec::new();
            write_json_string(name, &mut json);
            json
        };
        let columns = columns.into_iter().map(|(index, name)| (index, name, json(name))).collect();
        Self { columns, by_name, values, start: 0, replaced: 0, first_replaced: None }
    }
}

impl RecordVisitor for Projection<'_> {
    fn member(&mut self, name: &str, value: &str, location: Location) -> Result<()> {
        if let Some((&column, &at)) = self.by_name.get_key_value(name)
            && let Some(range) = self.values.get_mut(at)
        {
            // The value lies in the chunk, which is in memory: the offset fits.
            let start = usize::try_from(location.byte - self.start).unwrap_or(usize::MAX);
            if range.replace(start..start.saturating_add(value.len())).is_some() {
                self.replaced += 1;
                self.first_replaced.get_or_insert(column);
            }
            check_escapes(value)?;
        }
        Ok(())
    }
}

/// Validates a JSON object without keeping anything.
struct ValidateEscapes;

impl RecordVisitor for ValidateEscapes {
    fn member(&mut self, _: &str, value: &str, _: Location) -> Result<()> {
        check_escapes(value)
    }
}

/// Rejects lone surrogates, the only fault that skipping over JSON does not detect. Offsets are relative to the value.
fn check_escapes(json: &str) -> Result<()> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while let Some(skipped) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + skipped;
        at = match unit(escape) {
            None => escape + 2,
            Some(0xd800..=0xdbff) if matches!(unit(escape + 6), Some(0xdc00..=0xdfff)) => escape + 12,
            Some(0xd800..=0xdfff) => {
                let error = Error::invalid("lone surrogate in an escape");
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
            Ok((chunk, span)) => error.in_line(location_of(chunk, span.start).line),
            Err(_) => error,
        }
    }

    fn row(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn json(&self, out: &mut Vec<u8>) -> Result<()> {
        let (chunk, span) = self.current()?;
        let Some(projection) = &self.projection else {
            write_single_line(chunk.bytes.get(span.clone()).unwrap_or_default(), out);
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
            for (index, _, json) in &projection.columns {
                if let Some((cell, quoted)) = cells.get(*index) {
                    name(json, out);
                    self.cell(*index, cell, *quoted).write_json(out);
                }
            }
        } else {
            for ((_, _, json), range) in projection.columns.iter().zip(&projection.values) {
                // Leave out a missing member: null would be a value.
                if let Some(range) = range {
                    name(json, out);
                    write_single_line(chunk.bytes.get(range.clone()).unwrap_or_default(), out);
                }
            }
        }
        out.push(b'}');
        Ok(())
    }

    fn losses(&self) -> Vec<Loss> {
        self.duplicates.iter().cloned().collect()
    }
}

/// The current row: a map of the selected columns, or of all members, including duplicates.
impl Serialize for TextRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (chunk, span) = self.current().map_err(S::Error::custom)?;
        let text = |span: &Range<usize>| cell_text(chunk.bytes.get(span.clone()).unwrap_or_default());
        let mut map = serializer.serialize_map(None)?;
        match &self.projection {
            Some(projection) if self.table.text.is_csv() => {
                let cells: Vec<_> = self.split.cells(&chunk.bytes).collect();
                for (index, name, _) in &projection.columns {
                    if let Some((cell, quoted)) = cells.get(*index) {
                        map.serialize_entry(name, &self.cell(*index, cell, *quoted))?;
                    }
                }
            }
            Some(projection) => {
                for ((_, name, _), range) in projection.columns.iter().zip(&projection.values) {
                    if let Some(range) = range {
                        let raw: &RawValue = serde_json::from_str(text(range)).map_err(S::Error::custom)?;
                        map.serialize_entry(name, &Json::new(raw))?;
                    }
                }
            }
            None => {
                let Members(members) = serde_json::from_str(text(span)).map_err(S::Error::custom)?;
                for (name, raw) in &members {
                    map.serialize_entry(name, &Json::new(raw))?;
                }
            }
        }
        map.end()
    }
}
