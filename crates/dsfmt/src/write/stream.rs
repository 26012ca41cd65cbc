//! Streaming writer.

use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::write::builder::{Builder, Written, in_file};
use crate::write::emit;
use crate::write::field::{Content, Field};
use crate::write::layout::{self, Slot};
use crate::write::put::{Buffered, Put};
use crate::write::spool::{Bits, Part, Spools};

/// Writes a dataset with [streams](Field::stream): append the rows of each stream, in order of the variables' names.
///
/// The header comes first, so it must be known in advance to write values directly. Streams of [strings](crate::DataType::Unicode) and streams
/// that [may have missing elements](Field::with_missing) prevent that: then the values of all streams go to unnamed temporary files next to the
/// output, and are assembled at the end. Memory holds one chunk, not a variable.
///
/// ```
/// use dsfmt::{Array, Builder, DataType, Field, OutputOptions, Reader};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("days.ds");
/// let mut builder = Builder::new();
/// builder.field("rain", Field::stream(DataType::Float32, [4, 2]).with_dimensions(["day", "place"]));
/// builder.field("title", Field::new(Array::new([], ["a week"].into_iter().collect::<dsfmt::Values>())?));
/// let mut writer = builder.begin(&path, OutputOptions::default())?;
/// assert_eq!(writer.current(), Some("rain"));
/// writer.append(&Array::new([3, 2], vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?)?;
/// writer.append(&Array::new([1, 2], vec![6.0f32, 7.0])?)?;
/// assert_eq!(writer.finish()?.variables, 2);
/// assert_eq!(Reader::open(&path)?.variable("rain")?.len(), 8);
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[must_use = "the file appears only after finish()"]
pub struct Writer<'a> {
    builder: Builder<'a>,
    slots: Vec<Slot>,
    out: Buffered<Output>,
    /// Set while the header is unknown; `parts` holds each variable's share.
    spools: Option<Spools>,
    parts: Vec<Part>,
    /// Final size of the file, if known.
    expected: Option<u64>,
    /// Index of the current slot, and the number of its rows so far.
    at: usize,
    rows: u64,
    bits: Bits,
    failed: bool,
}

impl<'a> Builder<'a> {
    /// Starts a file whose [streams](Field::stream) are appended. It appears atomically with [`Writer::finish`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn begin(self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Writer<'a>> {
        let path = path.as_ref();
        Writer::begin(self, path, options).map_err(|error| in_file(error, path))
    }
}

/// Number of rows of a stream.
fn rows_of(field: &Field<'_>) -> u64 {
    match &field.content {
        Content::Stream { shape, .. } if shape.contains(&0) => 0,
        Content::Stream { shape, .. } => shape.first().copied().unwrap_or(1),
        _ => 0,
    }
}

impl<'a> Writer<'a> {
    fn begin(builder: Builder<'a>, path: &Path, options: OutputOptions) -> Result<Self> {
        let slots = builder.slots()?;
        let spools = slots.iter().any(|slot| slot.len.is_none()).then(|| Spools::beside(path));
        let (mut header, mut body) = (String::new(), 0);
        if spools.is_none() {
            (header, body) = layout::header(&builder.attributes, &builder.fields, &slots)?;
        }
        let expected = body.saturating_add(header.len() as u64);
        let mut writer = Self {
            out: Buffered::new(Output::create(path, options)?, expected),
            parts: vec![Part::default(); slots.len()],
            expected: spools.is_none().then_some(expected),
            at: 0,
            rows: 0,
            bits: Bits::default(),
            failed: false,
            builder,
            slots,
            spools,
        };
        writer.out.put(header.as_bytes())?;
        writer.advance()?;
        Ok(writer)
    }

    /// Path of the output file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.out.get().path()
    }

    /// Name of the stream that takes the next rows; `None` after the last one.
    #[must_use]
    pub fn current(&self) -> Option<&str> {
        self.field().map(|(name, _)| name.as_str())
    }

    /// Rows that the [`current`](Self::current) stream still expects; a scalar has one.
    #[must_use]
    pub fn rows_left(&self) -> u64 {
        self.field().map_or(0, |(_, field)| rows_of(field).saturating_sub(self.rows))
    }

    fn field(&self) -> Option<&(String, Field<'a>)> {
        self.builder.fields.get(self.slots.get(self.at)?.field)
    }

    /// Advances to the next stream with rows, writing the variables before it.
    fn advance(&mut self) -> Result<()> {
        while let Some(slot) = self.slots.get(self.at) {
            if self.field().is_some_and(|(_, field)| rows_of(field) > 0) {
                return Ok(());
            }
            if self.spools.is_none() {
                self.builder.emit_field(slot, &mut self.out)?;
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Appends rows to the [`current`](Self::current) stream: an array of its type and sizes, except for the first, the number of rows. A scalar
    /// takes a scalar.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an array that does not fit, which leaves the writer unchanged;
    /// [`Io`](container_core::ErrorKind::Io), after which the file cannot be finished.
    pub fn append(&mut self, array: &Array<'_>) -> Result<()> {
        self.check(array).map_err(|error| self.in_current(error))?;
        if let Err(error) = self.take(array) {
            self.failed = true;
            return Err(self.in_current(error));
        }
        Ok(())
    }

    #[cold]
    fn in_current(&self, error: Error) -> Error {
        let error = match (self.current(), error.position().column.is_some()) {
            (Some(name), false) => error.in_column(name.to_owned()),
            _ => error,
        };
        in_file(error, self.path())
    }

    fn check(&self, array: &Array<'_>) -> Result<()> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        let Some((_, field)) = self.field() else {
            return Err(Error::usage("all streams are complete"));
        };
        let Content::Stream { data_type, shape, masked } = &field.content else { return Ok(()) };
        if array.data_type() != *data_type {
            return Err(Error::usage(format!("expected values of type {data_type}, found {}", array.data_type())));
        }
        let (rows, sizes) = match (array.shape(), &shape[..]) {
            ([], []) => (1, true),
            ([rows, sizes @ ..], [_, expected @ ..]) => (*rows, sizes == expected),
            _ => (0, false),
        };
        if !sizes || rows > self.rows_left() {
            return Err(Error::usage(format!(
                "an array of shape {:?} does not fit after {} rows of {shape:?}",
                array.shape(),
                self.rows
            )));
        }
        if !masked && array.missing() > 0 {
            return Err(Error::usage("missing elements in a stream that was not declared to have any"));
        }
        Ok(())
    }

    fn take(&mut self, array: &Array<'_>) -> Result<()> {
        let Some((_, field)) = self.slots.get(self.at).and_then(|slot| self.builder.fields.get(slot.field)) else {
            return Ok(());
        };
        let rows = if array.shape().is_empty() { 1 } else { array.shape().first().copied().unwrap_or(0) };
        let masked = matches!(field.content, Content::Stream { masked: true, .. });
        match (&mut self.spools, self.parts.get_mut(self.at)) {
            (Some(spools), Some(part)) => spools.append(array, masked, field.endian(), &mut self.bits, part)?,
            _ => emit::values(array.values(), None, field.endian(), &mut self.bits.values, &mut self.out)?,
        }
        self.rows += rows;
        if self.rows < rows_of(field) {
            return Ok(());
        }
        match (&mut self.spools, self.parts.get_mut(self.at), self.slots.get_mut(self.at)) {
            (Some(spools), Some(part), Some(slot)) => {
                spools.end(&mut self.bits, part)?;
                (slot.masked, slot.len) = (part.is_masked(), Some(part.len()));
            }
            _ => self.bits.values.end(&mut self.out)?,
        }
        (self.at, self.rows) = (self.at + 1, 0);
        self.advance()
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when rows are still expected or an earlier write failed;
    /// [`Io`](container_core::ErrorKind::Io). On error an existing file is unchanged.
    pub fn finish(self) -> Result<Written> {
        let path = self.path().to_owned();
        self.complete().map_err(|error| in_file(error, &path))
    }

    fn complete(mut self) -> Result<Written> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        if let Some((name, field)) = self.field() {
            let detail = format!("expected {} rows, found {}", rows_of(field), self.rows);
            return Err(Error::usage(detail).in_column(name.clone()));
        }
        if let Some(mut spools) = self.spools.take() {
            let (header, body) = layout::header(&self.builder.attributes, &self.builder.fields, &self.slots)?;
            self.expected = Some(body.saturating_add(header.len() as u64));
            self.out.put(header.as_bytes())?;
            spools.rewind()?;
            for (slot, part) in self.slots.iter().zip(&self.parts) {
                match self.builder.fields.get(slot.field) {
                    Some((_, field)) if rows_of(field) > 0 => spools.join(part, &mut self.out)?,
                    _ => self.builder.emit_field(slot, &mut self.out)?,
                }
            }
        }
        self.out.flush()?;
        let bytes = self.out.len();
        debug_assert_eq!(Some(bytes), self.expected, "the header's lengths are exact");
        self.out.into_inner().finish()?;
        Ok(Written { variables: self.slots.len(), bytes })
    }
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path())
            .field("current", &self.current())
            .field("rows_left", &self.rows_left())
            .field("format", &FORMAT_NAME)
            .finish_non_exhaustive()
    }
}
