use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use container_core::{Cursor, Error, ErrorKind, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::wire::{self, Compression, HEADER_LEN, Header, LOOKUP_ENTRY_LEN, TAIL_LEN, TocEntry, Type};

/// An open IDV file. Opening reads and validates the header, the table of contents and the tail; blocks, lookup tables and metadata are
/// read on demand.
///
/// Cheap to clone; threads may read concurrently.
#[derive(Clone)]
pub struct Reader(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) source: Source,
    pub(super) options: OpenOptions,
    pub(super) header: Header,
    pub(super) columns: Vec<Column>,
    pub(super) toc: Range<u64>,
}

/// A column of a file.
#[derive(Debug, Clone)]
pub struct Column {
    pub(super) index: usize,
    /// Set if it differs from the name.
    pub(super) unique_name: Option<Box<str>>,
    pub(super) kind: Result<Type, Unreadable>,
    pub(crate) entry: TocEntry,
    pub(super) blocks: u64,
}

/// Why a column cannot be read. Other columns are not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// [`Unsupported`](ErrorKind::Unsupported) for an unknown codec or compression, [`Invalid`](ErrorKind::Invalid) for invalid parameters.
    pub kind: ErrorKind,
    /// Found and allowed value.
    pub detail: String,
    /// Offset in the file.
    pub byte: Option<u64>,
}

impl Unreadable {
    pub(super) fn from_error(error: &Error) -> Self {
        let detail = match error.kind() {
            // The detail of a truncation does not contain its numbers.
            ErrorKind::Truncated { needed, available } => {
                let s = if needed == 1 { "" } else { "s" };
                format!("{}: needs {needed} byte{s}, {available} available", error.detail())
            }
            _ => error.detail().to_owned(),
        };
        let kind = if error.kind() == ErrorKind::Unsupported { ErrorKind::Unsupported } else { ErrorKind::Invalid };
        Self { kind, detail, byte: error.position().byte }
    }

    /// Converts to an error.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let error = Error::new(self.kind, self.detail.clone());
        match self.byte {
            Some(byte) => error.at(byte),
            None => error,
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl Column {
    /// Index in the file, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name in the file; may be empty and may repeat.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The name, with `#2`, `#3`... appended to repeated ones.
    #[must_use]
    pub fn unique_name(&self) -> &str {
        self.unique_name.as_deref().unwrap_or_else(|| self.name())
    }

    /// Value type.
    ///
    /// # Errors
    /// Why the column cannot be read.
    pub fn kind(&self) -> Result<&Type, &Unreadable> {
        self.kind.as_ref()
    }

    /// The codec name in the file.
    #[must_use]
    pub fn codec_name(&self) -> &str {
        &self.entry.codec.name
    }

    /// Block compression; `None` if unknown.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        Compression::from_byte(self.entry.compression)
    }

    /// Rows in each block but the last, which has the rest. 0 only in a file without rows.
    #[must_use]
    pub fn rows_per_block(&self) -> u64 {
        self.entry.rows_per_block
    }

    /// Number of blocks.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.blocks
    }
}

impl Reader {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io), and any defect of the header, table of contents or tail, with its offset.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access)?;
        Self::from_source(source, options).map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Opens a source; [`OpenOptions::access`] is ignored.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        open(source, options).map(|inner| Self(Arc::new(inner))).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// The file's header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.0.header.rows
    }

    /// The columns in file order, including unreadable ones.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.0.columns
    }

    /// The column with this [unique name](Column::unique_name). O(columns).
    #[must_use]
    pub fn column(&self, unique_name: &str) -> Option<&Column> {
        self.0.columns.iter().find(|column| column.unique_name() == unique_name)
    }

    /// The source of the file's bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// Maximum size of a row in bytes. Its output form can take a multiple of that.
    pub(crate) fn row_bytes(&self) -> u64 {
        /// Divisor of the memory limit: writing Parquet takes up to eleven times the row.
        const ROW_PART: u64 = 10;
        self.0.options.limits.memory_bytes / ROW_PART
    }

    /// Indices of the readable columns.
    ///
    /// # Errors
    /// Why the first column is [unreadable](Column::kind), if all are and the file has rows.
    pub fn readable_columns(&self) -> Result<Vec<usize>> {
        let readable = self.readable();
        match self.0.columns.first().map(|column| (column, &column.kind)) {
            Some((first, Err(why))) if readable.is_empty() && self.row_count() > 0 => {
                let count = self.0.columns.len();
                let s = if count == 1 { "" } else { "s" };
                let detail = format!("none of {count} column{s} can be read: {}", why.detail);
                let error =
                    Error::new(why.kind, detail).in_column(first.unique_name().to_owned()).in_format(FORMAT_NAME);
                Err(match why.byte {
                    Some(byte) => error.at(byte),
                    None => error,
                })
            }
            _ => Ok(readable),
        }
    }

    pub(crate) fn readable(&self) -> Vec<usize> {
        self.0.columns.iter().filter(|column| column.kind.is_ok()).map(|column| column.index).collect()
    }

    pub(crate) fn column_at(&self, index: usize) -> Result<&Column> {
        self.0.columns.get(index).ok_or_else(|| {
            let detail = format!("column {index} is out of bounds for {} columns", self.0.columns.len());
            Error::usage(detail).in_format(FORMAT_NAME)
        })
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("header", self.header()).field("source", self.source()).finish_non_exhaustive()
    }
}

fn open(source: Source, options: OpenOptions) -> Result<Inner> {
    let len = source.len();
    let head = source.read(0..len.min(HEADER_LEN))?;
    let header = Header::parse(&head, len)?;
    header.check_tail(&source.read(header.tail_offset..header.tail_offset + TAIL_LEN)?)?;
    options.limits.check_columns("column count", header.columns.into()).map_err(|error| error.at(48))?;
    let limit = options.limits.metadata_bytes;
    let (entries, end) = parse_growing(&source, header.toc_offset..header.tail_offset, limit, |cursor| {
        let entries = wire::parse_toc(cursor, &header)?;
        Ok((entries, cursor.offset()))
    })?;
    let names = unique_names(entries.iter().map(|entry| entry.name.as_str()));
    let columns = entries.into_iter().zip(names).enumerate().map(|(index, (entry, unique_name))| {
        let kind = column_type(&entry, &header);
        let blocks = header.block_count(entry.rows_per_block).unwrap_or(0);
        Column { index, unique_name, kind, entry, blocks }
    });
    let columns = columns.collect();
    let toc = header.toc_offset..end;
    Ok(Inner { source, options, header, columns, toc })
}

/// The type of a column, or why it cannot be read.
pub(super) fn column_type(entry: &TocEntry, header: &Header) -> Result<Type, Unreadable> {
    let unreadable = |kind, detail| Unreadable { kind, detail, byte: Some(entry.offset) };
    let kind = wire::parse_type(&entry.codec).map_err(|error| Unreadable::from_error(&error))?;
    if Compression::from_byte(entry.compression).is_none() {
        let detail = format!("unknown compression kind {} (known: 0 none, 1 deflate, 2 zlib)", entry.compression);
        return Err(unreadable(ErrorKind::Unsupported, detail));
    }
    let Some(blocks) = header.block_count(entry.rows_per_block) else {
        let detail = format!("rows per block is 0 in a file of {} rows", header.rows);
        return Err(unreadable(ErrorKind::Invalid, detail));
    };
    let end = blocks.checked_mul(LOOKUP_ENTRY_LEN).and_then(|len| entry.lookup_offset.checked_add(len));
    let inside = entry.lookup_offset >= HEADER_LEN && end.is_some_and(|end| end <= header.tail_offset);
    if blocks > 0 && !inside {
        let detail = format!(
            "the lookup table of {blocks} blocks at byte {} is not between the header's end, {HEADER_LEN}, and the tail, {}",
            entry.lookup_offset, header.tail_offset
        );
        return Err(unreadable(ErrorKind::Invalid, detail));
    }
    Ok(kind)
}

/// Parses a structure of unknown length: from memory at once, else from reads of increasing length, up to `limit` bytes.
pub(super) fn parse_growing<T>(
    source: &Source,
    range: Range<u64>,
    limit: u64,
    parse: impl Fn(&mut Cursor<'_>) -> Result<T>,
) -> Result<T> {
    let whole = range.end.saturating_sub(range.start);
    let max_len = whole.min(limit);
    let mut len = if source.as_slice().is_some() { max_len } else { max_len.min(64 << 10) };
    loop {
        let bytes = source.read(range.start..range.start.saturating_add(len))?;
        match parse(&mut Cursor::at(&bytes, range.start)) {
            Err(error) if len < whole && matches!(error.kind(), ErrorKind::Truncated { .. }) => {
                if len >= limit {
                    return Err(too_long(&error, range.start, limit));
                }
                len = len.saturating_mul(4).min(max_len);
            }
            outcome => return outcome,
        }
    }
}

/// Reports truncation by the limit rather than by the end of the file.
#[cold]
fn too_long(error: &Error, start: u64, limit: u64) -> Error {
    let at = error.position().byte.unwrap_or(start);
    let needed = if let ErrorKind::Truncated { needed, .. } = error.kind() { needed } else { 0 };
    let asked = (at - start).saturating_add(needed);
    let outer = Error::limit(format!("bytes up to the end of {}", error.detail()), asked, limit).at(at);
    match &error.position().column {
        Some(column) => outer.in_column(column.clone()),
        None => outer,
    }
}

/// Unique names for repeated column names, with `#2`, `#3`... appended; `None` for the others. Never equal to a name in the file.
pub(crate) fn unique_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Option<Box<str>>> {
    let in_file: HashSet<&str> = names.clone().collect();
    let mut occurrences: HashMap<&str, u64> = HashMap::new();
    names
        .map(|name| {
            let count = occurrences.entry(name).and_modify(|count| *count += 1).or_insert(1);
            if *count == 1 {
                return None;
            }
            loop {
                let candidate = format!("{name}#{count}");
                if !in_file.contains(candidate.as_str()) {
                    return Some(candidate.into());
                }
                *count += 1;
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeated_names() {
        let unique = |names: &[&'static str]| {
            let unique = unique_names(names.iter().copied()).into_iter().zip(names);
            unique.map(|(unique, name)| unique.unwrap_or_else(|| (*name).into())).collect::<Vec<_>>()
        };
        let boxed = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect::<Vec<Box<str>>>();
        assert_eq!(unique(&["a", "b", "a", "a", ""]), boxed(&["a", "b", "a#2", "a#3", ""]));
        assert_eq!(unique(&["a", "a", "a#2", "a#2"]), boxed(&["a", "a#3", "a#2", "a#2#2"]));
    }

    #[test]
    fn unique_names_are_linear() {
        let unique = unique_names(std::iter::repeat_n("x", 300_000));
        assert_eq!(unique.last().and_then(Option::as_deref), Some("x#300000"));
    }
}
