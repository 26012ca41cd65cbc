//! Builds datasets.

use std::io::Write;
use std::path::Path;

use container_core::{Error, Output, OutputOptions, Result};

use crate::FORMAT_NAME;
use crate::json::{JsonBuf, Object, quoted};
use crate::read::Reader;
use crate::write::emit;
use crate::write::field::{Content, Field};
use crate::write::layout::{self, Slot};
use crate::write::put::{Buffered, Put, failed};

/// A dataset to write: attributes and variables. Variables are written sorted by name, as Python does.
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

/// Summary of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of variables.
    pub variables: usize,
    /// File size in bytes.
    pub bytes: u64,
}

impl<'a> Builder<'a> {
    /// An empty dataset.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute of the dataset.
    pub fn attribute(&mut self, name: &str, value: impl Into<JsonBuf>) -> &mut Self {
        self.attributes.set(quoted(name), value.into());
        self
    }

    /// Replaces all attributes with those of another dataset, keeping their exact text and order.
    pub fn copy_attributes(&mut self, reader: &Reader) -> &mut Self {
        self.attributes = reader.header.attributes().map(Object::from_json).unwrap_or_default();
        self
    }

    /// Adds a variable.
    pub fn field(&mut self, name: impl Into<String>, field: Field<'a>) -> &mut Self {
        self.fields.push((name.into(), field));
        self
    }

    /// Checks the dataset without writing: names are unique, every size has a dimension, variables agree on dimension sizes, and readers with
    /// default limits accept it. Writing checks the same.
    ///
    /// # Errors
    /// [`Usage`](container_core::ErrorKind::Usage) and [`Limit`](container_core::ErrorKind::Limit); for a variable to copy also
    /// [`Invalid`](container_core::ErrorKind::Invalid) and [`Io`](container_core::ErrorKind::Io).
    pub fn validate(&self) -> Result<()> {
        self.slots().map(drop)
    }

    pub(crate) fn slots(&self) -> Result<Vec<Slot>> {
        layout::slots(&self.attributes, &self.fields).map_err(|error| error.in_format(FORMAT_NAME))
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// As [`validate`](Self::validate); [`Usage`](container_core::ErrorKind::Usage) for streams, which need [`begin`](Self::begin);
    /// errors of [`Output`].
    pub fn write(&self, path: impl AsRef<Path>, options: OutputOptions) -> Result<Written> {
        let path = path.as_ref();
        self.write_atomic(path, options).map_err(|error| in_file(error, path))
    }

    fn write_atomic(&self, path: &Path, options: OutputOptions) -> Result<Written> {
        let prepared = self.prepare()?;
        let (output, written) = self.emit(&prepared, Output::create(path, options)?)?;
        output.finish()?;
        Ok(written)
    }

    /// Writes the file's bytes in few large writes. After an error, `out` keeps what was written.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_to(&self, out: &mut impl Write) -> Result<Written> {
        let write = || {
            let (out, written) = self.emit(&self.prepare()?, out)?;
            out.flush().map_err(failed)?;
            Ok(written)
        };
        write().map_err(|error: Error| error.in_format(FORMAT_NAME))
    }

    /// Does everything that can fail before the first write.
    fn prepare(&self) -> Result<Prepared> {
        let slots = self.slots()?;
        if let Some((name, _)) = self.fields.iter().find(|(_, field)| field.appended().is_some()) {
            let detail = "values of a stream must be appended after begin()";
            return Err(Error::usage(detail).in_column(name.clone()));
        }
        let (header, body_len) = layout::header(&self.attributes, &self.fields, &slots)?;
        Ok(Prepared { slots, header, body_len })
    }

    fn emit<W: Write>(&self, prepared: &Prepared, out: W) -> Result<(W, Written)> {
        let bytes = prepared.body_len.saturating_add(prepared.header.len() as u64);
        let mut out = Buffered::new(out, bytes);
        out.put(prepared.header.as_bytes())?;
        for slot in &prepared.slots {
            self.emit_field(slot, &mut out)?;
        }
        out.flush()?;
        debug_assert_eq!(out.len(), bytes, "the header's lengths are exact");
        Ok((out.into_inner(), Written { variables: prepared.slots.len(), bytes }))
    }

    /// Writes the body of a variable that is not a stream.
    pub(crate) fn emit_field(&self, slot: &Slot, out: &mut dyn Put) -> Result<()> {
        let Some((name, field)) = self.fields.get(slot.field) else { return Ok(()) };
        let emitted = match &field.content {
            Content::Array(array) => emit::array(array, field.endian(), out),
            Content::Copy(variable) => {
                let start = variable.reader.body_offset().saturating_add(variable.offset());
                let range = start..start.saturating_add(slot.len.unwrap_or(0));
                out.copy(variable.reader.source(), range).map_err(|error| variable.in_variable(error))
            }
            Content::Empty(_) | Content::Stream { .. } => Ok(()),
        };
        emitted.map_err(|error| error.in_column(name.clone()))
    }
}

/// A validated dataset with its header.
struct Prepared {
    slots: Vec<Slot>,
    header: String,
    body_len: u64,
}

pub(crate) fn in_file(error: Error, path: &Path) -> Error {
    error.in_format(FORMAT_NAME).in_file(path.display().to_string())
}
