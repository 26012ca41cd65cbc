//! A file that is written while its values come.

use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::write::builder::{Builder, Written, in_file};
use crate::write::emit;
use crate::write::field::{Content, Field};
use crate::write::layout::{self, Place};
use crate::write::put::{Buffered, Put};
use crate::write::spool::{Bits, Part, Spools};

/// Writes a dataset with [streams](Field::stream): their rows are appended, stream after stream in the order of the names.
///
/// Where the header is known before, which it is unless a stream has [strings](crate::DataType::Unicode) or
/// [may miss elements](Field::with_missing), values go straight to the file. Else those of all streams go to temporary files beside it,
/// which have no names, and are put together at the end. Memory is taken for a chunk, not for a variable.
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
#[must_use = "without finish() the file does not appear"]
pub struct Writer<'a> {
    builder: Builder<'a>,
    places: Vec<Place>,
    out: Buffered<Output>,
    /// Where the header is not known yet, and what each variable has there.
    spools: Option<Spools>,
    parts: Vec<Part>,
    /// Bytes that the file will have, where they are known.
    expected: Option<u64>,
    /// The place of the stream that is taken, and the rows that have come of it.
    at: usize,
    rows: u64,
    bits: Bits,
    failed: bool,
}

impl<'a> Builder<'a> {
    /// Begins a file whose [streams](Field::stream) are appended. It appears, whole, with [`Writer::finish`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn begin(self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Writer<'a>> {
        let path = path.as_ref();
        Writer::begin(self, path, options).map_err(|error| in_file(error, path))
    }
}

/// The rows of a stream: how many there are.
fn rows_of(field: &Field<'_>) -> u64 {
    match &field.content {
        Content::Stream { shape, .. } if shape.contains(&0) => 0,
        Content::Stream { shape, .. } => shape.first().copied().unwrap_or(1),
        _ => 0,
    }
}

impl<'a> Writer<'a> {
    fn begin(builder: Builder<'a>, path: &Path, options: OutputOptions) -> Result<Self> {
        let places = builder.places()?;
        let spools = places.iter().any(|place| place.len.is_none()).then(|| Spools::beside(path));
        let (mut header, mut body) = (String::new(), 0);
        if spools.is_none() {
            (header, body) = layout::header(&builder.attributes, &builder.fields, &places)?;
        }
        let expected = body.saturating_add(header.len() as u64);
        let mut writer = Self {
            out: Buffered::new(Output::create(path, options)?, expected),
            parts: vec![Part::default(); places.len()],
            expected: spools.is_none().then_some(expected),
            at: 0,
            rows: 0,
            bits: Bits::default(),
            failed: false,
            builder,
            places,
            spools,
        };
        writer.out.put(header.as_bytes())?;
        writer.advance()?;
        Ok(writer)
    }

    /// Where the file will appear.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.out.get().path()
    }

    /// The stream whose rows come next; `None` when all have come.
    #[must_use]
    pub fn current(&self) -> Option<&str> {
        self.field().map(|(name, _)| name.as_str())
    }

    /// Rows of the [`current`](Self::current) stream that have yet to come: sizes along its first dimension, 1 for a scalar.
    #[must_use]
    pub fn rows_left(&self) -> u64 {
        self.field().map_or(0, |(_, field)| rows_of(field).saturating_sub(self.rows))
    }

    fn field(&self) -> Option<&(String, Field<'a>)> {
        self.builder.fields.get(self.places.get(self.at)?.field)
    }

    /// Goes on to the next stream with rows, and writes what comes before it.
    fn advance(&mut self) -> Result<()> {
        while let Some(place) = self.places.get(self.at) {
            if self.field().is_some_and(|(_, field)| rows_of(field) > 0) {
                return Ok(());
            }
            if self.spools.is_none() {
                self.builder.emit_field(place, &mut self.out)?;
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Appends rows to the [`current`](Self::current) stream: an array of the stream's type and sizes, but for the first, which is the
    /// number of rows. A scalar comes as one.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) for an array that does not fit, of which nothing is taken;
    /// [`Io`](container_core::ErrorKind::Io), after which the file cannot be finished.
    pub fn append(&mut self, array: &Array<'_>) -> Result<()> {
        self.check(array).map_err(|error| self.placed(error))?;
        let taken = self.take(array);
        if let Err(error) = taken {
            self.failed = true;
            return Err(self.placed(error));
        }
        Ok(())
    }

    #[cold]
    fn placed(&self, error: Error) -> Error {
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
            return Err(Error::usage("all rows of all streams have come"));
        };
        let Content::Stream { data_type, shape, masked } = &field.content else { return Ok(()) };
        if array.data_type() != *data_type {
            return Err(Error::usage(format!("the values are of type {}, not {data_type}", array.data_type())));
        }
        let (rows, sizes) = match (array.shape(), &shape[..]) {
            ([], []) => (1, true),
            ([rows, sizes @ ..], [_, wanted @ ..]) => (*rows, sizes == wanted),
            _ => (0, false),
        };
        if !sizes || rows > self.rows_left() {
            return Err(Error::usage(format!(
                "an array of the shape {:?} does not fit behind {} rows of {shape:?}",
                array.shape(),
                self.rows
            )));
        }
        if !masked && array.missing() > 0 {
            return Err(Error::usage("elements are missing of a stream that was not said to have such"));
        }
        Ok(())
    }

    fn take(&mut self, array: &Array<'_>) -> Result<()> {
        let Some((_, field)) = self.places.get(self.at).and_then(|place| self.builder.fields.get(place.field)) else {
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
        match (&mut self.spools, self.parts.get_mut(self.at), self.places.get_mut(self.at)) {
            (Some(spools), Some(part), Some(place)) => {
                spools.end(&mut self.bits, part)?;
                (place.masked, place.len) = (part.is_masked(), Some(part.len()));
            }
            _ => self.bits.values.end(&mut self.out)?,
        }
        (self.at, self.rows) = (self.at + 1, 0);
        self.advance()
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when rows are missing or a write failed before;
    /// [`Io`](container_core::ErrorKind::Io). After an error the old file is as it was.
    pub fn finish(self) -> Result<Written> {
        let path = self.path().to_owned();
        self.complete().map_err(|error| in_file(error, &path))
    }

    fn complete(mut self) -> Result<Written> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        if let Some((name, field)) = self.field() {
            let detail = format!("{} rows have come of {}", self.rows, rows_of(field));
            return Err(Error::usage(detail).in_column(name.clone()));
        }
        if let Some(mut spools) = self.spools.take() {
            let (header, body) = layout::header(&self.builder.attributes, &self.builder.fields, &self.places)?;
            self.expected = Some(body.saturating_add(header.len() as u64));
            self.out.put(header.as_bytes())?;
            spools.rewind()?;
            for (place, part) in self.places.iter().zip(&self.parts) {
                match self.builder.fields.get(place.field) {
                    Some((_, field)) if rows_of(field) > 0 => spools.join(part, &mut self.out)?,
                    _ => self.builder.emit_field(place, &mut self.out)?,
                }
            }
        }
        self.out.flush()?;
        let bytes = self.out.len();
        debug_assert_eq!(Some(bytes), self.expected, "as the header says");
        self.out.into_inner().finish()?;
        Ok(Written { variables: self.places.len(), bytes })
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
