//! A dataset put together.

use std::io::Write;
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};

use crate::FORMAT_NAME;
use crate::json::{JsonBuf, Object, quoted};
use crate::read::Reader;
use crate::write::emit;
use crate::write::field::{Content, Field};
use crate::write::layout::{self, Place};
use crate::write::put::{Buffered, Put, failed};

/// A dataset to be written: attributes and variables. Variables stand in the file in the order of their names, as Python writes them.
///
/// ```
/// use dsfmt::{Array, Builder, Field};
/// let mut builder = Builder::new();
/// builder.attribute("title", "a day").field("hour", Field::new(Array::new([2], vec![1i8, 2])?).with_dimensions(["time"]));
/// let mut file = Vec::new();
/// builder.write_to(&mut file)?;
/// assert!(file.starts_with(br#"ds-1.0
/// {"hour": {".dims": ["time"], ".size": [2], ".offset": 0, ".len": 2, ".type": "int8", ".missing": false, ".endian": "b"}, ".": {"#));
/// # Ok::<(), dsfmt::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder<'a> {
    pub(crate) attributes: Object,
    pub(crate) fields: Vec<(String, Field<'a>)>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Variables.
    pub variables: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

impl<'a> Builder<'a> {
    /// An empty dataset.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute of the dataset, or gives another value to the one of this name.
    pub fn attribute(&mut self, name: &str, value: impl Into<JsonBuf>) -> &mut Self {
        self.attributes.set(quoted(name), value.into());
        self
    }

    /// Takes over all attributes of another dataset, their exact texts in their order, in place of those said before.
    pub fn attributes_of(&mut self, reader: &Reader) -> &mut Self {
        self.attributes = reader.header.attributes().map(Object::of).unwrap_or_default();
        self
    }

    /// Adds a variable.
    pub fn field(&mut self, name: impl Into<String>, field: Field<'a>) -> &mut Self {
        self.fields.push((name.into(), field));
        self
    }

    /// Checks that this makes a dataset: names occur once, every size has a dimension, variables agree on the sizes of dimensions, and
    /// readers with default limits take it. Writing does that, too.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) and [`Limit`](container_core::ErrorKind::Limit); with a variable's name
    /// [`Invalid`](container_core::ErrorKind::Invalid) and [`Io`](container_core::ErrorKind::Io) of one that is to be copied.
    pub fn validate(&self) -> Result<()> {
        self.places().map(drop)
    }

    pub(crate) fn places(&self) -> Result<Vec<Place>> {
        layout::places(&self.attributes, &self.fields).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// As [`validate`](Self::validate); [`Usage`](container_core::ErrorKind::Usage) for streams, which need [`begin`](Self::begin), and
    /// what [`Output`] has.
    pub fn write(&self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Written> {
        let path = path.as_ref();
        self.write_whole(path, options).map_err(|error| in_file(error, path))
    }

    fn write_whole(&self, path: &Path, options: OutputOptions) -> Result<Written> {
        let ready = self.ready()?;
        let (output, written) = self.emit(&ready, Output::create(path, options)?)?;
        output.finish()?;
        Ok(written)
    }

    /// Writes the file's bytes, in few large pieces. What is written so, up to an error, is not taken back.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_to(&self, out: &mut impl Write) -> Result<Written> {
        let write = || {
            let (out, written) = self.emit(&self.ready()?, out)?;
            out.flush().map_err(failed)?;
            Ok(written)
        };
        write().map_err(|error: Error| error.in_format(FORMAT_NAME))
    }

    /// Everything that can go wrong without writing.
    fn ready(&self) -> Result<Ready> {
        let places = self.places()?;
        if let Some((name, _)) = self.fields.iter().find(|(_, field)| matches!(field.content, Content::Stream { .. })) {
            let detail = "the values of a stream have not come: begin() takes them";
            return Err(Error::usage(detail).in_column(name.clone()));
        }
        let (header, body) = layout::header(&self.attributes, &self.fields, &places)?;
        Ok(Ready { places, header, body })
    }

    fn emit<W: Write>(&self, ready: &Ready, out: W) -> Result<(W, Written)> {
        let bytes = ready.body.saturating_add(ready.header.len() as u64);
        let mut out = Buffered::new(out, bytes);
        out.put(ready.header.as_bytes())?;
        for place in &ready.places {
            self.emit_field(place, &mut out)?;
        }
        out.flush()?;
        debug_assert_eq!(out.len(), bytes, "as the header says");
        Ok((out.into_inner(), Written { variables: ready.places.len(), bytes }))
    }

    /// The body of a variable that is no stream.
    pub(crate) fn emit_field(&self, place: &Place, out: &mut dyn Put) -> Result<()> {
        let Some((name, field)) = self.fields.get(place.field) else { return Ok(()) };
        let done = match &field.content {
            Content::Array(array) => emit::array(array, field.endian(), out),
            Content::Copy(variable) => layout::pieces(variable, 0..place.len.unwrap_or(0), |bytes| out.put(bytes)),
            Content::Empty(_) | Content::Stream { .. } => Ok(()),
        };
        done.map_err(|error| error.in_column(name.clone()))
    }
}

/// What is known before anything is written.
struct Ready {
    places: Vec<Place>,
    header: String,
    body: u64,
}

pub(crate) fn in_file(error: Error, path: &Path) -> Error {
    error.in_format(FORMAT_NAME).in_file(path.display().to_string())
}
