use std::ops::Range;

use container_core::{Error, ErrorKind, Finding, Result, Severity, Unit, VerifyOptions};

use super::Reader;
use super::block::each_block;
use super::open::Column;
use crate::FORMAT_NAME;
use crate::check::{can_be_invalid, describe_invalid};
use crate::codec::Values;
use crate::wire::{HEADER_LEN, ItemType, LOOKUP_ENTRY_LEN, LookupEntry, TAIL_LEN, Type};

/// Blocks checked together; their findings are buffered.
const WINDOW: u64 = 64;

/// Maximum bytes claimed by parts, as a multiple of the file length. Overlapping parts could otherwise make a small file take forever.
const MAX_CLAIMS: u64 = 2;

/// A byte range claimed by a part of the file.
struct Extent {
    range: Range<u64>,
    part: FilePart,
}

/// A part of the file; columns by index.
enum FilePart {
    Header,
    TableOfContents,
    Tail,
    Lookup(usize),
    Block(usize, u64),
    MetadataTable(usize),
    Metadata(usize, Box<str>),
}

/// The state of one verification.
struct Verifier<'a> {
    reader: &'a Reader,
    options: &'a VerifyOptions,
    report: &'a mut dyn FnMut(Finding),
    extents: Vec<Extent>,
    /// Bytes that may still be claimed.
    claim_budget: u64,
}

impl Reader {
    /// Verifies the whole file: decodes all blocks and metadata, and checks keys against their counts, times against .NET's range, metadata
    /// against their columns, and the file layout for overlaps and gaps.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) when the source fails. Problems of the file are reported as findings.
    pub fn verify(&self, options: &VerifyOptions, report: &mut dyn FnMut(Finding)) -> Result<()> {
        let claim_budget = self.source().len().saturating_mul(MAX_CLAIMS);
        Verifier { reader: self, options, report, extents: Vec::new(), claim_budget }.run()
    }
}

impl Verifier<'_> {
    fn run(mut self) -> Result<()> {
        let reader = self.reader;
        let header = reader.header();
        if let Some(progress) = &self.options.progress {
            progress.begin(Unit::Bytes, Some(header.tail_offset));
        }
        self.claim(0..HEADER_LEN, FilePart::Header);
        self.claim(reader.0.toc.clone(), FilePart::TableOfContents);
        let end = header.tail_offset + TAIL_LEN;
        self.claim(header.tail_offset..end, FilePart::Tail);
        let len = reader.source().len();
        if len > end {
            let detail = format!("{} bytes follow the tail", len - end);
            self.warn(Error::invalid(detail).at(end));
        }
        let mut readable = reader.columns().iter().filter(|column| column.kind().is_ok());
        if let Some(first) = readable.next()
            && let Some(other) = readable.find(|column| column.rows_per_block() != first.rows_per_block())
        {
            let detail = format!(
                "{} rows per block, but column {:?} has {}: valid, but ML.NET rejects such files",
                other.rows_per_block(),
                first.unique_name(),
                first.rows_per_block()
            );
            self.warn(Error::invalid(detail).at(other.entry.offset).in_column(other.unique_name().to_owned()));
        }
        for column in reader.columns() {
            self.column(column)?;
            if self.claim_budget == 0 {
                let detail = "the parts so far take more bytes than the file has: the rest is not checked";
                self.error(Error::invalid(detail).at(column.entry.offset).in_column(column.unique_name().to_owned()))?;
                break;
            }
        }
        self.check_layout();
        Ok(())
    }

    fn finding(&mut self, severity: Severity, error: Error) -> Result<()> {
        // An I/O error is not a finding about the file.
        if error.kind() == ErrorKind::Io {
            return Err(error.in_format(FORMAT_NAME));
        }
        let error = error.in_format(FORMAT_NAME);
        (self.report)(match severity {
            Severity::Error => Finding::error(error),
            Severity::Warning => Finding::warning(error),
        });
        Ok(())
    }

    fn error(&mut self, error: Error) -> Result<()> {
        self.finding(Severity::Error, error)
    }

    fn warn(&mut self, error: Error) {
        (self.report)(Finding::warning(error.in_format(FORMAT_NAME)));
    }

    fn claim(&mut self, range: Range<u64>, part: FilePart) {
        if !range.is_empty() {
            self.claim_budget = self.claim_budget.saturating_sub(range.end - range.start);
            self.extents.push(Extent { range, part });
        }
    }

    fn column(&mut self, column: &Column) -> Result<()> {
        let name = || column.unique_name().to_owned();
        self.metadata(column)?;
        let (kind, known) = match column.kind() {
            Ok(kind) => (Some(kind), true),
            // An unknown codec may be valid; it just cannot be checked.
            Err(unreadable) => {
                let unknown = unreadable.kind == ErrorKind::Unsupported;
                let severity = if unknown { Severity::Warning } else { Severity::Error };
                self.finding(severity, unreadable.to_error().in_column(name()))?;
                (None, unknown)
            }
        };
        let start = column.entry.lookup_offset;
        let end = column.block_count().checked_mul(LOOKUP_ENTRY_LEN).and_then(|len| start.checked_add(len));
        match end.filter(|&end| known && start >= HEADER_LEN && end <= self.reader.header().tail_offset) {
            Some(end) => {
                self.claim(start..end, FilePart::Lookup(column.index()));
                self.blocks(column, kind)
            }
            None => Ok(()),
        }
    }

    /// Claims the blocks of a column and decodes them if the type is known.
    fn blocks(&mut self, column: &Column, kind: Option<&Type>) -> Result<()> {
        let mut start = 0;
        let mut buffer = Vec::new();
        while start < column.block_count() && self.claim_budget > 0 {
            let mut end = start.saturating_add(WINDOW).min(column.block_count());
            for block in start..end {
                if self.claim_budget == 0 {
                    end = block;
                    break;
                }
                match self.reader.lookup(column, block, &mut buffer) {
                    Ok(LookupEntry { offset, len, .. }) => {
                        let range = offset..offset + u64::from(len);
                        self.claim(range, FilePart::Block(column.index(), block));
                    }
                    // Reported when the block is decoded.
                    Err(error) if error.kind() == ErrorKind::Io => return Err(error.in_format(FORMAT_NAME)),
                    Err(_) => {}
                }
            }
            if let Some(kind) = kind {
                for problems in check_blocks(self.reader, column, kind, start..end, self.options.threads) {
                    for problem in problems {
                        self.error(problem)?;
                    }
                }
            }
            if let Some(progress) = &self.options.progress {
                let bytes = (start..end).map(|block| self.reader.lookup(column, block, &mut buffer));
                progress.advance(bytes.map(|entry| entry.map_or(0, |entry| u64::from(entry.len))).sum())?;
            }
            start = end;
        }
        Ok(())
    }

    fn metadata(&mut self, column: &Column) -> Result<()> {
        let name = || column.unique_name().to_owned();
        let (metadata, place) = match self.reader.metadata_of(column) {
            Ok(found) => found,
            Err(error) => {
                // Charge what was read: a table broken at its end costs as much as an intact one.
                let start = column.entry.metadata_offset.unwrap_or(0);
                let read = error.position().byte.unwrap_or(0).saturating_sub(start);
                self.claim_budget = self.claim_budget.saturating_sub(read);
                return self.error(error.in_column(name()));
            }
        };
        if let Some(place) = place {
            self.claim(place, FilePart::MetadataTable(column.index()));
        }
        for item in &metadata {
            if self.claim_budget == 0 {
                break;
            }
            let (offset, len) = item.location();
            let end = offset.checked_add(len).filter(|&end| end <= self.reader.header().tail_offset);
            if let Some(end) = end.filter(|_| offset >= HEADER_LEN) {
                self.claim(offset..end, FilePart::Metadata(column.index(), item.kind().into()));
            }
            let value = match item.value_type() {
                Ok(_) => self.reader.metadata_value(column.index(), item),
                Err(unreadable) if unreadable.kind == ErrorKind::Unsupported => {
                    let detail = format!("metadata {:?}: {unreadable}", item.kind());
                    self.warn(Error::unsupported(detail).at(offset).in_column(name()));
                    continue;
                }
                Err(unreadable) => Err(unreadable.to_error().in_column(name())),
            };
            match value {
                Err(error) => self.error(error)?,
                Ok(value) => {
                    if let Some(detail) = metadata_mismatch(item.kind(), &value, column) {
                        self.warn(Error::invalid(detail).at(offset).in_column(name()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Describes a part.
    fn describe(&self, part: &FilePart) -> String {
        let name = |column: &usize| self.reader.columns().get(*column).map_or("", Column::unique_name);
        match part {
            FilePart::Header => "the header".to_owned(),
            FilePart::TableOfContents => "the table of contents".to_owned(),
            FilePart::Tail => "the tail".to_owned(),
            FilePart::Lookup(column) => format!("the lookup table of column {:?}", name(column)),
            FilePart::Block(column, block) => format!("block {block} of column {:?}", name(column)),
            FilePart::MetadataTable(column) => format!("the metadata table of column {:?}", name(column)),
            FilePart::Metadata(column, kind) => format!("metadata {kind:?} of column {:?}", name(column)),
        }
    }

    /// Reports overlaps and gaps between the claimed ranges.
    fn check_layout(&mut self) {
        let mut extents = std::mem::take(&mut self.extents);
        extents.sort_by_key(|extent| (extent.range.start, extent.range.end));
        let mut reached: Option<&Extent> = None;
        for extent in &extents {
            if let Some(before) = reached {
                if extent.range.start < before.range.end {
                    let (part, other) = (self.describe(&extent.part), self.describe(&before.part));
                    let Range { start, end } = before.range;
                    let detail = format!("{part} overlaps {other} (bytes {start} to {end})");
                    (self.report)(Finding::error(Error::invalid(detail).at(extent.range.start).in_format(FORMAT_NAME)));
                } else if extent.range.start > before.range.end {
                    let gap = extent.range.start - before.range.end;
                    let s = if gap == 1 { "" } else { "s" };
                    let detail = format!("{gap} unused byte{s} before {}", self.describe(&extent.part));
                    self.warn(Error::invalid(detail).at(before.range.end));
                }
            }
            if reached.is_none_or(|before| extent.range.end > before.range.end) {
                reached = Some(extent);
            }
        }
    }
}

/// The problems of each block, in order.
fn check_blocks(reader: &Reader, column: &Column, kind: &Type, blocks: Range<u64>, threads: usize) -> Vec<Vec<Error>> {
    each_block(reader, column.index(), blocks, threads, |(values, scratch), block| {
        match reader.read_block(column.index(), block, values, scratch) {
            Err(error) => vec![error],
            Ok(rows) => check_values(kind, values, rows.start)
                .into_iter()
                .map(|error| error.in_column(column.unique_name().to_owned()).in_block(block))
                .collect(),
        }
    })
}

/// The first invalid value of a block, with the number of others.
fn check_values(kind: &Type, values: &Values, first_row: u64) -> Option<Error> {
    let item = kind.item();
    if !can_be_invalid(item) {
        return None;
    }
    let mut first = None;
    let mut count = 0u64;
    let mut count_invalid = |row: usize, values: &Values, range: Range<usize>| {
        for detail in range.filter_map(|index| describe_invalid(item, values, index)) {
            count += 1;
            if first.is_none() {
                first = Some((row, detail));
            }
        }
    };
    match values {
        Values::Vector(vectors) => {
            for (row, vector) in vectors.iter().enumerate() {
                count_invalid(row, vector.values, vector.range);
            }
        }
        values => (0..values.len()).for_each(|row| count_invalid(row, values, row..row + 1)),
    }
    let (row, detail) = first?;
    let others = match count {
        1 => String::new(),
        2 => " (and 1 more in this block)".to_owned(),
        more => format!(" (and {} more in this block)", more - 1),
    };
    Some(Error::invalid(detail + &others).in_row(first_row + row as u64))
}

/// Describes metadata of a known kind that does not match its column.
fn metadata_mismatch(kind: &str, value: &Values, column: &Column) -> Option<String> {
    let Values::Vector(vectors) = value else { return None };
    let length = vectors.get(0)?.length;
    match (kind, column.kind().ok()?) {
        ("SlotNames", vector @ Type::Vector { .. }) if vector.size() > 0 && vector.size() != length => {
            Some(format!("metadata \"SlotNames\" has {length} names for vectors of {}", vector.size()))
        }
        ("KeyValues", kind) => match kind.item() {
            ItemType::Key(key) if key.count > 0 && key.count != u64::from(length) => {
                Some(format!("metadata \"KeyValues\" has {length} labels for {} keys", key.count))
            }
            _ => None,
        },
        _ => None,
    }
}
