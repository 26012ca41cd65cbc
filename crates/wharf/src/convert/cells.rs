use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use container_core::{Error, Result};
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer as Json};

use super::row::{FieldVisitor, RowSerializer};

/// The kind of a [`Cell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// Null, or a field that the row lacks. No bytes.
    Null,
    /// A bool or a number.
    Plain,
    /// Text, unescaped.
    Text,
    /// A list or a map, as JSON.
    Nested,
}

/// A value of a row, as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cell<'a> {
    /// Its kind.
    pub kind: CellKind,
    /// Its text, UTF-8.
    pub bytes: &'a [u8],
    /// Whether the text was truncated to the limit of its [`Cells`].
    pub cut: bool,
}

/// The current row as text, one cell per column, for sinks that write tables. Buffers are reused from row to row.
///
/// Accepts any value that serializes as a map or a struct. Fields are matched by name, so they may have another order than the
/// columns, or be missing.
///
/// ```
/// use wharf::convert::Cells;
/// let mut cells = Cells::new(&["name", "size"]);
/// cells.fill(&serde_json::json!({"name": "Ada", "size": [1, 2]}))?;
/// let texts: Vec<_> = cells.iter().map(|cell| cell.bytes.to_vec()).collect();
/// assert_eq!(texts, [&b"Ada"[..], b"[1,2]"]);
/// # Ok::<(), wharf::Error>(())
/// ```
#[derive(Debug)]
pub struct Cells {
    names: Vec<Box<str>>,
    /// Column indexes by name, built for the first row whose fields have another order.
    by_name: Option<HashMap<Box<str>, usize>>,
    limit: usize,
    /// The text of all cells, concatenated.
    text: Vec<u8>,
    /// The name of the current field.
    name: Vec<u8>,
    slots: Vec<Slot>,
    duplicates: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    kind: CellKind,
    range: Range<usize>,
    cut: bool,
    /// The row has a field for it.
    is_set: bool,
}

impl Slot {
    const NULL: Self = Self { kind: CellKind::Null, range: 0..0, cut: false, is_set: false };
}

impl Cells {
    /// Cells for rows of these columns.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        let names = columns.iter().map(|&name| name.into()).collect();
        let (text, name, slots) = (Vec::new(), Vec::new(), Vec::new());
        Self { names, by_name: None, limit: usize::MAX, text, name, slots, duplicates: 0 }
    }

    /// Truncates each cell's text to at most `bytes`, between characters.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// The number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Replaces the cells by those of a row. Returns the number of fields that match no column; they are left out.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the row is not a map from names to values that JSON can represent.
    pub fn fill(&mut self, row: &dyn erased_serde::Serialize) -> Result<u64> {
        self.text.clear();
        self.text.shrink_to(1 << 20); // one huge row must not keep its memory
        self.duplicates = 0;
        self.slots.clear();
        self.slots.resize(self.names.len(), Slot::NULL);
        let mut fields = Fields { cells: self, next: 0, column: None, unknown: 0 };
        erased_serde::serialize(row, RowSerializer(&mut fields))
            .map_err(|cause| Error::invalid("cannot convert the row to text").caused_by(cause))?;
        Ok(fields.unknown)
    }

    /// The number of fields of the current row that are left out because a later field has the same name.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The cells of the current row, one per column.
    pub fn iter(&self) -> impl Iterator<Item = Cell<'_>> {
        self.slots.iter().map(|slot| Cell {
            kind: slot.kind,
            bytes: self.text.get(slot.range.clone()).unwrap_or_default(),
            cut: slot.cut,
        })
    }
}

/// Writes the fields of a row into [`Cells`].
struct Fields<'a> {
    cells: &'a mut Cells,
    /// The column expected next: fields are mostly in the order of columns.
    next: usize,
    /// The column of the current field.
    column: Option<usize>,
    unknown: u64,
}

impl Fields<'_> {
    /// The name of the next field.
    fn key(&mut self, name: &[u8]) {
        let names = &self.cells.names;
        let expected = names.get(self.next).is_some_and(|column| column.as_bytes() == name);
        self.column = if expected {
            Some(self.next)
        } else {
            let index = || names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
            let by_name = self.cells.by_name.get_or_insert_with(index);
            std::str::from_utf8(name).ok().and_then(|name| by_name.get(name).copied())
        };
        match self.column {
            Some(column) => self.next = column + 1,
            None => self.unknown += 1,
        }
    }
}

impl FieldVisitor for Fields<'_> {
    fn serialized_key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let mut name = std::mem::take(&mut self.cells.name);
        name.clear();
        let formatter = CellFormatter { depth: 0, kind: &mut CellKind::Plain };
        key.serialize(&mut Json::with_formatter(&mut name, formatter))?;
        self.key(&name);
        self.cells.name = name;
        Ok(())
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let Some(slot) = self.column.take().and_then(|column| self.cells.slots.get_mut(column)) else {
            return Ok(());
        };
        let text = &mut self.cells.text;
        let start = text.len();
        let (mut kind, mut cut) = (CellKind::Plain, false);
        let writer = Truncating { end: start.saturating_add(self.cells.limit), text: &mut *text, cut: &mut cut };
        value.serialize(&mut Json::with_formatter(writer, CellFormatter { depth: 0, kind: &mut kind }))?;
        if cut {
            let kept = text.get(start..).unwrap_or_default();
            let whole = std::str::from_utf8(kept).map_or_else(|error| error.valid_up_to(), str::len);
            text.truncate(start + whole);
        }
        self.cells.duplicates += u64::from(slot.is_set);
        *slot = Slot { kind, range: start..text.len(), cut, is_set: true };
        Ok(())
    }
}

/// A buffer that keeps bytes up to `end` and discards the rest.
struct Truncating<'a> {
    text: &'a mut Vec<u8>,
    end: usize,
    cut: &'a mut bool,
}

impl Write for Truncating<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.end.saturating_sub(self.text.len());
        match bytes.get(..room) {
            Some(head) if head.len() < bytes.len() => {
                self.text.extend_from_slice(head);
                *self.cut = true;
            }
            _ => self.text.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formats JSON inside lists and maps. At the top level strings are unquoted and null is empty.
struct CellFormatter<'a> {
    depth: u32,
    kind: &'a mut CellKind,
}

impl CellFormatter<'_> {
    fn enter(&mut self) {
        self.depth += 1;
        *self.kind = CellKind::Nested;
    }
}

impl Formatter for CellFormatter<'_> {
    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 0 {
            *self.kind = CellKind::Null;
            return Ok(());
        }
        CompactFormatter.write_null(writer)
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 0 {
            *self.kind = CellKind::Text;
            return Ok(());
        }
        CompactFormatter.begin_string(writer)
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 0 { Ok(()) } else { CompactFormatter.end_string(writer) }
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        if self.depth > 0 {
            return CompactFormatter.write_char_escape(writer, escape);
        }
        let byte = match escape {
            CharEscape::Quote => b'"',
            CharEscape::ReverseSolidus => b'\\',
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 8,
            CharEscape::FormFeed => 12,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        writer.write_all(&[byte])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter();
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter();
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        CompactFormatter.end_object(writer)
    }
}
