//! Opening a file.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use container_core::{Bytes, Error, OpenOptions, Result, Source};

use crate::FORMAT_NAME;
use crate::read::foreign::ForeignSource;
use crate::read::index::Index;
use crate::read::typed::TypedAttributes;
use crate::wire::{Header, MAGIC, VERSION};

/// Bytes searched at once for the end of the header.
const STEP: u64 = 64 << 10;

/// A ds file opened for reading. The header is parsed; the body is untouched.
///
/// All methods take `&self` and there is no seek position: a reader can be shared among threads and across `fork`.
pub struct Reader {
    pub(crate) source: Source,
    pub(crate) options: OpenOptions,
    pub(crate) header: Header,
    /// File offset of the body.
    pub(crate) body: u64,
    /// One per variable.
    pub(crate) indexes: Vec<Index>,
    /// Names of all dimensions, collected on first use.
    pub(crate) names: OnceLock<HashSet<String>>,
    /// Names of bounds, with the index of the variable whose bounds they are, collected on first use.
    pub(crate) bounds: OnceLock<HashMap<String, usize>>,
    /// Supplies values that are not in the body.
    pub(crate) foreign: Option<Box<dyn ForeignSource>>,
    /// Of a dataset from a format with typed attributes.
    pub(crate) typed: TypedAttributes,
}

impl Reader {
    /// Opens a file with default options.
    ///
    /// # Errors
    /// [`Io`](container_core::ErrorKind::Io); [`Unsupported`](container_core::ErrorKind::Unsupported) for another format version;
    /// [`Invalid`](container_core::ErrorKind::Invalid) when the file is not ds or its header is not valid JSON;
    /// [`Limit`](container_core::ErrorKind::Limit) for a header longer than the limits allow.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Opens a file with the given options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open_with(path, options.access).map_err(|error| error.in_format(FORMAT_NAME))?;
        Self::from_source(source, options).map_err(|error| error.in_file(path.display().to_string()))
    }

    /// Opens any source of bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source, options: OpenOptions) -> Result<Self> {
        Self::parse(source, options).map_err(|error| error.in_format(FORMAT_NAME))
    }

    fn parse(source: Source, options: OpenOptions) -> Result<Self> {
        let len = source.len();
        // Long enough for any version line; the rest of a foreign file is not read.
        let head = source.read(0..len.min(32))?;
        let Some(rest) = head.strip_prefix(MAGIC) else {
            return Err(Error::invalid("expected \"ds-\" and a version at the start").at(0));
        };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let found = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if found != VERSION.as_bytes() {
            let found = String::from_utf8_lossy(found);
            return Err(
                Error::unsupported(format!("unsupported version {found:?} (known: {VERSION})")).at(MAGIC.len() as u64)
            );
        }
        if end.is_none() {
            return Err(Error::truncated("version line", 1, 0).at(len));
        }
        let start = (MAGIC.len() + VERSION.len() + 1) as u64;
        let line = line(&source, start, options.limits.metadata_bytes)?;
        let body = len.min(start + line.len() as u64 + 1);
        let header = Header::parse(line, start, len - body, &options.limits)?;
        let indexes = header.entries.iter().map(|_| Index::default()).collect();
        Ok(Self {
            source,
            options,
            header,
            body,
            indexes,
            names: OnceLock::new(),
            bounds: OnceLock::new(),
            foreign: None,
            typed: TypedAttributes::default(),
        })
    }

    /// For a member of a compound variable, the name of that variable and the path of the member in it.
    pub(crate) fn member(&self, index: usize) -> Option<(&str, &[String])> {
        self.foreign.as_ref()?.member(index)
    }

    /// The format named in error messages: ds, unless a file of another format is read through this reader.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.foreign.as_ref().map_or(FORMAT_NAME, |foreign| foreign.format())
    }

    /// The file's format version.
    #[must_use]
    pub fn version(&self) -> &'static str {
        VERSION
    }

    /// The source of the file's bytes.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// File offset of the body, which [`Variable::offset`](crate::Variable::offset) is relative to.
    #[must_use]
    pub fn body_offset(&self) -> u64 {
        self.body
    }

    /// Number of variables, including unreadable ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.entries.len()
    }

    /// True when the dataset has no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when any variable has a dimension of this name. The first call scans all variables.
    pub(crate) fn has_dimension(&self, name: &str) -> bool {
        let all = || self.header.entries.iter().flat_map(|entry| entry.dimensions.iter().cloned()).collect();
        self.names.get_or_init(all).contains(name)
    }
}

/// Reads up to the next line feed, or to the end of the file.
fn line(source: &Source, start: u64, max: u64) -> Result<Bytes> {
    let len = source.len();
    let mut at = start;
    let mut buffer = Vec::new();
    loop {
        let end = len.min(at.saturating_add(STEP));
        let found = source.view(at..end, &mut buffer)?.iter().position(|byte| *byte == b'\n');
        let end = found.map_or(end, |found| at + found as u64);
        if end - start > max {
            return Err(Error::limit("header length", end - start, max).at(start));
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
