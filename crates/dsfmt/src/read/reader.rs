//! A file, opened.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

use container_core::{Bytes, Error, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::read::foreign::Foreign;
use crate::read::index::Index;
use crate::wire::{Header, MAGIC, VERSION};

/// Bytes that are looked through at once for the end of the header.
const STEP: u64 = 64 << 10;

/// A ds file, opened for reading: its header is parsed, of its body nothing was touched.
///
/// It takes `&self` for everything and holds no seek position: share it among threads, or open it and `fork`.
pub struct Reader {
    pub(crate) source: Source,
    pub(crate) options: OpenOptions,
    pub(crate) header: Header,
    /// Where the body begins in the file.
    pub(crate) body: u64,
    /// One for each variable.
    pub(crate) indexes: Vec<Index>,
    /// The names of all dimensions, once somebody has asked for one.
    pub(crate) names: OnceLock<HashSet<String>>,
    /// Where values come from that do not lie in the body.
    pub(crate) foreign: Option<Box<dyn Foreign>>,
}

impl Reader {
    /// Opens a file with default options.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Unsupported`](container_core::ErrorKind::Unsupported) for another version;
    /// [`Invalid`](container_core::ErrorKind::Invalid) for what is no ds file, or has a header that is no JSON;
    /// [`Limit`](container_core::ErrorKind::Limit) for a header longer than the limits allow.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
        Self::from_source(source, options).map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Opens bytes, wherever they are.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::parse(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn parse(source: Source, options: OpenOptions) -> Result<Self> {
        let len = source.len();
        // The version line is a few bytes; of anything else no more is looked at.
        let head = source.read(0..len.min(32))?;
        let Some(rest) = head.strip_prefix(MAGIC) else {
            return Err(Error::invalid("it does not begin with \"ds-\" and a version").at(0));
        };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let found = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if found != VERSION.as_bytes() {
            let found = String::from_utf8_lossy(found);
            return Err(
                Error::unsupported(format!("the version is {found:?}; {VERSION} is read")).at(MAGIC.len() as u64)
            );
        }
        if end.is_none() {
            return Err(Error::truncated("the line of the version", 1, 0).at(len));
        }
        let start = (MAGIC.len() + VERSION.len() + 1) as u64;
        let line = line(&source, start, options.limits.metadata_bytes)?;
        let body = len.min(start + line.len() as u64 + 1);
        let header = Header::parse(line, start, len - body, &options.limits)?;
        let indexes = header.entries.iter().map(|_| Index::default()).collect();
        Ok(Self { source, options, header, body, indexes, names: OnceLock::new(), foreign: None })
    }

    /// The name of the format whose values these are, which errors name: ds, unless another is read as if it were ds.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.foreign.as_ref().map_or(FORMAT_NAME, |foreign| foreign.format())
    }

    /// The version of the format that the file states.
    #[must_use]
    pub fn version(&self) -> &'static str {
        VERSION
    }

    /// The file's bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the body begins in the file, in bytes: [`Variable::offset`](crate::Variable::offset) counts from there.
    #[must_use]
    pub fn body(&self) -> u64 {
        self.body
    }

    /// The number of variables, those that cannot be read among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.entries.len()
    }

    /// True for a dataset without variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has any variable a dimension of this name? All are gone through once.
    pub(crate) fn has_dimension(&self, name: &str) -> bool {
        let all = || self.header.entries.iter().flat_map(|entry| entry.dimensions.iter().cloned()).collect();
        self.names.get_or_init(all).contains(name)
    }
}

/// The bytes up to the next line feed, or to the end where there is none.
fn line(source: &Source, start: u64, most: u64) -> Result<Bytes> {
    let len = source.len();
    let mut at = start;
    let mut buffer = Vec::new();
    loop {
        let end = len.min(at.saturating_add(STEP));
        let found = source.view(at..end, &mut buffer)?.iter().position(|byte| *byte == b'\n');
        let end = found.map_or(end, |found| at + found as u64);
        if end - start > most {
            return Err(Error::limit("the length of the header", end - start, most).at(start));
        }
        if found.is_some() || end == len {
            return source.read(start..end);
        }
        at = end;
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("source", &self.source).field("variables", &self.len()).finish_non_exhaustive()
    }
}
