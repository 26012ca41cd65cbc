//! Streaming writer.

use std::path::{Path, PathBuf};

use container_core::{Error, Output, OutputOptions, Result};

use crate::FORMAT_NAME;
use crate::array::Array;
use crate::read::{Reader, Variable, rows_at_once};
use crate::types::Endian;
use crate::write::assembly::{Assembly, Body};
use crate::write::bits::Packer;
use crate::write::builder::{Builder, Written, in_file};
use crate::write::emit;
use crate::write::field::{Appended, Content, Field};
use crate::write::layout::{self, Slot};
use crate::write::put::{Buffered, Put};
use crate::write::spool::Spool;

/// Writes a dataset with [streams](Field::stream): append the rows of each stream, in order of the variables' names.
///
/// The header comes first, so it must be known in advance to write values directly. Streams of [strings](crate::DataType::Unicode) and streams
/// that [may have missing elements](Field::with_missing) prevent that: then the values of all streams go to an unnamed temporary file next to the
/// output, and are assembled at the end. Takes memory for a chunk of rows and up to 32 MiB.
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
    path: PathBuf,
    /// `None` for a dataset that is not written.
    out: Option<Buffered<Output>>,
    /// Set while the header is unknown, and for a dataset that is not written; `parts` holds each variable's share.
    spool: Option<Spool>,
    parts: Vec<Part>,
    /// Size of the file; 0 while unknown.
    expected: u64,
    /// Index of the current slot, and the number of its rows so far.
    at: usize,
    rows: u64,
    bits: Bits,
    failed: bool,
}

/// Partial bytes carried from one append to the next.
#[derive(Default)]
struct Bits {
    mask: Packer,
    values: Packer,
}

/// A stream in the spool.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Mask, string lengths, values.
    sections: Option<[usize; 3]>,
    missing: u64,
}

impl Part {
    fn append(
        &mut self,
        array: &Array<'_>,
        masked: bool,
        endian: Endian,
        bits: &mut Bits,
        spool: &mut Spool,
    ) -> Result<()> {
        let [masks, lengths, values] = *self.sections.get_or_insert_with(|| [(); 3].map(|()| spool.section()));
        let mask = emit::mask_of(array);
        match mask {
            Some(mask) => bits.mask.mask(mask, &mut spool.tail(masks))?,
            None if masked => bits.mask.zeros(array.len(), &mut spool.tail(masks))?,
            None => {}
        }
        if let Some(strings) = array.values().as_strings() {
            emit::lengths(strings, mask, &mut spool.tail(lengths))?;
        }
        self.missing += mask.map_or(0, |mask| mask.missing() as u64);
        emit::values(array.values(), mask, endian, &mut bits.values, &mut spool.tail(values))
    }

    /// Writes the last partial bytes.
    fn end(&self, bits: &mut Bits, spool: &mut Spool) -> Result<()> {
        let Some([masks, _, values]) = self.sections else { return Ok(()) };
        bits.mask.end(&mut spool.tail(masks))?;
        bits.values.end(&mut spool.tail(values))
    }

    /// Its sections in the file: without the mask if nothing is missing.
    fn body(&self) -> impl Iterator<Item = usize> {
        self.sections.into_iter().flatten().skip(usize::from(self.missing == 0))
    }
}

impl<'a> Builder<'a> {
    /// Starts a file whose [streams](Field::stream) are appended. It appears atomically with [`Writer::finish`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn begin(self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Writer<'a>> {
        let path = path.as_ref();
        Writer::begin(self, path, Some(options)).map_err(|error| in_file(error, path))
    }

    /// Starts a dataset that is not written, to be read from where its values lie: see [`Writer::into_reader`]. The unnamed temporary file with
    /// the values of streams is created in the directory of `path`, which errors name.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn begin_unwritten(self, path: impl AsRef<Path>) -> Result<Writer<'a>> {
        let path = path.as_ref();
        Writer::begin(self, path, None).map_err(|error| in_file(error, path))
    }
}

/// Number of rows that are appended to a variable.
fn rows_of(field: &Field<'_>) -> u64 {
    field.appended().map_or(0, |stream| stream.rows())
}

impl<'a> Writer<'a> {
    fn begin(builder: Builder<'a>, path: &Path, options: Option<OutputOptions>) -> Result<Self> {
        let slots = builder.slots()?;
        let spooled = options.is_none() || slots.iter().any(|slot| slot.len.is_none());
        let (mut header, mut body) = (String::new(), 0);
        if !spooled {
            (header, body) = layout::header(&builder.attributes, &builder.fields, &slots)?;
        }
        let expected = body.saturating_add(header.len() as u64);
        let output = options.map(|options| Output::create(path, options)).transpose()?;
        let mut writer = Self {
            path: path.to_owned(),
            out: output.map(|output| Buffered::new(output, if spooled { u64::MAX } else { expected })),
            spool: spooled.then(|| Spool::beside(path)),
            parts: vec![Part::default(); slots.len()],
            expected,
            at: 0,
            rows: 0,
            bits: Bits::default(),
            failed: false,
            builder,
            slots,
        };
        if let Some(out) = &mut writer.out {
            out.put(header.as_bytes())?;
        }
        writer.advance()?;
        Ok(writer)
    }

    /// Path of the output file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
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

    /// Advances to the next stream that the caller appends to, writing the variables before it.
    fn advance(&mut self) -> Result<()> {
        while let Some(slot) = self.slots.get(self.at) {
            match self.field().map(|(_, field)| field) {
                Some(Field { content: Content::Copy(variable), .. }) if variable.reader.foreign.is_some() => {
                    let variable = *variable;
                    self.append_all(&variable)?;
                }
                Some(field) if rows_of(field) > 0 => return Ok(()),
                _ => {
                    if let (Some(out), None) = (&mut self.out, &self.spool) {
                        self.builder.emit_field(slot, out)?;
                    }
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    /// Appends all rows of a variable to the current slot.
    fn append_all(&mut self, variable: &Variable<'a>) -> Result<()> {
        let rows = self.rows_left();
        if rows == 0 {
            self.at += 1;
        }
        let step = rows_at_once(variable.shape().unwrap_or_default());
        let mut at = 0;
        while at < rows {
            let end = rows.min(at.saturating_add(step));
            self.take(&variable.read_rows(at..end)?)?;
            at = end;
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
        if let Err(error) = self.take(array).and_then(|()| self.advance()) {
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
        let Some(Appended { data_type, shape, masked }) = field.appended() else { return Ok(()) };
        if array.data_type() != data_type {
            return Err(Error::usage(format!("expected values of type {data_type}, found {}", array.data_type())));
        }
        let (rows, sizes) = match (array.shape(), shape) {
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
        let masked = field.appended().is_some_and(|stream| stream.masked);
        let ends = self.rows + rows >= rows_of(field);
        match (&mut self.spool, self.parts.get_mut(self.at), &mut self.out) {
            (Some(spool), Some(part), _) => {
                part.append(array, masked, field.endian(), &mut self.bits, spool)?;
                if ends {
                    part.end(&mut self.bits, spool)?;
                }
            }
            (_, _, Some(out)) => {
                emit::values(array.values(), None, field.endian(), &mut self.bits.values, out)?;
                if ends {
                    self.bits.values.end(out)?;
                }
            }
            _ => {}
        }
        (self.at, self.rows) = if ends { (self.at + 1, 0) } else { (self.at, self.rows + rows) };
        Ok(())
    }

    /// Completes the dataset and opens it. Nothing is written: its values are read from the unnamed temporary file, from memory, and from the
    /// files of copied variables. Elements are encoded as in a ds file.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when rows are still expected, an earlier write failed, or values were written to a file;
    /// [`Io`](container_core::ErrorKind::Io).
    pub fn into_reader(self) -> Result<Reader> {
        let path = self.path.clone();
        let open = || {
            let mut body = Assembly::new();
            match self.assemble(&mut body)? {
                (_, Some(spool)) => body.open(spool),
                (_, None) => Err(Error::usage("the values were written to a file")),
            }
        };
        open().map_err(|error| in_file(error, &path))
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) when rows are still expected or an earlier write failed;
    /// [`Io`](container_core::ErrorKind::Io). On error an existing file is unchanged.
    pub fn finish(mut self) -> Result<Written> {
        let path = self.path.clone();
        let finish = || {
            let variables = self.slots.len();
            let mut out = self.out.take().ok_or_else(|| Error::usage("the dataset was begun without a file"))?;
            let (expected, _) = self.assemble(&mut out)?;
            out.flush()?;
            let bytes = out.len();
            debug_assert_eq!(bytes, expected, "the header's lengths are exact");
            out.into_inner().finish()?;
            Ok(Written { variables, bytes })
        };
        finish().map_err(|error| in_file(error, &path))
    }

    /// Passes the spooled dataset to `body`. Returns its size, and the spool; `None` if it was written directly.
    fn assemble(mut self, body: &mut dyn Body) -> Result<(u64, Option<Spool>)> {
        if self.failed {
            return Err(Error::usage("the output is incomplete: an earlier write failed"));
        }
        if let Some((name, field)) = self.field() {
            let detail = format!("expected {} rows, found {}", rows_of(field), self.rows);
            return Err(Error::usage(detail).in_column(name.clone()));
        }
        let Some(mut spool) = self.spool.take() else { return Ok((self.expected, None)) };
        spool.complete()?;
        for (slot, part) in self.slots.iter_mut().zip(&self.parts) {
            if part.sections.is_some() {
                let len = part.body().map(|section| spool.bytes(section)).sum();
                (slot.masked, slot.len) = (part.missing > 0, Some(len));
            }
        }
        let (header, len) = layout::header(&self.builder.attributes, &self.builder.fields, &self.slots)?;
        body.put(header.as_bytes())?;
        for (slot, part) in self.slots.iter().zip(&self.parts) {
            match part.sections {
                Some(_) => part.body().try_for_each(|section| body.section(&mut spool, section))?,
                None => self.builder.emit_field(slot, body)?,
            }
        }
        Ok((len.saturating_add(header.len() as u64), Some(spool)))
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
