//! Implements the [`Format`] trait of `container-core`.

use std::path::Path;

use container_core::{Container, Error, ErrorKind, Format, Input, OpenOptions, Probe, Recognition, Result, Source};

use crate::FORMAT_NAME;
use crate::container::DatadingsContainer;
use crate::read::{Reader, set_of};
use crate::wire::{FileSet, Part, Token, Tokens};

/// The datadings format, for tools that open any format.
///
/// A file is recognized if it begins with a msgpack map that has a string `key`, or if it has an index; a file beside the data (such as
/// `d.msgpack.keys`) leads to the data. Data without an index are scanned on opening.
pub const FORMAT: &dyn Format = &Datadings;

/// Bytes of a data file searched for its first key.
const HEAD_LEN: u64 = 1 << 20;

struct Datadings;

impl Format for Datadings {
    fn name(&self) -> &'static str {
        FORMAT_NAME
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["msgpack"]
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.directory {
            return Recognition::No;
        }
        let head = || probe.source.and_then(|source| source.read(0..source.len().min(HEAD_LEN)).ok());
        let is_content = is_sample(probe.head) == Some(true)
            || is_sample(probe.head).is_none() && head().is_some_and(|bytes| is_sample(&bytes) == Some(true))
            || probe.path.is_some_and(|path| has_index_or_data(path, probe.head));
        probe.by_content_or_name(is_content, self.extensions())
    }

    fn open(&self, input: &Input, options: &OpenOptions) -> Result<Box<dyn Container>> {
        let reader = match input {
            Input::File { path, source } => {
                let set = set_of(path);
                let data = match set.data() == path {
                    true => source.clone(),
                    false => Source::open_with(set.data(), options.access)?,
                };
                match set.has_index() {
                    true => Reader::with_set(set, data, *options)?,
                    false => Reader::scan_set(set, data, *options)?,
                }
            }
            Input::Stream(source) => Reader::scan(source.clone(), *options)?,
            _ => return Err(Error::usage("a directory is not a dataset").in_format(FORMAT_NAME)),
        };
        Ok(Box::new(DatadingsContainer::new(reader)))
    }

    fn is_writable(&self) -> bool {
        true
    }

    /// Keys are taken from the column `key`, or are row numbers without that column.
    #[cfg(feature = "arrow")]
    fn batch_writer(
        &self,
        path: &Path,
        schema: arrow_schema::SchemaRef,
        options: container_core::OutputOptions,
    ) -> Result<Box<dyn container_arrow::BatchWriter>> {
        use crate::arrow::{ArrowWriter, Keys, WriterOptions};

        let has_keys = schema.fields().iter().any(|field| field.name() == "key");
        let keys = if has_keys { Keys::Key } else { Keys::Number };
        let options =
            WriterOptions::default().with_keys(keys).with_dataset(crate::WriterOptions::default().with_output(options));
        Ok(Box::new(ArrowWriter::create(path, schema, options)?))
    }
}

/// Whether bytes begin with a map that has a string `key`; `None` if they end before that is known.
fn is_sample(bytes: &[u8]) -> Option<bool> {
    let mut tokens = Tokens::at(bytes, 0);
    match tokens.peek() {
        Some(0x81..=0x8f | 0xde | 0xdf) => {}
        _ => return Some(false),
    }
    let Ok(Token::Map(count)) = tokens.next() else { return Some(false) };
    for field in 0..count {
        let mut value = tokens;
        match value.next() {
            Ok(Token::Str(b"key")) => return value.peek().map(|marker| matches!(marker, 0xa0..=0xbf | 0xd9..=0xdb)),
            Ok(Token::Str(_)) => {}
            // The first key of a sample is a str, whatever follows.
            Ok(_) if field == 0 => return Some(false),
            Ok(_) | Err(_) => {}
        }
        for _ in 0..2 {
            if let Err(error) = tokens.skip() {
                return match error.kind() {
                    ErrorKind::Truncated { .. } => None,
                    _ => Some(false),
                };
            }
        }
    }
    Some(false)
}

/// Whether a file has an index, or is itself part of an indexed dataset.
fn has_index_or_data(path: &Path, head: &[u8]) -> bool {
    let set = set_of(path);
    if !set.has_index() {
        return false;
    }
    let plausible =
        |head: &[u8]| head.is_empty() || is_sample(head) != Some(false) || set.path(Part::Offsets).is_file();
    if set.data() == path {
        return plausible(head);
    }
    let data = Source::open_with(set.data(), container_core::Access::Positional);
    data.is_ok_and(|data| data.read(0..data.len().min(4096)).is_ok_and(|head| plausible(&head)))
}

impl Reader {
    /// Scans data that have no index; other companion files may exist.
    fn scan_set(set: FileSet, data: Source, options: OpenOptions) -> Result<Self> {
        let name = set.data().display().to_string();
        let mut reader = Self::scan(data, options).map_err(|error| error.in_file(name))?;
        reader.set = Some(set);
        Ok(reader)
    }
}
